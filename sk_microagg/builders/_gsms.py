"""Successive group selection."""

from collections import defaultdict

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg.builders._base import Builder
from sk_microagg.builders._fixed_size import FixedSizeGroups


class GSMS(Builder):
    """Successive group selection by least squared error (GSMS) [1]_: the best group comes first.

    Every remaining record proposes a group: itself and the k - 1 remaining records nearest to it. The
    proposal p is taken that makes SSE(p) + SSE(all others) least; proposals that lost a record are
    made anew.

    Notes
    -----
    With c the centroid of all m remaining records and c_p that of a proposal,
    SSE(p) + SSE(others) = SSE(all) - k m / (m - k) · |c_p - c|². So the proposal to take is the one
    whose centroid is farthest from c, and a pool of centroids finds it. Memory grows with n·k, not n².

    References
    ----------
    .. [1] C. Panagiotakis, G. Tziritas (2013). Successive group selection for microaggregation. IEEE
       Transactions on Knowledge and Data Engineering 25, 1191–1195.

    Examples
    --------
    >>> from sk_microagg.builders import GSMS
    >>> GSMS().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([1, 1, 0, 0, 1])
    """

    def _build(self, X, k):
        groups = FixedSizeGroups(X, k)
        pool = groups.pool
        proposals = np.array([pool.around(record, k) for record in range(len(X))])
        centroids = X[proposals].mean(axis=1)
        candidates = Pool(centroids)
        proposed_by = [[] for _ in range(len(X))]
        for record, members in enumerate(proposals.tolist()):
            for member in members:
                proposed_by[member].append(record)

        while pool.size >= k:
            taken = proposals[candidates.farthest(pool.centroid())].copy()
            groups.take(taken)
            candidates.remove(taken)
            if pool.size < k:
                break
            losers = set().union(*(proposed_by[member] for member in taken))
            for record in losers:
                if record in pool:
                    new = pool.around(record, k)
                    for member in set(new.tolist()).difference(proposals[record].tolist()):
                        proposed_by[member].append(record)
                    proposals[record] = new
                    centroids[record] = X[new].mean(axis=0)
                    candidates.refresh(record)
        return groups.finish()
