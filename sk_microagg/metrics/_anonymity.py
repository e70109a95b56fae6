"""Anonymity of a released table, and whom the columns that are released unchanged single out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from sk_microagg._utils._tables import as_table, column_names, columns_of, missing_cells
from sk_microagg._utils._typing import Array, Booleans, Labels, TableLike
from sk_microagg.privacy._codes import codes_of

# Combinations of up to this many columns are tried, as many as this many rows in all allow.
MOST_COLUMNS = 3
MOST_COMBINATIONS, MOST_ROWS = 2_000, 30_000_000


def anonymity_level(release: TableLike) -> int:
    """Size of the smallest class of equal rows in a released table.

    A release is k-anonymous if its level is at least k. Rows are compared in all columns, so pass
    only the quasi-identifiers. Missing values of one kind, such as NaN or None, are equal.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_samples, n_features)
        The released table: numbers, text or both. The workers of a Dask DataFrame count its rows.

    Returns
    -------
    level : int
        Size of the smallest class of equal rows.

    Examples
    --------
    >>> from sk_microagg.metrics import anonymity_level
    >>> anonymity_level([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [3.0, 4.0]])
    2
    """
    if is_on_dask(release):
        from sk_microagg.metrics._on_dask import anonymity_level_on_dask  # Dask is an extra.

        return anonymity_level_on_dask(release)
    return int(np.bincount(row_classes(release, "release")).min())


def uniqueness(table: TableLike) -> float:
    """Share of the rows of a table that are unique.

    If the table covers a whole population, such a row identifies a person. Rows are compared in all
    columns, so pass only the quasi-identifiers. Missing values of one kind are equal.

    Parameters
    ----------
    table : array-like or DataFrame of shape (n_samples, n_features)
        Any table, original or released: numbers, text or both.

    Returns
    -------
    share : float
        From 0, if every row occurs at least twice, to 1, if no row does.

    See Also
    --------
    anonymity_level : At least 2 if and only if the share is 0.

    Examples
    --------
    >>> from sk_microagg.metrics import uniqueness
    >>> uniqueness([[30, "Bonn"], [30, "Bonn"], [30, "Ulm"], [41, "Ulm"]])
    0.5
    """
    sizes = np.bincount(row_classes(table, "table"))
    return float(np.count_nonzero(sizes == 1) / sizes.sum())


def joint_anonymity(releases: Sequence[TableLike], unit: Sequence[ArrayLike]) -> int:
    """Smallest number of people who share all of their rows over several releases.

    Releases that are k-anonymous each may single people out together: whoever knows somebody's
    values looks for those who are in the same class of equal rows in every release. Absence from a
    release counts as a value. Rows are compared in all columns, so pass only the quasi-identifiers.

    Parameters
    ----------
    releases : list of array-like or DataFrame
        The released tables.

    unit : list of array-like
        Who each row of each release belongs to. For a person with several rows in a release, the
        distinct rows are compared, not how often each occurs. Rows whose person is missing count as
        those of one person.

    Returns
    -------
    level : int
        The smallest number of people with the same rows in all releases.

    See Also
    --------
    anonymity_level : Measures a single release, in rows.
    sk_microagg.ReleaseSeries : Makes releases with a level of at least k.

    Examples
    --------
    Each release has two people in every class, but only Ann is in the first class of both:

    >>> from sk_microagg.metrics import joint_anonymity
    >>> first, second = [[30], [30], [50], [50]], [[31], [52], [31], [52]]
    >>> names = ["Ann", "Bea", "Cleo", "Dora"]
    >>> joint_anonymity([first, second], [names, names])
    1
    >>> joint_anonymity([first, first], [names, names])
    2
    """
    if len(releases) != len(unit) or not len(releases):
        raise ValueError(
            f"unit of {len(unit)} columns must have one for each of {len(releases)} releases."
        )
    rows: dict[Any, list[set[int]]] = {}
    for number, (release, units) in enumerate(zip(releases, unit, strict=True)):
        classes, people = row_classes(release, "releases"), np.array(units, dtype=object)
        check_consistent_length(classes, people)
        people[missing_cells(people)] = None
        for person, row in zip(people.tolist(), classes.tolist(), strict=True):
            rows.setdefault(person, [set() for _ in releases])[number].add(row)
    return min(Counter(tuple(map(frozenset, own)) for own in rows.values()).values())


def is_on_dask(table: object) -> bool:
    """Whether a table is one of Dask, whose rows may be too many for one machine."""
    return type(table).__module__.startswith("dask.")


def refuse_dask(function: str, *tables: object) -> None:
    """Raise an error if a function that needs tables in memory is given one on Dask."""
    if any(map(is_on_dask, tables)):
        raise TypeError(
            f"{function} needs tables in memory, not on Dask: call compute() on them first."
        )


def row_classes(table: Any, name: str) -> Labels:
    """Number the classes of equal rows from 0, of numbers in order; return that of each row."""
    columns = columns_of(table, name)
    classes = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        codes = number_values(column)
        # Renumbered after every column, so that the products stay far below overflow.
        _, classes = np.unique(classes * (codes.max() + 1) + codes, return_inverse=True)
    return classes


def classes_of(labels_or_release: Any, name: str) -> Labels:
    """Number from 0 the groups that labels name, or the classes of equal rows of a release."""
    table = as_table(labels_or_release)
    if len(np.shape(table)) != 1:
        return row_classes(table, name)
    labels = np.asarray(labels_or_release)
    if not np.issubdtype(labels.dtype, np.integer):
        raise TypeError(
            f"{name} of shape {labels.shape} and type {labels.dtype} must be integers, the group "
            "of each record, or a table with a row per record."
        )
    return np.unique(labels, return_inverse=True)[1]


def expected_if_linked(classes: Labels, units: Array | None) -> float:
    """How probably a random record of their class, or of the unit's best one, is of their unit."""
    sizes = np.bincount(classes)
    if units is None:
        return len(sizes) / len(classes)
    best = np.zeros(int(units.max()) + 1)
    np.maximum.at(best, units, n_own(classes, units) / sizes[classes])
    return float(best[units].mean())


