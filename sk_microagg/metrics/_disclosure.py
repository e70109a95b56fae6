"""Disclosure of original values by the released ones, and by a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._utils._estimator import has_cells
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels, TableLike
from sk_microagg._utils._validation import LARGEST_VALUE, check_number
from sk_microagg.metrics._pairs import Pair, make_pair, standard_deviations

# A value within this distance of the released one counts as close: in standard deviations of its
# column, and in ranks as a share of the records.
INTERVAL, RANKS = 0.1, 0.1

# More possible records are not listed by `cell_enumeration`.
# Sums of lattice points are whole numbers but for rounding errors.
ROUNDING = 1e-6

MOST_POINTS = 1_000_000
# Records of cells with more possible ones, or after more steps of the search, are not determined.
MOST_CANDIDATES = 1_000
MOST_STEPS = 10_000


def interval_disclosure(X: TableLike, release: TableLike, *, width: float = INTERVAL) -> Floats:
    """Share of the values of each column that lie in an interval around the released value.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records: numbers, or columns of any kind with missing values.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    width : float, default=0.1
        Half the width of the interval, which is centered on the released value, in standard
        deviations of the original column.

    Returns
    -------
    shares : ndarray of shape (n_features,)
        For each column, the share of the records whose original value is in the interval, from 0 to
        1; lower is safer. In constant columns and in columns of categories or ordinal values, it is
        the share of the values that are released unchanged. Missing values do not count: no
        released value discloses them.

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
    for it; values that equal one of the two count half.

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
        rank of a changed value differs by half the number of records. In columns of categories or
        ordinal values, it is the share of the values that are released unchanged. Missing values do
        not count: no released value discloses them.

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
        # Rounded, since 0.29 * 100 is slightly less than 29.
        farthest = round(2 * share * len(values), 6)
        ordered = np.sort(values)
        own, other = (_twice_the_ranks(each, ordered) for each in (values, released))
        return (np.abs(own - other) <= farthest) & ~np.isnan(released)

    return _close_values(pair, in_ranks)


def _twice_the_ranks(values: Floats, ordered: Floats) -> Labels:
    """Twice the midranks of values among others, as integers."""
    # Searching for distinct values in ascending order is fast: memory is accessed in order.
    values, places = np.unique(values, return_inverse=True)
    ranks = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return ranks[places]


def cell_enumeration(aggregator: Any, values: Sequence[ArrayLike]) -> float:
    """Share of the groups whose records are determined by a model and its release.

    An intruder who knows which values are possible in each column lists all possible records and
    finds the group of each by `transform`. The records of a group are among the candidates in its
    cell; their number and their mean are known. If only one multiset of candidates has that size
    and mean, the intruder knows all records of the group.

    Parameters
    ----------
    aggregator : MicroAggregator
        A fitted model, without strata. For a model from :meth:`release_only
        <sk_microagg.MicroAggregator.release_only>`, all possible records are candidates for every
        group: the release itself reveals at least this. An intruder who knows that groups of one
        column are intervals between neighboring centroids finds a few more groups.

    values : sequence of array-like
        For each column, the values that a record may have: multiples of one step, such as
        `range(18, 90)` for ages.

    Returns
    -------
    share : float
        Share of the groups with exactly one solution. Groups of equal records do not count, since
        at least k people share them; neither do groups with too many candidates to search.

    See Also
    --------
    uniqueness : Share of the rows that occur only once.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.metrics import cell_enumeration
    >>> ages = np.random.default_rng(0).integers(18, 90, size=(300, 1))
    >>> aggregator = MicroAggregator(k=5).fit(ages)
    >>> cell_enumeration(aggregator, [range(18, 90)]) > 0.3
    True
    >>> cell_enumeration(aggregator.release_only(), [range(18, 90)]) < 0.05
    True
    """
    check_is_fitted(aggregator)
    columns = [np.unique(np.asarray(column, dtype=np.float64)) for column in values]
    if len(columns) != aggregator.n_features_in_:
        raise ValueError(
            f"values of {len(columns)} columns must be those of the {aggregator.n_features_in_} "
            "columns of the model."
        )
    n_points = np.prod([float(len(column)) for column in columns])
    if n_points > MOST_POINTS:
        raise ValueError(
            f"values allow {n_points:.3g} different records: at most {MOST_POINTS} can be listed."
        )
    steps = np.array([np.diff(column).min(initial=np.inf) for column in columns])
    steps[np.isinf(steps)] = 1.0
    origin = np.array([column[0] for column in columns])
    points = np.array(list(product(*columns)))
    in_steps = (points - origin) / steps
    lattice = np.rint(in_steps).astype(np.int64)
    if np.abs(in_steps - lattice).max() > 1e-6:
        raise ValueError("values of each column must be multiples of one step.")
    centroids = np.asarray(aggregator.centroids_, dtype=np.float64)
    if np.isnan(centroids).any():
        raise ValueError(
            "aggregator must have been fitted on records without missing values: where some are "
            "missing, means are not those of all members of a group."
        )
    sizes = np.asarray(aggregator.group_sizes_)
    known, precision = _known_means(aggregator, centroids)
    sums = (known - origin) / steps * sizes[:, None]
    apart = precision / steps * sizes[:, None]
    lowest = np.ceil(sums - apart - ROUNDING).astype(np.int64)
    highest = np.floor(sums + apart + ROUNDING).astype(np.int64)
    cells = _cells(aggregator, points, len(sizes))
    return float(
        np.mean(
            [
                _has_one_solution(lattice[inside], int(size), low.tolist(), high.tolist())
                for inside, size, low, high in zip(cells, sizes, lowest, highest, strict=True)
            ]
        )
    )


