"""Targets: checked, and as numbers."""

import warnings
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._tables import is_null
from sk_microagg._utils._typing import Array, Floats, Labels

# Types of a target, and of objects in one. Booleans are numbers in Python.
KINDS = "biufOUT"
TYPES_OF_OBJECTS: tuple[tuple[Any, str], ...] = (
    ((bool, np.bool_), "bool"),
    ((Real, Decimal), "float64"),
    (date, "M8[us]"),
    (timedelta, "m8[us]"),
)

# Whole numbers with more different values are not classes.
MOST_CLASSES = 20

# All rarer classes count as one: trees hold a number per class in each node.
MOST_CLASSES_TOLD_APART = 50

# Standard errors by which a share must exceed that of shuffled labels.
N_STANDARD_ERRORS = 2.0


def check_target(y: Any, n_records: int, owner: str) -> Array:
    if y is None:
        raise ValueError(f"{owner} needs y: it requires y to be passed, but the target y is None.")
    y = as_target(y)
    if _has_missing(y):
        raise ValueError(f"y contains NaN or None: {owner} needs the target of every record.")
    if y.shape[:1] != (n_records,) or y.ndim > 2 or y.size < n_records:
        raise ValueError(
            f"y of shape {y.shape} must have a value per record of X, which has {n_records}."
        )
    if y.dtype.kind not in KINDS or not _can_be_sorted(y):
        raise ValueError(
            f"y of type {y.dtype} must be numbers or dates, or classes that can be sorted."
        )
    return y


def _has_missing(y: Array) -> bool:
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    return y.dtype.kind == "O" and any(map(is_null, y.flat))


def _can_be_sorted(y: Array) -> bool:
    try:
        return y.dtype.kind != "O" or all(map(sorted, y.reshape(len(y), -1).T))
    except TypeError:
        return False


def as_target(y: Any) -> Array:
    """Return a target as an array, flat if it is one column; dates as microseconds or NaN."""
    y = np.asarray(y)
    if y.dtype.kind == "O":
        y = _without_objects(y)
    if y.dtype.kind in "mM":
        microseconds = y.astype(f"{y.dtype.kind}8[us]").astype(np.float64)
        y = np.where(np.isnat(y), np.nan, microseconds)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def _without_objects(y: Array) -> Array:
    """Objects that are all numbers, dates, times or booleans as an array of such."""
    for kinds, dtype in TYPES_OF_OBJECTS:
        if y.size and all(isinstance(value, kinds) for value in y.flat):
            return y.astype(dtype)
    return y


def has_classes(y: Array) -> bool:
    """Whether a target consists of classes, not of numbers."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        # Some numbers are too large for integers, and some versions warn of many classes.
        warnings.simplefilter("ignore")
        kind = type_of_target(y, input_name="y")
    return not (kind.startswith("continuous") or _are_counts(y))


def _are_counts(y: Array) -> bool:
    """Whether a target of whole numbers has too many different ones to be classes."""
    y = np.asarray(y)
    return y.dtype.kind in "iuf" and len(np.unique(y)) > max(MOST_CLASSES, np.sqrt(len(y)))


def as_numbers(y: Array, rows: Labels) -> Floats:
    """Some targets as numbers: standardized ones, or an indicator of each class."""
    if has_classes(y):
        return np.column_stack(
            [_indicators(classes) for classes in y[rows].reshape(len(rows), -1).T]
        )
    y = y[rows].astype(np.float64)
    # Squares of large numbers overflow, those of small ones vanish.
    y = y / np.fmax(np.abs(y).max(axis=0), np.finfo(np.float64).tiny)
    spread = y.std(axis=0)
    return (y - y.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def _indicators(classes: Array) -> Floats:
    """An indicator of each class, but of all rare ones beyond the limit the same."""
    _, number, count = np.unique(classes, return_inverse=True, return_counts=True)
    rank = np.empty_like(count)
    rank[np.argsort(-count, kind="stable")] = np.arange(len(count))
    n_told_apart = min(len(count), MOST_CLASSES_TOLD_APART + 1)
    return np.eye(n_told_apart)[np.minimum(rank, MOST_CLASSES_TOLD_APART)[number]]


def warn_if_homogeneous(labels: Labels, y: Any, parameter: str) -> None:
    """Warn if more records than by chance are in groups of one class of `y`."""
    y = as_target(y)
    if y.ndim > 1 or not has_classes(y):
        return
    share, chance, error = homogeneous_share(labels, np.unique(y, return_inverse=True)[1])
    if share > chance + N_STANDARD_ERRORS * error:
        warn_user(
            f"{parameter}: {share:.0%} of the records are in groups of a single class of y "
            f"({chance:.0%} would be by chance), so that it is known of each of their members. "
            "privacy=LDiversity(2) prevents it, with sensitive=y in fit.",
        )


def homogeneous_share(labels: Labels, classes: Labels) -> tuple[float, float, float]:
    """Share of records in groups of one class, and what it would be if classes were shuffled."""
    sizes = np.bincount(labels)
    lowest = np.full(len(sizes), len(labels))
    np.minimum.at(lowest, labels, classes)
    highest = np.zeros(len(sizes), dtype=np.intp)
    np.maximum.at(highest, labels, classes)
    proportions = np.bincount(classes) / len(classes)
    distinct, size_of = np.unique(sizes, return_inverse=True)
    by_chance = np.sum(proportions ** distinct[:, None], axis=1)[size_of]
    share = np.sum(sizes[lowest == highest]) / len(labels)
    chance = np.sum(sizes * by_chance) / len(labels)
    error = np.sqrt(np.sum(sizes**2 * by_chance * (1.0 - by_chance))) / len(labels)
    return float(share), float(chance), float(error)
