"""Groups are merged until all constraints hold."""

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.privacy import Rules


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
    while queue:
        _, size, group = heappop(queue)
        if size != partition.size(group):
            continue
        if partition.n_groups == 1:
            rules.check(partition.labels(), "Merging ended")
        merged = _merge_with_nearest(partition, group)
        members = partition.members_of(merged)
        shortfall = rules.shortfalls(np.zeros(len(members), dtype=np.intp), members)[0]
        if shortfall:
            heappush(queue, (-shortfall, len(members), merged))
    return partition.labels()


def _merge_with_nearest(partition: Partition, group: int) -> int:
    """Merge a group with that of the nearest centroid; return the larger one, which stays."""
    nearest = partition.nearest(partition.centroid(group), 2)
    other = int(nearest[nearest != group][0])
    # The larger group keeps its number, so that few records move.
    kept, emptied = sorted((group, other), key=lambda number: (-partition.size(number), number))
    for record in partition.members_of(emptied):
        partition.move(record, kept)
    return kept
