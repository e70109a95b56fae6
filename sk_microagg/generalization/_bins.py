"""Bins of numbers, at one or several levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._utils._tables import (
    FIRST_DAY,
    LAST_DAY,
    day_of_text,
    is_date,
    number_of_date,
    text_of_day,
)
from sk_microagg._utils._typing import Array, Codes, Floats, Labels
from sk_microagg.generalization._domain import MidpointDomain, NumberDomain, TreeDomain, ValueTree
from sk_microagg.generalization._grid import Grid
from sk_microagg.generalization._labels import ROOT, bin_label, interval_text, label_of


class NestedBins:
    """Bins of numbers, the bins that these are merged into, and so on."""

    def __init__(self, levels: list[ArrayLike]) -> None:
        self._levels = [_check_edges(edges) for edges in levels]
        for finer, coarser in pairwise(self._levels):
            same_ends = coarser[0] == finer[0] and coarser[-1] == finer[-1]
            if not (same_ends and np.isin(coarser, finer).all()):
                raise ValueError(
                    f"Coarser edges must be some of {finer.tolist()} and have its ends, "
                    f"got {coarser.tolist()}."
                )
        self.low, self.high = self._levels[0][[0, -1]]
        self.n_bins = len(self._levels[0]) - 1

    def labels_of(self, value: float) -> tuple[str, ...]:
        """Labels of the bins that a number is in, the finest first; empty if it is in none."""
        labels = []
        for edges in self._levels:
            place = np.searchsorted(edges, value, side="right")
            if not 0 < place < len(edges):
                return ()
            labels.append(bin_label(edges[place - 1], edges[place]))
        return tuple(labels)

    def single_numbers(self, covers: Iterable[tuple[Any, ...]]) -> list[float]:
        """The numbers among some generalized values: those below the bins of the finest level."""
        return [float(cover[-1]) for cover in covers if len(cover) > len(self._levels)]

    def domain(self, leaves: Iterable[float], values: Iterable[Any]) -> TreeDomain:
        """The domain of a column."""
        bins = {bin_label(*ends): ends for edges in self._levels for ends in pairwise(edges)}
        # In every bin, a leaf without a label stands for the numbers that are not leaves.
        paths = [(None, *self.labels_of(edge)) for edge in self._levels[0][:-1]]
        paths += [(label_of(leaf), *self.labels_of(leaf)) for leaf in sorted({*leaves})]
        tree = ValueTree(paths)
        loss, midpoints = [], []
        for node, label in enumerate(tree.labels):
            if node < tree.n_leaves and label is not None:
                low = high = float(label)
            else:  # A leaf without a label is as wide as its bin.
                label = tree.labels[tree.parent[node]] if label is None else label
                low, high = bins.get(label, (self.low, self.high))
            # By the range of the edges, which are given: that of the numbers stays private.
            loss.append(float((high - low) / (self.high - self.low)))
            midpoints.append(float(low + (high - low) / 2))
        midpoints[tree.root] = np.nan
        return TreeDomain(tree, values, loss, midpoints, self.labels_of)


def _check_edges(edges: ArrayLike) -> Floats:
    try:
        checked = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    is_finite = np.isfinite(checked).all()
    if checked.ndim != 1 or len(checked) < 2 or not is_finite or not np.all(np.diff(checked) > 0):
        raise ValueError(f"edges={edges!r} must be two or more ascending finite numbers.")
    return checked


def days_of(values: Iterable[Any]) -> Array:
    """Days since 1970, None for all that is no date."""
    return np.array(
        [number_of_date(value)[0] if is_date(value) else None for value in values], dtype=object
    )


class DateDomain(NumberDomain):
    """A column of dates, as days since 1970, that are generalized to intervals."""

    def __init__(
        self, values: Sequence[float] | Floats, grid: Grid | None = None, unit: float | None = None
    ) -> None:
        super().__init__(values, None if grid is None else _Calendar(grid), unit)

    def encode(self, values: Any) -> Codes:
        """First and last position of each date, as for numbers."""
        return super().encode(days_of(values))

    def label(self, cover: tuple[float, ...]) -> str:
        """The interval in ISO dates."""
        return interval_text(*map(text_of_day, cover)) if cover else ROOT

    def _number(self, text: str) -> float | None:
        return day_of_text(text)

    def midpoint(self, cover: tuple[float, ...]) -> None:
        """None: the middle of an interval is text, as dates are."""

    def _of_midpoints(self, midpoints: list[float]) -> DateDomain:
        return DateMidpointDomain(midpoints, unit=self.unit)


class DateMidpointDomain(DateDomain, MidpointDomain):
    """Dates that are released as midpoints. Any other date counts as the nearest of them."""


class _Calendar:
    """A grid without ends that are no dates, before the year 1 or after 9999."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def ends(self, numbers: Floats, counts: Labels) -> tuple[Floats, Floats]:
        low, high = self._grid.ends(numbers, counts)
        return np.where(low < FIRST_DAY, -np.inf, low), np.where(high > LAST_DAY, np.inf, high)
