"""A first-order method for the linear program of prices, on a pool of columns.

Raise the sum of the records' prices, less those of the cuts, while no column pays more than it
costs: a column pays the prices of its records, less those of its cuts. Prices stay in a box. This
is the primal-dual hybrid gradient method (Chambolle and Pock, 2011) with steps that are scaled
column by column (Pock and Chambolle, 2011). Its dual variables say how much of each column a
fractional partition uses.
"""

import time

import numpy as np

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

cdef enum:
    WORK_BETWEEN_SIGNALS = 2_000_000


@cython.final
cdef class Ascent:
    """Raise prices as far as a pool of columns allows.

    Parameters
    ----------
    start : ndarray of shape (n_columns + 1,), int32
        Where the entries of each column start.

    entry : ndarray of shape (n_entries,), int32
        Indices of the prices in the columns: a record, or `n_records` and above for a cut.

    cost : ndarray of shape (n_columns,)
        What each column costs.

    n_records : int
        Number of records.

    scale : ndarray of shape (n_prices,)
        How large changes of each price are expected to be, above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Ascent
    >>> start, entry = np.array([0, 2, 4], dtype=np.int32), np.array([0, 1, 1, 2], dtype=np.int32)
    >>> ascent = Ascent(start, entry, np.array([2.0, 3.0]), 3, np.ones(3))
    >>> prices, use = np.zeros(3), np.zeros(2)
    >>> mean, _ = ascent.run(prices, use, np.zeros(3), np.full(3, 9.0), weight=1.0, n_iter=2000)
    >>> mean.round(3)
    array([2., 0., 3.])
    """

    cdef const int32_t[::1] start
    cdef const int32_t[::1] entry
    cdef const double[::1] cost
    cdef Py_ssize_t n_records
    cdef vector[double] step_of_use
    cdef vector[double] step_of_price
    # Prices as far as the last step leads once more, below 0 those of cuts.
    cdef vector[double] ahead
    cdef vector[double] used

    def __init__(self, const int32_t[::1] start, const int32_t[::1] entry, const double[::1] cost,
                 Py_ssize_t n_records, const double[::1] scale):
        cdef Py_ssize_t column, i
        cdef double reach
        self.start = start
        self.entry = entry
        self.cost = cost
        self.n_records = n_records
        self.step_of_use.resize(cost.shape[0])
        self.step_of_price.assign(scale.shape[0], 0.0)
        for column in range(cost.shape[0]):
            reach = 0.0
            for i in range(start[column], start[column + 1]):
                reach += scale[entry[i]]
            self.step_of_use[column] = 1.0 / (reach * reach)
            for i in range(start[column], start[column + 1]):
                self.step_of_price[entry[i]] += 1.0 / reach
        for i in range(scale.shape[0]):
            if self.step_of_price[i] > 0.0:
                self.step_of_price[i] = scale[i] / self.step_of_price[i]

    def run(self, double[::1] prices, double[::1] use, const double[::1] lowest,
            const double[::1] highest, *, double weight, Py_ssize_t n_iter,
            double deadline=INFINITY):
        """Take steps, and return the means of prices and use over the later half of them.

        Parameters
        ----------
        prices : ndarray of shape (n_prices,)
            The prices to start from, changed in place.

        use : ndarray of shape (n_columns,)
            How much of each column is used, changed in place.

        lowest, highest : ndarray of shape (n_prices,)
            The box in which prices stay.

        weight : float
            How large steps of prices are, compared with those of use.

        n_iter : int
            Number of steps.

        deadline : float, default=inf
            Stop early when `time.monotonic()` has passed this.
        """
        cdef Py_ssize_t n_prices = prices.shape[0], n_columns = use.shape[0]
        cdef Py_ssize_t work = 0, n_counted = 0, iteration, i
        cdef double[::1] mean_prices = np.zeros(n_prices)
        cdef double[::1] mean_use = np.zeros(n_columns)
        cdef bint is_late = False
        self.ahead.resize(n_prices)
        for i in range(n_prices):
            self.ahead[i] = prices[i] if i < self.n_records else -prices[i]
        with nogil:
            for iteration in range(n_iter):
                self._step_of_use(use, 1.0 / weight)
                self._step_of_prices(prices, lowest, highest, weight)
                work += self.entry.shape[0] + n_prices
                if work >= WORK_BETWEEN_SIGNALS:
                    work = 0
                    with gil:
                        PyErr_CheckSignals()  # Ctrl-C
                        is_late = time.monotonic() >= deadline
                if iteration >= n_iter // 2 or is_late:
                    n_counted += 1
                    for i in range(n_prices):
                        mean_prices[i] += prices[i]
                    for i in range(n_columns):
                        mean_use[i] += use[i]
                if is_late:
                    break
            for i in range(n_prices):
                mean_prices[i] /= n_counted
            for i in range(n_columns):
                mean_use[i] /= n_counted
        return mean_prices.base, mean_use.base

    cdef void _step_of_use(self, double[::1] use, double weight) noexcept nogil:
        """Use columns more that pay too much, and others less; sum up how much prices are used."""
        cdef const int32_t *entry
        cdef Py_ssize_t column, i, n_entries
        cdef const double *ahead = self.ahead.data()
        cdef double *used
        cdef double excess, value
        self.used.assign(self.ahead.size(), 0.0)
        used = self.used.data()
        for column in range(use.shape[0]):
            entry = &self.entry[self.start[column]]
            n_entries = self.start[column + 1] - self.start[column]
            excess = -self.cost[column]
            for i in range(n_entries):
                excess += ahead[entry[i]]
            value = use[column] + weight * self.step_of_use[column] * excess
            if value <= 0.0:
                use[column] = 0.0
                continue
            use[column] = value
            for i in range(n_entries):
                used[entry[i]] += value

    cdef void _step_of_prices(self, double[::1] prices, const double[::1] lowest,
                              const double[::1] highest, double weight) noexcept nogil:
        """Raise prices of records that are used too little and of cuts that are used too much."""
        cdef Py_ssize_t i
        cdef double sign, price
        for i in range(prices.shape[0]):
            sign = 1.0 if i < self.n_records else -1.0
            price = prices[i] + sign * weight * self.step_of_price[i] * (1.0 - self.used[i])
            price = min(max(price, lowest[i]), highest[i])
            self.ahead[i] = sign * (2.0 * price - prices[i])
            prices[i] = price
