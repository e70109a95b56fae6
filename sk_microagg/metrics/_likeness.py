"""How much more an intruder learns about a sensitive column from a group than from the table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sk_microagg._utils._typing import Floats, TableLike
from sk_microagg._utils._validation import check_option
from sk_microagg.metrics._groups import _groups_and_columns
from sk_microagg.privacy._codes import GroupCounts, codes_of


def beta_likeness(
    labels_or_release: TableLike,
    sensitive: TableLike,
    kind: Literal["basic", "enhanced"] = "basic",
) -> float | Floats:
    """Largest relative gain of a value's share in a group over its share in the table.

    A value that 1% of the table have and 10% of a group is 9 times more frequent there than in
    the table, beyond once. Missing values count as one value of their own.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order.

    kind : {"basic", "enhanced"}, default="basic"
        "enhanced" is at most -ln(p) for the share p of the rarest value.

    Returns
    -------
    beta : float or ndarray of shape (n_columns,)
        From 0, where all groups are distributed as the table; lower is safer. For several columns,
        one per column.

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
    return _by_column(
        labels_or_release,
        sensitive,
        lambda here, there, rarest: _beta(here, there, rarest, kind),
    )


def delta_disclosure(labels_or_release: TableLike, sensitive: TableLike) -> float | Floats:
    """Largest logarithm of the ratio between a value's shares in a group and in the table.

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
        From 0, where all groups are distributed as the table; lower is safer. For several columns,
        one per column.

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
    return _by_column(
        labels_or_release, sensitive, lambda here, there, _: np.abs(np.log(here / there)).max()
    )


def _beta(here: Floats, there: Floats, rarest: float, kind: str) -> float:
    beta = max(np.max(here / there) - 1, 0.0)
    return min(beta, -np.log(rarest)) if kind == "enhanced" else beta


def _by_column(labels_or_release: TableLike, sensitive: TableLike, figure: Any) -> Any:
    """A figure of the shares of values in groups and in the table, and of the smallest of these."""
    groups, columns, is_one = _groups_and_columns(labels_or_release, sensitive)
    figures = []
    for column in columns:
        codes, _ = codes_of(column)
        counts = GroupCounts.from_labels(groups, codes)
        in_table = np.bincount(codes) / len(codes)
        here = counts.counts / counts.for_pairs(counts.sizes)
        figures.append(float(figure(here, in_table[counts.codes], in_table.min())))
    return figures[0] if is_one else np.array(figures)
