"""Where the ends of released intervals may be, so that none of them is the number of one record."""

from decimal import Decimal
from itertools import count
from numbers import Real

import numpy as np

# A step is about this share of the range of a column.
SHARE_OF_RANGE = 0.01
# Numbers of which so many are multiples of a step are as coarse as the step is.
MOST = 0.9
# Differences of numbers with few digits are off by less than this share.
ROUNDING = 1e-6
# Beyond so many steps, a float does not tell a multiple from the numbers next to it.
MOST_STEPS = 2.0**52


def make_grid(grid, k):
    """Return the grid that a parameter asks for; None if intervals may end anywhere."""
    if grid is None:
        return None
    allowed = "'auto', a finite number above 0, or None"
    if isinstance(grid, str):
        if grid != "auto":
            raise ValueError(f"grid={grid!r} must be {allowed}.")
    elif isinstance(grid, bool) or not isinstance(grid, Real):
        raise TypeError(f"grid={grid!r} must be {allowed}, got {type(grid).__name__}.")
    elif not 0 < grid < np.inf:
        raise ValueError(f"grid={grid!r} must be {allowed}.")
    return Grid(k, None if grid == "auto" else float(grid))


class Grid:
    """Ends that tell of at least k records, or are round.

    An interval that begins with a number which at least `k` records share begins there. Any other
    begins below its least number: at the next number that `k` records share or the next multiple
    of a step, whichever is nearer; or nowhere, at minus infinity, if there is none. Its end is
    found in the same way.

    Parameters
    ----------
    k : int
        How many records must share a number that may be an end.

    step : float or None
        The step, or 2, 5, 10, ... times it where the numbers are not finer than it; None for one
        that suits the numbers: 1, 2 or 5 times a power of ten, about a hundredth of the range from
        the k-th smallest to the k-th largest number, and coarser than the numbers are themselves.
        If that range is empty, there is no step.
    """

    def __init__(self, k, step):
        self._k = k
        self._step = step

    def ends(self, numbers, counts):
        """Where intervals begin and end.

        Parameters
        ----------
        numbers : ndarray of float
            Distinct numbers, ascending.

        counts : ndarray of int
            How many records have each of them.

        Returns
        -------
        low, high : ndarray of float
            For each number, where an interval begins of which it is the least, and where one ends
            of which it is the largest. Both ascend.
        """
        step = self._step_for(numbers, counts)
        is_shared = counts >= self._k
        # Multiples of a step are the same upside down.
        low = _beginnings(numbers, is_shared, step)
        high = -_beginnings(-numbers[::-1], is_shared[::-1], step)[::-1]
        return low + 0.0, high + 0.0  # No end is -0.

    def _step_for(self, numbers, counts):
        if self._step is None:
            return _suitable_step(numbers, counts, self._k)
        are_integers = bool(np.all(numbers == np.floor(numbers)))
        least = max(self._step, 1.0) if are_integers else self._step
        steps = (float(_multiples([_round_number(place)], least)[0]) for place in count())
        return next(step for step in steps if not _is_too_fine(step, numbers, counts))


def _beginnings(numbers, is_shared, step):
    shared = numbers[is_shared]
    places = np.searchsorted(shared, numbers, side="right") - 1
    low = np.append(shared, -np.inf)[places]  # The place before the first is -1, the last.
    if step is not None:
        low[~is_shared] = np.maximum(low[~is_shared], _multiples_below(numbers[~is_shared], step))
    # What is below one number is below all larger ones, even if these are too large for the grid.
    return np.maximum.accumulate(low)


def _multiples_below(numbers, step):
    """The largest multiple of a step below each number, minus infinity where no float is one."""
    quotients, is_within = _count_steps(numbers, step)
    numbers = numbers[is_within]
    factors = np.ceil(quotients) - 1.0
    # A quotient is rounded, and may be an integer that it is not.
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
    """How many steps there are from 0 to a number, and which numbers are not too far for that."""
    with np.errstate(over="ignore"):
        quotients = numbers / step
    is_within = np.abs(quotients) < MOST_STEPS
    return quotients[is_within], is_within


def _multiples(factors, step):
    """Multiples as they are written: 3 times 0.1 is 0.3, and no float next to it."""
    distinct, places = np.unique(factors, return_inverse=True)
    exact_step = Decimal(repr(step))
    return np.array([float(int(factor) * exact_step) for factor in distinct])[places]


def _suitable_step(numbers, counts, k):
    """A step, found without the k - 1 smallest and largest numbers; None if there is none."""
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
    """Whether so few numbers are possible within a step that its end tells which of them it is.

    They may be multiples of the step, or of another unit: inches that are told in centimeters have
    gaps of 2.54.
    """
    if len(numbers) < 2:
        return False
    gap = np.quantile(np.diff(numbers), 1.0 - MOST, method="lower")
    if step < 2.0 * gap * (1.0 - ROUNDING):
        return True
    is_other = numbers != 0  # 0 is a multiple of everything.
    multiples = _are_multiples(numbers[is_other], step)
    return bool(np.average(multiples, weights=counts[is_other]) >= MOST)


def _round_number(place):
    """1, 2, 5, 10, 20, ... from place 0 on, and the same below 1 before it."""
    exponent, digit = divmod(place, 3)
    return float(f"{(1, 2, 5)[digit]}e{exponent}")
