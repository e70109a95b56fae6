"""Cyclic exchanges of records among several groups."""

import time

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sk_microagg._kernels import Descent, ExchangeGraph, Partition
from sk_microagg._model._power import FoundDiagrams
from sk_microagg._utils._coded_points import CodedPoints, pool_of
from sk_microagg._utils._deadline import SECONDS_TO_FINISH, Deadline, warn_user
from sk_microagg._utils._statistics import distinct_records, group_means, twins_of
from sk_microagg._utils._typing import Array, Codes, Floats, Labels
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._neighborhoods import MAX_NEIGHBORS, MIN_NEIGHBORS, Neighborhoods

# From this many columns on, most groups may gain from a swap by a quick test. If there
# are many records, too, swaps are tried between the groups of near records only. Each record has as
# many of these as there are columns, within limits: the more columns, the more records are about
# equally near.
COLUMNS_FOR_NEIGHBORS = 8
RECORDS_FOR_NEIGHBORS = 5_000

# From this many columns on, near records tell so little that swaps of any two records follow, up to
# this many records: so many at once are compared with all others.
COLUMNS_FOR_PAIRS = 20
RECORDS_FOR_PAIRS = 50_000
RECORDS_AT_ONCE = 256

# A final exchange takes up to this many times as long as the search for neighbors before it. It
# gets this share of a time limit at most, and may take a little longer than the limit: this share
# of it. Where it is likely to end in time, it may take these seconds longer (at most the limit).
# Otherwise every block would take them, and a limit that is divided among many would not hold.
EXCHANGE_TO_NEIGHBORS = 5.0
MAX_SHARE_OF_EXCHANGE = 0.4
GRACE_SHARE = 0.05
MIN_GRACE = 0.2


class Exchange(Refiner):
    """Exchange records along cycles of groups until the partition is a power diagram.

    It starts with swaps and shifts between pairs of groups, as in :class:`LocalSearch`, but in a
    fixed order, so that nothing is random; from eight columns and 5000 records on, only between
    groups that hold near neighbors. Exchanges among more groups follow: each group sends a
    record to the next one, and the last group sends one to the first or keeps the additional
    record. From 20 columns on and up to 50 000 records, it goes on with swaps of any two records
    that gain, by a quick estimate for all pairs. When no such exchange lowers the loss, every group
    has a weight such that each record minimizes the squared distance minus the weight at its own
    group. This is what makes :meth:`~sk_microagg.MicroAggregator.transform` exact.

    Groups that consist of copies of the same record are merged in the end; only they may have 2k
    or more records.

    Parameters
    ----------
    max_iter : int or None, default=None
        Maximum number of iterations. An iteration is one round of cyclic exchanges. None means no
        limit; with a limit, the result may not be a power diagram.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations performed.

    See Also
    --------
    LocalSearch : Swaps and shifts only.
    IteratedLocalSearch : Lower loss for more time.

    Notes
    -----
    The groups are the nodes of a graph. The cost of the arc from A to B is the minimum of
    ``|x - b|² - |x - a|²`` over the records x of A, where a and b are the centroids. An exchange
    along a cycle of negative cost lowers the sum of squared errors by more than the cost of the
    cycle. If there is no such cycle, the weights are potentials of this graph.

    Examples
    --------
    >>> from sk_microagg.refiners import Exchange
    >>> X = [[0.0], [1.0], [8.0], [9.0], [2.0], [7.0]]
    >>> Exchange().refine(X, [0, 1, 1, 0, 0, 1], k=3)
    array([0, 0, 1, 1, 0, 1])
    """

    is_random = False
    takes_codes = True

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    def _refine(
        self, X: Floats, labels: Labels, k: int, random_state: np.random.RandomState
    ) -> Labels:
        max_iter = check_count("max_iter", self.max_iter, or_none=True)
        labels, self.n_iter_, _ = exchange(X, labels, k, max_iter=max_iter)
        return labels


