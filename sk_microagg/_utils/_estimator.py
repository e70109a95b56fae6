"""What estimators of the package have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from hashlib import sha256
from importlib.metadata import version
from math import isclose
from typing import Any, Self
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator as _BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._typing import Array

DOCUMENTATION = "https://sk-microagg.readthedocs.io/en/stable"

# Where autosummary puts the page of a class, by the public name of the class.
PAGE = f"{DOCUMENTATION}/generated/{{estimator_module}}.{{estimator_name}}.html"


# Attributes that tell where records may lie, or that only the search for their cells needs.
CELLS = (
    "_cells",
    "_space",
    "_encoder",
    "_hidden",
    "_strata",
    "_training_digest",
    "scaler_",
    "weights_",
)

__version__ = version("sk-microagg")

# The errors of the same records differ by less, relatively.
ROUNDING = 1e-6


class BaseEstimator(_BaseEstimator):
    """scikit-learn's base class, whose HTML representation links to our documentation.

    The link leads to the page of the class in the public package that it is defined in. A class of
    the user has none, since `_doc_link_module` is not where it is defined.
    """

    _doc_link_module = "sk_microagg"
    _doc_link_template = PAGE


class ReleaseOnlyMixin:
    """Mixin for estimators whose fitted models have cells, which copies may go without."""

    def release_only(self) -> Self:
        """Return a copy of the fitted model that holds the release, but no cells.

        Cells are where records of a group may lie. In few coarse columns, these are few points,
        and with the centroid they often determine all records of the group:
        :func:`~sk_microagg.metrics.cell_enumeration` measures how often. Share the copy, or just
        the release.

        Returns
        -------
        stripped : same type as the estimator
            A copy without weights, cuts between blocks, scaled centroids and statistics of the
            columns. It has labels, centroids, sizes of the groups and losses; what needs
            cells, such as `transform` and `score`, raises a `NotFittedError`.

        Examples
        --------
        >>> from sk_microagg import MicroAggregator
        >>> stripped = MicroAggregator(k=2).fit([[30], [32], [60], [63]]).release_only()
        >>> stripped.centroids_
        array([[31. ],
               [61.5]])
        """
        check_is_fitted(self)
        stripped = copy(self)
        for name in CELLS:
            vars(stripped).pop(name, None)
        return stripped


def has_cells(estimator: Any) -> bool:
    """Whether a fitted model has cells, and not only a release."""
    return hasattr(estimator, "_cells")


def check_has_cells(estimator: Any) -> None:
    """Raise an error if a fitted model has no cells."""
    if not has_cells(estimator):
        raise NotFittedError(
            f"This {type(estimator).__name__} holds only its release, as release_only returned it: "
            "it has no cells, which this needs. Use the model that was fitted."
        )


@contextmanager
def complete_model(model: object) -> Iterator[None]:
    """Raise a clear error if a fitted model lacks a part, as one from another version may.

    That is the case if an attribute is missing from the model or another object of the package.
    `fit` records the version in `_sk_microagg_version`.
    """
    try:
        yield
    except AttributeError as error:
        owner = type(error.obj)
        if owner.__module__.partition(".")[0] != "sk_microagg":
            raise
        fitted_with = getattr(model, "_sk_microagg_version", "of an unknown version")
        raise ValueError(
            f"This {type(model).__name__} is incomplete, since its {owner.__name__} has no "
            f"{error.name!r}: it was fitted with sk_microagg {fitted_with}, and this is "
            f"{__version__}. Fit it again with this version."
        ) from error


def digest(records: Array) -> str:
    """Return a fingerprint of a whole table, by which to recognize it.

    With it, guesses at the table can be tested, so it must not leave the process: see
    `TrainingDigestMixin`.
    """
    fingerprint = sha256(str(records.shape).encode())
    fingerprint.update(np.ascontiguousarray(records, dtype=np.float64).data)
    return fingerprint.hexdigest()[:8]


class TrainingDigestMixin:
    """Mixin for estimators with a digest of their training data, which copies do not contain.

    Models are pickled to be distributed, and the digest would confirm a correct guess at the data.
    """

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_training_digest" in state:
            state["_training_digest"] = None
        return state


def warn_if_training_data(records: Array, training_digest: str | None) -> None:
    """Warn if the records have the given digest; None means no digest."""
    if training_digest is not None and digest(records) == training_digest:
        warn(
            "transform was given the training data, but it maps some records to centroids of other "
            "groups than their own: the result need not be k-anonymous. The release is what "
            "fit_transform returns.",
            stacklevel=4,  # scikit-learn wraps transform
        )


def check_is_training_data(estimator: Any, sse: float, total: float) -> None:
    """Raise unless records lose what the estimator lost, given their errors in its groups."""
    pairs = (sse, estimator.sse_), (loss_share(sse, total), estimator.information_loss_)
    if not all(isclose(*pair, rel_tol=ROUNDING, abs_tol=1e-12 * total) for pair in pairs):
        raise ValueError(
            "X must be what the estimator was fitted on: its groups lose something else in this "
            "table, so that a bound would say nothing about them."
        )
