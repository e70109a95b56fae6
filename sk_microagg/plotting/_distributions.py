"""The distribution of a column before and after: what is drawn."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._utils._formatting import percent
from sk_microagg._utils._statistics import n_people, take_units
from sk_microagg._utils._tables import DATE, cells_of, column_names, columns_of, missing_cells
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels
from sk_microagg.metrics._pairs import check_names_match, names_in_frame
from sk_microagg.plotting._common import Bars, Histogram, Note, Panel, numbers_of_dates
from sk_microagg.tables._grid import ends_of_intervals
from sk_microagg.tables._labels import ROOT, is_number

MOST_BINS, FEWEST_BINS = 30, 5
MOST_BARS, MOST_NODES = 8, 3
LARGEST_COUNT = 2**50  # larger floats cannot represent halves
SPREADS = 1e-300, 1e300  # those whose tenth is neither 0 nor infinite
OTHERS, GENERAL, MISSING = "(others)", "(more general)", "(missing)"


def compare_columns(
    X: Any,
    release: Any,
    feature_names: Sequence[str] | None = None,
    at_least: int = 1,
    categorical: Collection[int] = (),
    units: Array | None = None,
    round_ends: bool = False,
) -> list[Panel]:
    """Count the values of each column of two tables; `categorical` are numbers of columns.

    With `at_least` above 1, every bin or bar of the original stands for at least that number of
    people, or of records without `units`: bins and categories with fewer
    are merged. Bins then lie within the range of the release, and values outside are counted as its
    minimum or maximum. With `round_ends`, bins begin and end at round numbers.
    """
    before, after = columns_of(X, "X"), columns_of(release, "release")
    shapes = [(len(table[0]), len(table)) for table in (before, after)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"release of shape {shapes[1]} must have the shape of X, {shapes[0]}.")
    check_names_match(names_in_frame(X), names_in_frame(release))
    names = column_names(X) if feature_names is None else [str(name) for name in feature_names]
    if len(names) != len(before):
        raise ValueError(f"feature_names={names!r} must be {len(before)} names, one per column.")
    counter = _Comparison(at_least, units, round_ends)
    return [
        counter.count_categories(*columns) if number in categorical else counter.compare(*columns)
        for number, columns in enumerate(zip(names, before, after, strict=True))
    ]


@dataclass(frozen=True)
class _Comparison:
    """Counts values before and after, with settings as those of `compare_columns`."""

    at_least: int
    units: Array | None
    round_ends: bool

    def compare(self, name: str, before: Any, after: Any) -> Panel:
        """Count the values of a column of any kind."""
        if all(getattr(column.dtype, "kind", "") == "b" for column in (before, after)):
            return self.count_categories(name, before, after)
        (old, unit), (new, new_unit) = _as_numbers(before), _as_numbers(after)
        if new is None and missing_cells(after).all():
            return Note(name, "no value is released")
        if old is not None and new is None:  # Intervals, or else nodes of a hierarchy.
            low, high = ends_of_intervals(after, are_dates=unit == DATE)
            if low is not None:
                return self._count_numbers(name, old, (low, high), unit, "missing or *")
            if unit is not None:
                return Note(name, "dates are released as text")
            return self.count_categories(name, before, after)
        if (old is None) != (new is None) or unit != new_unit:
            return Note(name, "not drawn")
        if old is None:
            return self.count_categories(name, before, after)
        return self._count_numbers(name, old, (new, new), unit)

    def _count_numbers(
        self,
        name: str,
        old: Floats,
        ends: Any,
        unit_name: str | None,
        missing_name: str = "missing",
    ) -> Panel:
        """Count numbers, and the intervals between two `ends` that they are released as."""
        known = old[np.isfinite(old)]
        low, high = (end[np.isfinite(end)] for end in ends)
        if not (len(known) and len(low)):
            return Note(name, "all values are missing")
        # Not 1 less the known share: its rounding error could change the whole percents.
        missing = [(len(old) - len(values)) / len(old) for values in (known, low)]
        n_missing = [_people_in(~np.isfinite(old), self.units), round(missing[1] * len(old))]
        n_known = [_people_in(np.isfinite(old), self.units), len(low)]
        bounds = [self._bound(*pair) for pair in zip(n_missing, n_known, strict=True)]
        # If only a few values are missing, shares that do not add up to 1 would disclose how many.
        n_before, n_after = (
            len(old) if bound is None else len(values)
            for bound, values in zip(bounds, (known, low), strict=True)
        )
        shown = [] if self.at_least > 1 else [known]
        least = _range(np.concatenate([low, *shown]), self.at_least)[0]
        largest = _range(np.concatenate([high, *shown]), self.at_least)[1]
        if self.round_ends:
            step = _coarse_step(largest - least)
            # Adding zero turns -0.0 into 0.0.
            least = step * float(np.floor(least / step)) + 0.0
            largest = step * float(np.ceil(largest / step)) + 0.0
        are_integers = bool(np.all(known == np.round(known)))
        edges = _edges(least, largest, len(known), are_integers)
        bins = np.digitize(known, edges[1:-1])
        before = np.bincount(bins, minlength=len(edges) - 1)
        after = count_in_bins(low, high, edges, are_integers)
        starts = _starts_of_runs(
            bins, len(before), self.at_least, take_units(self.units, np.isfinite(old))
        )
        return Histogram(
            name,
            np.append(edges[starts], edges[-1]),
            np.add.reduceat(before, starts) / n_before,
            np.add.reduceat(after, starts) / n_after,
            float(edges[1] - edges[0]),
            are_integers,
            tuple(bound or percent(share) for bound, share in zip(bounds, missing, strict=True)),
            unit_name,
            missing_name,
        )

    def _bound(self, n_missing: int, n_known: int) -> str | None:
        """What to write instead of a share that stands for too few, or for all but too few."""
        few = f"fewer than {self.at_least} {'records' if self.units is None else 'people'}"
        if 0 < n_missing < self.at_least:
            return few
        return f"all but {few}" if 0 < n_known < self.at_least else None

    def count_categories(self, name: str, before: Any, after: Any) -> Bars:
        """Count the most frequent categories, and all others together."""
        # In a generalized table, nothing tells a missing value from the most general category.
        is_generalized = any(isinstance(cell, str) and cell == ROOT for cell in cells_of(after))
        missing = ROOT if is_generalized else MISSING
        old, new = (_labels(column, missing) for column in (before, after))
        labels, codes, counts = np.unique(
            np.array(old, dtype=object), return_inverse=True, return_counts=True
        )
        people, shares = n_people(codes, len(labels), self.units), counts / len(old)
        known, n_released = set(labels), Counter(new)
        nodes = [
            node for node, n in n_released.most_common() if node not in known and n >= self.at_least
        ]
        nodes = nodes[:MOST_NODES]
        most = MOST_BARS - len(nodes)
        by_share = np.argsort(-shares, kind="stable")
        kept = [code for code in by_share if people[code] >= self.at_least][:most]
        n_others = _people_in(is_other := ~np.isin(codes, kept), self.units)
        # The number of a few others could be computed from the shares of the rest.
        while kept and 0 < n_others < self.at_least:
            kept.pop()
            n_others = _people_in(is_other := ~np.isin(codes, kept), self.units)
        others = is_other.mean()
        shown = {labels[code]: shares[code] for code in kept} | dict.fromkeys(nodes, 0.0)
        released = Counter(
            label if label in shown else OTHERS if label in known else GENERAL for label in new
        )
        categories = [
            *(labels[code] for code in kept),
            *([OTHERS] if others or released[OTHERS] else []),
            *nodes,
            *([GENERAL] if released[GENERAL] else []),
        ]
        shown |= {OTHERS: others, GENERAL: 0.0}
        return Bars(
            name,
            categories,
            np.array([shown[category] for category in categories]),
            np.array([released[category] for category in categories]) / len(new),
        )


def _as_numbers(column: Any) -> tuple[Floats | None, str | None]:
    """The column as floats with NaN, or None if it has other values; and the unit of dates."""
    numbers, unit = numbers_of_dates(column)
    return (_plain_numbers(column), None) if unit is None else (numbers, unit)


def _plain_numbers(column: Any) -> Floats | None:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return np.asarray(column, dtype=np.float64)
    cells, missing = np.array(cells_of(column), dtype=object), missing_cells(column)
    if missing.all() or not all(is_number(cell) for cell in cells[~missing]):
        return None
    numbers = np.full(len(cells), np.nan)
    numbers[~missing] = cells[~missing].astype(np.float64)
    return numbers


def _range(values: Floats, at_least: int) -> tuple[float, ...]:
    """The range of values, with each end the mean of the `at_least` most extreme values.

    In a k-anonymous release these are equal, so that the ends are the minimum and the maximum.
    Means of different values are rounded, since otherwise somebody who knows all of these values
    but one could compute that one.
    """
    last = min(at_least, len(values)) - 1
    low = np.partition(values, last)[: last + 1]
    high = -np.partition(-values, last)[: last + 1]
    are_equal = [np.ptp(extremes) == 0 for extremes in (low, high)]
    # The mean of equal values is taken without rounding errors.
    ends = [
        float(extremes[0] if is_equal else extremes.mean())
        for extremes, is_equal in zip((low, high), are_equal, strict=True)
    ]
    spread = float(values.max()) - float(values.min())
    step = _coarse_step(spread)
    return tuple(
        end if is_equal else float(step * np.round(end / step)) + 0.0  # never -0.0
        for end, is_equal in zip(ends, are_equal, strict=True)
    )


def _coarse_step(spread: float) -> float:
    """About a tenth of a spread, and not more: 1, 2 or 5 times a power of ten."""
    tenth = np.clip(spread, *SPREADS) / 10
    power = 10.0 ** np.floor(np.log10(tenth))
    return float(
        power * next(factor for factor in (5, 2, 1) if factor == 1 or factor * power <= tenth)
    )


def _edges(low: float, high: float, n_values: int, are_integers: bool) -> Floats:
    """Edges of equal bins from `low` to `high`; halfway between integers for integer values."""
    n_bins = int(np.clip(2 * np.cbrt(n_values), FEWEST_BINS, MOST_BINS))
    if are_integers and max(-low, high) < LARGEST_COUNT:
        low, high = np.floor(low), np.ceil(high)
        width = np.ceil((high - low + 1) / n_bins)
        n_bins = int(np.ceil((high - low + 1) / width))
        return low - 0.5 + width * np.arange(n_bins + 1)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        half = max(0.5, 1e-6 * abs(low))
        return np.array([low - half, low + half])
    return np.linspace(low, high, n_bins + 1)


def _starts_of_runs(bins: Labels, n_bins: int, at_least: int, units: Array | None) -> Labels:
    """Starts of runs of bins with enough records, joined where these are of too few people."""
    starts = _merge(bins, n_bins, at_least, None)
    if units is None:
        return starts
    runs = np.searchsorted(starts, bins, side="right") - 1
    return starts[_merge(runs, len(starts), at_least, units)]


def _merge(bins: Labels, n_bins: int, at_least: int, units: Array | None) -> Labels:
    """Starts of runs of bins that contain no record, or records of `at_least` people."""

    def is_open(start: int, stop: int) -> bool:
        return 0 < _people_in((bins >= start) & (bins < stop), units) < at_least

    starts = [0]
    for position in range(1, n_bins):
        if not is_open(starts[-1], position):
            starts.append(position)
    # A remainder at the end joins the runs before it.
    while len(starts) > 1 and is_open(starts[-1], n_bins):
        starts.pop()
    return np.array(starts)


def _people_in(rows: Booleans, units: Array | None) -> int:
    return int(np.count_nonzero(rows)) if units is None else len(np.unique(units[rows]))


def _labels(column: Any, missing_label: str) -> list[str]:
    missing = missing_cells(column)
    return [
        missing_label if is_missing else str(cell)
        for cell, is_missing in zip(cells_of(column), missing, strict=True)
    ]


def count_in_bins(low: Floats, high: Floats, edges: Floats, are_integers: bool) -> Floats:
    """Number of intervals in each bin, in proportion to the parts of them that lie in it."""
    is_point = low == high
    places = np.digitize(low[is_point], edges[1:-1])
    counts = np.bincount(places, minlength=len(edges) - 1).astype(np.float64)
    intervals, n_equal = np.unique(
        np.column_stack([low, high])[~is_point], axis=0, return_counts=True
    )
    half = 0.5 if are_integers else 0.0
    covered = np.clip(intervals + np.array([-half, half]), edges[0], edges[-1])
    overlaps = np.minimum(covered[:, 1:], edges[1:]) - np.maximum(covered[:, :1], edges[:-1])
    overlaps = np.maximum(overlaps, 0.0)
    totals = overlaps.sum(axis=1)
    is_outside = totals == 0
    places = np.digitize(intervals[is_outside].mean(axis=1), edges[1:-1])
    counts += np.bincount(places, weights=n_equal[is_outside], minlength=len(counts))
    return counts + (n_equal[~is_outside] / totals[~is_outside]) @ overlaps[~is_outside]
