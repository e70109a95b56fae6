"""What a fitted estimator made of a table: points, and columns before and after."""

from typing import Any

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._points import routing_of
from sk_microagg._model._release import release_of
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._scaling import scale
from sk_microagg._utils._typing import Array, Floats
from sk_microagg._utils._validation import check_records
from sk_microagg.encoding._frames import Frame
from sk_microagg.privacy._codes import codes_of


def points_of(estimator: Any, X: Any) -> Floats:
    """The records as points, in the space in which the estimator compared them."""
    if isinstance(estimator, TableAggregator):
        # Of very many coordinates, those that divide the records into blocks.
        return routing_of(estimator._points(Frame(X, estimator).table))
    if isinstance(estimator, MicroAggregator):
        return estimator._space.points(check_records(X, allow_missing=True))
    return scale(estimator.scaler_, check_records(X))


def before_and_after(estimator: Any, X: Any) -> tuple[Any, Any, list[str] | None]:
    """The columns that a fitted estimator anonymized, the release of these, and their names.

    The names are None if they are those of the first table.
    """
    if not isinstance(estimator, TableAggregator):
        names = None if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None)
        return X, release_of(estimator.centroids_, estimator.labels_), names
    if estimator.categories == "shares":
        raise ValueError(
            "categories='shares' of the estimator must be 'mode' or 'generalize' for columns to be "
            "compared: it releases several columns for each of categories."
        )
    names = list(estimator.kinds_)
    table = Frame(X, estimator).table[names]
    names = [f"x{name}" if isinstance(name, int) else str(name) for name in names]
    return table, estimator.centroids_.iloc[estimator.labels_], names


def units_of(estimator: Any, X: Any) -> Array | None:
    """Who each record belongs to, numbered from 0; None if the estimator has no unit in its table."""
    unit = estimator._table_roles.unit if isinstance(estimator, TableAggregator) else None
    return None if unit is None else codes_of(Frame(X, estimator).table[unit])[0]


def categorical_columns(estimator: Any) -> set[int]:
    """Numbers of the columns that an estimator treated as categories, whatever their type."""
    kinds = getattr(estimator, "kinds_", {})
    return {number for number, kind in enumerate(kinds.values()) if kind not in ("number", "date")}
