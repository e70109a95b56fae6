"""The space in which the records of a table are compared, by the parameters of an estimator."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sk_microagg._model._points import SparsePoints
from sk_microagg._table_roles import as_names, check_decimals, check_one_role
from sk_microagg._utils._target_scaler import target_weights
from sk_microagg._utils._targets import check_target
from sk_microagg._utils._typing import Array, DataFrame, TableLike
from sk_microagg._utils._validation import check_dict, check_number
from sk_microagg.generalization._mixed_table import read_hierarchy
from sk_microagg.tables import Hierarchy, TableEncoder
from sk_microagg.tables._dates import UNITS_OF_DATES
from sk_microagg.tables._hierarchy import TreeHierarchy

# Beyond this, rounding would hide all other columns.
LARGEST_WEIGHT = 1e12


def make_encoder(
    estimator: Any, records: DataFrame, k: int, y: TableLike | None, units: Array | None = None
) -> TableEncoder:
    names = list(records.columns)
    kinds, orders, hierarchies = check_kinds(estimator, names)
    options = {
        "units": units,
        "kinds": kinds,
        "orders": orders,
        "hierarchies": hierarchies,
        "decimals": check_decimals(estimator.decimals, names, UNITS_OF_DATES),
        "shares": estimator.categories == "shares",
    }
    if uses_target(estimator):
        weights = _weights_by_target(TableEncoder(records, k, **options), records, y)
    else:
        weights = check_weights(estimator.column_weights, names)
    return TableEncoder(records, k, weights=weights, **options)


def uses_target(estimator: Any) -> bool:
    """Whether columns are weighted by how well they predict the target."""
    weights = estimator.column_weights
    return isinstance(weights, str) and weights == "target"


def check_kinds(
    estimator: Any, names: list[Any]
) -> tuple[dict[Any, str], dict[Any, Any], dict[Any, Hierarchy]]:
    """Return kinds, orders and hierarchies of columns, from the parameters of an estimator."""
    categorical, ordinal = estimator.categorical, estimator.ordinal
    kinds = {}
    if not (isinstance(categorical, str) and categorical == "from_dtype"):
        kinds = dict.fromkeys(as_names(categorical, "categorical", names), "category")
    has_orders = isinstance(ordinal, dict)
    orders = ordinal if has_orders else {}
    ordinal = as_names(list(orders) if has_orders else ordinal, "ordinal", names)
    check_one_role({"categorical": kinds, "ordinal": ordinal})
    for name, order in orders.items():
        if isinstance(order, str) or not isinstance(order, Iterable):
            raise TypeError(
                f"ordinal[{name!r}]={order!r} must be a list of all values, lowest first, got "
                f"{type(order).__name__}."
            )
    hierarchies = _read_hierarchies(estimator.hierarchies, names)
    check_one_role({"hierarchies": hierarchies, "ordinal": ordinal})
    return kinds | dict.fromkeys(ordinal, "ordinal"), orders, hierarchies


def _read_hierarchies(hierarchies: Any, names: list[Any]) -> dict[Any, Hierarchy]:
    hierarchies = check_dict("hierarchies", hierarchies, "hierarchies")
    as_names(list(hierarchies), "hierarchies", names)
    read = {name: read_hierarchy(name, tree) for name, tree in hierarchies.items()}
    for name, tree in read.items():
        if not isinstance(tree, TreeHierarchy):
            raise TypeError(
                f"hierarchies[{name!r}]={tree!r} must be a tree whose leaves are given: numbers "
                "without one are averaged."
            )
    return read


def _weights_by_target(
    encoder: TableEncoder, records: DataFrame, y: TableLike | None
) -> dict[Any, float]:
    y = check_target(y, len(records), "column_weights='target'")
    points = encoder.points(records)
    matrix = points.matrix if isinstance(points, SparsePoints) else points
    column_of = encoder.coordinates.column_of_coordinates()
    number = {name: place for place, name in enumerate(dict.fromkeys(column_of))}
    if not number:
        return {}
    weights = target_weights(matrix, np.array([number[name] for name in column_of]), y)
    return dict(zip(number, weights.tolist(), strict=True))


def check_weights(weights: Any, names: list[Any]) -> dict[Any, float]:
    weights = check_dict("column_weights", weights, "numbers, 'target'")
    as_names(list(weights), "column_weights", names)
    return {
        name: check_number(f"column_weights[{name!r}]", weight, above=0, at_most=LARGEST_WEIGHT)
        for name, weight in weights.items()
    }
