"""Validation of arguments, shared by the estimators, builders, refiners and metrics."""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._places import (
    NO_NUMBER,
    TOO_LARGE,
    CellsError,
    check_cells,
    no_numbers,
)
from sk_microagg._utils._tables import (
    DATES,
    cells_of,
    columns_of,
    dimensions_explained,
    has_masked_rows,
    holds_dates,
    is_arrow,
    is_frame,
    is_null,
)
from sk_microagg._utils._typing import Estimator, Floats, Labels, RandomState

NOTHING = object()

# With values up to this, the sum of squares of a table of any size is finite.
LARGEST_VALUE = 1e140

# Squares of smaller differences are rounded to few digits, or to 0.
SMALLEST_RANGE = 1e-150

ARROW_DATES = re.compile(r"\b(timestamp|date32|date64|time32|time64|duration)\b")

# Kernels count in 64 bits.
LARGEST_COUNT = 2**63 - 1


def check_k(k: Any, n_samples: Any) -> int:
    """Return `k` as an int; raise an error if it is not from 1 to `n_samples`."""
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k={k!r} must be an integer, got {type(k).__name__}.")
    if k < 1:
        raise ValueError(f"k={k} must be at least 1.")
    if k > n_samples:
        raise ValueError(f"k={k} must be at most the number of records, n_samples={n_samples}.")
    return int(k)


def warn_if_k_is_1(k: int, privacy: Any = None) -> None:
    """Warn that a release protects nobody, unless constraints ask for larger groups."""
    if k == 1 and not privacy:
        warn_user(
            "k=1: nothing is anonymized, since each record may be a group of its own. k must be at "
            "least 2 to protect anybody.",
        )


def check_count(name: str, value: Any, *, or_none: bool = False, or_options: str = "") -> int:
    """Return a positive integer as an int, or -1 for None; messages list what else is allowed."""
    if value is None and or_none:
        return -1
    allowed = "an integer of at least 1" + (" or None" if or_none else or_options)
    if isinstance(value, str) and or_options:
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be {allowed}, got {type(value).__name__}.")
    if value < 1:
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    if int(value) > LARGEST_COUNT:
        raise ValueError(f"{name}={value!r} must be at most {LARGEST_COUNT}.")
    return int(value)


def check_number(
    name: str,
    value: Any,
    *,
    above: Any = -inf,
    at_least: Any = -inf,
    at_most: Any = inf,
    or_option: object = NOTHING,
) -> Any:
    """Return a number in range as a float, or the other value that is allowed, if any."""
    if isinstance(value, str | None) and value == or_option:
        return value
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


def check_n_jobs(n_jobs: Any) -> None:
    allowed = "None or an integer other than 0"
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs={n_jobs!r} must be {allowed}, got {type(n_jobs).__name__}.")
    if n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be {allowed}.")


def check_verbose(verbose: Any) -> None:
    """Raise an error unless `verbose` is a bool or a nonnegative integer."""
    allowed = "True, False or an integer of at least 0"
    if not isinstance(verbose, Integral | np.bool_):
        raise TypeError(f"verbose={verbose!r} must be {allowed}, got {type(verbose).__name__}.")
    if verbose < 0:
        raise ValueError(f"verbose={verbose!r} must be {allowed}.")


def check_option(name: str, value: object, allowed: Collection[object]) -> None:
    if not isinstance(value, Hashable) or value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name}={value!r} must be one of {options}.")


def check_dict(name: str, value: Any, of: str) -> dict[Any, Any]:
    """Return a dict from columns, empty for None; messages say what it may be `of`."""
    if not isinstance(value, dict | None):
        allowed = f"a dict from columns to {of} or None"
        raise TypeError(f"{name}={value!r} must be {allowed}, got {type(value).__name__}.")
    return value or {}


def check_records(
    X: Any,
    *,
    dtype: Any = np.float64,
    name: str = "X",
    estimator: Estimator = None,
    allow_missing: bool = False,
) -> Floats:
    """Return `X` as C-contiguous finite floats; with `allow_missing`, also NaN."""
    if allow_missing:
        X = without_mask(X)
    check_no_hidden_numbers(X, name)
    with cells_explained(X, name):
        names = list(X.columns) if is_frame(X) else None
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
        _refuse_large(X, name, range(X.shape[1]) if names is None else names)
    return X


def _refuse_large(X: Floats, name: str, labels: Collection[Any]) -> None:
    """Raise about the first column with numbers that are too large."""
    for label, column in zip(labels, X.T, strict=True):
        check_cells(
            np.abs(column) > LARGEST_VALUE,
            f"Column {label!r} of {name}",
            TOO_LARGE,
            n_cells=int(np.sum(~np.isnan(column))),
            advice=f"Numbers must be finite and at most {LARGEST_VALUE:.3g}, or squared distances "
            "overflow.",
            column=label,
        )


def check_range(values: Floats, words: str) -> None:
    """Raise an error if values differ, but so little that their squared distances underflow."""
    known = values[~np.isnan(values)]
    if len(known) and 0 < float(known.max()) - float(known.min()) < SMALLEST_RANGE:
        raise ValueError(
            f"{words} holds numbers that differ so little that squared distances underflow: the "
            f"largest and the smallest must differ by at least {SMALLEST_RANGE:g}. Multiply them "
            "by a power of ten."
        )


def check_ranges(X: Floats) -> None:
    """Raise an error if the squared distances of a column of records underflow."""
    for number, column in enumerate(X.T):
        check_range(column, f"Column {number} of X")


def without_mask(X: Any) -> Any:
    """Return `X`; masked values of an array, or of rows, as NaN."""
    if has_masked_rows(X):
        X = np.ma.vstack(X)
    if not np.ma.isMaskedArray(X):
        return X
    return X.astype(X.dtype if X.dtype.kind == "f" else np.float64).filled(np.nan)  # type: ignore[attr-defined]


