"""What the groups of a release disclose about columns that are released unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_consistent_length

from sk_microagg._utils._tables import columns_of
from sk_microagg._utils._typing import Array, Floats, Labels, TableLike
from sk_microagg._utils._validation import check_option
from sk_microagg.metrics._anonymity import classes_of, is_on_dask, refuse_dask
from sk_microagg.privacy import Constraint, LDiversity, TCloseness
from sk_microagg.privacy._codes import as_column, codes_of
from sk_microagg.privacy._counted import GroupCounts
from sk_microagg.tables import Hierarchy


def homogeneity(
    labels_or_release: TableLike,
    sensitive: TableLike,
    missing: Literal["value", "ignored"] = "value",
) -> float | Floats:
    """Share of the records in homogeneous groups: those with a single value of a sensitive column.

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
        Whether a missing value counts as a value like any other. With "ignored", a group is
        homogeneous if it has a single known value, even if other values are missing: they may well
        equal the known one.

    Returns
    -------
    share : float or ndarray of shape (n_columns,)
        From 0, where no group is homogeneous, to 1, where all are; lower is safer. For several
        columns, one share per column.

    See Also
    --------
    anonymity_level : Size of the smallest group.
    diversity : Number of distinct values in the worst group.

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

    Only one value of the first group is known:

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

    return np.array(_by_column(labels_or_release, sensitive, _homogeneous_shares))


def _homogeneous_shares(groups: Labels, column: Any) -> tuple[Any, Any]:
    codes, known = codes_of(column)
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

        - "distinct": the number of distinct values in a group;
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
        The smallest figure of any group, an integer for "distinct"; for "recursive" the largest,
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
    refuse_dask("diversity", labels_or_release, sensitive)
    # Any c will do: it takes no part in the figure.
    constraint = LDiversity(l, kind, 1.0) if kind == "recursive" else LDiversity(1, kind)
    worst = np.max if kind == "recursive" else np.min
    return _by_column(
        labels_or_release, sensitive, lambda *of: worst(_measured(constraint, *of)).item()
    )


def closeness(
    labels_or_release: TableLike, sensitive: TableLike, distance: str | Hierarchy = "auto"
) -> float | Floats:
    """Largest distance between the distributions of a sensitive column in a group and in the table.

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
        The largest earth mover's distance of any group, from 0, if all groups have the distribution
        of the table, to 1. For several columns, one distance per column.

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
    refuse_dask("closeness", labels_or_release, sensitive)
    constraint = TCloseness(distance=distance)
    return _by_column(
        labels_or_release, sensitive, lambda *of: _measured(constraint, *of).max().item()
    )


def beta_likeness(
    labels_or_release: TableLike, sensitive: TableLike, kind: Literal["basic", "enhanced"] = "basic"
) -> float | Floats:
    """Largest relative gain of a value's share in a group over its share in the table.

    If 1% of the table and 10% of a group have some value, its gain is (10 - 1) / 1 = 9. Missing
    values count as one value of their own.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order.

    kind : {"basic", "enhanced"}, default="basic"
        "enhanced" is capped at -ln(p), where p is the share of the rarest value.

    Returns
    -------
    beta : float or ndarray of shape (n_columns,)
        0 if all groups are distributed like the table; lower is safer. For several columns, one
        each.

    See Also
    --------
    delta_disclosure : The same by ratios, in both directions.
    closeness : The largest distance of a group from the table.

    References
    ----------
    J. Cao, P. Karras (2012). Publishing microdata with a robust privacy guarantee. PVLDB 5(11).

    Examples
    --------
    >>> from sk_microagg.metrics import beta_likeness
    >>> beta_likeness([0, 0, 1, 1, 1], ["flu", "flu", "gout", "flu", "gout"])
    0.6666666666666667
    """
    check_option("kind", kind, ["basic", "enhanced"])

    def beta(groups: Labels, column: Any) -> float:
        here, there, rarest = _shares(groups, column)
        gain = float(max(np.max(here / there) - 1, 0.0))
        return min(gain, float(-np.log(rarest))) if kind == "enhanced" else gain

    return _by_column(labels_or_release, sensitive, beta)


def delta_disclosure(labels_or_release: TableLike, sensitive: TableLike) -> float | Floats:
    """Largest absolute logarithm of the ratio of a value's shares in a group and in the table.

    Only values that a group has are compared. Missing values count as one value of their own.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order.

    Returns
    -------
    delta : float or ndarray of shape (n_columns,)
        0 if all groups are distributed like the table; lower is safer. For several columns, one
        each.

    See Also
    --------
    beta_likeness : The largest relative gain.
    closeness : The largest distance of a group from the table.

    References
    ----------
    J. Brickell, V. Shmatikov (2008). The cost of privacy: destruction of data-mining utility in
    anonymized data publishing. KDD, 70–78.

    Examples
    --------
    >>> from sk_microagg.metrics import delta_disclosure
    >>> round(delta_disclosure([0, 0, 1, 1, 1], ["flu", "flu", "gout", "flu", "gout"]), 3)
    0.588
    """

    def delta(groups: Labels, column: Any) -> float:
        here, there, _ = _shares(groups, column)
        return float(np.abs(np.log(here / there)).max())

    return _by_column(labels_or_release, sensitive, delta)


def _shares(groups: Labels, column: Any) -> tuple[Floats, Floats, float]:
    """The shares of values in each group and in the table, and that of the rarest value."""
    codes, _ = codes_of(column)
    counts = GroupCounts.from_labels(groups, codes)
    in_table = np.bincount(codes) / len(codes)
    here = counts.counts / counts.for_pairs(counts.sizes)
    return here, in_table[counts.codes], in_table.min()


def _measured(constraint: Constraint, groups: Labels, column: Any) -> Array:
    """The figure of each group that a constraint bounds."""
    prepared, table = constraint.prepare(column)
    return constraint.measure_groups(groups, prepared, table)


def _by_column(
    labels_or_release: TableLike, sensitive: TableLike, figure: Callable[[Labels, Any], Any]
) -> Any:
    """A figure of the groups and a column, or an array with one for each of several columns."""
    groups = classes_of(labels_or_release, "labels_or_release")
    values = as_column(sensitive)
    is_one = len(np.shape(values)) == 1
    columns = [values] if is_one else columns_of(sensitive, "sensitive")
    check_consistent_length(groups, columns[0])
    figures = [figure(groups, column) for column in columns]
    return figures[0] if is_one else np.array(figures)
