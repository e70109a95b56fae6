"""Groups of k records, formed one after the other."""

from typing import Literal, TypeAlias

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_option

# How a group grows from its first record.
Growth: TypeAlias = Literal["nn", "nc"]


class FixedSizeGroups:
    """The groups formed so far, and the pool of the remaining records."""

    def __init__(self, X: Floats, k: int, growth: Growth = "nn") -> None:
        check_option("growth", growth, ("nn", "nc"))
        self.X = X
        self.k = k
        self.growth = growth
        self.pool = Pool(X)
        self.labels = np.full(len(X), -1, dtype=np.intp)
        self.n_groups = 0

    def grow(self, first: int) -> None:
        """Form a group of k around its first record."""
        if self.growth == "nn":
            self.take(self.pool.around(first, self.k))
        else:
            self._label(self._follow_centroid(first))

    def take(self, members: Labels) -> None:
        """Form a group of these records."""
        self.pool.remove(members)
        self._label(members)

    def finish(self) -> Labels:
        """Assign each leftover record to the group with the nearest centroid; return the labels."""
        leftover = np.flatnonzero(self.labels < 0)
        if len(leftover):
            grouped = np.flatnonzero(self.labels >= 0)
            centroids = group_means(self.X[grouped], self.labels[grouped])
            self.labels[leftover] = Pool(centroids).nearest_each(self.X[leftover])
        return self.labels

    def _follow_centroid(self, first: int) -> Labels:
        """Take k records from the pool, each nearest to the centroid of those before it."""
        members = np.array([first])
        total = np.zeros(self.X.shape[1])
        while True:
            self.pool.remove(members[-1:])
            total += self.X[members[-1]]
            if len(members) == self.k:
                return members
            members = np.append(members, self.pool.nearest(total / len(members), 1))

    def _label(self, members: Labels) -> None:
        self.labels[members] = self.n_groups
        self.n_groups += 1
