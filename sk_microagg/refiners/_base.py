"""The interface of a refiner."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._utils._base import BaseEstimator
from sk_microagg._utils._seeds import check_seed
from sk_microagg._utils._typing import Floats, Labels, RandomState, SupportsRefine, TableLike
from sk_microagg._utils._validation import check_k, check_partition, check_records
from sk_microagg.privacy import Rules


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

    # Whether `_refine` draws from `random_state`.
    is_random = True

    # The seed that stands for `random_state=None`; None means that random results then differ.
    default_seed: int | None = None

    # Whether `_refine` takes `rules`, and keeps to them.
    keeps_rules = False

    def refine(
        self,
        X: TableLike,
        labels: ArrayLike,
        k: int,
        random_state: RandomState = None,
        rules: Rules | None = None,
    ) -> Labels:
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

        rules : Rules or None, default=None
            Constraints that every group must satisfy, before and after. Not every refiner can keep
            to them: the others raise an error.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        X = check_records(X)
        k = check_k(k, len(X))
        labels = check_partition(labels, k, len(X), "labels")
        if rules:
            check_keeps_rules(self)
            rules.check(labels, "labels")
        return self._run(X, labels, k, random_state, rules)

    def _run(
        self, X: Floats, labels: Labels, k: int, random_state: RandomState, rules: Rules | None
    ) -> Labels:
        """Do what `refine` does, with arguments that have been validated."""
        seed = check_seed(self.default_seed if random_state is None else random_state)
        if not rules:
            return self._refine(X, labels, k, seed)
        return self._refine(X, labels, k, seed, rules)  # type: ignore[call-arg]

    @abstractmethod
    def _refine(
        self, X: Floats, labels: Labels, k: int, random_state: np.random.RandomState
    ) -> Labels:
        """Return the labels of a refined partition; all arguments have been validated."""


def run_refiner(
    refiner: SupportsRefine,
    X: Floats,
    labels: Labels,
    k: int,
    random_state: RandomState = None,
    rules: Rules | None = None,
) -> Labels:
    """Refine a valid partition by any refiner, and check what one that is not ours returns."""
    if isinstance(refiner, Refiner):
        return refiner._run(X, labels, k, random_state, rules)
    options: dict[str, Any] = {"rules": rules} if rules else {}  # not every one has this parameter
    refined = refiner.refine(X, labels, k, random_state=random_state, **options)
    return check_partition(refined, k, len(X), f"refiner={refiner!r} returned labels")


def check_keeps_rules(refiner: object) -> None:
    """Raise an error unless a refiner keeps to constraints beyond k."""
    if not getattr(refiner, "keeps_rules", False):
        raise ValueError(
            f"refiner={refiner!r} does not know constraints beyond k, and would violate them. With "
            "`privacy` or `unit`, use None, 'auto', 'local_search', 'iterated_local_search', "
            "'annealing' or 'recombination'."
        )
