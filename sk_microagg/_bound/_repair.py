"""Dual variables that may be too high are lowered until all dual constraints hold."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._bound._settings import SETTINGS, Settings
from sk_microagg._kernels import CutCheck, Pool, RootSearch
from sk_microagg._utils._deadline import NEVER, Deadline
from sk_microagg._utils._typing import Array

# When a deadline is asked: work is the records that queries look at, at worst.
WORK_PER_BLOCK = 1_000_000
WORK_PER_NEIGHBOR = 64

# Measured, and generous.
SECONDS_PER_VALUE = 1e-7


class Repair:
    """Makes duals feasible: no group has a larger sum of duals than its SSE, cuts considered."""

    def __init__(
        self, records: Array, k: int, sums: Array, n_jobs: int | None, settings: Settings = SETTINGS
    ) -> None:
        self._k = k
        self._settings = settings
        self._records = records
        self._sums = sums
        self._n_threads = min(effective_n_jobs(n_jobs), len(records))
        self._searches: list[RootSearch] = []
        self._roots = np.arange(len(records))

    def run(
        self,
        best: Array,
        duals: Array,
        cuts: Any,
        pool: Any,
        deadline: Deadline,
        patience: Deadline = NEVER,
        ranks: bool = True,
    ) -> tuple[Array | None, int]:
        """Lower duals of records where sets violate their constraints, and add these to the pool.

        If `ranks`, a quick look ranks the roots, such that the worst violations are repaired first:
        that leaves duals higher. Then an exact search visits all roots that the look could not
        clear. Otherwise it visits all, those with the largest duals first.
        """
        n = len(self._roots)
        raised = raised_records(best, duals, cuts)
        if not self._prepare(duals, raised, cuts, patience):
            return None, 0
        worst_first, n_new = np.argsort(-duals[:n], kind="stable"), 0
        if ranks:
            least, members, complete = self._rank_roots(patience)
            n_new = pool.add(members[members[:, 0] >= 0], deadline)
            if not complete:
                return None, n_new
            worst_first = np.argsort(least, kind="stable")[: np.count_nonzero(least)]
        members, complete = self._lower(worst_first, patience, deadline)
        n_new += pool.add(members[members[:, 0] >= 0], deadline)
        if not complete:
            return None, n_new
        lowered = self._searches[0].get_duals()
        check = CutCheck(pool.records, self._k, cuts.sets.start, cuts.sets.member)
        limit = self._settings.max_nodes_of_cut
        to_check = np.flatnonzero(cuts.sets.incidence() @ raised.astype(np.float64))
        larger = check.lower(lowered, duals[n:], cuts=to_check, node_limit=limit, deadline=deadline)
        if larger is None:
            return None, n_new
        return np.concatenate([lowered, duals[n:]]), n_new + pool.add_each(larger)

    def price(
        self, best: Any, duals: Any, cuts: Any, roots: Any, tolerance: Any, deadline: Deadline
    ) -> tuple[Array, Array]:
        """Find the sets of roots that violate their constraints most; parameters as in `run`."""
        if not self._prepare(duals, raised_records(best, duals, cuts), cuts, deadline):
            return np.empty((0, self._k), dtype=np.int32), roots[:0]
        limit = self._settings.max_nodes_to_price
        _, members, _ = self._searches[0].sweep(
            roots, tolerance=tolerance, node_limit=limit, deadline=deadline
        )
        found = np.flatnonzero(members[:, 0] >= 0)
        members, first = np.unique(np.sort(members[found], axis=1), axis=0, return_index=True)
        return members, roots[found[first]]

    def _prepare(self, duals, raised, cuts, deadline):
        """Give each thread a search with these duals and cuts; return whether there was time."""
        n = len(self._roots)
        for thread in range(self._n_threads):
            if deadline.seconds_left() < tree_seconds(self._records):
                return False
            if thread == len(self._searches):
                self._searches.append(RootSearch(self._records, self._k, self._sums))
            search = self._searches[thread]
            search.set_duals(duals[:n], -self._settings.root_preference * duals[:n])
            search.set_raised(raised)
            search.set_cuts(cuts.sets.start, cuts.sets.member, duals[n:])
        return True

    def _lower(self, roots, patience, deadline):
        """Lower duals of roots in order; the sets that made it necessary, and if there was time."""
        n_first = int(self._settings.roots_until_patience * len(roots))
        found = []
        for part, end in ((roots[:n_first], patience), (roots[n_first:], deadline)):
            _, members, complete = self._searches[0].sweep(
                part, lower=True, node_limit=self._settings.max_nodes, deadline=end
            )
            found.append(members)
            if not complete:
                break
        return np.concatenate(found), complete

    def _rank_roots(self, deadline):
        """Bounds on the reduced costs of the roots, sets found, and whether there was time."""
        n_threads = len(self._searches)
        shares = [np.arange(first, len(self._roots), n_threads) for first in range(n_threads)]
        limit = self._settings.max_nodes_to_rank
        try:
            found = Parallel(n_jobs=n_threads, require="sharedmem")(
                delayed(search.sweep)(roots, node_limit=limit, deadline=deadline)
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


def raised_records(best: Array, duals: Array, cuts: Any) -> Array:
    """Records of which each violated set holds one, if the best duals are feasible."""
    n = cuts.sets.n_records
    in_lowered_cut = cuts.sets.incidence().T @ (duals[n:] < best[n:]).astype(np.float64) > 0
    return ((duals[:n] > best[:n]) | in_lowered_cut).astype(np.uint8)


def scaled(X: Any) -> tuple[Array, int]:
    """X without constant columns, times a power of two; to subtract would cost digits."""
    span = X.max(axis=0) - X.min(axis=0)
    if not span.any():
        return X[:, :0], 0
    exponent = int(np.frexp(span.max())[1])
    if not span.all():
        X = np.ascontiguousarray(X[:, span > 0])
    return np.ldexp(X, -exponent), exponent


def near_records(X, m, deadline=NEVER):
    """The `m` records nearest to each, itself first, and their squares; fewer if time is short."""
    near, distances = [np.empty((0, m), dtype=np.intp)], [np.empty((0, m))]
    if deadline.seconds_left() > tree_seconds(X):
        pool = Pool(X)
        block = max(WORK_PER_BLOCK // (len(X) + WORK_PER_NEIGHBOR * m), 1)
        for first in range(0, len(X), block):
            if deadline.is_over():
                break
            some = range(first, min(first + block, len(X)))
            near.append(np.array([pool.around(record, m) for record in some]))
            gaps = X[near[-1]] - X[some][:, None]
            distances.append(np.einsum("ijk,ijk->ij", gaps, gaps))
    return np.concatenate(near), np.concatenate(distances)


def tree_seconds(X):
    """About the seconds that a tree of records takes, which has no deadline of its own."""
    return SECONDS_PER_VALUE * X.size


def sum_of_nearest(distances, n):
    """The last of `sums_of_nearest`: a bound on the sum of the n smallest distances of each."""
    known = distances[:, 1 : n + 1]
    return known.sum(axis=1) + (n - known.shape[1]) * distances[:, -1]


def sums_of_nearest(distances: Array, n_sums: int) -> Array:
    """Lower bounds on the sums of the t smallest squared distances of each record, t < `n_sums`."""
    columns = np.minimum(np.arange(n_sums), distances.shape[1] - 1)
    return np.cumsum(distances[:, columns], axis=1)