def exchange(
    X: Floats,
    labels: Labels,
    k: int,
    *,
    neighbors: Codes | None = None,
    max_iter: int | None = None,
    deadline: Deadline | None = None,
    order: Labels | None = None,
) -> tuple[Labels, int, bool]:
    """Exchange records until the partition is a power diagram, or the deadline is over.

    If the records are in an `order` that is not that of the table, it says which they are there.
    """
    is_near_only = (
        neighbors is None
        and len(X) >= RECORDS_FOR_NEIGHBORS
        and X.shape[1] >= COLUMNS_FOR_NEIGHBORS
    )
    if is_near_only:
        n_neighbors = min(max(X.shape[1], MIN_NEIGHBORS), MAX_NEIGHBORS)
        neighbors = pool_of(X).near_each(n_neighbors, deadline=deadline)
    partition = Partition(X, split_large_groups(X, labels, k, deadline), k)
    descent = Descent(partition, neighbors=neighbors)
    descent.run(partition.groups(), deadline=deadline)
    n_iter, is_diagram = 0, False
    if deadline is None or not deadline.is_over():
        graph = ExchangeGraph(partition, twins_of(X))
        n_iter, is_diagram = _cancel_cycles(graph, partition, descent, max_iter, deadline)
        has_far = X.shape[1] >= COLUMNS_FOR_PAIRS and len(X) <= RECORDS_FOR_PAIRS
        has_far = has_far and is_near_only and is_diagram and isinstance(X, np.ndarray)
        if has_far and _swap_far_records(X, partition, k, deadline or Deadline()):
            left = None if max_iter is None else max_iter - n_iter
            n_more, is_diagram = _cancel_cycles(graph, partition, descent, left, deadline)
            n_iter += n_more
        if is_diagram:
            FoundDiagrams.note(graph, X, partition.labels(), order)
    return _merge_equal_groups(X, partition.labels()), n_iter, is_diagram


def _swap_far_records(X: Floats, partition: Partition, k: int, deadline: Deadline) -> bool:
    """Swap records of any two groups while that seems to gain; return whether any was swapped."""
    given = labels = partition.labels()
    records = np.arange(len(X))
    while len(records) > 0 and not deadline.is_over():
        partners = _best_partners(X, labels, k, records, deadline)
        descent = Descent(partition, neighbors=partners)
        descent.run(labels[partners[:, 0] != np.arange(len(X))], deadline=deadline)
        before, labels = labels, partition.labels()
        has_moved = labels != before
        changed = np.union1d(before[has_moved], labels[has_moved])
        records = np.flatnonzero(np.isin(labels, changed))
    return not np.array_equal(labels, given)


def _best_partners(X: Floats, labels: Labels, k: int, records: Labels, deadline: Deadline) -> Codes:
    """Return the record of another group with which some records gain most by a swap, or itself.

    Only those farther from their centroid than most are compared: half the time, and little lost.
    In groups of k records with centroids a and b, to swap x and y gains s(x) + s(y)
    - 2w (x - a/w)(y - b/w) + 2ab/w, with w = 2/k and s(x) = |x - a|² - |a|² - (1 - w) |x|². For all
    pairs that is a matrix product. Single precision tells which records may gain, double decides:
    the result is not to depend on how a machine rounds.
    """
    partners = np.arange(len(X), dtype=np.int32)
    X = np.ldexp(X, -np.frexp(np.abs(X).max())[1])
    X -= X.mean(axis=0)
    centers, weight = group_means(X, labels)[labels], 2 / k
    squares = [np.einsum("ij,ij->i", Z, Z) for Z in (X - centers, centers, X)]
    records = records[squares[0][records] >= np.median(squares[0])]
    own = (squares[0] - squares[1] - (1 - weight) * squares[2])[:, None]
    shifted = X - centers / weight
    left = np.hstack([shifted, centers, np.ones_like(own)])
    right = np.hstack([-2 * weight * shifted, 2 / weight * centers, own])
    norms, others = (np.linalg.norm(Z, axis=1) for Z in (left, right))
    rounding = (left.shape[1] + 4) * np.finfo(np.float32).eps * norms * others.max()
    members = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])

    def gains_of(some: Labels, left: Array, right: Array) -> Array:
        gains = left[some] @ right.T
        for row, group in enumerate(labels[some]):
            gains[row, members[starts[group] : starts[group + 1]]] = -np.inf
        return gains

    single = left.astype(np.float32), right.astype(np.float32)
    for first in range(0, len(records), RECORDS_AT_ONCE):
        if deadline.is_over():
            break
        some = records[first : first + RECORDS_AT_ONCE]
        some = some[gains_of(some, *single).max(axis=1) + own[some, 0] > -rounding[some]]
        gains = gains_of(some, left, right)
        is_gain = gains.max(axis=1) + own[some, 0] > 0
        partners[some[is_gain]] = gains.argmax(axis=1)[is_gain]
    return partners[:, None]