def _known_means(aggregator: Any, centroids: Floats) -> tuple[Floats, Floats]:
    """The means of groups that an attacker knows, and how far they may be from the exact ones."""
    if has_cells(aggregator) and hasattr(aggregator.scaler_, "inverse_transform"):
        exact = aggregator.scaler_.inverse_transform(aggregator._cells.centroids)
        return exact, np.zeros(centroids.shape[1])
    decimals = [rounding.decimals for rounding in aggregator.rounding_.values()]
    return centroids, np.array([0.0 if d is None else 0.5 * 10.0**-d for d in decimals])


def _cells(aggregator: Any, points: Floats, n_groups: int) -> list[Any]:
    """Which points are in the cell of each group; all of them if the model has no cells."""
    if not has_cells(aggregator):
        return [slice(None)] * n_groups
    groups = aggregator._find(aggregator._space.points(points), None)
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.searchsorted(groups[order], np.arange(1, n_groups)))


def _has_one_solution(candidates: Array, size: int, low: list[int], high: list[int]) -> bool:
    """Whether one multiset of candidates has a size and a sum in a box, and is not all equal."""
    if len(candidates) > MOST_CANDIDATES:
        return False
    lowest = np.minimum.accumulate(candidates[::-1])[::-1].tolist()
    highest = np.maximum.accumulate(candidates[::-1])[::-1].tolist()
    rows = candidates.tolist()
    n_found = n_steps = 0
    is_mixed = False
    # Where to go on, how many are left, in which box their sum is, and which was chosen last.
    waiting = [(0, size, low, high, -1, False)]
    while waiting and n_found < 2:
        n_steps += 1
        if n_steps > MOST_STEPS:
            return False
        place, n_left, low, high, last, mixed = waiting.pop()
        if n_left == 0:
            if all(a <= 0 <= b for a, b in zip(low, high, strict=True)):
                n_found, is_mixed = n_found + 1, mixed
            continue
        if place == len(rows) or not all(
            n_left * least <= b and a <= n_left * most
            for least, most, a, b in zip(lowest[place], highest[place], low, high, strict=True)
        ):
            continue
        waiting.append((place + 1, n_left, low, high, last, mixed))
        low, high = ([a - b for a, b in zip(end, rows[place], strict=True)] for end in (low, high))
        waiting.append((place, n_left - 1, low, high, place, mixed or last not in (-1, place)))
    return n_found == 1 and is_mixed
