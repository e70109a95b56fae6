"""Rounding that nobody can repeat, for figures that depend on categories of the original.

A wrong guess at a category changes counts by whole people. Rounding hides that only from those who
do not know where the lines between two rounded figures are: these are far apart, and their place is
drawn anew for each report and kept nowhere. So one category of a person moves a figure, or a bar,
across a line in at most one of ten reports, unless k people have it only together with them. What
would change by more, as the largest risk, or at nearly any place, as a curve, is not told. See
tests/attacks/test_categories_in_a_report.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import RandomState

from sk_microagg._utils._typing import Array, Floats, Labels
from sk_microagg.encoding._coordinates import ON_A_LINE
from sk_microagg.metrics import RecordLinkage
from sk_microagg.report._utility import rounded_above, step_above

# So many people are between two lines; a wrong category changes the counts of two.
PEOPLE = 20

# So many times what a wrong category changes, at most, is between two lines of losses.
CHANGES = 10

# The squared distance of another category in a column with one: its loss is not told.
FAR = 1e9

# Of so many that are drawn, nobody knows whether a certain one was.
SHARE_ASKED = 0.8


class SecretRounding:
    """Rounds figures of a table to lines at one secret place."""

    def __init__(self, random: RandomState, n_records: int, units: Array | None = None) -> None:
        people = np.arange(n_records) if units is None else units
        self._place, self._power = random.random_sample(2)
        self._is_asked = random.random_sample(people.max() + 1)[people] < SHARE_ASKED
        self.step = float(PEOPLE * np.bincount(people).max() / n_records)

    def below(self, values: Any, step: float = PEOPLE) -> Any:
        """The lines below values, or at them; without a step, of numbers of people."""
        return (np.floor(np.divide(values, step) - self._place) + self._place) * step

    def above(self, values: Any, step: float) -> Any:
        """The lines above values, in few digits; at most 1."""
        lines = self.below(values, step) + step
        return np.minimum(rounded_above(lines, step_above(step / 10)), 1.0)

    def bars(self, shares: Any) -> Any:
        """Shares of the records, in the middle between two lines."""
        return np.clip(self.below(shares, self.step) + self.step / 2, 0.0, 1.0)

    def share(self, share: float) -> float:
        """A share of the records, rounded up; to all of them if these are less than a step away."""
        line = float(self.below(share, self.step)) + self.step
        return line if line < 1 - self.step else 1.0

    def linkage(self, found: RecordLinkage, classes: Labels, units: Array | None) -> RecordLinkage:
        """A linkage, rounded up."""
        linked = self.share(found.linked)
        # One of a group is found in 1 of its size cases, at most; of several rows, more often.
        expected = linked if units is not None else linked / np.bincount(classes).min()
        expected = min(expected, found.expected_if_linked)
        return replace(found, linked=linked, expected_matches=expected)

    def steps_of_losses(self, encoder: Any, table: Any, losses: Any) -> Floats:
        """Steps for the loss of a table, then for those of its columns; 0 for numbers and dates.

        Another category of a person changes errors by less than the largest squared distance of
        two. Steps are powers of 2 times a secret number: nobody can compute them, either.
        """
        changes = (1 + np.asarray(losses)) * [
            _largest_square(column, table[column.name]) for column in encoder.columns
        ]
        changes = (
            np.append((changes * encoder.coordinates.shares()).max(), changes) * CHANGES / PEOPLE
        )
        with np.errstate(divide="ignore"):
            powers = np.log2(changes * self.step) - self._power
        return np.exp2(np.rint(powers) + self._power)

    def without_some(self, cells: Array) -> Array:
        """Cells of people who are drawn; those of others are missing."""
        return np.where(self._is_asked, cells, np.full(1, None))


def _largest_square(column: Any, cells: Any) -> float:
    """The largest squared distance of two categories in a column of variance 1; 0 for numbers."""
    if column.kind == "ordinal":
        values = column.values(cells)
        known = values[~np.isnan(values)]
        return float(np.ptp(known) ** 2 / known.var()) if np.ptp(known) > 0 else FAR
    if isinstance(column, ON_A_LINE):
        return 0.0
    if column.rows.shape[1] == 1:
        return float(np.ptp(column.rows.toarray()) ** 2)
    return 2 * float(column.rows.power(2).sum(axis=1).max()) if column.rows.shape[1] else FAR
