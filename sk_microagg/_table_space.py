"""The space in which the records of a table are compared, by the parameters of an estimator."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sk_microagg._choices import LARGEST_WEIGHT
from sk_microagg._model._points import SparsePoints
from sk_microagg._table_roles import as_names, check_decimals, check_one_role
from sk_microagg._utils._target_scaler import target_weights
from sk_microagg._utils._targets import check_target
from sk_microagg._utils._typing import Array, DataFrame, Floats, Series, TableLike
from sk_microagg._utils._validation import check_dict, check_number
from sk_microagg.generalization._mixed_table import read_hierarchy
from sk_microagg.tables import Hierarchy, TableEncoder
from sk_microagg.tables._coding import TableCoding, find_treatments, survey_table
from sk_microagg.tables._columns import Treatment
from sk_microagg.tables._dates import UNITS_OF_DATES
from sk_microagg.tables._hierarchy import TreeHierarchy


def encode_table(
    estimator: Any, records: DataFrame, k: int, y: TableLike | None, units: Array | None = None
) -> tuple[TableEncoder, TableCoding, Floats]:
    """Learn the columns of a table; return its space, what is known of it, and it as numbers."""
    treatments = treatments_for(estimator, dict(records.items()))
    surveys = survey_table(records, treatments, units)
    coding = TableCoding.from_surveys(
        surveys, treatments, k, estimator.numbers, estimator.categories
    )
    numbers = coding.encode(records)
    if uses_target(estimator):
        encoder = TableEncoder.from_coding(coding, numbers, (), units)
        weights = _weights_by_target(encoder, numbers, y)
    else:
        weights = check_weights(estimator.column_weights, list(records.columns))
    return TableEncoder.from_coding(coding, numbers, weights, units), coding, numbers


def treatments_for(estimator: Any, columns: Mapping[Any, Series]) -> dict[Any, Treatment]:
    """How columns or their prototypes are treated, by the parameters of an estimator."""
    names = [*columns]
    kinds = check_kinds(estimator, names)
    decimals = check_decimals(estimator.decimals, names, UNITS_OF_DATES)
    return find_treatments(columns, *kinds, decimals, estimator.numbers == "interval")


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
    encoder: TableEncoder, numbers: Floats, y: TableLike | None
) -> dict[Any, float]:
    y = check_target(y, len(numbers), "column_weights='target'")
    points = encoder.coordinates.points(numbers)
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
