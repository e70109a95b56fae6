"""The interface of a builder."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from sk_microagg._utils._base import BaseEstimator
from sk_microagg._utils._typing import Floats, Labels, TableLike
from sk_microagg._utils._validation import check_k, check_records
from sk_microagg.builders._merge import merge_until_met
from sk_microagg.privacy import Rules


class Builder(BaseEstimator, metaclass=ABCMeta):
    """Base class of all builders.

    A builder partitions records into groups of at least `k`. It is deterministic: ties are broken
    in favor of the lowest record index. Subclasses implement `_build(X, k)`, or
    `_build(X, k, rules)` if the class attribute `knows_rules` is True.

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
    knows_rules = False

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
        labels = self._build(X, k, rules) if self.knows_rules else self._build(X, k)  # type: ignore[call-arg]
        return merge_until_met(X, labels, rules)

    @abstractmethod
    def _build(self, X: Floats, k: int) -> Labels:
        """Return the labels of a partition; all arguments have been validated."""
