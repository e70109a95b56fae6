"""Numeric tables and their releases: validation, standard deviations and correlations."""

from typing import Any

import numpy as np

from sk_microagg._utils._typing import Floats
from sk_microagg._utils._validation import check_records


def column_names(table: Any) -> list[Any]:
    """Names of the columns of a DataFrame; an empty list for other tables."""
    columns = getattr(table, "columns", None)
    return [] if columns is None else list(columns)


def check_pair(X: Any, release: Any) -> tuple[Floats, Floats]:
    """Return a table and its release as arrays of finite floats, or raise if they do not match."""
    names, released_names = column_names(X), column_names(release)
    X, release = check_records(X), check_records(release, name="release")
    if X.shape != release.shape:
        raise ValueError(f"release of shape {release.shape} must have the shape of X, {X.shape}.")
    check_names_match(names, released_names)
    return X, release


def check_names_match(names: list[Any], released_names: list[Any], table: str = "release") -> None:
    """Raise if columns, which are matched by position, have the same names in another order."""
    if names != released_names and set(names) == set(released_names):
        raise ValueError(
            f"{table} has the columns {released_names}: they must be in the order of X, {names}."
        )


def standard_deviations(X: Floats) -> Floats:
    """Standard deviation of each column; exactly 0 if it is constant."""
    return np.ptp(X, axis=0) * _in_unit_ranges(X).std(axis=0)


def correlations(X: Floats) -> Floats:
    """Pearson correlations of the columns; 0 where one of the two is constant."""
    deviations = _in_unit_ranges(X)
    deviations -= deviations.mean(axis=0)
    lengths = np.sqrt((deviations**2).sum(axis=0))
    deviations /= np.where(lengths > 0, lengths, 1.0)
    return deviations.T @ deviations


def _in_unit_ranges(X: Floats) -> Floats:
    """Columns scaled to [0, 1], constant ones to 0: sums are accurate and squares do not vanish."""
    ranges = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(ranges > 0, ranges, 1.0)
