"""The column of sampling weights: how many people of the population each record stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import DataFrame, Floats, Labels, Series
from sk_microagg._utils._validation import LARGEST_VALUE, check_option
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._amounts import amounts_of
from sk_microagg.privacy._rules import as_constraints

# How a warning begins, for those who filter it.
RARE_WEIGHTS = "Most weights are those of fewer than"


def check_weight_release(estimator: Any) -> None:
    """Raise an error unless the parameters of an estimator that are about weights agree."""
    check_option("weight_release", estimator.weight_release, ("mean", "keep"))
    if estimator.weight is not None and getattr(estimator, "numbers", "mean") == "median":
        raise ValueError(
            f"numbers={estimator.numbers!r} must be 'mean' or 'interval' if there is a weight: "
            "medians do not keep sums."
        )


def weights_of(column: Series) -> Floats:
    """The weights as floats; raise an error unless sums of them times values are finite."""
    words = f"weight={column.name!r}"
    weights = amounts_of(column, words)
    if not ((weights >= 1 / LARGEST_VALUE) & (weights <= LARGEST_VALUE)).all():
        raise ValueError(f"{words} must be a column of numbers above 0, up to {LARGEST_VALUE:g}.")
    return weights


def mean_weights(name: Any, weights: Floats, labels: Labels) -> DataFrame:
    """The mean weight of each group, with all digits: otherwise sums would change."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    return pandas.DataFrame({name: group_means(weights[:, None], labels)[:, 0]})


def warn_of_rare_weights(counts: Labels, k: int) -> None:
    """Warn if most records have a weight that fewer than k have, given the counts of weights."""
    if np.sum(counts[counts < k]) > 0.5 * np.sum(counts):
        warn_user(
            f"{RARE_WEIGHTS} k={k} records: who knows the weight of a person finds the record. "
            "weight_release='mean' releases means of groups instead."
        )


def about_weights(privacy: Any, weight: Any) -> Sequence[Constraint]:
    """The constraints, those on weights about the column of weights unless they name another."""
    return [
        each.about(weight) if each.is_about_weights and each.column is None else each
        for each in as_constraints(privacy)
    ]
