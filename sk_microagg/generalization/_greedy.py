"""Greedy groups, which grow one record at a time by the record that fits best."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sk_microagg._kernels import RangePool
from sk_microagg._utils._deadline import ProgressCount
from sk_microagg._utils._typing import Codes, Labels


def random_seeds(pool: Any, lo: Codes, hi: Codes, order: Labels) -> Iterator[int]:
    """The next record of a random order that is not yet in a group."""
    for record in order:
        if record in pool:
            yield record


def farthest_seeds(pool: Any, lo: Codes, hi: Codes, order: Labels) -> Iterator[int]:
    """The record farthest from the previous seed; the first, from a random record."""
    last = order[0]
    while True:
        last = pool.farthest(lo[last], hi[last])
        yield last


def group_greedily(
    columns: Any,
    lo: Codes,
    hi: Codes,
    k: int,
    random_state: np.random.RandomState,
    *,
    distance: str = "ncp",
    seeds: Callable[..., Iterator[int]] = random_seeds,
    verbose: int = 0,
) -> Labels:
    """Make groups of k records; the remaining ones, fewer than k, join the groups that fit best."""
    with ProgressCount(len(lo), "records in groups", verbose) as progress:
        return _group(columns, lo, hi, k, random_state, distance, seeds, progress)


def _group(
    columns: Any,
    lo: Codes,
    hi: Codes,
    k: int,
    random_state: np.random.RandomState,
    distance: str,
    seeds: Callable[..., Iterator[int]],
    progress: Any,
) -> Labels:
    pool = RangePool(columns, lo, hi, distance=distance)
    known = (hi < columns.n_leaves).astype(np.int32)
    order = random_state.permutation(len(lo))
    labels = np.full(len(lo), -1, dtype=np.intp)
    groups: list[GrowingGroup] = []
    seed = seeds(pool, lo, hi, order)
    while pool.size >= k:
        record = next(seed)
        group = GrowingGroup(lo.shape[1])
        while True:
            pool.remove(record)
            group.add(record, lo, hi, known)
            if group.size == k:
                break
            record = pool.nearest(group.low, group.high, group.n_known, group.size)
        labels[group.members] = len(groups)
        groups.append(group)
        progress.advance(k)

    for record in order[labels[order] < 0]:
        costs = columns.costs(
            *(
                np.array([getattr(group, name) for group in groups])
                for name in GrowingGroup.MEASURES
            ),
            lo[record],
            hi[record],
            by_entropy=distance == "entropy",
        )
        labels[record] = np.argmin(costs)
        groups[labels[record]].add(record, lo, hi, known)
        progress.advance()
    return labels


class GrowingGroup:
    """The members of a group, with its range and its number of known values in each column."""

    MEASURES = ("low", "high", "n_known", "size")

    def __init__(self, n_columns: int) -> None:
        self.members: list[int] = []
        self.low = np.full(n_columns, np.iinfo(np.int32).max, dtype=np.int32)
        self.high = np.full(n_columns, -1, dtype=np.int32)
        self.n_known = np.zeros(n_columns, dtype=np.int32)

    @property
    def size(self) -> int:
        return len(self.members)

    def add(self, record: int, lo: Codes, hi: Codes, known: Codes) -> None:
        self.members.append(record)
        np.minimum(self.low, lo[record], out=self.low)
        np.maximum(self.high, hi[record], out=self.high)
        self.n_known += known[record]
