"""Successive group selection."""

from collections import deque

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg.builders._base import Builder
from sk_microagg.builders._fixed_size import FixedSizeGroups


class GSMS(Builder):
    """Successive group selection by least squared error (GSMS) [1]_: the best group comes first.

    Every remaining record proposes a group: itself and the k - 1 remaining records nearest to it.
    The proposal p is taken that makes SSE(p) + SSE(all others) least; proposals that lost a record
    are made anew.

    Notes
    -----
    With c the centroid of all m remaining records and c_p that of a proposal,
    ``SSE(p) + SSE(others) = SSE(all) - k m / (m - k) · |c_p - c|²``. So the proposal to take is the
    one whose centroid is farthest from c, and a pool of centroids finds it. Memory grows with n k:
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

    def _build(self, X, k):
        groups = FixedSizeGroups(X, k)
        pool = groups.pool
        proposals = _Proposals(X, k, pool)
        while pool.size >= k:
            members = proposals.best()
            groups.take(members)
            proposals.renew(members)
        return groups.finish()


class _Proposals:
    """The groups that the records of a pool propose.

    Equal records propose alike, so there is one proposal for all of them, kept under the index of
    the first: it is the group around the first of them that is still in the pool.
    """

    def __init__(self, X, k, pool):
        self.X = X
        self.k = k
        self.pool = pool
        _, first, number = np.unique(X, axis=0, return_index=True, return_inverse=True)
        self.equals = {i: deque() for i in first.tolist()}
        for record, i in enumerate(first[number.reshape(-1)].tolist()):
            self.equals[i].append(record)
        self.groups = np.empty((len(X), k), dtype=np.intp)
        self.centroids = X.copy()
        self.naming = [set() for _ in X]  # for each record, the proposals that it is in
        for i in self.equals:
            self._propose(i)
        self.candidates = Pool(self.centroids)
        self.candidates.remove(np.setdiff1d(np.arange(len(X)), first))

    def best(self):
        """Group whose centroid is farthest from the centroid of the pool."""
        return self.groups[self.candidates.farthest(self.pool.centroid())].copy()

    def renew(self, taken):
        """Make those proposals anew that lose a record which has been taken."""
        if self.pool.size < self.k:
            return
        for i in sorted(set().union(*(self.naming[record] for record in taken))):
            for record in self.groups[i].tolist():
                self.naming[record].remove(i)
            if self._propose(i):
                self.candidates.refresh(i)
            else:
                self.candidates.remove(np.array([i]))

    def _propose(self, i):
        """Propose a group for the records equal to i; False if none of them is left."""
        equals = self.equals[i]
        while equals and equals[0] not in self.pool:
            equals.popleft()
        if not equals:
            return False
        self.groups[i] = self.pool.around(equals[0], self.k)
        self.centroids[i] = self.X[self.groups[i]].mean(axis=0)
        for record in self.groups[i].tolist():
            self.naming[record].add(i)
        return True
