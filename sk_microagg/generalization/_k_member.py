"""k-member clustering, the baseline, and greedy groups, which grow by the record that fits best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from sk_microagg._kernels import RangePool
from sk_microagg._utils._deadline import ProgressCount
from sk_microagg._utils._typing import Array, Booleans, Labels, Names, RandomState
from sk_microagg._utils._validation import check_option, check_seed
from sk_microagg.generalization._generalizer import Generalizer, Ranges
from sk_microagg.privacy import Rules
from sk_microagg.privacy._strata import Strata

# Groups that one which violates a constraint may be merged with, if one of them is enough for it.
N_PARTNERS = 10


def random_seeds(pool: Any, records: Ranges, order: Labels) -> Iterator[int]:
    """The next record of a random order that is not yet in a group."""
    for record in order:
        if record in pool:
            yield record


def farthest_seeds(pool: Any, records: Ranges, order: Labels) -> Iterator[int]:
    """The record farthest from the previous seed; the first, from a random record."""
    last = order[0]
    while True:
        last = pool.farthest(records.lo[last], records.hi[last])
        yield last


def group_greedily(
    records: Ranges,
    k: int,
    random_state: np.random.RandomState,
    *,
    distance: str = "ncp",
    seeds: Callable[..., Iterator[int]] = random_seeds,
    verbose: int = 0,
) -> Labels:
    """Make groups of k records; the remaining ones, fewer than k, join the groups that fit best."""
    pool = RangePool(records.columns, records.lo, records.hi, distance=distance)
    order = random_state.permutation(len(records))
    labels = np.full(len(records), -1, dtype=np.intp)
    groups: list[GrowingGroup] = []
    seed = seeds(pool, records, order)
    with ProgressCount(len(records), "records in groups", verbose) as progress:
        while pool.size >= k:
            record = next(seed)
            group = GrowingGroup(records)
            while True:
                pool.remove(record)
                group.add(record)
                if group.size == k:
                    break
                record = pool.nearest(group.low, group.high, group.n_known, group.size)
            labels[group.members] = len(groups)
            groups.append(group)
            progress.advance(k)
        for record in order[labels[order] < 0]:
            costs = records.columns.costs(
                *_measures(groups),
                records.lo[record],
                records.hi[record],
                by_entropy=distance == "entropy",
            )
            labels[record] = np.argmin(costs)
            groups[labels[record]].add(record)
            progress.advance()
    return labels


class GrowingGroup:
    """The members of a group, with its range and its number of known values in each column."""

    MEASURES = ("low", "high", "n_known", "size")

    def __init__(self, records: Ranges) -> None:
        n_columns = records.lo.shape[1]
        self._records = records
        self.members: list[int] = []
        self.low = np.full(n_columns, np.iinfo(np.int32).max, dtype=np.int32)
        self.high = np.full(n_columns, -1, dtype=np.int32)
        self.n_known = np.zeros(n_columns, dtype=np.int32)

    @property
    def size(self) -> int:
        return len(self.members)

    def add(self, record: int) -> None:
        lo, hi = self._records.lo[record], self._records.hi[record]
        self.members.append(record)
        np.minimum(self.low, lo, out=self.low)
        np.maximum(self.high, hi, out=self.high)
        self.n_known += hi < self._records.columns.n_leaves


def _measures(groups: list[GrowingGroup]) -> list[Array]:
    """What costs depend on, for each group."""
    return [np.array([getattr(group, name) for group in groups]) for name in GrowingGroup.MEASURES]


def merge_violating(records: Ranges, labels: Labels, rules: Rules) -> Labels:
    """Merge groups until all satisfy the constraints, each with one that this costs little."""
    groups = [GrowingGroup(records) for _ in range(labels.max() + 1)]
    for record, label in enumerate(labels):
        groups[label].add(record)
    waiting = np.flatnonzero(~rules.are_met(labels)).tolist()
    measures = _measures(groups)
    is_gone = np.zeros(len(groups), dtype=bool)
    while waiting:
        label = waiting.pop(0)
        costs = records.columns.costs(*measures, groups[label].low, groups[label].high)
        costs[label], costs[is_gone] = np.inf, np.inf
        nearest = np.argsort(costs, kind="stable")[:N_PARTNERS]
        nearest = nearest[np.isfinite(costs[nearest])]
        suited = (
            other
            for other in nearest
            if _are_met(rules, groups[label].members + groups[other].members)
        )
        partner = next(suited, None)
        other = nearest[0] if partner is None else partner
        for record in groups[label].members:
            groups[other].add(record)
        for measure, name in zip(measures, GrowingGroup.MEASURES, strict=True):
            measure[other] = getattr(groups[other], name)
        is_gone[label] = True
        if partner is None and other not in waiting:
            waiting.append(other)  # It satisfied all, but not with these members.
        elif partner is not None and other in waiting:
            waiting.remove(other)
    merged = np.empty_like(labels)
    for number, label in enumerate(np.flatnonzero(~is_gone)):
        merged[groups[label].members] = number
    return merged


def _are_met(rules: Rules, members: list[int]) -> bool:
    return bool(rules.subset(members).are_met(np.zeros(len(members), dtype=np.intp))[0])


class KMember(Generalizer):
    """Make tables k-anonymous by k-member clustering [1]_, the usual baseline.

    Groups grow as in :class:`~sk_microagg.KAIM`, each from the record farthest from the first
    record of the previous group. Records with missing values are dropped, as most tools do.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    quasi_identifiers : "auto", str or list of str, default="auto"
        The columns to generalize: all that somebody might know about a person. "auto" stands for
        all columns that have no other role. Columns of arrays are named by their numbers.

    sensitive : str, list of str or None, default=None
        Columns that nobody is assumed to know. They are released unchanged, as are all columns that
        are neither quasi-identifiers nor dropped.

    drop : str, list of str or None, default=None
        Columns that are not released, such as names.

    hierarchies : dict or None, default=None
        Maps columns, by name, or by position in an array, to a :class:`Hierarchy`, the path of a
        CSV file, or a nested dict. By default, numbers are generalized to intervals and categories
        directly to the root.

    grid : "auto", float or None, default="auto"
        Where intervals may end, so that no end reveals the number of a single person. A number may
        be an end if at least `k` records of the table share it. Any other end lies beyond the
        members of its group, at a multiple of this step, or of 2, 5, 10, ... times the step where
        numbers are so coarse that the one next to the end could be guessed with a probability above
        1 / `k`. "auto": the step is 1, 2 or 5 times a power of ten, about 1% of the range from the
        k-th smallest to the k-th largest number of the column; if that range is empty, numbers that
        fewer than `k` records share are released as "*". None: the ends are the smallest and the
        largest number of a group, as published, which are often the numbers of single records.

    incomplete : {"drop", "keep"}, default="drop"
        What to do with records that have missing values. "drop": they belong to no group, are
        released as "*" in all columns, and lose everything. Remove these rows before you publish
        the table, since there may be fewer than `k` of them. "keep": a missing value is treated as
        the root, as in :class:`~sk_microagg.KAIM`.

    random_state : int, RandomState instance or None, default=None
        Controls the choice of the first record, and the order in which the last, fewer than `k`,
        records join groups.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record; -1 for dropped records.

    centroids_ : ndarray of shape (`n_groups_`, n_quasi_identifiers)
        The generalized values of each group, as released: text, with "*" for the root.

    interval_ends_ : dict
        By the name of each column that is released as intervals, `low`, `high` and `closed`: the
        ends of that of each group as values, and whether the upper one belongs to it.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    information_loss_ : float
        Mean loss per cell, from 0 to 1, as in :class:`~sk_microagg.KAIM`. Each cell of a dropped
        record has the loss 1.

    value_missing_rate_ : float
        Share of the training cells that are missing.

    record_missing_rate_ : float
        Share of the training records with at least one missing value.

    exact_transform_ : bool
        Whether `transform` maps every training record to the released row of its own group.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all of them are strings.

    See Also
    --------
    sk_microagg.KAIM : Keeps all records, and loses less.

    References
    ----------
    .. [1] Byun, Kamra, Bertino and Li (2007). Efficient k-anonymization using clustering
       techniques.

    Examples
    --------
    >>> from sk_microagg.generalization import KMember
    >>> X = [[34, "A"], [36, "A"], [None, "B"], [51, "B"], [58, "B"]]
    >>> KMember(k=2, random_state=0).fit_transform(X)
    array([['[32, 40]', 'A'],
           ['[32, 40]', 'A'],
           ['*', '*'],
           ['[48, 60]', 'B'],
           ['[48, 60]', 'B']], dtype=object)
    """

    def __init__(
        self,
        k: int = 5,
        *,
        quasi_identifiers: Names = "auto",
        sensitive: Names | None = None,
        drop: Names | None = None,
        hierarchies: Mapping[Any, Any] | None = None,
        grid: float | Literal["auto"] | None = "auto",
        incomplete: Literal["drop", "keep"] = "drop",
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.drop = drop
        self.hierarchies = hierarchies
        self.grid = grid
        self.incomplete = incomplete
        self.random_state = random_state

    def _group(
        self, records: Ranges, missing: Booleans, k: int, rules: Rules, strata: Strata | None
    ) -> tuple[Labels, dict[str, Any]]:
        check_option("incomplete", self.incomplete, ("drop", "keep"))
        kept = ~missing.any(axis=1) | (self.incomplete == "keep")
        if kept.sum() < k:
            raise ValueError(
                f"incomplete='drop' leaves {kept.sum()} records, but k={k}: "
                "there must be at least k complete records."
            )
        labels = np.full(len(records), -1, dtype=np.intp)
        labels[kept] = group_greedily(
            records[kept], k, check_seed(self.random_state), seeds=farthest_seeds
        )
        return labels, {}
