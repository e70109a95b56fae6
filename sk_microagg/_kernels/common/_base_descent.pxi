"""The base of local searches: sweep after sweep over groups, until no visit changes anything.

Groups that have changed are visited again in the next sweep. Subclasses say what a visit does.
"""

from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ._interrupt cimport check_now, is_over, watch_until
from ._random cimport next_random

cdef enum:
    # Work is counted in distances; that of a visit without those that it counts itself.
    WORK_BETWEEN_SIGNALS = 1 << 16
    WORK_OF_A_VISIT = 1 << 10


cdef class BaseDescent:

    def __init__(self, seed):
        self.shuffled = seed is not None
        self.random = 0 if seed is None else seed
        self.n_sweeps = 0

    cdef int prepare(self) except -1:
        """Prepare for visits."""
        return 0

    cdef int visit(self, Py_ssize_t group, vector[Py_ssize_t] &changed) except -1 nogil:
        """Improve the partition around a group; list all groups that change, and count moves."""
        return 0

    def run(self, groups, *, Py_ssize_t max_sweeps=-1, deadline=None):
        """Improve pairs of groups until none can be improved.

        Parameters
        ----------
        groups : iterable of int
            Groups to visit first. Those that change are visited again.

        max_sweeps : int, default=-1
            Largest number of sweeps that improve a pair; no limit if below 0.

        deadline : Deadline or None, default=None
            Stop, even within a sweep, when it is over.

        Returns
        -------
        n_sweeps : int
            Number of sweeps in which a pair was improved.
        """
        cdef vector[Py_ssize_t] targets = sorted(set(groups))
        cdef Py_ssize_t n_before, n_improving = 0
        self.watch = watch_until(deadline, WORK_BETWEEN_SIGNALS)
        self.prepare()
        while not targets.empty() and n_improving != max_sweeps:
            n_before = self.n_moves
            with nogil:
                self._sweep(targets)
            n_improving += self.n_moves > n_before
            if check_now(&self.watch):
                break
        return n_improving

    cdef int _sweep(self, vector[Py_ssize_t] &targets) except -1 nogil:
        """Visit each group once; afterward `targets` are those that have changed."""
        cdef vector[Py_ssize_t] changed
        cdef size_t i
        self.n_sweeps += 1
        # The first sweep keeps the order: none is better on average, but later sweeps move so
        # little that results hardly depend on the seed.
        if self.shuffled and self.n_sweeps > 1:
            self._shuffle(targets)
        for i in range(targets.size()):
            self.visit(targets[i], changed)
            if is_over(&self.watch, WORK_OF_A_VISIT):
                break
        sort(changed.begin(), changed.end())
        targets.clear()
        for i in range(changed.size()):
            if i == 0 or changed[i] != changed[i - 1]:
                targets.push_back(changed[i])
        return 0

    cdef void _shuffle(self, vector[Py_ssize_t] &groups) noexcept nogil:
        cdef size_t i, other
        for i in range(groups.size() - 1, 0, -1):
            other = next_random(&self.random) % (i + 1)
            groups[i], groups[other] = groups[other], groups[i]
