"""The space in which records are compared: scaled columns, and where values are missing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import has_fit_parameter

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._statistics import MissingCoordinates, coarse_moments, n_people, take_units
from sk_microagg._utils._target_scaler import TargetScaler
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels
from sk_microagg._utils._validation import check_option, check_records, own_copy

# How far the only known value of a group is from missing ones, compared with other known values:
# measured on tables with 30% missing values. Groups have such a value where it is in the middle.
HIDDEN = 0.5

# Fewer values of a column could be computed from its mean and variance.
FEWEST_KNOWN = 3

# Scalers whose result for a value depends on the value and its column only, to the last digit.
CELL_BY_CELL = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, TargetScaler)

# Records scaled one by one, to measure the rounding differences.
N_ALONE = 200

# Factor by which differences in other batches may exceed those measured.
SAFETY_FACTOR = 4.0


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
        """Where a single value of a group is known, so that its mean would reveal it."""
        groups, columns = _known_once(missing, labels, units)
        return groups, columns, self._missing.places[columns]

    def warn_if_exact(self, records: Array, labels: Labels, units: Array | None = None) -> None:
        """Warn if statistics of the scaler may reveal the only known value of a group."""
        if not self.is_coarse and len(_known_once(np.isnan(records), labels, units)[0]):
            warn_user(
                f"scaler is a {type(self._scaler).__name__}, which may keep exact statistics of "
                "columns with missing values: numbers that only one person of a group has, and "
                "that the release does not tell, may then be computed from the model. Use "
                "'standard', 'target' or None, or share the release only.",
            )

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
    """How many people must have a value, so that a scaler reveals none of these."""
    return 1 if k == 1 else max(k, FEWEST_KNOWN)


def known_people(records: Array, units: Array | None = None) -> Labels:
    """Number of people who have a value, column by column."""
    known = ~np.isnan(records)
    if units is None:
        return known.sum(axis=0)
    return np.array([len(np.unique(units[column])) for column in known.T])


def make_scaler(scaler: Any, has_target: bool = False) -> Any:
    """Return a new scaler or None; with `has_target`, it may be fitted with a target."""
    scalers = {"standard": StandardScaler} | ({"target": TargetScaler} if has_target else {})
    if isinstance(scaler, str):
        check_option("scaler", scaler, scalers)
        return scalers[scaler]()
    if scaler is None:
        return None
    if isinstance(scaler, TargetScaler) and not has_target:
        raise ValueError(
            f"scaler={scaler!r} must not be a TargetScaler here, where there is no target `y`."
        )
    names = ", ".join(map(repr, scalers))
    return own_copy("scaler", scaler, ("fit", "transform"), f"{names}, None or ")


def standardizes(scaler: Any) -> bool:
    """Whether scaled columns have a variance of 1, or of their weight."""
    return _inherits(scaler, TargetScaler) or (
        _inherits(scaler, StandardScaler) and scaler.with_std
    )


def _inherits(scaler: Any, base: type) -> bool:
    """Whether a scaler fits and transforms as a class does: it is of it, or of a plain subclass."""
    names = ("fit", "partial_fit", "transform")
    return isinstance(scaler, base) and all(
        getattr(type(scaler), name, None) is getattr(base, name, None) for name in names
    )


def coarsen(scaler: Any, records: Floats, units: Array | None = None, y: Any = None) -> bool:
    """Round what a scaler keeps of columns with missing values; return whether all is coarse."""
    if scaler is None or type(scaler) is FunctionTransformer or not np.isnan(records).any():
        return True
    if type(scaler) is Pipeline:
        return _coarsen_steps(scaler, records, units, y)
    is_target = _inherits(scaler, TargetScaler)
    if not is_target and not _inherits(scaler, StandardScaler):
        return False
    if scaler.mean_ is None:
        return True
    for column in np.flatnonzero(np.isnan(records).any(axis=0)):
        center, scale = coarse_moments(records[:, column], units)
        if scale == 0.0:
            continue
        scaler.mean_[column] = center
        if is_target:
            scaler.scale_[column] = scale / np.sqrt(scaler.weights_[column])
        elif scaler.with_std:
            scaler.var_[column], scaler.scale_[column] = scale**2, scale
    return True


def _coarsen_steps(scaler: Any, records: Floats, units: Array | None, y: Any) -> bool:
    """Coarsen each step of a pipeline, fitted on what coarse steps before it return."""
    is_coarse = True
    for place, (_, step) in enumerate(scaler.steps):
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        if place:
            step.fit(records, y)
        is_coarse &= coarsen(step, records, units, y)
        records = np.asarray(step.transform(records.copy()), dtype=np.float64)
    return is_coarse


def own_floats(scaler: Any, records: Array) -> Floats:
    """Return records as float64, as a copy unless the scaler is known not to modify them."""
    is_harmless = type(scaler) is StandardScaler and scaler.copy
    return records.astype(np.float64, copy=not is_harmless)


def scale(scaler: Any, records: Array) -> Floats:
    """Return records in the scaled space; a value may be missing if one of the record is."""
    if scaler is None:
        return check_records(records, allow_missing=True)
    scaled = scaler.transform(own_floats(scaler, records))
    name = f"X scaled by {type(scaler).__name__}"
    has_missing = np.isnan(records).any(axis=1)
    scaled = check_records(scaled, name=name, allow_missing=bool(has_missing.any()))
    if len(scaled) != len(records):
        raise ValueError(
            f"scaler={scaler!r} returned {len(scaled)} records for {len(records)}; it must not "
            "change their number."
        )
    if np.isnan(scaled[~has_missing]).any():
        raise ValueError(
            f"scaler={scaler!r} returned NaN for a record without missing values: it must return "
            "finite numbers for these."
        )
    return scaled


def rounding_of(
    scaler: Any, records: Array, scaled: Floats, scale_some: Callable[[Array], Floats] | None = None
) -> Floats:
    """Return how much scaled values may differ if the records are scaled in another batch or order.

    Matrix products round differently depending on the number of rows. A column may even consist of
    rounding error only, such as a whitened component without variance.
    """
    if scaler is None or type(scaler) in CELL_BY_CELL:
        return np.zeros(scaled.shape[1])
    scale_some = scale_some or partial(scale, scaler)
    rows = np.unique(np.linspace(0, len(records) - 1, N_ALONE).astype(np.intp))
    alone = np.vstack([scale_some(records[[row]]) for row in rows])
    backwards = scale_some(np.ascontiguousarray(records[::-1]))[::-1]
    seen = np.maximum(
        np.abs(alone - scaled[rows]).max(axis=0), np.abs(backwards - scaled).max(axis=0)
    )
    # Other batches may lose more digits than were observed.
    return SAFETY_FACTOR * np.maximum(seen, np.finfo(np.float64).eps * np.abs(scaled).max(axis=0))