def n_own(classes: Labels, units: Array | None) -> Array:
    """How many records of its class belong to the unit of each record, itself included."""
    if units is None:
        return np.ones(len(classes))
    pairs = classes * (int(units.max()) + 1) + units
    _, pair, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return counts[pair]


def number_values(column: Any) -> Labels:
    """Number the distinct values of a column from 0."""
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return np.unique(column, return_inverse=True)[1]
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(_key(value), len(numbers)) for value in values])


def _key(value: Any) -> Any:
    """The value as a key of a dict: NaN differs from itself, so a sentinel stands for it."""
    return _NAN if isinstance(value, float | np.floating) and np.isnan(value) else value


_NAN = object()


@dataclass(frozen=True)
class UnchangedUniqueness:
    """How far columns that are released unchanged single people out.

    Attributes
    ----------
    unique : float
        Share of the rows that are unique by all these columns together.

    unique_by : tuple of float
        Shares of the rows that are unique by at least one combination of one column, of two, and of
        three; empty for tables on Dask.

    columns_by : tuple of tuple of str
        The combination of one column, of two and of three by which most rows are unique.

    n_combined : int
        Number of columns that were combined: those with the most distinct values. If that is not
        all of them, the shares in `unique_by` are lower bounds.

    unique_with_release : float
        Share of the rows that are unique by these columns and the anonymized ones together.

    expected_matches : float
        Expected share of the rows that are re-identified by an intruder who knows these columns and
        everybody's anonymized row: a record that shares both with m - 1 others is re-identified
        with probability 1 / m, as in `expected_if_linked` of :class:`RecordLinkage`, also with
        `unit`. A constant column does not raise it.

    Examples
    --------
    >>> from sk_microagg.metrics import UnchangedUniqueness
    >>> UnchangedUniqueness(1.0, (0.9,), (("bmi",),), 1, 1.0, 1.0).unique
    1.0
    """

    unique: float
    unique_by: tuple[float, ...]
    columns_by: tuple[tuple[str, ...], ...]
    n_combined: int
    unique_with_release: float
    expected_matches: float


