"""What the groups of a release disclose about columns that are released unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_consistent_length

from sk_microagg._utils._tables import columns_of
from sk_microagg._utils._typing import Array, Floats, Labels, TableLike
from sk_microagg._utils._validation import check_option
from sk_microagg.generalization import Hierarchy
from sk_microagg.metrics._anonymity import classes_of, is_on_dask
from sk_microagg.privacy import Constraint, DistinctUnits, LDiversity, TCloseness, UnitShare
from sk_microagg.privacy._codes import GroupCounts, as_column, codes_of


def homogeneity(
    labels_or_release: TableLike,
    sensitive: TableLike,
    missing: Literal["value", "ignored"] = "value",
) -> float | Floats:
    """Share of the records in homogeneous groups, which share one value of a sensitive column.

    An intruder who knows that a person is in such a group learns the person's value, for example
    the diagnosis, however large the group is.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order.
        Dask DataFrames must have the same partitions; their workers do the counting.

    missing : {"value", "ignored"}, default="value"
        What a missing value is: a value like others, or nothing. With "ignored", groups are
        homogeneous that have a single known value, whether or not others are missing: the known
        value may be true of those, too.

    Returns
    -------
    share : float or ndarray of shape (n_columns,)
        From 0, where no group is homogeneous, to 1, where all are; lower is safer. For several
        columns, one share per column.

    See Also
    --------
    anonymity_level : Size of the smallest group.
    diversity : Number of different values in the worst group.

    Examples
    --------
    >>> from sk_microagg.metrics import homogeneity
    >>> release = [[31, "Bonn"], [31, "Bonn"], [52, "*"], [52, "*"], [52, "*"]]
    >>> homogeneity(release, ["flu", "flu", "gout", "flu", "gout"])
    0.4
    >>> homogeneity(release, [["flu", 1], ["flu", 1], ["gout", 1], ["flu", 1], ["gout", 1]])
    array([0.4, 1. ])
    >>> homogeneity([0, 0, 1, 1, 1], ["flu", "flu", "gout", "flu", "gout"])
    0.4

    In the first group, one value is known:

    >>> homogeneity([0, 0, 1, 1], ["flu", None, "flu", "gout"], missing="ignored")
    0.5
    """
    check_option("missing", missing, ["value", "ignored"])
    shares = homogeneity_of_both(labels_or_release, sensitive)[..., int(missing == "ignored")]
    return shares if shares.ndim else float(shares)


def homogeneity_of_both(labels_or_release: TableLike, sensitive: TableLike) -> Floats:
    """Shares with missing values as a value and ignored, along the last axis."""
    if is_on_dask(labels_or_release):
        from sk_microagg.metrics._on_dask import homogeneity_on_dask  # Dask is an extra.

        return homogeneity_on_dask(labels_or_release, sensitive)

    groups, columns, is_one = _groups_and_columns(labels_or_release, sensitive)
    shares = [_homogeneous_shares(groups, *codes_of(column)) for column in columns]
    return np.array(shares[0] if is_one else shares)


def _homogeneous_shares(groups: Labels, codes: Array, known: list[Any]) -> tuple[Any, Any]:
    counts = GroupCounts.from_labels(groups, codes)
    n_known = counts.n_codes - counts.sum((counts.codes == len(known)).astype(np.intp))
    return np.mean(counts.n_codes[groups] == 1), np.mean(n_known[groups] == 1)


def diversity(
    labels_or_release: TableLike,
    sensitive: TableLike,
    kind: Literal["distinct", "entropy", "recursive"] = "distinct",
    l: int = 2,  # noqa: E741
) -> float | Array:
    """Diversity of a sensitive column in the worst group.

    A release is l-diverse if its diversity is at least l.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order. A
        missing value counts as a value.

    kind : {"distinct", "entropy", "recursive"}, default="distinct"
        What is measured.

        - "distinct": the number of different values in a group;
        - "entropy": the exponential of their entropy, which is the number of equally frequent
          values that are as hard to predict;
        - "recursive": r1 / (r_l + r_(l+1) + ...), where r1 is the number of records with the most
          frequent value of a group, r2 with the second most frequent one and so on; infinite if
          there are fewer than `l` values. The release is recursively (c, l)-diverse for every c
          above this ratio.

    l : int, default=2
        The l of `kind="recursive"`; the other kinds ignore it.

    Returns
    -------
    diversity : int, float or ndarray of shape (n_columns,)
        The smallest figure of any group, an integer for "distinct"; the largest for "recursive",
        where lower is safer. For several columns, one figure per column.

    See Also
    --------
    sk_microagg.privacy.LDiversity : Keeps groups diverse.
    closeness : How much the groups differ from the whole table.

    Examples
    --------
    >>> from sk_microagg.metrics import diversity
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> illness = ["flu", "gout", "flu", "flu", "gout", "cold"]
    >>> diversity(labels, illness)
    2
    >>> round(diversity(labels, illness, kind="entropy"), 3)
    1.89
    >>> diversity(labels, illness, kind="recursive", l=2)
    2.0
    """
    _refuse_dask("diversity", labels_or_release, sensitive)
    # Any c will do: it takes no part in the figure.
    constraint = LDiversity(l, kind, 1.0) if kind == "recursive" else LDiversity(1, kind)
    worst = np.max if kind == "recursive" else np.min
    return _by_column(
        constraint, labels_or_release, sensitive, lambda figures, _: worst(figures).item()
    )


def closeness(
    labels_or_release: TableLike, sensitive: TableLike, distance: str | Hierarchy = "auto"
) -> float | Floats:
    """Largest difference between the sensitive values of a group and those of the whole table.

    A release is t-close if this is at most t.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order. A
        missing value counts as a value.

    distance : {"auto", "ordered", "equal"} or Hierarchy, default="auto"
        How far values are apart, as in :class:`~sk_microagg.privacy.TCloseness`.

    Returns
    -------
    distance : float or ndarray of shape (n_columns,)
        The largest earth mover's distance of any group, from 0, where all groups are like the
        table, to 1. For several columns, one distance per column.

    See Also
    --------
    sk_microagg.privacy.TCloseness : Keeps groups close to the table.
    diversity : How many different values the groups have.

    Examples
    --------
    >>> from sk_microagg.metrics import closeness
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> closeness(labels, [20, 30, 40, 20, 30, 30])
    0.08333333333333333
    >>> closeness(labels, ["flu", "gout", "flu", "flu", "gout", "gout"])
    0.16666666666666666
    """
    _refuse_dask("closeness", labels_or_release, sensitive)
    constraint = TCloseness(distance=distance)
    return _by_column(
        constraint, labels_or_release, sensitive, lambda figures, _: figures.max().item()
    )


def units_per_group(labels_or_release: TableLike, unit: TableLike) -> int:
    """Smallest number of different units, such as people, in any group.

    If people have several records each, a group of k records may belong to fewer than k of them.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    unit : array-like or Series of shape (n_samples,)
        Who each record belongs to, with the records in the same order. Records of which this is
        missing count as those of a single unit.

    Returns
    -------
    n_units : int
        Number of different units in the group with the fewest.

    See Also
    --------
    anonymity_level : Smallest number of records in any group.
    unit_share : Largest share of one unit in any group.

    Examples
    --------
    >>> from sk_microagg.metrics import units_per_group
    >>> units_per_group([0, 0, 0, 1, 1, 1], ["Ann", "Ann", "Bob", "Cid", "Bob", "Dan"])
    2
    """
    _check_unit("units_per_group", labels_or_release, unit)
    return _by_column(
        DistinctUnits(), labels_or_release, unit, lambda figures, _: figures.min().item()
    )


def unit_share(labels_or_release: TableLike, unit: TableLike) -> float:
    """Largest share of the records of a group that belong to one unit, such as a person.

    A group of records of k people protects little if nearly all are of one of them: an intruder
    who attributes all records of the group to that person is right for this share. The risk of that
    person is above 1 / k if the share is.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    unit : array-like or Series of shape (n_samples,)
        Who each record belongs to, with the records in the same order. Records of which this is
        missing count as those of a single unit.

    Returns
    -------
    share : float
        From above 0 to 1, where a group has records of one unit only; lower is safer.

    See Also
    --------
    sk_microagg.privacy.UnitShare : Bounds it.
    units_per_group : Smallest number of different units in any group.

    Examples
    --------
    >>> from sk_microagg.metrics import unit_share
    >>> unit_share([0, 0, 0, 0, 1, 1], ["Ann", "Ann", "Ann", "Bob", "Bob", "Dan"])
    0.75
    """
    _check_unit("unit_share", labels_or_release, unit)
    return _by_column(UnitShare(), labels_or_release, unit, lambda figures, _: figures.max().item())


def _check_unit(function: str, labels_or_release: TableLike, unit: TableLike) -> None:
    _refuse_dask(function, labels_or_release, unit)
    if len(np.shape(unit)) != 1:
        raise ValueError(f"unit of shape {np.shape(unit)} must have one dimension.")


def _by_column(
    constraint: Constraint,
    labels_or_release: TableLike,
    sensitive: TableLike,
    summarize: Callable[[Array, Labels], float],
) -> Any:
    """Summary of the figures of all groups, for a single column or for each of several."""
    groups, columns, is_one = _groups_and_columns(labels_or_release, sensitive)
    summaries = []
    for column in columns:
        prepared, table = constraint.prepare(column)
        summaries.append(summarize(constraint.measure_groups(groups, prepared, table), groups))
    return summaries[0] if is_one else np.array(summaries)


def _groups_and_columns(
    labels_or_release: TableLike, sensitive: TableLike
) -> tuple[Labels, list[Any], bool]:
    """The group of each record, the columns, and whether these were given as a single one."""
    groups = classes_of(labels_or_release, "labels_or_release")
    values = as_column(sensitive)
    is_one = len(np.shape(values)) == 1
    columns = [values] if is_one else columns_of(sensitive, "sensitive")
    check_consistent_length(groups, columns[0])
    return groups, columns, is_one


def _refuse_dask(function: str, *tables: object) -> None:
    if any(map(is_on_dask, tables)):
        raise TypeError(
            f"{function} needs tables in memory, not on Dask: call compute() on them first."
        )
