"""Where released intervals may end, so that no end reveals the number of a single record."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import percentile_filter, uniform_filter1d

from sk_microagg._utils._statistics import n_people
from sk_microagg._utils._tables import (
    cells_of,
    day_of_text,
    has_numbers,
    is_date,
    missing_cells,
    number_of_date,
)
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels
from sk_microagg.tables._labels import interval_of_label, is_number

# A step is about this share of the range of a column.
SHARE_OF_RANGE = 0.01
# For k up to 5, so many numbers tell how those among them are rounded; twice as many up to 10, ...
# Of 20 integers in a row, two are multiples of 10, and four of 5.
N_NEARBY = 20
# This percentile of the gaps between them tells how far possible numbers are apart.
PERCENT_OF_GAPS = 10
TINY = np.finfo(np.float64).tiny
# Relative rounding error of differences of numbers with few digits, at most.
ROUNDING = 1e-6
# Beyond this number of steps, a float cannot distinguish a multiple from the numbers next to it.
MOST_STEPS = 2.0**52


def make_grid(grid: Any, k: int) -> "Grid | None":
    """Return the grid for a parameter value; None if intervals may end anywhere."""
    if grid is None:
        return None
    allowed = "'auto', a finite number above 0, or None"
    if isinstance(grid, str):
        if grid != "auto":
            raise ValueError(f"grid={grid!r} must be {allowed}.")
    elif isinstance(grid, bool) or not isinstance(grid, Real):
        raise TypeError(f"grid={grid!r} must be {allowed}, got {type(grid).__name__}.")
    elif not 0 < grid < np.inf:  # type: ignore[operator]
        raise ValueError(f"grid={grid!r} must be {allowed}.")
    return Grid(k, None if grid == "auto" else float(grid))


class Grid:
    """The ends that intervals may have: numbers shared by at least k records, or round numbers.

    If at least `k` records share the smallest number of an interval, the interval begins there. Any
    other begins below its smallest number: at a number that is shared by so many records that at
    most one in `k` of those with this end have another, or at a multiple of a step, whichever is
    nearer; or at minus infinity if there is none. The upper end is found in the same way.

    The step is the smallest of 1, 2, 5, 10, ... times the first one by which no guess at the number
    within a step of the end is right more often than one in `k` times, for somebody who knows how
    the numbers next to it are rounded. It is coarser where numbers are. Without a first step, it is
    1, 2 or 5 times a power of ten, about 1% of the range from the k-th smallest to the k-th largest
    number; if that range is empty, there is no step.
    """

    def __init__(
        self,
        k: int,
        step: float | None = None,
        units: Array | None = None,
        counts: Labels | None = None,
    ) -> None:
        self._k = k
        self._step = step
        self._units = units
        self._counts = counts

    def with_units(self, units: Array | None) -> "Grid":
        """The same grid, for records of which some belong to the same person."""
        return Grid(self._k, self._step, units)

    def count(self, places: Labels, n_numbers: int) -> Labels:
        """How many people have each number, given the place of that of each record.

        If there are `counts`, a record stands for as many people.
        """
        if self._counts is not None:
            return np.bincount(places, self._counts, n_numbers).astype(np.intp)
        return n_people(places, n_numbers, self._units)

    def ends(self, numbers: Floats, counts: Labels) -> tuple[Floats, Floats]:
        """The ends of intervals, by their smallest and largest numbers."""
        # Upper ends are lower ends of the negated numbers.
        low = self._lower_ends(numbers, counts)
        high = -self._lower_ends(-numbers[::-1], counts[::-1])[::-1]
        return low + 0.0, high + 0.0  # -0.0 becomes 0.0.

    def _lower_ends(self, numbers: Floats, counts: Labels) -> Floats:
        is_shared = counts >= self._k
        multiples = self._hiding_multiples(numbers, counts)
        below = np.maximum(multiples, _shared_ends(numbers, counts, self._k))
        # An end below one number is below all larger ones, even ones too large for the grid.
        below = np.where(np.isinf(below), np.maximum.accumulate(below), below)
        low = numbers.copy()
        low[~is_shared] = below
        return low

    def _hiding_multiples(self, numbers: Floats, counts: Labels) -> Floats:
        """For each number of fewer than k records, the next multiple of a step that hides it."""
        is_shared = counts >= self._k
        rare, shared = numbers[~is_shared], numbers[is_shared]
        multiples = np.full(len(rare), -np.inf)
        first = _first_step(numbers, counts, self._k) if self._step is None else self._step
        if first is None:
            return multiples
        nearby = _Nearby(rare, counts[~is_shared], self._k)
        places = np.arange(len(rare))
        for place in count():  # `first`, and 2, 5, 10, ... times that
            step = float(_multiples([_round_number(place)], first)[0])
            if len(places) == 0:
                break
            below = _multiples_below(rare[places], step)
            is_hidden = nearby.chances(places, below, step, shared) <= (1 + ROUNDING) / self._k
            multiples[places[is_hidden]] = below[is_hidden]
            places = places[~is_hidden]
        return multiples


class SharedGrid(Grid):
    """Only numbers that at least k records share, for ranks: there is nothing between these."""

    def _hiding_multiples(self, numbers: Floats, counts: Labels) -> Floats:
        return np.full(int(np.sum(counts < self._k)), -np.inf)


def _shared_ends(numbers: Floats, counts: Labels, k: int) -> Floats:
    """For each number of fewer than k records, a shared one below it that far more records have."""
    is_shared = counts >= k
    shared, n_shared = numbers[is_shared], counts[is_shared]
    gaps = np.cumsum(is_shared)[~is_shared]  # 0: below all shared numbers
    n_rare = np.bincount(gaps, weights=counts[~is_shared], minlength=len(shared) + 1)
    ends = np.full(len(shared) + 1, -np.inf)
    waiting: list[int] = []
    n_waiting = 0.0
    for gap in range(len(shared), 0, -1):
        waiting, n_waiting = [*waiting, gap], n_waiting + n_rare[gap]
        if n_shared[gap - 1] >= (k - 1) * n_waiting:
            ends[waiting] = shared[gap - 1]
            waiting, n_waiting = [], 0.0
        elif n_shared[gap - 1] >= (k - 1) * n_rare[gap]:
            ends[gap] = shared[gap - 1]
            n_waiting -= n_rare[waiting.pop()]
    return ends[gaps]


class _Nearby:
    """How the numbers next to each of some numbers are rounded."""

    def __init__(self, numbers: Floats, counts: Labels, k: int) -> None:
        self._numbers = numbers
        self._counts = counts.astype(np.float64)
        self._k = k
        self._size = N_NEARBY * -(-k // 5)
        self._shares: dict[float, Floats] = {}
        self._gaps = np.zeros(len(numbers))
        if len(numbers) > 1:
            gaps = np.diff(numbers, append=2 * numbers[-1] - numbers[-2])
            # Of an array that is shorter than its window, SciPy may read memory beyond the end.
            places = np.arange(-self._size, len(gaps) + self._size) % (2 * len(gaps) - 2)
            mirrored = gaps[np.minimum(places, 2 * len(gaps) - 2 - places)]
            filtered = percentile_filter(mirrored, PERCENT_OF_GAPS, size=self._size)
            self._gaps = filtered[self._size : -self._size]

    def chances(self, places: Labels, ends: Floats, step: float, shared: Floats) -> Floats:
        """How often the best guess is right at a number up to a step above each end."""
        gaps = self._gaps[places]
        chances = gaps / np.maximum(step - gaps * _n_within(shared, ends, step), gaps + TINY)
        for unit in _units_of(step, self._k):
            n_shared = _n_within(shared[_are_multiples(shared, unit)], ends, step)
            n_possible = step / unit - n_shared
            chances = np.maximum(chances, self._share(unit)[places] / np.maximum(n_possible, 1.0))
        return chances

    def _share(self, unit: float) -> Floats:
        """Share of the records near each number that are multiples of a unit."""
        if unit not in self._shares:
            # 0 is a multiple of everything.
            are_multiples = _are_multiples(self._numbers, unit) & (self._numbers != 0)
            n_multiples, n_records = (
                uniform_filter1d(counts, self._size, mode="mirror")
                for counts in (self._counts * are_multiples, self._counts)
            )
            self._shares[unit] = n_multiples / n_records
        return self._shares[unit]


def _n_within(numbers: Floats, ends: Floats, step: float) -> Labels:
    """How many of some ascending numbers are up to a step above each end."""
    first, last = (np.searchsorted(numbers, at, side="right") for at in (ends, ends + step))
    return last - first


def _units_of(step: float, k: int) -> Iterator[float]:
    """Round numbers of which fewer than k multiples are within a step, though at least one."""
    place = int(np.floor(3 * np.log10(step))) + 2
    while _round_number(place) > step * (1 + ROUNDING):
        place -= 1
    while _round_number(place) > step / k * (1 + ROUNDING):
        yield _round_number(place)
        place -= 1


def _multiples_below(numbers: Floats, step: float) -> Floats:
    """The largest multiple of a step below each number, minus infinity where no float is one."""
    quotients, is_within = _count_steps(numbers, step)
    numbers = numbers[is_within]
    factors = np.ceil(quotients) - 1.0
    # A quotient may have been rounded to an integer.
    factors -= _multiples(factors, step) >= numbers
    factors += _multiples(factors + 1.0, step) < numbers
    multiples = _multiples(factors, step)
    below = np.full(len(is_within), -np.inf)
    below[is_within] = np.where(multiples < numbers, multiples, -np.inf)
    return below


def _are_multiples(numbers: Floats, step: float) -> Booleans:
    quotients, are_multiples = _count_steps(numbers, step)
    are_multiples[are_multiples] = _multiples(np.round(quotients), step) == numbers[are_multiples]
    return are_multiples


def _count_steps(numbers: Floats, step: float) -> tuple[Floats, Booleans]:
    """Number of steps from 0 to each number, and which numbers are close enough to count them."""
    with np.errstate(over="ignore"):
        quotients = numbers / step
    is_within = np.abs(quotients) < MOST_STEPS
    return quotients[is_within], is_within


def _multiples(factors: ArrayLike, step: float) -> Floats:
    """Decimally exact multiples: 3 times 0.1 is 0.3, and not the float next to it."""
    distinct, places = np.unique(factors, return_inverse=True)
    exact_step = Decimal(repr(step))
    return np.array([float(int(factor) * exact_step) for factor in distinct])[places]


def _first_step(numbers: Floats, counts: Labels, k: int) -> float | None:
    """A step, or None, that does not depend on the k - 1 smallest and largest numbers."""
    if len(numbers) == 0 or np.sum(counts) < k:
        return None
    kth_smallest, kth_largest = _kth_extremes(numbers, counts, k)
    wanted = (kth_largest - kth_smallest) * SHARE_OF_RANGE
    if not wanted > TINY:
        return None
    return _round_number(round(3 * np.log10(wanted)))


def _kth_extremes(numbers: Floats, counts: Labels, k: int) -> tuple[float, float]:
    n_up_to, n_from = np.cumsum(counts), np.cumsum(counts[::-1])
    return numbers[np.searchsorted(n_up_to, k)], numbers[::-1][np.searchsorted(n_from, k)]


def round_edges(numbers: Floats, counts: Labels, k: int, are_whole: bool) -> Floats:
    """Multiples of a step, from the k-th smallest to the k-th largest number; none without one."""
    step = _first_step(numbers, counts, k)
    if step is None:
        return np.empty(0)
    step = max(step, 1.0) if are_whole else step
    low, high = (end / step for end in _kth_extremes(numbers, counts, k))
    if max(abs(low), abs(high)) >= MOST_STEPS:
        return np.empty(0)
    return _multiples(np.arange(np.floor(low) + 1, np.floor(high) + 1), step)


def _round_number(place: int) -> float:
    """The series ..., 0.2, 0.5, 1, 2, 5, 10, ..., in which 1 is at place 0."""
    exponent, digit = divmod(place, 3)
    return float(f"{(1, 2, 5)[digit]}e{exponent}")


def ends_of_intervals(
    column: Any, are_dates: bool = False
) -> tuple[Floats, Floats] | tuple[None, None]:
    if has_numbers(column):
        numbers = np.asarray(column, dtype=np.float64)
        return numbers, numbers
    known = np.flatnonzero(~missing_cells(column))
    cells = cells_of(column)
    ends_of = {}
    low, high = np.full(len(cells), np.nan), np.full(len(cells), np.nan)
    for place in known:
        cell = cells[place]
        if cell not in ends_of:
            ends_of[cell] = _ends(cell, day_of_text if are_dates else _number)
        if ends_of[cell] is None:
            return None, None
        low[place], high[place] = ends_of[cell]
    return low, high


def with_midpoints(column: Any) -> Any:
    """A released column with the middle of each interval; the column itself if it has none."""
    cells = cells_of(column)
    if not any(isinstance(cell, str) and interval_of_label(cell) for cell in cells):
        return column
    for are_dates in (False, True):
        low, high = ends_of_intervals(column, are_dates)
        if low is not None and high is not None:
            return (low + high) / 2
    return column


def _ends(cell: Any, parse: Callable[[str], float | None]) -> Any:
    if not isinstance(cell, str):
        number = float(cell) if is_number(cell) else None
        if is_date(cell):
            number = number_of_date(cell)[0]
        return None if number is None else (number, number)
    low, high, _ = interval_of_label(cell) or (cell, cell, True)
    ends = parse(low), parse(high)
    return None if None in ends else ends


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
