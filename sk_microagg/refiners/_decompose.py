"""Group decomposition: the second phase of TFRP."""

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._coded_points import CodedPoints
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import group_sizes, total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import FixedSizeGroups
from sk_microagg.builders._cbfs import grow_from_outside
from sk_microagg.privacy import Rules
from sk_microagg.refiners._base import Refiner

# A gain below this share of the total sum of squares (SST) may be rounding error.
MIN_GAIN_OF_SST = 1e-12


class Decompose(Refiner):
    """Dissolve groups, one at a time, where that lowers the loss [1]_.

    Groups are visited in decreasing order of their sum of squared errors. Each is dissolved: its
    records move to the groups with the nearest centroids, which are updated. If the total error
    does not fall, the group is restored. Finally, groups of 2k or more records are split.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations performed, always 1.

    See Also
    --------
    DecomposeShrink : Shrinks groups as well, in turns.

    References
    ----------
    .. [1] C.-C. Chang, Y.-C. Li, W.-H. Huang (2007). TFRP: An efficient microaggregation algorithm
       for statistical disclosure control. Journal of Systems and Software 80, 1866–1878.

    Examples
    --------
    >>> from sk_microagg.refiners import Decompose
    >>> X = [[0.0], [1.0], [8.0], [9.0], [2.0], [7.0]]
    >>> Decompose().refine(X, [0, 0, 1, 1, 2, 2], k=2)
    array([0, 0, 1, 1, 0, 1])
    """

    is_random = False

    def _refine(
        self, X: Floats, labels: Labels, k: int, random_state: np.random.RandomState
    ) -> Labels:
        labels = decompose(X, labels, k)
        self.n_iter_: int = 1
        return labels


def decompose(X: Floats, labels: Labels, k: int, deadline: Deadline | None = None) -> Labels:
    """Dissolve each group once, if that lowers the SSE and the deadline is not over by then."""
    partition = Partition(X, labels, k)
    min_gain = MIN_GAIN_OF_SST * total_sum_of_squares(X)
    sse = np.array([partition.cost_of(group) for group in partition.groups()])
    for group in np.argsort(-sse, kind="stable"):
        if deadline is not None and deadline.is_over():
            break
        if partition.size(group) >= 2 * k:
            continue
        before = partition.sse
        partition.mark()
        partition.dissolve(group, full=4 * k - 1)
        if not before - partition.sse > min_gain:
            partition.rollback()
    return split_large_groups(X, partition.labels(), k, deadline)


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
    X = X.numbers if isinstance(X, CodedPoints) else X
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
