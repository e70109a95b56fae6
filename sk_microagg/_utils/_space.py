"""The space in which records are compared: scaled columns, and where values are missing."""

from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from sk_microagg._utils._missing import MissingCoordinates, n_people, take_units
from sk_microagg._utils._scaling import (
    CELL_BY_CELL,
    coarsen,
    own_floats,
    rounding_of,
    scale,
    standardizes,
    warn_of_exact_scaler,
)
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels

# How far the only known value of a group is from missing ones, compared with other known values:
# measured on tables with 30% missing values. Groups have such a value where it is in the middle.
HIDDEN = 0.5

# Fewer values of a column could be computed from its mean and variance.
FEWEST_KNOWN = 3


class ScaledSpace:
    """Numbers as points, also where some are missing.

    A missing value lies at the mean of the known ones of its scaled column, and a further
    coordinate tells it apart: it is as far from a known value, on average, as two known ones are
    from each other. If the scaler is a StandardScaler, both coordinates together have a variance of
    about 1, as columns without missing values do; with a TargetScaler, one of the weight of the
    column. In columns with missing values, all of these are coarse numbers: see `coarse_moments`.
    """

    def __init__(self, scaler: Any, min_known: int = FEWEST_KNOWN) -> None:
        self._scaler = scaler
        self._min_known = min_known
        self.is_coarse = True

    def fit(
        self, records: Array, units: Array | None = None, y: Any = None
    ) -> tuple[Floats, Booleans]:
        """Fit the scaler; return the points of the records, and which scaled values are missing."""
        has_missing = np.isnan(records).any(axis=0)
        # From mean and variance of two known values, both could be computed.
        self._unused = np.flatnonzero(
            has_missing & (known_people(records, units) < self._min_known)
        )
        records = self._without_unused(records)
        if self._scaler is not None:
            target = {"y": y} if has_fit_parameter(self._scaler, "y") else {}
            floats = own_floats(self._scaler, records)
            self._scaler.fit(floats, **target)
            self.is_coarse = coarsen(self._scaler, floats, units, y)
        scaled = scale(self._scaler, records)
        # Of a scaler that imputes values, no group hides the only one that it has.
        self.is_coarse &= np.isnan(records).any(axis=1).sum() == np.isnan(scaled).any(axis=1).sum()
        self._missing = MissingCoordinates(scaled, standardizes(self._scaler), units)
        self.with_missing = self._missing.columns
        parts = self._missing.parts(scaled)
        points = np.concatenate(parts, axis=1) if len(self.with_missing) else scaled
        return points, np.isnan(scaled)

    def points(self, records: Array) -> Floats:
        """The points of records, whether or not the space was fitted on them."""
        values, indicators = self.parts(records)
        return np.concatenate([values, indicators], axis=1) if indicators.shape[1] else values

    def parts(self, records: Array) -> tuple[Floats, Floats]:
        """The points of records: scaled columns, and coordinates for missing values."""
        return self._missing.parts(scale(self._scaler, self._without_unused(records)))

    def missing(self, records: Array) -> Booleans:
        """Which values of scaled records are missing."""
        records = self._without_unused(records)
        if self._scaler is None or type(self._scaler) in CELL_BY_CELL:
            return np.isnan(records)
        return np.isnan(scale(self._scaler, records))

    def _without_unused(self, records: Array) -> Array:
        """The records with 0 in columns of which too few values were known."""
        if not len(self._unused):
            return records
        records = records.copy()
        records[:, self._unused] = 0.0
        return records

    def single_values(
        self, missing: Booleans, labels: Labels, units: Array | None = None
    ) -> tuple[Labels, Labels, Floats]:
        """Where a single value of a group is known, so that its mean in the space would tell it.

        `missing` is what `fit` or `missing` returned.
        """
        groups, columns = _known_once(missing, labels, units)
        return groups, columns, self._missing.places[columns]

    def warn_if_exact(self, records: Array, labels: Labels, units: Array | None = None) -> None:
        """Warn if what the scaler keeps may tell the only known value of a group."""
        if not self.is_coarse and len(_known_once(np.isnan(records), labels, units)[0]):
            warn_of_exact_scaler(self._scaler)

    def stand_ins(
        self, missing: Booleans, labels: Labels, groups: Labels, columns: Labels
    ) -> tuple[Labels, Labels, Floats]:
        """Rows and columns of known values that are hidden, and what losses count in their place.

        Arguments are those of `single_values`, and what it returned. What such a value is must not
        show in a loss: it counts as being as far from where missing ones lie as usual.
        """
        rows_of, columns_of = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for column in np.unique(columns):
            is_hidden = np.isin(labels, groups[columns == column]) & ~missing[:, column]
            rows_of.append(np.flatnonzero(is_hidden))
            columns_of.append(np.full(len(rows_of[-1]), column))
        rows, columns = np.concatenate(rows_of), np.concatenate(columns_of)
        return rows, columns, (self._missing.places + HIDDEN * self._missing.heights)[columns]

    def rounding(self, records: Array, points: Floats) -> Floats:
        """How much coordinates may differ if records become points in another batch or order."""
        return rounding_of(self._scaler, records, points, self.points)


def _known_once(missing: Booleans, labels: Labels, units: Array | None) -> tuple[Labels, Labels]:
    """Groups and columns in which only one of several people has a value."""
    found = [np.empty((0, 2), dtype=np.intp)]
    n_groups = int(labels.max()) + 1
    has_several = n_people(labels, n_groups, units) > 1
    for column in np.flatnonzero(missing.any(axis=0)):
        known = ~missing[:, column]
        of_one = n_people(labels[known], n_groups, take_units(units, known)) == 1
        groups = np.flatnonzero(of_one & has_several)
        found.append(np.column_stack([groups, np.full(len(groups), column)]))
    groups, columns = np.concatenate(found).T
    return groups, columns


def fewest_known(k: int) -> int:
    """How many people must have a value, so that a scaler tells of none of them.

    With k of 1, nothing is anonymized.
    """
    return 1 if k == 1 else max(k, FEWEST_KNOWN)


def known_people(records: Array, units: Array | None = None) -> Labels:
    """Number of people who have a value, column by column."""
    known = ~np.isnan(records)
    if units is None:
        return known.sum(axis=0)
    return np.array([len(np.unique(units[column])) for column in known.T])
