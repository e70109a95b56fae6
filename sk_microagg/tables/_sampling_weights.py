"""The column of sampling weights: how many people of the population each record stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._places import NOT_POSITIVE, check_cells
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import DataFrame, Floats, Labels, Series
from sk_microagg._utils._validation import LARGEST_VALUE, check_option
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._amounts import amounts_of
from sk_microagg.privacy._rules import as_constraints

# How warnings begin, for those who filter them, and how one ends.
RARE_WEIGHTS = "Most weights are those of fewer than"
SMALL_GROUPS = "With a weight, groups of k="
MEAN_WEIGHTS = "Pass weight_release='mean'."

# In smaller groups, a weighted mean often has the value of the heaviest record alone.
SMALLEST_GROUP = 5

# Of a mean weight: with all digits, it tells which weights of a list were added.
N_DIGITS = 4


def check_weight_release(estimator: Any, k: int) -> None:
    """Raise an error unless the parameters of an estimator that are about weights agree."""
    check_option("weight_release", estimator.weight_release, ("keep", "mean"))
    if estimator.weight is None:
        return
    if estimator.numbers == "median":
        raise ValueError(
            f"numbers={estimator.numbers!r} must be 'mean' or 'interval' if there is a weight: "
            "medians do not keep sums."
        )
    if estimator.categories == "shares":
        raise ValueError(
            f"categories={estimator.categories!r} must be 'mode' or 'generalize' if there is a "
            "weight: a weighted share is the sum of the weights of those who have the category, "
            "and tells who they are."
        )
    if 1 < k < SMALLEST_GROUP and estimator.numbers == "mean":
        warn_user(
            f"{SMALL_GROUPS}{k} records hardly protect heavy ones: a weighted mean is often near "
            f"the value of one record. Use k={SMALLEST_GROUP} or more."
        )


def weights_of(column: Series) -> Floats:
    """The weights as floats; raise an error unless sums of them times values are finite."""
    words = f"weight={column.name!r}"
    weights = amounts_of(column, words)
    check_cells(
        ~((weights >= 1 / LARGEST_VALUE) & (weights <= LARGEST_VALUE)),
        words,
        NOT_POSITIVE,
        advice=f"Every weight must be one, up to {LARGEST_VALUE:g}.",
        column=column.name,
    )
    return weights


def mean_weights(name: Any, weights: Floats, labels: Labels) -> DataFrame:
    """The mean weight of each group, as a table."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    return pandas.DataFrame({name: rounded_means(weights, labels)})


def rounded_means(weights: Floats, labels: Labels) -> Floats:
    """The mean weight of each group, with so few digits that many sets of weights have it."""
    means = group_means(weights[:, None], labels)[:, 0]
    return np.array([float(f"{mean:.{N_DIGITS}g}") for mean in means])


def warn_of_rare_weights(counts: Labels, k: int) -> None:
    """Warn if most records have a weight that fewer than k have, given the counts of weights."""
    if np.sum(counts[counts < k]) > 0.5 * np.sum(counts):
        warn_user(
            f"{RARE_WEIGHTS} k={k} records: an attacker who knows the weight of a person finds the "
            f"record. If weights may be known, release means of groups. {MEAN_WEIGHTS}"
        )


def about_weights(privacy: Any, weight: Any) -> Sequence[Constraint]:
    """The constraints, those on weights about the column of weights unless they name another."""
    return [
        each.about(weight) if each.is_about_weights and each.column is None else each
        for each in as_constraints(privacy)
    ]
