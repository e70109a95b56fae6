"""Splitting groups of 2k or more records, which are never optimal."""

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import group_sizes
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._cbfs import grow_from_outside
from sk_microagg.builders._fixed_size import FixedSizeGroups
from sk_microagg.privacy import Rules


def split_large_groups(
    X: Floats, labels: Labels, k: int, deadline: Deadline | None = None, rules: Rules | None = None
) -> Labels:
    """Split every group of 2k or more records into groups of k to 2k - 1.

    The record farthest from the centroid of the remaining ones starts a group, and the records
    nearest to the centroid of the group so far join it until it has k. The last records, fewer than
    k, each join the nearest of the new groups. Splitting a group never raises the SSE.

    Where the deadline leaves no time for that, groups are cut along their widest column. With rules
    beyond k, a group stays whole if one of its parts would violate them.
    """
    if group_sizes(labels).max() < 2 * k:
        return labels
    partition = Partition(X, labels, k)
    for group in partition.groups():
        if partition.size(group) >= 2 * k:
            members = partition.members_of(group)
            parts = _split(X[members], k, deadline)
            if not rules or rules.of(members).are_met(parts).all():
                partition.split(group, parts)
    return partition.labels()


def _split(X: Floats, k: int, deadline: Deadline | None) -> Labels:
    groups = FixedSizeGroups(X, k, growth="nc")
    grow_from_outside(groups, deadline)
    rest = np.flatnonzero(groups.labels < 0)
    if len(rest) < k:
        return groups.finish()
    widest = np.argmax(np.ptp(X[rest], axis=0))
    in_order = rest[np.argsort(X[rest, widest], kind="stable")]
    cut = np.minimum(np.arange(len(rest)) // k, len(rest) // k - 1)
    groups.labels[in_order] = groups.n_groups + cut
    return groups.labels
