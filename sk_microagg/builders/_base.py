"""The interface of a builder."""

from abc import ABCMeta, abstractmethod

from sklearn.base import BaseEstimator

from sk_microagg._utils._validation import check_k, check_records


class Builder(BaseEstimator, metaclass=ABCMeta):
    """Base class of all builders.

    A builder partitions records into groups of at least `k`. It is deterministic: ties are broken
    in favor of the lowest record index. Subclasses implement `_build`.

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

    def build(self, X, k):
        """Partition records into groups of at least `k` records.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, in the space in which distances are measured.

        k : int
            Minimum group size, from 1 to `n_samples`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        X = check_records(X)
        return self._build(X, check_k(k, len(X)))

    @abstractmethod
    def _build(self, X, k):
        """Return the labels of a partition; all arguments have been validated."""
