"""Groups of exactly k records, taken one after the other."""

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._validation import check_option


class FixedSizeGroups:
    """The groups made so far, and the pool of records that have none yet.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    k : int
        Size of a group.

    growth : {"nn", "nc"}, default="nn"
        How a group grows from its first record. "nn", nearest neighbors: the k - 1 records nearest
        to the first one join it. "nc", nearest to the centroid: one at a time, the record nearest
        to the centroid of the group so far joins.
    """

    def __init__(self, X, k, growth="nn"):
        check_option("growth", growth, ("nn", "nc"))
        self.X = X
        self.k = k
        self.growth = growth
        self.pool = Pool(X)
        self.labels = np.full(len(X), -1, dtype=np.intp)
        self.n_groups = 0

    def grow(self, first):
        """Make a group of k from its first record."""
        if self.growth == "nn":
            self.take(self.pool.around(first, self.k))
        else:
            self._number(self._follow_centroid(first))

    def take(self, members):
        """Make these records a group."""
        self.pool.remove(members)
        self._number(members)

    def finish(self):
        """Give each record left over to the group with the nearest centroid; return all labels."""
        left_over = np.flatnonzero(self.labels < 0)
        if len(left_over):
            grouped = np.flatnonzero(self.labels >= 0)
            centroids = group_means(self.X[grouped], self.labels[grouped])
            self.labels[left_over] = Pool(centroids).nearest_each(self.X[left_over])
        return self.labels

    def _follow_centroid(self, first):
        """Take k records out of the pool, each nearest to the centroid of those before it."""
        members = np.array([first])
        total = np.zeros(self.X.shape[1])
        while True:
            self.pool.remove(members[-1:])
            total += self.X[members[-1]]
            if len(members) == self.k:
                return members
            members = np.append(members, self.pool.nearest(total / len(members), 1))

    def _number(self, members):
        self.labels[members] = self.n_groups
        self.n_groups += 1
