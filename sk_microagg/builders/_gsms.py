"""Successive group selection."""

from collections import deque

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import Builder, FixedSizeGroups


class GSMS(Builder):
    """Successive group selection by least squared error (GSMS) [1]_: the best group first.

    Each remaining record proposes a group: itself and the k - 1 remaining records nearest to it.
    The proposal p that minimizes SSE(p) + SSE(all other remaining records) becomes a group, and
    proposals that lost a record are renewed. The last records, fewer than k, each join the group
    with the nearest centroid.

    See Also
    --------
    MDAV : Groups at opposite ends, much faster.

    Notes
    -----
    Let c be the centroid of all m remaining records and c_p that of a proposal. Then
    ``SSE(p) + SSE(others) = SSE(all) - k m / (m - k) · |c_p - c|²``, so the best proposal is that
    with the centroid farthest from c; a pool of centroids finds it. Memory is proportional to n k:
    about 100 bytes for each record of each proposal.

    References
    ----------
    .. [1] C. Panagiotakis, G. Tziritas (2013). Successive group selection for microaggregation.
       IEEE Transactions on Knowledge and Data Engineering 25, 1191–1195.

    Examples
    --------
    >>> from sk_microagg.builders import GSMS
    >>> GSMS().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([1, 1, 0, 0, 1])
    """

    def _build(self, X: Floats, k: int) -> Labels:
        groups = FixedSizeGroups(X, k)
        pool = groups.pool
        proposals = _Proposals(X, k, pool)
        while pool.size >= k:
            members = proposals.best()
            groups.take(members)
            proposals.renew(members)
        return groups.finish()


class _Proposals:
    """The groups proposed by the records of a pool.

    Identical records share one proposal, stored at the index of the first: the group around the
    first of them that is still in the pool.
    """

    def __init__(self, X: Floats, k: int, pool: Pool) -> None:
        self.X = X
        self.k = k
        self.pool = pool
        _, first, number = np.unique(X, axis=0, return_index=True, return_inverse=True)
        self.duplicates: dict[int, deque[int]] = {i: deque() for i in first.tolist()}
        for record, i in enumerate(first[number.reshape(-1)].tolist()):
            self.duplicates[i].append(record)
        self.groups = np.empty((len(X), k), dtype=np.intp)
        self.centroids = X.copy()
        self.proposals_with: list[set[int]] = [
            set() for _ in X
        ]  # for each record, the proposals that contain it
        for i in self.duplicates:
            self._propose(i)
        self.candidates = Pool(self.centroids)
        self.candidates.remove(np.setdiff1d(np.arange(len(X)), first))

    def best(self) -> Labels:
        """Return the group whose centroid is farthest from the centroid of the pool."""
        return self.groups[self.candidates.farthest(self.pool.centroid())].copy()

    def renew(self, taken: Labels) -> None:
        """Renew the proposals that contain a record that has been taken."""
        if self.pool.size < self.k:
            return
        for i in sorted(set().union(*(self.proposals_with[record] for record in taken))):
            for record in self.groups[i].tolist():
                self.proposals_with[record].remove(i)
            if self._propose(i):
                self.candidates.refresh(i)
            else:
                self.candidates.remove(np.array([i]))

    def _propose(self, i: int) -> bool:
        """Propose a group for the records identical to i; False if none of them is left."""
        duplicates = self.duplicates[i]
        while duplicates and duplicates[0] not in self.pool:
            duplicates.popleft()
        if not duplicates:
            return False
        self.groups[i] = self.pool.around(duplicates[0], self.k)
        self.centroids[i] = self.X[self.groups[i]].mean(axis=0)
        for record in self.groups[i].tolist():
            self.proposals_with[record].add(i)
        return True
