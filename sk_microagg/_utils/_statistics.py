"""Sizes, means and squared errors of groups, also where values are missing; duplicates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._coded_points import CodedPoints
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels

# In columns with missing values, scales are powers of 2 to the power of this, and centers multiples
# of about this share of the scale: exact ones and the means of all other groups would give away the
# only known value of a group.
STEP = 1 / 8

# In octaves, the largest step, for columns whose spread is mostly due to one person.
LARGEST_STEP = 4.0


@dataclass(frozen=True)
class Members:
    """The group of each record, numbered from 0, its unit or None, and its weight or None."""

    labels: Labels
    units: Array | None = None
    weights: Floats | None = None

    @property
    def n_groups(self) -> int:
        return int(self.labels.max()) + 1


def group_sizes(labels: Labels) -> Labels:
    return np.bincount(labels)


def group_means(X: Any, labels: Labels, weights: Floats | None = None) -> Any:
    """Return the mean of each group, shape (n_groups, n_features), for labels numbered from 0."""
    if isinstance(X, CodedPoints):
        return X.means(group_means(X.numbers, labels), labels)
    X = np.asarray(X, dtype=np.float64)
    sizes = group_sizes(labels)
    first = np.empty(len(sizes), dtype=np.intp)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    means = np.empty((len(sizes), X.shape[1]))
    sums = sizes if weights is None else np.bincount(labels, weights)
    # As in Partition, deviations from one member are averaged: a column that is constant in a group
    # keeps its value to the last digit, and a large offset costs no accuracy.
    for j in range(X.shape[1]):
        base = X[first, j]
        deviations = X[:, j] - base[labels]
        if weights is not None:
            deviations *= weights
        means[:, j] = base + np.bincount(labels, deviations, len(sizes)) / sums
    return means


def total_sum_of_squares(X: Floats) -> float:
    return Partition(X, np.zeros(len(X), dtype=np.intp), len(X)).sse


def share_of_total(squared_errors: float, X: Floats) -> float:
    """Squared errors as a share of the total sum of squares, above 1 if centers are no means."""
    total = total_sum_of_squares(X)
    return squared_errors / total if total > 0 else 0.0


def loss_share(sse: float, total: float) -> float:
    """Return the information loss of groups replaced by their means; 0 if the total is 0."""
    return min(float(sse / total), 1.0) if total > 0 else 0.0


def mean_squared_errors(X: Floats, labels: Labels) -> Floats:
    """Return the mean squared distance to the centroid of each group, with labels from 0."""
    return Partition(X, labels, 1).all_costs() / group_sizes(labels)


def squared_error(X: Floats, centers: Floats, labels: Labels) -> float:
    """Return the sum of squared distances between the records and the centers of their labels."""
    total = 0.0
    for j in range(X.shape[1]):
        deviation = X[:, j] - centers[labels, j]
        # Not by BLAS, whose threads would compete with those working on other blocks.
        total += float(np.einsum("i,i->", deviation, deviation))
    return total


def twins_of(X: Floats) -> Labels:
    """Return a number shared by identical records, or -1 for a unique record."""
    _, number, count = distinct_records(X)
    return np.where(count[number] > 1, number, -1)


def distinct_records(X: Floats) -> tuple[Labels, Labels, Labels]:
    """Return the first of each set of equal records, the set of each record, and their sizes."""
    if isinstance(X, CodedPoints):
        X = X.rows()
    # Mostly a single column tells all records apart, which takes a third of the time to see.
    if len(np.unique(X[:, 0])) == len(X):
        return np.arange(len(X)), np.arange(len(X)), np.ones(len(X), dtype=np.intp)
    # Adding 0 turns -0.0 into 0.0.
    rows = np.ascontiguousarray(X + 0.0)
    if X.shape[1] > 1:  # A single column of numbers is sorted much faster than one of bytes.
        rows = rows.view(np.dtype((np.void, X.itemsize * X.shape[1])))
    _, first, number, count = np.unique(
        rows.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    return first, number, count


def known_means(X: Array, labels: Labels, units: Array | None = None) -> Floats:
    """Mean of the known values of each group, column by column."""
    means = group_means(X, labels)
    for j in np.flatnonzero(np.isnan(X).any(axis=0)):
        averages = means_of_known(X[:, j], labels, len(means))
        averages[too_few_known(X[:, j], labels, len(means), units)] = np.nan
        means[:, j] = averages
    return means


def means_of_known(
    values: Array, labels: Labels, n_groups: int, weights: Floats | None = None
) -> Floats:
    """Mean of the known values of each group, of a single column; NaN where none is known."""
    known = ~np.isnan(values)
    groups, numbers = np.unique(labels[known], return_inverse=True)
    means = np.full(n_groups, np.nan)
    own = None if weights is None else weights[known]
    means[groups] = group_means(values[known, None], numbers, own)[:, 0]
    return means


def too_few_known(
    values: Array, labels: Labels, n_groups: int, units: Array | None = None
) -> Booleans:
    """Mask of the groups whose mean is missing: most values are, or all but those of one person."""
    known = ~np.isnan(values)
    sizes = np.bincount(labels, minlength=n_groups)
    n_known = np.bincount(labels[known], minlength=n_groups)
    of_one = n_people(labels[known], n_groups, take_units(units, known)) == 1
    return (2 * n_known < sizes) | (of_one & (n_people(labels, n_groups, units) > 1))


def without_single(values: Floats, labels: Labels, units: Array | None = None) -> Floats:
    """The values of a column with NaN where only one of several people of a group has one.

    Such a value is not released, and nothing that is released may depend on it.
    """
    known = ~np.isnan(values)
    if known.all():
        return values
    n_groups = int(labels.max()) + 1
    of_one = n_people(labels[known], n_groups, take_units(units, known)) == 1
    is_single = of_one & (n_people(labels, n_groups, units) > 1)
    return np.where(is_single[labels], np.nan, values)


class MissingCoordinates:
    """Further coordinates that tell missing values apart.

    A missing value lies at the mean of the known ones of its column, and as far from a known value,
    on average, as two known ones are from each other: both up to what `coarse_moments` rounds.
    """

    def __init__(self, scaled: Floats, is_standardized: bool, units: Array | None = None) -> None:
        missing = np.isnan(scaled)
        n_missing = missing.sum(axis=0)
        n_known = np.maximum(len(scaled) - n_missing, 1)
        self._means = np.sum(scaled, axis=0, where=~missing) / n_known
        self.columns: Labels = np.flatnonzero((n_missing > 0) & (n_missing < len(scaled)))
        self._factors = np.ones(scaled.shape[1])
        self.heights = np.zeros(scaled.shape[1])
        if len(self.columns):
            spreads = np.sum((scaled - self._means) ** 2, axis=0, where=~missing) / n_known
            differ = np.fmax.reduce(scaled) > np.fmin.reduce(scaled)
            for column in self.columns:
                self._means[column], spread = coarse_moments(scaled[:, column], units)
                spreads[column], differ[column] = spread**2, spread > 0.0
            # If all known values are equal, missing ones are told apart as in other columns.
            spreads[~differ] = spreads[differ].mean() if differ.any() else 1.0
            if is_standardized:
                share = n_missing[self.columns] / len(scaled)
                self._factors[self.columns] = 1.0 / np.sqrt(1.0 - share**2)
            self.heights[self.columns] = (np.sqrt(spreads) * self._factors)[self.columns]
        self.places = self._means * self._factors

    def parts(self, scaled: Floats) -> tuple[Floats, Floats]:
        """The columns without missing values, and the further coordinates."""
        missing = np.isnan(scaled)
        if missing.any():
            scaled = np.where(missing, self._means, scaled)
        if len(self.columns):
            scaled = scaled * self._factors
        return scaled, missing[:, self.columns] * self.heights[self.columns]


def coarse_moments(values: Floats, units: Array | None = None) -> tuple[float, float]:
    """Mean and deviation of known values, so coarse that nobody's follow; deviation 0 if equal."""
    known = ~np.isnan(values)
    values, units = values[known], take_units(units, known)
    center = float(values.mean())
    deviations = values - center
    squares = deviations**2
    variance = float(squares.mean())
    rounding = len(values) * np.finfo(np.float64).eps
    if variance <= rounding * variance + (rounding * center) ** 2:  # as in StandardScaler
        return center, 0.0
    if units is not None:
        deviations, squares = np.bincount(units, deviations), np.bincount(units, squares)
    share, step = squares.max() / squares.sum(), STEP
    if share > 0.5:
        # By how many octaves the scale would be lower without this person.
        octaves = -np.log2(max(1.0 - share, 1e-9)) / 2.0
        step = min(_power_of_2_above(octaves), LARGEST_STEP)
    # To the nearest multiple, or to a larger one if steps are large: such columns count less.
    exponent = step * np.ceil((np.log2(variance) / 2.0 - min(step, 1.0) / 2.0) / step)
    scale = float(2.0**exponent)
    grid = _power_of_2_above(max(STEP * scale, np.abs(deviations).max() / len(values)))
    return float(np.round(center / grid) * grid), scale


def _power_of_2_above(number: float) -> float:
    return float(2.0 ** np.ceil(np.log2(number)))


def n_people(groups: Array, n_groups: int, units: Array | None = None) -> Labels:
    if units is not None and len(units):
        n_units = int(units.max()) + 1
        groups = np.unique(groups * n_units + units) // n_units
    return np.bincount(groups, minlength=n_groups)


def take_units(units: Array | None, mask: Booleans) -> Array | None:
    return None if units is None else units[mask]
