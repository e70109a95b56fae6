"""The scaled space, in which distances between records are measured."""

from collections.abc import Callable
from functools import partial
from typing import Any
from warnings import warn

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from sk_microagg._utils._deadline import user_stacklevel
from sk_microagg._utils._missing import coarse_moments
from sk_microagg._utils._target_scaler import TargetScaler
from sk_microagg._utils._typing import Array, Floats
from sk_microagg._utils._validation import check_option, check_records, own_copy

# Scalers whose result for a value depends on the value and its column only, to the last digit.
CELL_BY_CELL = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, TargetScaler)

# Records scaled one by one, to measure the rounding differences.
N_ALONE = 200

# Factor by which differences in other batches may exceed those measured.
SAFETY_FACTOR = 4.0


def make_scaler(scaler: Any, has_target: bool = False) -> Any:
    """Return a new scaler, from a name or an object, or None.

    With `has_target`, it may be one that is fitted with a target.
    """
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
    """Round what a fitted scaler that standardizes keeps of columns with missing values.

    Returns whether no exact statistic of these is left, as far as the scaler is known.
    """
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


def warn_of_exact_scaler(scaler: Any) -> None:
    """Warn that numbers which no group tells may follow from what a scaler keeps."""
    warn(
        f"scaler is a {type(scaler).__name__}, which may keep exact statistics of columns with "
        "missing values: numbers that only one person of a group has, and that the release does "
        "not tell, may then be computed from the model. Use 'standard', 'target' or None, or "
        "share the release only.",
        UserWarning,
        stacklevel=user_stacklevel(),
    )


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
