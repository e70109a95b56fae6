"""Where released intervals may end, so that no end reveals the number of a single record."""

from decimal import Decimal
from itertools import count
from numbers import Real
from typing import Any

import numpy as np

from sk_microagg._utils._typing import Floats, Labels

# A step is about this share of the range of a column.
SHARE_OF_RANGE = 0.01
# If at least this share of the numbers are multiples of a step, they are as coarse as the step.
COARSE_SHARE = 0.9
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
    other begins below its smallest number: at the next number that `k` records share or the next
    multiple of a step, whichever is nearer; or at minus infinity if there is none. The upper end is
    found in the same way.

    Parameters
    ----------
    k : int
        Number of records that must share a number for it to be an end.

    step : float or None
        The step; where the numbers are no finer than it, 2, 5, 10, ... times the step is used. None
        to choose it from the numbers: 1, 2 or 5 times a power of ten, about 1% of the range from
        the k-th smallest to the k-th largest number, and coarser than the numbers themselves. If
        that range is empty, there is no step.
    """

    def __init__(self, k, step):
        self._k = k
        self._step = step

    def ends(self, numbers: Floats, counts: Labels) -> tuple[Floats, Floats]:
        """The ends of intervals, by their smallest and largest numbers.

        Parameters
        ----------
        numbers : ndarray of float
            Distinct numbers, ascending.

        counts : ndarray of int
            Number of records with each of them.

        Returns
        -------
        low, high : ndarray of float
            For each number, the lower end of an interval whose smallest number it is, and the upper
            end of one whose largest number it is. Both ascend.
        """
        step = self._step_for(numbers, counts)
        is_shared = counts >= self._k
        # Upper ends are lower ends of the negated numbers.
        low = _lower_ends(numbers, is_shared, step)
        high = -_lower_ends(-numbers[::-1], is_shared[::-1], step)[::-1]
        return low + 0.0, high + 0.0  # -0.0 becomes 0.0.

    def _step_for(self, numbers, counts):
        if self._step is None:
            return _suitable_step(numbers, counts, self._k)
        are_integers = bool(np.all(numbers == np.floor(numbers)))
        least = max(self._step, 1.0) if are_integers else self._step
        steps = (float(_multiples([_round_number(place)], least)[0]) for place in count())
        return next(step for step in steps if not _is_too_fine(step, numbers, counts))


def _lower_ends(numbers, is_shared, step):
    shared = numbers[is_shared]
    places = np.searchsorted(shared, numbers, side="right") - 1
    low = np.append(shared, -np.inf)[
        places
    ]  # Place -1, below all shared numbers, is the last: -inf.
    if step is not None:
        low[~is_shared] = np.maximum(low[~is_shared], _multiples_below(numbers[~is_shared], step))
    # An end below one number is below all larger ones, even if these are too large for the grid.
    return np.maximum.accumulate(low)


def _multiples_below(numbers, step):
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


def _are_multiples(numbers, step):
    quotients, are_multiples = _count_steps(numbers, step)
    are_multiples[are_multiples] = _multiples(np.round(quotients), step) == numbers[are_multiples]
    return are_multiples


def _count_steps(numbers, step):
    """Number of steps from 0 to each number, and which numbers are close enough to count them."""
    with np.errstate(over="ignore"):
        quotients = numbers / step
    is_within = np.abs(quotients) < MOST_STEPS
    return quotients[is_within], is_within


def _multiples(factors, step):
    """Decimally exact multiples: 3 times 0.1 is 0.3, and not the float next to it."""
    distinct, places = np.unique(factors, return_inverse=True)
    exact_step = Decimal(repr(step))
    return np.array([float(int(factor) * exact_step) for factor in distinct])[places]


def _suitable_step(numbers, counts, k):
    """A step, or None, that does not depend on the k - 1 smallest and largest numbers."""
    n_up_to, n_from = np.cumsum(counts), np.cumsum(counts[::-1])
    if len(numbers) == 0 or n_up_to[-1] < k:
        return None
    kth_smallest = numbers[np.searchsorted(n_up_to, k)]
    kth_largest = numbers[::-1][np.searchsorted(n_from, k)]
    wanted = (kth_largest - kth_smallest) * SHARE_OF_RANGE
    if not wanted > np.finfo(np.float64).tiny:
        return None
    place = round(3 * np.log10(wanted))
    while _is_too_fine(_round_number(place), numbers, counts):
        place += 1
    return _round_number(place)


def _is_too_fine(step, numbers, counts):
    """Whether so few numbers are possible within a step that an end reveals the number next to it.

    The numbers may be multiples of the step, or of another unit: inches converted to centimeters
    have gaps of 2.54.
    """
    if len(numbers) < 2:
        return False
    gap = np.quantile(np.diff(numbers), 1.0 - COARSE_SHARE, method="lower")
    if step < 2.0 * gap * (1.0 - ROUNDING):
        return True
    is_other = numbers != 0  # 0 is a multiple of everything.
    multiples = _are_multiples(numbers[is_other], step)
    return bool(np.average(multiples, weights=counts[is_other]) >= COARSE_SHARE)


def _round_number(place):
    """The series ..., 0.2, 0.5, 1, 2, 5, 10, ..., in which 1 is at place 0."""
    exponent, digit = divmod(place, 3)
    return float(f"{(1, 2, 5)[digit]}e{exponent}")
