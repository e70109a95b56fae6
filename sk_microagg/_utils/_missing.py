"""Averages of groups of numbers of which some are missing."""

import numpy as np

from sk_microagg._utils._people import n_people, take_units
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels


def known_means(X: Array, labels: Labels, units: Array | None = None) -> Floats:
    """Mean of the known values of each group, column by column."""
    means = group_means(X, labels)
    for j in np.flatnonzero(np.isnan(X).any(axis=0)):
        averages = means_of_known(X[:, j], labels, len(means))
        averages[too_few_known(X[:, j], labels, len(means), units)] = np.nan
        means[:, j] = averages
    return means


def means_of_known(values: Array, labels: Labels, n_groups: int) -> Floats:
    """Mean of the known values of each group, of a single column; NaN where none is known."""
    known = ~np.isnan(values)
    groups, numbers = np.unique(labels[known], return_inverse=True)
    means = np.full(n_groups, np.nan)
    means[groups] = group_means(values[known, None], numbers)[:, 0]
    return means


def too_few_known(
    values: Array, labels: Labels, n_groups: int, units: Array | None = None
) -> Booleans:
    """Mask of the groups whose mean is not released: it is missing instead.

    Most of their values are missing, or all but those of one person, which would be told.
    """
    known = ~np.isnan(values)
    sizes = np.bincount(labels, minlength=n_groups)
    n_known = np.bincount(labels[known], minlength=n_groups)
    of_one = n_people(labels[known], n_groups, take_units(units, known)) == 1
    return (2 * n_known < sizes) | (of_one & (n_people(labels, n_groups, units) > 1))
