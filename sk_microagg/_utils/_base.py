"""What estimators of the package have in common."""

from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator as _BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

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
