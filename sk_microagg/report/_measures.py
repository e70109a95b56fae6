"""What was lost and which risk remains, measured for a release of numbers or of any columns."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import share_of_people
from sk_microagg._utils._statistics import loss_share
from sk_microagg.encoding._frames import is_missing
from sk_microagg.generalization._base import Generalizer
from sk_microagg.metrics import (
    attribute_changes,
    correlation_change,
    record_linkage,
)
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._disclosure import (
    INTERVAL,
    RANKS,
    numbers_in_interval,
    numbers_near_in_rank,
    values_in_interval,
    values_near_in_rank,
)
from sk_microagg.metrics._linkage import linkage_of
from sk_microagg.metrics._mixed import MixedPair, are_numbers, check_pair, pair_of


@dataclass(frozen=True)
class RiskFacts:
    """What a report states about the risk of a release of averages."""

    linkage: object
    intervals: list
    ranks: list
    interval_width: float = INTERVAL
    rank_share: float = RANKS


@dataclass(frozen=True)
class NumericFacts:
    """What a report states about a release of numbers."""

    changes: np.ndarray
    correlations: object


@dataclass(frozen=True)
class MixedFacts:
    """What a report states about a release of columns of any kind."""

    kinds: list
    missing_before: list
    missing_after: list


def mixed_pair(X, release, estimator):
    """The columns that were anonymized, as a MixedPair; None if all are numbers, or generalized."""
    if isinstance(estimator, TableAggregator):
        return pair_of(estimator, X, release)
    if isinstance(estimator, Generalizer) or are_numbers(X, release):
        return None
    return MixedPair(X, release)


def measure_numbers(X, release, estimator, units=None):
    """Return the loss of each column, NumericFacts and RiskFacts."""
    numbers = NumericFacts(attribute_changes(X, release), correlation_change(X, release))
    risk = RiskFacts(
        record_linkage(X, release, n_jobs=getattr(estimator, "n_jobs", None), unit=units),
        _shares(numbers_in_interval(X, release, INTERVAL), units),
        _shares(numbers_near_in_rank(X, release, RANKS), units),
    )
    return _squared_losses(X, release), numbers, risk


def _shares(masks, units):
    """Shares of all records, not of known values: those that stand for few are not shown."""
    return [share_of_people(mask, units) for mask in masks]


def _squared_losses(X, release):
    """Sum of squared changes of each column, as a share of its total sum of squares if above 0."""
    X, release = check_pair(X, release)
    losses = np.zeros(X.shape[1])
    for j, (column, released) in enumerate(zip(X.T, release.T, strict=True)):
        spread = np.ptp(column)
        if spread > 0:
            deviations = (column - column.mean()) / spread
            changes = (column - released) / spread
            losses[j] = (changes @ changes) / (deviations @ deviations)
    return losses


def measure_any_kind(pair, estimator, kinds=None, units=None):
    """Return the loss of each column, MixedFacts and RiskFacts; `kinds` as in `make_report`."""
    missing_before, missing_after = (
        [np.asarray(is_missing(table[name])) for name in table.columns]
        for table in (pair.original, pair.released)
    )
    losses = getattr(estimator, "column_losses_", None)
    if losses is None:
        space = pair.encoder.coordinates
        numbers, labels = space.numbers(pair.original), estimator.labels_
        hidden = space.single_values(space.missing(numbers), labels)[:2]
        sums = space.sums_of_squares(numbers, labels, hidden)
        losses = {name: loss_share(*sum_and_total) for name, sum_and_total in sums.items()}
    found = getattr(estimator, "kinds_", None)
    if found is None:
        found = {column.name: column.kind for column in pair.encoder.columns}
    kinds = {**found, **(kinds or {})}
    classes = row_classes(pair.released, "release")
    linked = pair.linked_rows(classes, getattr(estimator, "n_jobs", None))
    risk = RiskFacts(
        linkage_of(classes, linked, units),
        _shares(values_in_interval(pair, INTERVAL), units),
        _shares(values_near_in_rank(pair, RANKS), units),
    )
    mixed = MixedFacts(
        [kinds[name] for name in found],
        *(_shares(missing, units) for missing in (missing_before, missing_after)),
    )
    return np.array(list(losses.values())), mixed, risk
