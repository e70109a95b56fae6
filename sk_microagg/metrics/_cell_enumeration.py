"""Which groups are determined by a model, whose cells hold few possible records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._utils._estimator import has_cells
from sk_microagg._utils._typing import Array, Floats

# More possible records are not listed.
MOST_POINTS = 1_000_000
# Records of cells with more possible ones, or after more steps of the search, are not determined.
MOST_CANDIDATES = 1_000
MOST_STEPS = 10_000


def cell_enumeration(aggregator: Any, values: Sequence[ArrayLike]) -> float:
    """Share of the groups whose records are determined by a model and its release.

    An intruder who knows which values are possible in each column lists all possible records, and
    finds the group of each by `transform`. The records of a group are among those in its cell, as
    many as its size, and their mean is its centroid. Where only one such multiset exists, the
    intruder has all records of the group.

    Parameters
    ----------
    aggregator : MicroAggregator
        A fitted model, without strata. Of :meth:`release_only
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
        at least k people share these, nor do groups with too many candidates to
        search.

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
    sizes = np.asarray(aggregator.group_sizes_)
    sums = np.rint((centroids - origin) / steps * sizes[:, None]).astype(np.int64)
    return float(
        np.mean(
            [
                _has_one_solution(lattice[inside], int(size), total)
                for inside, size, total in zip(
                    _cells(aggregator, points, centroids), sizes, sums, strict=True
                )
            ]
        )
    )


def _cells(aggregator: Any, points: Floats, centroids: Floats) -> list[Any]:
    """Which points are in the cell of each group; all of them if the model has no cells."""
    if not has_cells(aggregator):
        return [slice(None)] * len(centroids)
    released = np.asarray(aggregator.transform(points), dtype=np.float64)
    _, row_of = np.unique(np.vstack([centroids, released]), axis=0, return_inverse=True)
    row_of = row_of.reshape(-1)
    groups, found = row_of[: len(centroids)], row_of[len(centroids) :]
    order = np.argsort(found, kind="stable")
    starts = np.searchsorted(found[order], groups, side="left")
    ends = np.searchsorted(found[order], groups, side="right")
    return [order[start:end] for start, end in zip(starts, ends, strict=True)]


def _has_one_solution(candidates: Array, size: int, total: Array) -> bool:
    """Whether one multiset of candidates has a given size and sum, and not all of it is equal."""
    if len(candidates) > MOST_CANDIDATES:
        return False
    lowest = np.minimum.accumulate(candidates[::-1])[::-1].tolist()
    highest = np.maximum.accumulate(candidates[::-1])[::-1].tolist()
    rows = candidates.tolist()
    n_found = n_steps = 0
    waiting = [(0, size, total.tolist())]
    while waiting and n_found < 2:
        n_steps += 1
        if n_steps > MOST_STEPS:
            return False
        place, n_left, left = waiting.pop()
        if n_left == 0:
            n_found += not any(left)
            continue
        if place == len(rows) or not all(
            n_left * low <= rest <= n_left * high
            for low, rest, high in zip(lowest[place], left, highest[place], strict=True)
        ):
            continue
        waiting.append((place + 1, n_left, left))
        rest = [a - b for a, b in zip(left, rows[place], strict=True)]
        waiting.append((place, n_left - 1, rest))
    mean, rest = np.divmod(total, size)
    are_equal = not rest.any() and mean.tolist() in rows
    return n_found == 1 and not are_equal
