"""Power weights in the middle of what records allow.

With the weights of all other groups given, records confine the weight of a group: its own from
below, those of others from above. A weight at an end of this interval is tight to one record, which
can be computed from it. In the middle, and with few digits, it reveals little more than that no
record is near.

The wall between groups A and B is the least of |x - b|² - |x - a|² over the records x of A, with
the centroids a and b: the most that the weight of B may be above that of A. How much is left of
this is the slack of the wall.

Weights are moved, one at a time, toward the point where the product of all slacks is largest, the
analytic center of what records allow. That takes very long where groups lie along a line: a wall
there moves only if all groups behind it move together. So wherever a few groups separate those
before from those behind, these are moved together.
"""

import numpy as np

from libc.math cimport INFINITY, ceil, frexp, ldexp
from libcpp.vector cimport vector

from ..common._interrupt cimport Watch, is_over, new_watch

cdef enum:
    # All groups behind a cut move together if at most this many of them have walls to others.
    MOST_AT_A_CUT = 16
    # Sweeps over single weights per sweep over cuts.
    SWEEPS_PER_ROUND = 4
    # More binary digits than a float has.
    MOST_HALVINGS = 64

# The largest step, as a share of the distance to the nearest wall.
cdef double LONGEST_STEP = 0.9


def center_weights(
    const int[::1] starts,
    const int[::1] targets,
    const double[::1] leaving,
    const double[::1] entering,
    weights,
    Py_ssize_t n_rounds,
    groups=None,
):
    """Move weights to the middle of what records allow, with as few digits as possible.

    Parameters
    ----------
    starts : ndarray of shape (n_groups + 1,), int32
        Where the walls of each group begin. Groups with numbers next to each other should be near
        each other.

    targets : ndarray of shape (n_walls,), int32
        The group on the other side of each wall.

    leaving, entering : ndarray of shape (n_walls,), float64
        The most that the weight of the other group may be above that of this one, and that the
        weight of this one may be above that of the other.

    weights : ndarray of shape (n_groups,), float64
        Weights to start from, which no wall forbids.

    n_rounds : int
        Number of rounds in which all weights are moved.

    groups : ndarray of intp, default=None
        The groups whose weights move in the end; None means all. With 0 rounds, others stay.

    Returns
    -------
    weights : ndarray of shape (n_groups,)
        Weights that no wall forbids either: each is the shortest dyadic number in the middle half
        of what the others allow. Where they allow none, it stays.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import center_weights
    >>> starts, targets = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32)
    >>> leaving, entering = np.array([9.1, -4.3]), np.array([-4.3, 9.1])
    >>> center_weights(starts, targets, leaving, entering, [0.0, 4.3001], 9)
    array([0., 6.])
    """
    moved = np.array(weights, dtype=np.float64)
    cdef WeightCentering centering = WeightCentering(starts, targets, leaving, entering, moved)
    cdef Watch watch = new_watch(1)  # a round is long
    cdef Py_ssize_t group, number, sweep
    cdef const Py_ssize_t[::1] moving = np.arange(len(moved)) if groups is None else groups
    with nogil:
        for number in range(n_rounds):
            is_over(&watch, 1)
            centering.center_cuts()
            for sweep in range(SWEEPS_PER_ROUND):
                for group in range(centering.n_groups):
                    centering.move(group)
        for number in range(moving.shape[0]):
            centering.shorten(moving[number])
    return moved


