"""A first-order method for a linear program of dual variables, on a pool of columns.

The program is the dual of the LP relaxation of the set-partitioning problem. It maximizes the sum
of the duals of records, less those of cuts, such that the duals of no column exceed its cost: those
of its records, less those of its cuts. Duals stay in a box. The method is primal-dual hybrid
gradient (Chambolle and Pock, 2011) with steps that are scaled column by column (Pock and Chambolle,
2011). The primal variables say how much of each column a fractional partition uses.
"""

import numpy as np

cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..common._interrupt cimport Watch, is_over, watch_until

cdef enum:
    ASCENT_WORK_BETWEEN_SIGNALS = 2_000_000


@cython.final
cdef class Ascent:
    """Raise duals as far as a pool of columns allows.

    Parameters
    ----------
    start : ndarray of shape (n_columns + 1,), int32
        Where the entries of each column start.

    entry : ndarray of shape (n_entries,), int32
        Indices of the duals in the columns: a record, or `n_records` and above for a cut.

    cost : ndarray of shape (n_columns,)
        The cost of each column.

    n_records : int
        Number of records.

    scale : ndarray of shape (n_duals,)
        Expected size of the changes of each dual, above 0.

    cut_limit : ndarray of shape (n_cuts,) or None, default=None
        How many groups the records of each cut can hold; None for 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Ascent
    >>> start, entry = np.array([0, 2, 4], dtype=np.int32), np.array([0, 1, 1, 2], dtype=np.int32)
    >>> ascent = Ascent(start, entry, np.array([2.0, 3.0]), 3, np.ones(3))
    >>> duals, use = np.zeros(3), np.zeros(2)
    >>> mean, _ = ascent.run(duals, use, np.zeros(3), np.full(3, 9.0), weight=1.0, n_iter=2000)
    >>> mean.round(3)
    array([2., 0., 3.])
    """

    cdef const int32_t[::1] start
    cdef const int32_t[::1] entry
    cdef const double[::1] cost
    cdef Py_ssize_t n_records
    cdef vector[double] step_of_use
    cdef vector[double] step_of_dual
    # Duals extrapolated by their last step, with the sign that they have in columns.
    cdef vector[double] ahead
    # How much of each record or cut the columns use, and how much a partition does, at most.
    cdef vector[double] used
    cdef vector[double] limit

    def __init__(self, const int32_t[::1] start, const int32_t[::1] entry, const double[::1] cost,
                 Py_ssize_t n_records, const double[::1] scale, const double[::1] cut_limit=None):
        cdef Py_ssize_t column, i
        cdef double total_scale
        self.start = start
        self.entry = entry
        self.cost = cost
        self.n_records = n_records
        self.limit.assign(scale.shape[0], 1.0)
        if cut_limit is not None:
            for i in range(cut_limit.shape[0]):
                self.limit[n_records + i] = cut_limit[i]
        self.step_of_use.resize(cost.shape[0])
        self.step_of_dual.assign(scale.shape[0], 0.0)
        for column in range(cost.shape[0]):
            total_scale = 0.0
            for i in range(start[column], start[column + 1]):
                total_scale += scale[entry[i]]
            self.step_of_use[column] = 1.0 / (total_scale * total_scale)
            for i in range(start[column], start[column + 1]):
                self.step_of_dual[entry[i]] += 1.0 / total_scale
        for i in range(scale.shape[0]):
            if self.step_of_dual[i] > 0.0:
                self.step_of_dual[i] = scale[i] / self.step_of_dual[i]

    def run(self, double[::1] duals, double[::1] use, const double[::1] lowest,
            const double[::1] highest, *, double weight, Py_ssize_t n_iter,
            deadline=None):
        """Iterate, and return the means of duals and use over the second half of the iterations.

        Parameters
        ----------
        duals : ndarray of shape (n_duals,)
            The duals to start from, changed in place.

        use : ndarray of shape (n_columns,)
            How much of each column is used, the primal variables, changed in place.

        lowest, highest : ndarray of shape (n_duals,)
            The box in which duals stay.

        weight : float
            How large steps of duals are, compared with those of use.

        n_iter : int
            Number of iterations.

        deadline : Deadline or None, default=None
            Stop early when it is over.
        """
        cdef Py_ssize_t n_duals = duals.shape[0], n_columns = use.shape[0]
        cdef Py_ssize_t n_counted = 0, iteration, i
        cdef double[::1] mean_duals = np.zeros(n_duals)
        cdef double[::1] mean_use = np.zeros(n_columns)
        cdef Watch watch = watch_until(deadline, ASCENT_WORK_BETWEEN_SIGNALS)
        cdef bint is_late
        self.ahead.resize(n_duals)
        for i in range(n_duals):
            self.ahead[i] = duals[i] if i < self.n_records else -duals[i]
        with nogil:
            for iteration in range(n_iter):
                self._step_of_use(use, 1.0 / weight)
                self._step_of_duals(duals, lowest, highest, weight)
                is_late = is_over(&watch, self.entry.shape[0] + n_duals)
                if iteration >= n_iter // 2 or is_late:
                    n_counted += 1
                    for i in range(n_duals):
                        mean_duals[i] += duals[i]
                    for i in range(n_columns):
                        mean_use[i] += use[i]
                if is_late:
                    break
            for i in range(n_duals):
                mean_duals[i] /= n_counted
            for i in range(n_columns):
                mean_use[i] /= n_counted
        return mean_duals.base, mean_use.base

    cdef void _step_of_use(self, double[::1] use, double weight) noexcept nogil:
        """Use columns more if they violate their constraint, else less; sum up `used`."""
        cdef const int32_t *start = &self.start[0]
        cdef const int32_t *entry
        cdef Py_ssize_t column, i, n_entries
        cdef const double *ahead = self.ahead.data()
        cdef const double *step = self.step_of_use.data()
        cdef double *used
        cdef double excess, value
        self.used.assign(self.ahead.size(), 0.0)
        used = self.used.data()
        for column in range(use.shape[0]):
            entry = &self.entry[start[column]]
            n_entries = start[column + 1] - start[column]
            excess = -self.cost[column]
            for i in range(n_entries):
                excess += ahead[entry[i]]
            value = use[column] + weight * step[column] * excess
            if value <= 0.0:
                use[column] = 0.0
                continue
            use[column] = value
            for i in range(n_entries):
                used[entry[i]] += value

    cdef void _step_of_duals(self, double[::1] duals, const double[::1] lowest,
                              const double[::1] highest, double weight) noexcept nogil:
        """Raise duals of records that are used too little and of cuts that are used too much."""
        cdef Py_ssize_t i
        cdef double sign, dual
        for i in range(duals.shape[0]):
            sign = 1.0 if i < self.n_records else -1.0
            dual = duals[i] + sign * weight * self.step_of_dual[i] * (self.limit[i] - self.used[i])
            dual = min(max(dual, lowest[i]), highest[i])
            self.ahead[i] = sign * (2.0 * dual - duals[i])
            duals[i] = dual
