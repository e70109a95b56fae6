"""Groups that were not searched for, such as those of a series, as those of a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from sk_microagg._aggregation import Aggregation
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg._table_space import encode_table
from sk_microagg._utils._statistics import group_means, loss_share
from sk_microagg._utils._typing import DataFrame, Labels
from sk_microagg.metrics._pairs import MixedPair
from sk_microagg.tables import TableEncoder
from sk_microagg.tables._columns import Line


def with_groups(
    estimator: TableAggregator, table: DataFrame, released: DataFrame, labels: Labels
) -> Any:
    """A copy of an estimator that has the groups of a table, and the losses of what is released.

    It has what a report reads, and cannot transform. Of the released table, only the anonymized
    columns count.
    """
    fitted = clone(estimator)
    roles = TableRoles.from_estimator(estimator, list(table.columns))
    names = roles.quasi_identifiers
    records, labels = table[names], np.unique(labels, return_inverse=True)[1]
    encoder, *_ = encode_table(estimator, records, int(estimator.k), None)
    fitted.kinds_ = {column.name: column.kind for column in encoder.columns}
    are_categories = {
        name: kind in ("category", "hierarchy") for name, kind in fitted.kinds_.items()
    }
    categories = {name: "category" for name, is_one in are_categories.items() if is_one}
    pair = MixedPair(records, released[names], categories)
    sums = _squared_errors(encoder, records, pair, labels)
    fitted.sse_, total = (float(sum(part)) for part in zip(*sums.values(), strict=True))
    fitted.information_loss_ = loss_share(fitted.sse_, total)
    fitted.column_losses_ = encoder.losses(records, labels, sums)
    method = Aggregation.from_estimator(estimator, len(table)).method
    fitted.builder_, fitted.refiner_ = method.builder, method.refiner
    fitted.labels_, fitted.group_sizes_ = labels, np.bincount(labels)
    fitted.n_groups_ = len(fitted.group_sizes_)
    fitted.n_features_in_ = table.shape[1]
    fitted._table_roles = roles
    return fitted


def _squared_errors(
    encoder: TableEncoder, records: DataFrame, pair: MixedPair, labels: Labels
) -> dict[Any, tuple[float, float]]:
    """Squared errors of each column and in all; numbers may be released as others than means."""
    space = encoder.coordinates
    sums = space.sums_of_squares(space.numbers(records), labels)
    for column, (values, released, _) in zip(pair.encoder.columns, pair.columns(), strict=True):
        known = ~np.isnan(values + released)
        spread = np.sum((values[known] - values[known].mean()) ** 2) if known.any() else 0.0
        if not isinstance(column, Line) or not spread > 0:
            continue
        groups = np.unique(labels[known], return_inverse=True)[1]
        means = group_means(values[known, None], groups)[groups, 0]
        within, total = sums[column.name]
        apart = np.sum((means - released[known]) ** 2) / spread
        sums[column.name] = within + total * apart, total
    return sums