@contextmanager
def cells_explained(X: Any, name: str = "X") -> Iterator[None]:
    """Say where text and infinite numbers are: scikit-learn does not, or quotes a cell."""
    try:
        with dimensions_explained(name):
            yield
    except TypeError as error:
        if not str(error).startswith("float() argument"):
            raise
        raise TypeError(
            f"{name} of type {type(X).__name__} must be a table of numbers: {error}."
        ) from error
    except CellsError:
        raise
    except ValueError as error:
        is_text = str(error).startswith("could not convert string")
        if not is_text and "contains infinity" not in str(error):
            raise
        is_table = is_frame(X) or (isinstance(X, np.ndarray | list | tuple) and np.ndim(X) == 2)
        if is_table and is_text:
            _refuse_text(X, name)
        elif is_table:
            _refuse_large(check_array(X, ensure_all_finite=False), name, _labels(X))
        raise ValueError(f"{name} holds text or infinite values, but must hold numbers.") from None


def _refuse_text(X: Any, name: str) -> None:
    """Raise about the first column with text among its numbers."""
    for label, column in zip(_labels(X), columns_of(X, name), strict=True):
        cells = cells_of(column)
        check_cells(
            no_numbers(cells),
            f"Column {label!r} of {name}",
            NO_NUMBER,
            n_cells=sum(not is_null(cell) for cell in cells),
            advice="TableAggregator and KAIM take tables with text.",
            column=label,
        )


def check_no_hidden_numbers(X: Any, name: str = "X") -> None:
    """Raise an error for masked values, dates and equal names, which conversion would hide."""
    rows = X if has_masked_rows(X) else [X]
    if any(np.ma.is_masked(row) for row in rows):
        raise ValueError(
            f"Input {name} contains masked values: they count as missing, as NaN does. "
            "MicroAggregator, TableAggregator and KAIM take tables with missing values."
        )
    if is_frame(X):
        check_names_differ(X.columns, name)
    dates = _column_of_dates(X, name)
    if dates is not None:
        raise TypeError(
            f"Column {dates!r} of {name} holds dates or times: it must hold numbers. Convert it "
            "first, for example to days since a fixed date, or leave it out. TableAggregator takes "
            "tables with dates, and releases dates."
        )


def check_names_differ(names: Iterable[Hashable], table: str = "X") -> None:
    for column, n_times in Counter(names).items():
        if n_times > 1:
            raise ValueError(f"{table} has several columns named {column!r}: names must differ.")


def check_names_alike(X: Any) -> None:
    """Raise an error if only some names of columns are str, before scikit-learn does after fit."""
    if len({isinstance(name, str) for name in getattr(X, "columns", ())}) > 1:
        raise TypeError(
            "X has columns whose names are str and others: all names must be str, as after "
            "X.columns = X.columns.astype(str)."
        )


def _column_of_dates(X: Any, name: str) -> Any:
    """The name of the first column that holds dates or times; None if there is none."""
    if is_arrow(X):
        types = zip(X.schema.names, X.schema.types, strict=True)
        return next((label for label, kind in types if ARROW_DATES.search(str(kind))), None)
    if isinstance(X, list | tuple):
        rows = (row for row in X if isinstance(row, list | tuple | np.ndarray))
        cells = (pair for row in rows for pair in enumerate(row))
        return next((place for place, cell in cells if isinstance(cell, DATES)), None)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    is_array = getattr(X, "ndim", None) == 2 and kind in ("O", "m", "M")
    if not (is_array or is_frame(X)) or 0 in X.shape:
        return None
    columns = zip(_labels(X), columns_of(X, name), strict=True)
    return next((label for label, column in columns if holds_dates(column)), None)


def _labels(X: Any) -> Collection[Any]:
    """The names of the columns of a table, or their positions."""
    return list(X.columns) if is_frame(X) else range(np.shape(X)[1])


def check_partition(labels: ArrayLike, k: int, n_samples: int, source: str) -> Labels:
    """Return labels numbered from 0; raise an error if they are not a k-partition."""
    labels = np.asarray(labels)
    if labels.shape != (n_samples,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{source} of shape {labels.shape} and type {labels.dtype}: "
            f"they must be {n_samples} integers, one per record."
        )
    if labels.min() < 0 or labels.max() >= n_samples:
        labels = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(labels.astype(np.intp, copy=False))
    is_used = sizes > 0
    labels, sizes = (np.cumsum(is_used) - 1)[labels], sizes[is_used]
    if sizes.min() < k:
        raise ValueError(
            f"{source} with a group of {sizes.min()} records: every group must have at least k={k}."
        )
    return labels


def own_copy(parameter: str, value: Any, methods: Iterable[str], alternatives: str) -> Any:
    """Clone an object given as a parameter; raise an error if it lacks a method."""
    for method in methods:
        if isinstance(value, type) or not callable(getattr(value, method, None)):
            raise TypeError(
                f"{parameter}={value!r} must be {alternatives}an object with the method {method!r}."
            )
    return clone(value, safe=False)


def check_seed(random_state: RandomState) -> Any:
    """Return the `RandomState` of a parameter `random_state`; raise an error that names it."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer from 0 to 2**32 - 1 or an "
            "instance of numpy.random.RandomState."
        ) from None


def seeds_of_parts(random_state: RandomState, n_parts: int) -> Any:
    """Return a seed for each part, or the state itself for one; None stays None."""
    if n_parts == 1 or random_state is None:
        return [random_state] * n_parts
    return check_seed(random_state).randint(np.iinfo(np.int32).max, size=n_parts)