def unchanged_uniqueness(
    labels_or_release: TableLike, unchanged: TableLike, unit: TableLike | None = None
) -> UnchangedUniqueness:
    """Share of the rows that are singled out by columns that are released unchanged.

    k-anonymity is about the anonymized columns only. If a person has a unique combination of other
    released values, an intruder who knows it finds that person's row nevertheless. So pass all
    columns that are released unchanged, except those that no intruder can know.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released, where
        equal rows are a group.

    unchanged : array-like or DataFrame of shape (n_samples, n_unchanged)
        The columns that are released unchanged, with the records in the same order. A missing value
        counts as a value. Dask DataFrames must have the same partitions.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to: a row then counts as unique if all rows equal to it belong to
        one person. Not for tables on Dask.

    Returns
    -------
    uniqueness : UnchangedUniqueness
        Shares of the rows, from 0 to 1.

    See Also
    --------
    determined_columns : Anonymized columns that others determine.
    homogeneity : What groups disclose about a column that is released unchanged.

    Notes
    -----
    Combinations of two and three are tried of the columns with the most distinct values: of 22
    columns for up to 15,000 rows, of 5 for a million.

    Examples
    --------
    >>> from sk_microagg.metrics import unchanged_uniqueness
    >>> release = [[35], [35], [35], [35]]
    >>> found = unchanged_uniqueness(release, [["m", 80], ["m", 80], ["m", 91], ["f", 91]])
    >>> found.unique, found.unique_by, found.columns_by
    (0.5, (0.25, 0.5), (('x0',), ('x0', 'x1')))
    >>> found.expected_matches
    0.75
    """
    if is_on_dask(unchanged):
        from sk_microagg.metrics._on_dask import unchanged_uniqueness_on_dask  # Dask is an extra.

        if unit is not None:
            raise TypeError("unit must be None for tables on Dask.")
        unique, *with_release = unchanged_uniqueness_on_dask(labels_or_release, unchanged)
        return UnchangedUniqueness(unique, (), (), 0, *with_release)
    groups = classes_of(labels_or_release, "labels_or_release")
    names = column_names(unchanged)
    codes = [codes_of(column)[0] for column in columns_of(unchanged, "unchanged")]
    check_consistent_length(groups, codes[0])
    units = np.arange(len(groups)) if unit is None else codes_of(unit)[0]
    check_consistent_length(groups, units)
    together = np.zeros(len(groups), dtype=np.intp)
    for column in codes:
        together = _refined(together, column)
    unique_by, columns_by, n_combined = _combined(codes, units)
    with_release = _refined(together, groups)
    return UnchangedUniqueness(
        unique=float(1 - np.mean(_is_shared(together, units))),
        unique_by=tuple(unique_by),
        columns_by=tuple(tuple(names[j] for j in columns) for columns in columns_by),
        n_combined=n_combined,
        unique_with_release=float(1 - np.mean(_is_shared(with_release, units))),
        expected_matches=expected_if_linked(with_release, None if unit is None else units),
    )


def _refined(classes: Labels, codes: Array) -> Labels:
    """Number the combinations of a class and a code that occur."""
    joint = classes * (int(codes.max()) + 1) + codes
    n_possible = int(joint.max()) + 1
    if n_possible > 4 * len(joint):
        return np.unique(joint, return_inverse=True)[1]
    # Much faster than to sort them.
    occurs = np.zeros(n_possible, dtype=bool)
    occurs[joint] = True
    return (np.cumsum(occurs) - 1)[joint]


def _is_shared(classes: Labels, units: Array) -> Booleans:
    """Whether the class of each row has rows of several units."""
    someone = np.zeros(classes.max(initial=0) + 1, dtype=units.dtype)
    someone[classes] = units
    is_of_others = np.zeros(len(someone), dtype=bool)
    is_of_others[classes[units != someone[classes]]] = True
    return is_of_others[classes]


def _combined(codes: list[Array], units: Array) -> tuple[list[float], list[Any], int]:
    """Shares of the rows that are unique by one, two and three columns, and by which most are."""
    n_rows = len(units)
    budget = min(MOST_COMBINATIONS, MOST_ROWS // n_rows)
    affordable = (
        n - 1 for n in count(MOST_COLUMNS + 1) if sum(comb(n, m) for m in (1, 2, 3)) > budget
    )
    n_combined = min(len(codes), next(affordable))
    # The more values, the more rows are unique.
    order = np.argsort([-int(column.max()) for column in codes], kind="stable")[:n_combined]
    sizes = range(min(MOST_COLUMNS, n_combined))
    is_unique = [np.zeros(n_rows, dtype=bool) for _ in sizes]
    best: list[tuple[int, tuple[int, ...]]] = [(-1, ()) for _ in sizes]

    def search(rows: Labels, classes: Labels, columns: tuple[int, ...], start: int) -> None:
        """Add a column to a combination; `rows` are those that are not unique by it."""
        size = len(columns)
        for place in range(start, n_combined):
            own = (*columns, int(order[place]))
            refined = _refined(classes, codes[own[-1]][rows]) if len(rows) else classes
            is_shared = _is_shared(refined, units[rows])
            is_unique[size][rows[~is_shared]] = True
            n_unique = n_rows - int(is_shared.sum())
            if n_unique > best[size][0]:
                best[size] = n_unique, own
            if size + 1 < len(sizes):
                search(rows[is_shared], refined[is_shared], own, place + 1)

    search(np.arange(n_rows), np.zeros(n_rows, dtype=np.intp), (), 0)
    # What is unique by some columns is so by more of them.
    shares = np.logical_or.accumulate(is_unique).mean(axis=1)
    return shares.tolist(), [columns for _, columns in best], n_combined
