"""Prices that may be too high are lowered until no group pays more than its SSE."""

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._bound._settings import SETTINGS
from sk_microagg._kernels import CutCheck, RootSearch


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

    n_jobs : int or None
        Number of threads that look for such sets. The result does not depend on it.

    settings : Settings
        How roots are chosen, and how long one is searched.
    """

    def __init__(self, records, k, sums, n_jobs, settings=SETTINGS):
        self._k = k
        self._settings = settings
        n_threads = min(effective_n_jobs(n_jobs), len(records))
        self._searches = [RootSearch(records, k, sums) for _ in range(n_threads)]
        self._roots = np.arange(len(records))

    def run(self, prices, cuts, columns, deadline, at_once=False):
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

        at_once : bool, default=False
            Whether to lower prices while looking for such sets. It takes half of the time; but to
            look first, and to lower those prices first that are most too high, costs less of them.

        Returns
        -------
        prices : ndarray of shape (n_records + n_cuts,) or None
            Prices with which no group pays too much; None if the time was too short.

        n_new : int
            Number of sets that are new in the pool.
        """
        n = len(self._roots)
        search = self._searches[0]
        for one in self._searches:
            one.set_prices(prices[:n], -self._settings.root_preference * prices[:n])
            one.set_cuts(cuts.sets.start, cuts.sets.member, prices[n:])
        if at_once:
            _, members, complete = search.sweep(
                self._roots, lower=True, node_limit=self._settings.max_nodes, deadline=deadline
            )
        else:
            excess, members, complete = self._look(deadline)
        n_new = columns.add(members[members[:, 0] >= 0])
        if complete and not at_once:
            worst_first = np.argsort(excess)[: np.count_nonzero(excess)]
            _, _, complete = search.sweep(
                worst_first, lower=True, node_limit=self._settings.max_nodes, deadline=deadline
            )
        if not complete:
            return None, n_new
        lowered = search.get_prices()
        check = CutCheck(columns.records, self._k, cuts.sets.start, cuts.sets.member)
        larger = check.lower(lowered, prices[n:], deadline=deadline)
        if larger is None:
            return None, n_new
        return np.concatenate([lowered, prices[n:]]), n_new + columns.add_each(larger)

    def _look(self, deadline):
        """Look at all roots, in threads: their excess, their sets, and whether there was time."""
        n_threads = len(self._searches)
        shares = [np.arange(first, len(self._roots), n_threads) for first in range(n_threads)]
        try:
            looks = Parallel(n_jobs=n_threads, require="sharedmem")(
                delayed(search.sweep)(roots, node_limit=self._settings.max_nodes, deadline=deadline)
                for search, roots in zip(self._searches, shares, strict=True)
            )
        finally:
            # After Ctrl-C, which only the first thread hears of, the others would go on.
            for search in self._searches:
                search.stop()
        excess = np.empty(len(self._roots))
        members = np.empty((len(self._roots), self._k), dtype=np.int32)
        for roots, (values, sets, _) in zip(shares, looks, strict=True):
            excess[roots], members[roots] = values, sets
        return excess, members, all(complete for _, _, complete in looks)