cdef class WeightCentering:
    """Weights that are moved, and the walls that they stay within."""

    cdef const int[::1] starts
    cdef const int[::1] targets
    cdef const double[::1] leaving
    cdef const double[::1] entering
    cdef double[::1] weights
    cdef Py_ssize_t n_groups

    # For each group, the last one that has a wall to it or to one before it.
    cdef vector[Py_ssize_t] last_across

    # Slacks of the walls around some groups, how many there are, and the least of them.
    cdef vector[double] below
    cdef vector[double] above
    cdef Py_ssize_t n_slacks
    cdef double room_below
    cdef double room_above

    def __init__(self, starts, targets, leaving, entering, weights):
        cdef Py_ssize_t group, wall
        self.starts = starts
        self.targets = targets
        self.leaving = leaving
        self.entering = entering
        self.weights = weights
        self.n_groups = len(weights)
        self.below.resize(len(targets))
        self.above.resize(len(targets))
        self.last_across.assign(self.n_groups, 0)
        for group in range(self.n_groups):
            for wall in range(self.starts[group], self.starts[group + 1]):
                self.last_across[self.targets[wall]] = max(
                    self.last_across[self.targets[wall]], group
                )
        for group in range(1, self.n_groups):
            self.last_across[group] = max(self.last_across[group], self.last_across[group - 1])

    cdef int center_cuts(self) except -1 nogil:
        """Move all groups behind a cut together, one cut after the other."""
        cdef double moved = 0.0
        cdef Py_ssize_t group
        for group in range(self.n_groups):
            self.weights[group] += moved
            if 0 < self.last_across[group] - group <= MOST_AT_A_CUT:
                moved += self.step(group + 1, self.last_across[group] + 1, group + 1, moved)
        return 0

    cdef int move(self, Py_ssize_t group) except -1 nogil:
        """Move the weight of one group."""
        self.weights[group] += self.step(group, group + 1, self.n_groups, 0.0)
        return 0

    cdef double step(
        self, Py_ssize_t first, Py_ssize_t end, Py_ssize_t until, double moved
    ) except? -1 nogil:
        """How far some groups should move together, by Newton's method."""
        cdef double below, above, unit, middle, newton, slope = 0.0, curvature = 0.0
        cdef Py_ssize_t i
        self._find_slacks(first, end, until, moved)
        unit = self.room_below + self.room_above
        if not 0.0 < unit < INFINITY:
            return 0.0
        # From the middle: near a wall, Newton's method begins with very small steps.
        middle = (self.room_above - self.room_below) / 2.0
        if min(self.room_below + middle, self.room_above - middle) <= 0.0:
            return 0.0  # There is no float between the smallest ones.
        for i in range(self.n_slacks):
            below = unit / (self.below[i] + middle)
            above = unit / (self.above[i] - middle)
            slope += below - above
            curvature += below * below + above * above
        newton = max(unit * (slope / curvature), -LONGEST_STEP * unit / 2.0)
        return middle + min(newton, LONGEST_STEP * unit / 2.0)

    cdef int shorten(self, Py_ssize_t group) except -1 nogil:
        """Move a weight to the shortest number in the middle half of what the others allow."""
        cdef double quarter, weight = self.weights[group]
        self._find_slacks(group, group + 1, self.n_groups, 0.0)
        quarter = (self.room_below + self.room_above) / 4.0
        if 0.0 < quarter < INFINITY:
            self.weights[group] = shortest_between(
                weight - self.room_below + quarter, weight + self.room_above - quarter
            )
        return 0

    cdef int _find_slacks(
        self, Py_ssize_t first, Py_ssize_t end, Py_ssize_t until, double moved
    ) except -1 nogil:
        """Find the slacks of the walls from some groups to those before `until`.

        The groups have moved by `moved`, which is not in their weights yet.
        """
        cdef Py_ssize_t group, wall, n_slacks = 0
        cdef double ahead, own, room_below = INFINITY, room_above = INFINITY
        for group in range(first, end):
            own = self.weights[group] + moved
            for wall in range(self.starts[group], self.starts[group + 1]):
                if self.targets[wall] < until:
                    ahead = own - self.weights[self.targets[wall]]
                    self.below[n_slacks] = ahead + self.leaving[wall]
                    self.above[n_slacks] = self.entering[wall] - ahead
                    room_below = min(room_below, self.below[n_slacks])
                    room_above = min(room_above, self.above[n_slacks])
                    n_slacks += 1
        self.n_slacks = n_slacks
        self.room_below, self.room_above = room_below, room_above
        return 0


cdef double shortest_between(double low, double high) noexcept nogil:
    """A number between two others that is a multiple of the largest power of two."""
    cdef double multiple
    cdef int exponent, i
    if low <= 0.0 <= high:
        return 0.0
    frexp(max(high, -low), &exponent)
    for i in range(MOST_HALVINGS):
        multiple = ldexp(ceil(ldexp(low, i - exponent)), exponent - i)
        if multiple <= high:
            return multiple
    return low
