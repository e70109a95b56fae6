"""Disclosure of original values by the released ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_microagg._utils._typing import Booleans, Floats, Labels, TableLike
from sk_microagg._utils._validation import LARGEST_VALUE, check_number
from sk_microagg.metrics._pairs import Pair, make_pair, standard_deviations

# A value within this distance of the released one counts as close: in standard deviations of its
# column, and in ranks as a share of the records.
INTERVAL, RANKS = 0.1, 0.1


def interval_disclosure(X: TableLike, release: TableLike, *, width: float = INTERVAL) -> Floats:
    """Share of the values of each column that lie in an interval around the released value.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records: numbers, or columns of any kind with missing values.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    width : float, default=0.1
        Half the width of the interval, which is centered at the released value, in standard
        deviations of the original column.

    Returns
    -------
    shares : ndarray of shape (n_features,)
        For each column, the share of the records whose original value is in the interval, from 0 to
        1; lower is safer. In a constant column, it is the share of values that are released
        unchanged. So it is in columns of categories and ordinal values; numbers and dates lie in an
        interval or not. Missing values do not count, and are not disclosed by any released value.

    See Also
    --------
    rank_disclosure : The same with an interval of ranks.

    Examples
    --------
    >>> from sk_microagg.metrics import interval_disclosure
    >>> X = [[10.0, 1.0], [20.0, 2.0], [30.0, 3.0], [40.0, 9.0]]
    >>> release = [[15.0, 1.5], [15.0, 1.5], [35.0, 6.0], [35.0, 6.0]]
    >>> interval_disclosure(X, release, width=0.25)
    array([0. , 0.5])
    """
    width = check_number("width", width, at_least=0, at_most=LARGEST_VALUE)
    pair = make_pair(X, release)
    return shares_of_known(pair, values_in_interval(pair, width))


def values_in_interval(pair: Pair, width: float = INTERVAL) -> list[Booleans]:
    """Whether the value of each record is known and in such an interval, by column."""

    def in_interval(values: Floats, released: Floats) -> Booleans:
        return np.abs(values - released) <= width * standard_deviations(values[:, None])[0]

    return _close_values(pair, in_interval)


def _close_values(pair: Pair, is_close: Callable[[Floats, Floats], Booleans]) -> list[Booleans]:
    """Whether the value of each record is known and close, or equal if not on a line, by column."""
    found = []
    for values, released, is_line in pair.columns():
        close = ~np.isnan(values)
        of_known = values[close], released[close]
        close[close] = is_close(*of_known) if is_line else np.equal(*of_known)
        found.append(close)
    return found


def shares_of_known(pair: Pair, found: list[Booleans]) -> Floats:
    """Share of the known values of each column that are among those found."""
    n_known = [np.count_nonzero(~np.isnan(values)) for values, _, _ in pair.columns()]
    return np.array([close.sum() / max(n, 1) for close, n in zip(found, n_known, strict=True)])


def rank_disclosure(X: TableLike, release: TableLike, *, share: float = RANKS) -> Floats:
    """Share of the values of each column whose ranks are close to those of the released values.

    A value is disclosed if few values of the original column lie between it and the value released
    for it. Those that equal one of the two count half.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records: numbers, or columns of any kind with missing values.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    share : float, default=0.1
        The largest difference of the ranks of both values in the original column at which a value
        counts as disclosed, as a share of the number of records, from 0 to 1.

    Returns
    -------
    shares : ndarray of shape (n_features,)
        For each column, the share of the records whose value is disclosed, from 0 to 1; lower is
        safer. Values that are released unchanged are always disclosed. In a constant column, the
        rank of a changed value differs by half the number of records. In columns of categories
        and ordinal values, it is the share of values that are released unchanged. Missing values do
        not count, and are not disclosed by any released value.

    See Also
    --------
    interval_disclosure : The same with an interval of values.

    Examples
    --------
    >>> from sk_microagg.metrics import rank_disclosure
    >>> X = [[10.0, 1.0], [20.0, 2.0], [30.0, 3.0], [40.0, 9.0]]
    >>> release = [[15.0, 4.0], [15.0, 4.0], [35.0, 3.5], [35.0, 3.5]]
    >>> rank_disclosure(X, release, share=0.25)
    array([1. , 0.5])
    """
    share = check_number("share", share, at_least=0, at_most=1)
    pair = make_pair(X, release)
    return shares_of_known(pair, values_near_in_rank(pair, share))


def values_near_in_rank(pair: Pair, share: float = RANKS) -> list[Booleans]:
    """Whether the value of each record is known and its rank near that of the released one."""

    def in_ranks(values: Floats, released: Floats) -> Booleans:
        is_known = ~np.isnan(released)
        near = np.zeros(len(values), dtype=bool)
        near[is_known] = _is_near_in_rank(values, released, share, is_known)
        return near

    return _close_values(pair, in_ranks)


def _is_near_in_rank(
    column: Floats, released: Floats, share: float, rows: Any = slice(None)
) -> Booleans:
    """Whether the ranks of released values in the original column are near those of their own."""
    # Rounded, since 0.29 * 100 is slightly less than 29.
    farthest = round(2 * share * len(column), 6)
    ordered = np.sort(column)
    own, other = (_twice_the_ranks(values[rows], ordered) for values in (column, released))
    return np.abs(own - other) <= farthest


def _twice_the_ranks(values: Floats, ordered: Floats) -> Labels:
    """Twice the midranks of values among others, as integers."""
    # Searching for distinct values in ascending order is fast: memory is accessed in order.
    values, places = np.unique(values, return_inverse=True)
    ranks = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return ranks[places]
