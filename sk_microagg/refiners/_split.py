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
        if partition.size(group) < 2 * k:
            continue
        if deadline is not None and deadline.is_over() and not rules:
            return _cut(X, partition.labels(), k)
        members = partition.members_of(group)
        parts = _split(X[members], k, deadline)
        if not rules or rules.subset(members).are_met(parts).all():
            partition.split(group, parts)
    return partition.labels()


def _split(X: Floats, k: int, deadline: Deadline | None) -> Labels:
    """Return the groups of the records of a large group."""
    groups = FixedSizeGroups(X, k, growth="nc")
    grow_from_outside(groups, deadline)
    rest = np.flatnonzero(groups.labels < 0)
    if len(rest) < k:
        return groups.finish()
    groups.labels[rest] = groups.n_groups + _cut(X[rest], np.zeros(len(rest), dtype=np.intp), k)
    return groups.labels


def _cut(X: Floats, labels: Labels, k: int) -> Labels:
    """Cut all groups of 2k or more records along their widest columns."""
    sizes = group_sizes(labels)
    rows = np.flatnonzero(sizes[labels] >= 2 * k)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    groups, starts, sizes = np.unique(labels[rows], return_index=True, return_counts=True)
    number = np.repeat(np.arange(len(groups)), sizes)
    spans = np.maximum.reduceat(X[rows], starts) - np.minimum.reduceat(X[rows], starts)
    values = X[rows, spans.argmax(axis=1)[number]]
    rows = rows[np.lexsort((values, number))]
    part = np.minimum((np.arange(len(rows)) - starts[number]) // k, sizes[number] // k - 1)
    # The first part keeps the label of the group.
    n_new = sizes // k - 1
    first_new = labels.max() + 1 + np.cumsum(n_new) - n_new
    labels = labels.copy()
    labels[rows] = np.where(part == 0, groups[number], first_new[number] + part - 1)
    return labels
