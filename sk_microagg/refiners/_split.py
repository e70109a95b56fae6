"""Splitting groups of 2k or more records, which are never optimal."""

from sk_microagg._kernels import Partition
from sk_microagg.builders import CBFS


def split_large_groups(X, labels, k):
    """Split every group of 2k or more records into groups of k to 2k - 1.

    The record farthest from the centroid of the remaining ones starts a group, and the records
    nearest to the centroid of the group so far join it until it has k. The last records, fewer than
    k, each join the nearest of the new groups. Splitting a group never raises the SSE.
    """
    partition = Partition(X, labels, k)
    for group in partition.groups():
        if partition.size(group) >= 2 * k:
            members = partition.members_of(group)
            partition.split(group, CBFS(growth="nc").build(X[members], k))
    return partition.labels()
