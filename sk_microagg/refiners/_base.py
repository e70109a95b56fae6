"""The interface of a refiner."""

from abc import ABCMeta, abstractmethod

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from sk_microagg._utils._validation import check_k, check_partition, check_records


class Refiner(BaseEstimator, metaclass=ABCMeta):
    """Base class of all refiners.

    A refiner takes any partition into groups of at least `k` records, and returns one whose
    information loss is no larger. Subclasses implement `_refine`.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.refiners import Refiner
    >>> class MergeAll(Refiner):
    ...     def _refine(self, X, labels, k, random_state):
    ...         return np.zeros_like(labels)
    >>> MergeAll().refine([[1.0], [1.0], [1.0], [1.0]], [0, 1, 0, 1], k=2)
    array([0, 0, 0, 0])
    """

    # The seed that stands for `random_state=None`; None means that results then differ.
    default_seed = None

    def refine(self, X, labels, k, random_state=None):
        """Refine a partition into groups of at least `k` records.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, in the space in which distances are measured.

        labels : array-like of shape (n_samples,)
            Group of each record; any integers.

        k : int
            Minimum group size, from 1 to `n_samples`.

        random_state : int, RandomState instance or None, default=None
            Source of randomness of the refiners that use any. Pass an int for reproducible
            results.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        X = check_records(X)
        k = check_k(k, len(X))
        labels = check_partition(labels, k, len(X), "labels")
        if random_state is None:
            random_state = self.default_seed
        return self._refine(X, labels, k, check_random_state(random_state))

    @abstractmethod
    def _refine(self, X, labels, k, random_state):
        """Return the labels of a refined partition; all arguments have been validated."""
