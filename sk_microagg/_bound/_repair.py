"""Prices that may be too high are lowered until no group pays more than its SSE."""

import numpy as np

from sk_microagg._kernels import RootSearch

# Share of its price by which a record is preferred as the root of a set.
PREFERENCE = 0.5


class Repair:
    """Makes prices valid.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Smallest size of a group.

    sums : ndarray of shape (n_records, k - 1)
        At most the sums of the 0, 1, 2, ... smallest squared distances from each record.
    """

    def __init__(self, records, k, sums):
        self._search = RootSearch(records, k, sums)
        self._roots = np.arange(len(records))

    def run(self, prices, cuts, columns, deadline):
        """Lower prices of records where sets pay too much, and take these sets into the pool.

        Parameters
        ----------
        prices : ndarray of shape (n_records + n_cuts,)
            Prices of the records and of the cuts.

        cuts : Cuts
            The cuts.

        columns : Columns
            The pool.

        deadline : float
            When to give up, as `time.monotonic()` tells it.

        Returns
        -------
        prices : ndarray of shape (n_records + n_cuts,) or None
            Prices with which no group pays too much; None if the time was too short.

        n_new : int
            Number of sets that are new in the pool.
        """
        n = len(self._roots)
        self._search.set_prices(prices[:n], -PREFERENCE * prices[:n])
        self._search.set_cuts(cuts.sets.start, cuts.sets.member, prices[n:])
        excess, members, complete = self._search.sweep(self._roots, deadline=deadline)
        n_new = columns.add(members[members[:, 0] >= 0])
        if complete:
            worst_first = np.argsort(excess)[: np.count_nonzero(excess)]
            _, _, complete = self._search.sweep(worst_first, lower=True, deadline=deadline)
        if not complete:
            return None, n_new
        repaired = np.concatenate([self._search.get_prices(), prices[n:]])
        return repaired, n_new + repair_larger(repaired, cuts, columns)


def repair_larger(prices, cuts, columns):
    """Lower prices in place where more than k records within a cut pay too much.

    Returns
    -------
    n_new : int
        Number of such sets that are new in the pool.
    """
    n_new = 0
    if len(cuts) == 0:
        return n_new
    excess = cuts.larger.excess(prices, cuts)
    around = cuts.around(cuts.larger)
    for number in np.flatnonzero(excess > 0):
        members = cuts.larger.members_of(number)
        n_new += columns.add(members[None])
        paid = prices[members].sum() - (around[[number]] @ prices[columns.n_records :])[0]
        if paid > cuts.larger.cost[number]:
            prices[members[np.argmax(prices[members])]] -= paid - cuts.larger.cost[number]
    return n_new
