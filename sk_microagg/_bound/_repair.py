"""Dual variables that may be too high are lowered until all dual constraints hold."""

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._bound._settings import SETTINGS
from sk_microagg._kernels import CutCheck, RootSearch


class Repair:
    """Makes duals feasible: no group has a larger sum of duals than its SSE, cuts considered.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Smallest size of a group.

    sums : ndarray of shape (n_records, k - 1)
        Lower bounds on the sums of the 0, 1, 2, ... smallest squared distances from each record.

    n_jobs : int or None
        Number of threads. The result does not depend on it.

    settings : Settings
        Which members become roots, and how long one is searched.
    """

    def __init__(self, records, k, sums, n_jobs, settings=SETTINGS):
        self._k = k
        self._settings = settings
        n_threads = min(effective_n_jobs(n_jobs), len(records))
        self._searches = [RootSearch(records, k, sums) for _ in range(n_threads)]
        self._roots = np.arange(len(records))

    def run(self, duals, cuts, pool, deadline, at_once=False):
        """Lower duals of records where sets violate their constraints, and add these to the pool.

        Parameters
        ----------
        duals : ndarray of shape (n_records + n_cuts,)
            Duals of the records and of the cuts.

        cuts : Cuts
            The cuts.

        pool : ColumnPool
            The pool.

        deadline : Deadline
            Value of `time.monotonic()` at which to give up.

        at_once : bool, default=False
            Whether to lower duals during the search for such sets. That takes half the time. But
            a search before, after which the worst violations are repaired first, leaves duals
            higher.

        Returns
        -------
        duals : ndarray of shape (n_records + n_cuts,) or None
            Feasible duals; None if the deadline came first.

        n_new : int
            Number of sets that were added to the pool.
        """
        n = len(self._roots)
        search = self._searches[0]
        for one in self._searches:
            one.set_duals(duals[:n], -self._settings.root_preference * duals[:n])
            one.set_cuts(cuts.sets.start, cuts.sets.member, duals[n:])
        if at_once:
            _, members, complete = search.sweep(
                self._roots, lower=True, node_limit=self._settings.max_nodes, deadline=deadline
            )
        else:
            least, members, complete = self._search_all_roots(deadline)
        n_new = pool.add(members[members[:, 0] >= 0])
        if complete and not at_once:
            worst_first = np.argsort(least)[: np.count_nonzero(least)]
            _, _, complete = search.sweep(
                worst_first, lower=True, node_limit=self._settings.max_nodes, deadline=deadline
            )
        if not complete:
            return None, n_new
        lowered = search.get_duals()
        check = CutCheck(pool.records, self._k, cuts.sets.start, cuts.sets.member)
        larger = check.lower(lowered, duals[n:], deadline=deadline)
        if larger is None:
            return None, n_new
        return np.concatenate([lowered, duals[n:]]), n_new + pool.add_each(larger)

    def _search_all_roots(self, deadline):
        """Search all roots: their least reduced costs, the sets, and whether there was time."""
        n_threads = len(self._searches)
        shares = [np.arange(first, len(self._roots), n_threads) for first in range(n_threads)]
        try:
            found = Parallel(n_jobs=n_threads, require="sharedmem")(
                delayed(search.sweep)(roots, node_limit=self._settings.max_nodes, deadline=deadline)
                for search, roots in zip(self._searches, shares, strict=True)
            )
        finally:
            # Only the main thread is interrupted by Ctrl-C: the others have to be stopped.
            for search in self._searches:
                search.stop()
        least = np.empty(len(self._roots))
        members = np.empty((len(self._roots), self._k), dtype=np.int32)
        for roots, (values, sets, _) in zip(shares, found, strict=True):
            least[roots], members[roots] = values, sets
        return least, members, all(complete for _, _, complete in found)
