"""Validation of arguments, shared by the estimators, builders, refiners and metrics."""

from contextlib import contextmanager
from math import inf
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from sk_microagg._utils._tables import columns_of, has_masked_rows, holds_dates, is_frame

NOTHING = object()

# With values up to this, the sum of squares of a table of any size is finite.
LARGEST_VALUE = 1e140


def check_k(k, n_samples):
    """Return `k` as an int; raise an error if it is not from 1 to `n_samples`."""
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k={k!r} must be an integer, got {type(k).__name__}.")
    if k < 1:
        raise ValueError(f"k={k} must be at least 1.")
    if k > n_samples:
        raise ValueError(f"k={k} must be at most the number of records, n_samples={n_samples}.")
    return int(k)


def check_count(name, value, *, or_none=False, or_options=""):
    """Return a positive integer parameter as an int; -1 for None if that is allowed.

    `or_options` lists other allowed values, for the message.
    """
    if value is None and or_none:
        return -1
    allowed = "an integer of at least 1" + (" or None" if or_none else or_options)
    if isinstance(value, str) and or_options:
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be {allowed}, got {type(value).__name__}.")
    if value < 1:
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    return int(value)


def check_number(name, value, *, above=-inf, at_least=-inf, at_most=inf, or_option=NOTHING):
    """Return a parameter as a float; raise an error if it is out of range.

    `or_option` is another allowed value, for the message.
    """
    bounds = [
        f"{words} {bound}"
        for words, bound in (("above", above), ("at least", at_least), ("at most", at_most))
        if abs(bound) != inf
    ]
    allowed = f"a number {' and '.join(bounds)}"
    if or_option is not NOTHING:
        allowed += f" or {or_option!r}"
    if isinstance(value, str) and isinstance(or_option, str):
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be {allowed}, got {type(value).__name__}.")
    if not (above < value and at_least <= value <= at_most):
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    return float(value)


def check_n_jobs(n_jobs):
    """Raise an error unless `n_jobs` is None or a nonzero integer."""
    allowed = "None or an integer other than 0"
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs={n_jobs!r} must be {allowed}, got {type(n_jobs).__name__}.")
    if n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be {allowed}.")


def check_verbose(verbose):
    """Raise an error unless `verbose` is a bool or a nonnegative integer."""
    allowed = "True, False or an integer of at least 0"
    if not isinstance(verbose, Integral | np.bool_):
        raise TypeError(f"verbose={verbose!r} must be {allowed}, got {type(verbose).__name__}.")
    if verbose < 0:
        raise ValueError(f"verbose={verbose!r} must be {allowed}.")


def check_option(name, value, allowed):
    """Raise an error unless a parameter has one of the allowed values."""
    if value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name}={value!r} must be one of {options}.")


def check_records(X, *, dtype=np.float64, name="X", estimator=None, allow_missing=False):
    """Return `X` as a C-contiguous array of floats with finite values and squared distances.

    With `allow_missing`, NaN is allowed, and masked values become NaN.
    """
    if allow_missing:
        X = without_mask(X)
    check_no_hidden_numbers(X, name)
    with text_explained(name):
        X = check_array(
            X,
            dtype=dtype,
            order="C",
            ensure_all_finite="allow-nan",
            input_name=name,
            estimator=estimator,
        )
    largest = float(max(X.max(), -X.min()))
    if np.isnan(largest):
        if not allow_missing:
            raise ValueError(
                f"Input {name} contains NaN: numbers must not be missing here. MicroAggregator, "
                "TableAggregator and KAIM take tables with missing values."
            )
        largest = float(np.max(np.abs(X), initial=0.0, where=~np.isnan(X)))
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"{name} holds values as large as {largest:.3g}, whose squared distances overflow: "
            f"values must be at most {LARGEST_VALUE:.3g}."
        )
    return X


def without_mask(X):
    """Return `X`; masked values of an array, or of rows, as NaN."""
    if has_masked_rows(X):
        X = np.ma.vstack(X)
    if not np.ma.isMaskedArray(X):
        return X
    return X.astype(X.dtype if X.dtype.kind == "f" else np.float64).filled(np.nan)


@contextmanager
def text_explained(name="X"):
    """Say which estimators take text where scikit-learn says that it is not a number."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("could not convert string"):
            raise
        raise ValueError(
            f"{name} holds text, but must hold numbers: {error}. TableAggregator and KAIM take "
            "tables with text and dates."
        ) from error


def check_no_hidden_numbers(X, name="X"):
    """Raise an error for masked values and dates, which conversion to floats would hide."""
    rows = X if has_masked_rows(X) else [X]
    if any(np.ma.is_masked(row) for row in rows):
        raise ValueError(
            f"Input {name} contains masked values: they count as missing, as NaN does. "
            "MicroAggregator, TableAggregator and KAIM take tables with missing values."
        )
    is_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OmM"
    if not (is_array or is_frame(X)) or 0 in X.shape:
        return
    for column_name, column in zip(
        X.columns if is_frame(X) else range(X.shape[1]), columns_of(X, name), strict=True
    ):
        if holds_dates(column):
            raise TypeError(
                f"Column {column_name!r} of {name} holds dates or times: it must hold numbers. "
                "Convert it first, for example to days since a fixed date, or leave it out. "
                "TableAggregator and KAIM take tables with dates."
            )


def check_partition(labels, k, n_samples, source):
    """Return `labels` numbered from 0; raise an error if they are not a k-partition.

    `source` names the labels in the message, such as "labels".
    """
    labels = np.asarray(labels)
    if labels.shape != (n_samples,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{source} of shape {labels.shape} and type {labels.dtype}: "
            f"they must be {n_samples} integers, one per record."
        )
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if sizes.min() < k:
        raise ValueError(
            f"{source} with a group of {sizes.min()} records: every group must have at least k={k}."
        )
    return labels


def own_copy(parameter, value, methods, alternatives):
    """Clone an object given as a parameter; raise an error if it lacks a method."""
    for method in methods:
        if isinstance(value, type) or not callable(getattr(value, method, None)):
            raise TypeError(
                f"{parameter}={value!r} must be {alternatives}an object with the method {method!r}."
            )
    return clone(value, safe=False)
