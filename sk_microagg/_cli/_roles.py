"""The columns of a table in memory that say what each group must satisfy beyond its size."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._facts import Fact
from sk_microagg._cli._privacy import make_privacy, privacy_facts
from sk_microagg.metrics import closeness, diversity, unit_share, units_per_group
from sk_microagg.privacy import TCloseness
from sk_microagg.privacy._codes import codes_of


@dataclass(frozen=True)
class Roles:
    """Constraints, and the values of the records that they are about."""

    privacy: list | None
    sensitive: pd.DataFrame
    unit: pd.Series | None
    strata: pd.DataFrame

    @classmethod
    def of(cls, table, choice, options, declared):
        """Take the columns from a table."""
        sensitive = table.values(choice.sensitive, declared, is_strict=True)
        numbers = [name for name, dtype in sensitive.dtypes.items() if dtype.kind in "iuf"]
        unit = None if choice.unit is None else table.values([choice.unit])[choice.unit]
        privacy = make_privacy(options, choice, numbers)
        return cls(privacy, sensitive, unit, _strata(table, choice.strata))

    def names(self):
        """Return the names of these columns, by their roles, as parameters of an estimator."""
        names = {role: list(frame) for role, frame in self.of_report().items() if role != "unit"}
        return names if self.unit is None else names | {"unit": self.unit.name}

    def units(self):
        """Return the number of the unit of each record; None without units."""
        return None if self.unit is None else codes_of(self.unit)[0]

    def with_values(self, values):
        """Return a table of values to anonymize, together with these columns."""
        return pd.concat([values, *self.of_report().values()], axis=1)

    def of_report(self):
        """Return the columns that a report is about, too, by their roles."""
        columns = {"sensitive": self.sensitive, "strata": self.strata}
        columns = {role: frame for role, frame in columns.items() if len(frame.columns)}
        return columns if self.unit is None else columns | {"unit": self.unit}

    def check(self, labels, choice, k):
        """Raise unless a release satisfies all constraints; return the facts to print.

        Parameters
        ----------
        labels : ndarray of int
            The number of the class of equal rows that each row of the release is in.

        choice : Choice
            The columns.

        k : int
            Smallest number of different units.

        Returns
        -------
        facts : dict
            What was demanded, and what holds.
        """
        if not self.privacy and self.unit is None:
            return {}
        figures = [self._figure(constraint, labels) for constraint in self.privacy or []]
        n_units = None if self.unit is None else units_per_group(labels, self.unit)
        share = self.share(labels)
        are_met = [
            np.all(constraint.accepts(figure))
            for constraint, figure in zip(self.privacy or [], figures, strict=True)
        ]
        if not all(are_met) or (n_units is not None and n_units < k):
            raise CommandError(
                "The release violates a constraint: nothing was written. Please report this."
            )
        facts = privacy_facts(choice, self.privacy, figures, n_units, k, share)
        values = self._values(figures, n_units) | {"unit share": share}
        return {name: Fact(text, values[name]) for name, text in facts.items()}

    def share(self, labels):
        """Return the largest share of one unit in a group; None without units."""
        return None if self.unit is None else unit_share(labels, self.unit)

    def least_share(self):
        """Return the least such share that groups can have; 0 without units."""
        if self.unit is None:
            return 0.0
        whole = np.zeros(len(self.unit), dtype=np.intp)
        # No group has a smaller one than the table, or than its stratum.
        return unit_share(self.strata if len(self.strata.columns) else whole, self.unit)

    def _values(self, figures, n_units):
        """The worst figures under the names of their facts, for programs."""
        values = {"units per group": n_units}
        for constraint, figure in zip(self.privacy or [], figures, strict=True):
            if constraint.is_about_units:
                continue
            is_close = isinstance(constraint, TCloseness)
            demanded = constraint.t if is_close else constraint.l
            about = {"column": constraint.column, "figure": figure, "demanded": demanded}
            values.setdefault("t-closeness" if is_close else "l-diversity", []).append(about)
        return values

    def _figure(self, constraint, labels):
        if constraint.is_about_units:
            return self.share(labels)
        values = self.sensitive[constraint.column]
        if isinstance(constraint, TCloseness):
            return closeness(labels, values, constraint.distance)
        return diversity(labels, values, constraint.kind, constraint.l)


def _strata(table, columns):
    """The cells of the strata exactly as they are released: those that differ are different."""
    cells = {name: table.cells[name].to_pylist() for name in columns}
    text = {name: [None if c is None else str(c) for c in column] for name, column in cells.items()}
    return pd.DataFrame(text, index=range(table.cells.num_rows), dtype=object)
