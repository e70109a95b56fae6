"""The interface of a builder, and what builders share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Literal, TypeAlias

import numpy as np

from sk_microagg._utils._coded_points import nearest_each, pool_for_groups
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._estimator import BaseEstimator
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._typing import Floats, Labels, TableLike
from sk_microagg._utils._validation import check_k, check_option, check_records
from sk_microagg.builders._merging import merge_until_met
from sk_microagg.privacy import Rules

# How a group grows from its first record.
Growth: TypeAlias = Literal["nn", "nc"]


class Builder(BaseEstimator, metaclass=ABCMeta):
    """Base class of all builders.

    A builder partitions records into groups of at least `k`. It is deterministic: ties are broken
    in favor of the lowest record index. Subclasses implement `_build(X, k)`, or
    `_build(X, k, rules)` if the class attribute `keeps_rules` is True.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.builders import Builder
    >>> class InRowOrder(Builder):
    ...     def _build(self, X, k):
    ...         return np.minimum(np.arange(len(X)) // k, len(X) // k - 1)
    >>> InRowOrder().build([[1.0], [2.0], [3.0], [4.0], [5.0]], k=2)
    array([0, 0, 1, 1, 1])
    """

    # Whether `_build` takes the constraints into account. If not, it builds for k alone.
    keeps_rules = False

    # Whether it takes categories of many values as codes, or else as an array.
    takes_codes = False

    def build(self, X: TableLike, k: int, rules: Rules | None = None) -> Labels:
        """Partition records into groups of at least `k` records.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, in the space in which distances are measured.

        k : int
            Minimum group size, from 1 to `n_samples`.

        rules : Rules or None, default=None
            What each group must satisfy beyond its size. Groups that violate a rule are merged
            with the nearest ones: the group farthest from satisfying the rules first, always with
            the group that has the nearest centroid.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        X = check_records(X)
        return self._run(X, check_k(k, len(X)), rules)

    def _run(self, X: Floats, k: int, rules: Rules | None = None) -> Labels:
        """Do what `build` does, with arguments that have been validated."""
        labels = self._build(X, k, rules) if self.keeps_rules else self._build(X, k)  # type: ignore[call-arg]
        return merge_until_met(X, labels, rules)

    @abstractmethod
    def _build(self, X: Floats, k: int) -> Labels:
        """Return the labels of a partition; all arguments have been validated."""


class FixedSizeGroups:
    """The groups formed so far, and the pool of the remaining records."""

    def __init__(self, X: Floats, k: int, growth: Growth = "nn") -> None:
        check_option("growth", growth, ("nn", "nc"))
        self.X = X
        self.k = k
        self.growth = growth
        self.pool = pool_for_groups(X)
        self.labels = np.full(len(X), -1, dtype=np.intp)
        self.n_groups = 0

    def grow(self, first: int) -> None:
        """Form a group of k around its first record."""
        self._label(self.pool.take_group(first, self.k, growth=self.growth)[None])

    def grow_opposite(self, least: int, deadline: Deadline | None) -> None:
        """Form pairs of groups at opposite ends while the pool has `least` records or more."""
        self._label(
            self.pool.take_opposite_groups(self.k, least, growth=self.growth, deadline=deadline)
        )

    def take(self, members: Labels) -> None:
        """Form a group of these records."""
        self.pool.remove(members)
        self._label(members[None])

    def finish(self) -> Labels:
        """Assign each leftover record to the group with the nearest centroid; return the labels."""
        leftover = np.flatnonzero(self.labels < 0)
        if len(leftover):
            grouped = np.flatnonzero(self.labels >= 0)
            centroids = group_means(self.X[grouped], self.labels[grouped])
            self.labels[leftover] = nearest_each(centroids, self.X[leftover])
        return self.labels

    def _label(self, groups: Labels) -> None:
        self.labels[groups] = self.n_groups + np.arange(len(groups))[:, None]
        self.n_groups += len(groups)
