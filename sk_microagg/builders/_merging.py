"""Groups that violate constraints are merged with the nearest ones."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.privacy import Rules
from sk_microagg.privacy._counted import GroupCounts


def merge_until_met(X: Floats, labels: Labels, rules: Rules | None) -> Labels:
    """Merge groups until each of them satisfies all rules [1]_.

    The group that is farthest from satisfying the rules is merged with the group with the nearest
    centroid, until all groups satisfy them. Of several groups it is the smallest one, and then the
    one with the lowest number; of two merged groups, the larger one keeps its number. With
    t-closeness alone, the first group is the one with the largest distance to the distribution of
    the table, as published. Rules are monotone, so that this ends if all records together satisfy
    them.

    References
    ----------
    .. [1] J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez, S. Martínez (2015). t-closeness through
       microaggregation: strict privacy with enhanced utility preservation. IEEE Transactions on
       Knowledge and Data Engineering 27, 3098–3110.
    """
    if not rules:
        return labels
    shortfalls = rules.shortfalls(labels)
    # Entries of groups that have grown or vanished since stay in the queue, with an old size.
    sizes = np.bincount(labels)
    queue: list[tuple[Any, Any, Any]] = [
        (-shortfalls[group], sizes[group], group) for group in np.flatnonzero(shortfalls)
    ]
    if not queue:
        return labels
    heapify(queue)
    partition = Partition(X, np.ascontiguousarray(labels, dtype=np.intp), sizes.min())
    growing = GrowingGroups(rules, labels)
    while queue:
        _, size, group = heappop(queue)
        if size != partition.size(group):
            continue
        if partition.n_groups == 1:
            rules.check(partition.labels(), "Merging ended")
        merged, emptied = _merge_with_nearest(partition, group)
        growing.merge(merged, emptied)
        shortfall = growing.shortfall(merged, partition)
        if shortfall:
            heappush(queue, (-shortfall, partition.size(merged), merged))
    return partition.labels()


def _merge_with_nearest(partition: Partition, group: int) -> tuple[int, int]:
    """Merge a group with that of the nearest centroid; return the larger one, and the other."""
    other = partition.nearest_group(group)
    # The larger group keeps its number, so that few records move.
    kept, emptied = sorted((group, other), key=lambda number: (-partition.size(number), number))
    for record in partition.members_of(emptied):
        partition.move(record, kept)
    return kept, emptied


class GrowingGroups:
    """How far groups are from satisfying rules, while they are merged.

    Where the figure of a rule follows from how often each value occurs, the counts of the smaller
    group are added to those of the larger one. Otherwise all members are looked at again.
    """

    def __init__(self, rules: Rules, labels: Labels) -> None:
        is_counted = [rule.constraint.needs == "counts" for rule in rules.rules]
        pairs = list(zip(rules.rules, is_counted, strict=True))
        self._counted = [(rule, _counts_by_group(rule, labels)) for rule, is_one in pairs if is_one]
        self._others = Rules(tuple(rule for rule, is_one in pairs if not is_one))

    def merge(self, kept: int, emptied: int) -> None:
        """Let one group take over the members of another."""
        for _, counts in self._counted:
            (codes, numbers), (more, of_more) = counts[kept], counts.pop(emptied)
            places = np.searchsorted(codes, more)
            is_known = codes[np.minimum(places, len(codes) - 1)] == more
            numbers[places[is_known]] += of_more[is_known]
            if not is_known.all():
                new = places[~is_known]
                codes = np.insert(codes, new, more[~is_known])
                numbers = np.insert(numbers, new, of_more[~is_known])
            counts[kept] = codes, numbers

    def shortfall(self, group: int, partition: Partition) -> float:
        """How far a group is from satisfying all rules; 0 if it does."""
        total = 0.0
        for rule, counts in self._counted:
            figures = rule.constraint.measure_counts(GroupCounts.of_one(*counts[group]), rule.table)
            total += float(rule.shortfalls(figures)[0])
        if self._others:
            members = partition.members_of(group)
            together = np.zeros(len(members), dtype=np.intp)
            total += float(self._others.shortfalls(together, members)[0])
        return total


def _counts_by_group(rule: Any, labels: Labels) -> dict[int, tuple[Labels, Labels]]:
    """The codes in each group, in order, and how often each occurs there."""
    counts = GroupCounts.from_labels(labels, rule.values)
    ends = np.append(counts.starts[1:], len(counts.codes))
    return {
        group: (counts.codes[start:end].copy(), counts.counts[start:end].copy())
        for group, (start, end) in enumerate(zip(counts.starts, ends, strict=True))
    }
