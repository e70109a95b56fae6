"""Prices that may be too high are lowered until no set of k records pays more than its SSE."""

import numpy as np

from sk_microagg._kernels import RootSearch

# Share of the price by which a record is preferred as the root of a set.
PREFERENCE = 0.5


class Repair:
    """Makes prices valid.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Size of the sets.

    sums : ndarray of shape (n_records, k - 1)
        At most the sums of the 0, 1, 2, ... smallest squared distances from each record.
    """

    def __init__(self, records, k, sums):
        self._search = RootSearch(records, k, sums)
        self._roots = np.arange(len(records))

    def run(self, prices, deadline):
        """Lower prices where sets pay too much.

        Returns
        -------
        prices : ndarray of shape (n_records,) or None
            Prices with which no set pays more than its SSE; None if the time was too short.

        members : ndarray of shape (n_found, k)
            Sets that paid too much.
        """
        shift = -PREFERENCE * prices
        self._search.set_prices(prices, shift)
        excess, members, complete = self._search.sweep(self._roots, deadline=deadline)
        members = members[members[:, 0] >= 0]
        if not complete:
            return None, members
        order = np.argsort(excess)
        _, _, complete = self._search.sweep(
            order[excess[order] < 0], lower=True, deadline=deadline
        )
        return (self._search.get_prices() if complete else None), members
