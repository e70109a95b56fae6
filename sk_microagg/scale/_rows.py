"""Rows as they travel: the columns that are anonymized, followed by what their roles need."""

from dataclasses import dataclass

import numpy as np

from sk_microagg.scale._roles import Roles


@dataclass(frozen=True)
class RowFormat:
    """How the rows of a table become arrays that travel."""

    columns: list
    coding: object
    roles: Roles

    @property
    def names(self):
        """All columns of the table that are needed."""
        return self.columns + self.roles.names

    @property
    def width(self):
        """Number of values in a row."""
        return len(self.columns) + self.roles.width

    def no_rows(self):
        """Rows as they travel, but none of them."""
        return np.empty((0, self.width), np.float64 if self.roles.width else self.coding.dtype)

    def encode(self, frame):
        """The rows of a part of the table."""
        if not len(frame):
            return self.no_rows()
        records = self.coding.encode(frame[self.columns])
        if not self.roles.width:
            return records
        return np.column_stack([records, self.roles.encode(frame)])

    def records(self, rows):
        """The columns that are anonymized, in their own float type."""
        return np.ascontiguousarray(rows[:, : len(self.columns)], self.coding.dtype)

    def rules(self, rows):
        """What groups of these rows must satisfy beyond their size."""
        return self.roles.rules_of(rows[:, len(self.columns) :])

    def strata(self, rows):
        """Number of the stratum of each row; 0 if there are no strata."""
        return self.roles.strata_of(rows[:, len(self.columns) :])