def warn_if_unfinished(is_diagram: bool) -> None:
    """Warn if the exchange at the end of a search had too little time."""
    if not is_diagram:
        warn_user(
            "The search ended before the partition was a power diagram: transform may not give "
            "every record the centroid of its own group.",
            ConvergenceWarning,
        )


class FinalExchange:
    """The exchange at the end of a search, and the time that is to be left for it."""

    def __init__(self, deadline: Deadline, time_limit: float) -> None:
        self.deadline = deadline
        self.time_limit = time_limit
        self.grace = GRACE_SHARE * time_limit

    def end_of_search(self) -> Deadline:
        """Return when the search has to end; to be called when neighbors have been found."""
        likely = EXCHANGE_TO_NEIGHBORS * self.deadline.seconds_gone()
        most = MAX_SHARE_OF_EXCHANGE * self.time_limit
        if likely <= most:
            self.grace = max(self.grace, min(MIN_GRACE, self.time_limit))
        return self.deadline.within(self.deadline.seconds_left() - min(likely, most))

    def run(self, neighborhoods: Neighborhoods, labels: Labels) -> Labels:
        """Exchange records until the partition is a power diagram, or time is up.

        It may take a little longer than the time limit, and goes on for a moment after Ctrl-C: an
        exchange that is cut short leaves groups for which `transform` is not exact. Under rules
        beyond k there are only swaps and shifts: cycles do not support constraints.
        """
        seconds = self.deadline.at + self.grace - time.monotonic()
        deadline = Deadline(seconds, grace=SECONDS_TO_FINISH)
        if deadline.is_over():
            if not neighborhoods.rules:
                warn_if_unfinished(is_diagram=False)
            return labels
        labels = neighborhoods.sorted_labels(labels)
        if neighborhoods.rules:
            partition = Partition(neighborhoods.X, labels, neighborhoods.k)
            descent = Descent(partition, guards=neighborhoods.new_guards())
            descent.run(partition.groups(), deadline=deadline)
            return neighborhoods.labels_of_table(partition.labels())
        refined, _, is_diagram = exchange(
            neighborhoods.X,
            labels,
            neighborhoods.k,
            neighbors=neighborhoods.neighbors,
            deadline=deadline,
            order=neighborhoods.order,
        )
        warn_if_unfinished(is_diagram)
        return neighborhoods.labels_of_table(refined)


def _cancel_cycles(
    graph: ExchangeGraph,
    partition: Partition,
    descent: Descent,
    max_iter: int | None,
    deadline: Deadline | None,
) -> tuple[int, bool]:
    """Exchange records along cycles; return the number of rounds, and whether none is left."""
    if graph.add_near(deadline=deadline) < 0:
        return 0, False
    # Cycles with a cost of up to the mean squared distance between record and centroid are worth
    # trying: moving the centroids may outweigh it.
    graph.start(partition.sse / partition.n_records, with_paths=True)
    n_iter = 0
    while n_iter != max_iter:
        n_iter += 1
        changed = graph.cancel(deadline=deadline)
        if deadline is not None and deadline.is_over():
            return n_iter, False
        if changed:
            descent.run(changed, deadline=deadline)
        elif (n_added := graph.add_missing(deadline=deadline)) <= 0:
            return n_iter, n_added == 0
    return n_iter, False


def _merge_equal_groups(X: Floats, labels: Labels) -> Labels:
    """Merge groups with equal centroids; the order of the groups is kept."""
    means = group_means(X, labels)
    if isinstance(X, CodedPoints):
        means = X.told_apart(means)
    first, merged, _ = distinct_records(means)
    return np.argsort(np.argsort(first))[merged][labels]
