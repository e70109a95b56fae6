"""Better partitions, selected from the groups of many: by a relaxation and integer programs."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._typing import Array
from sk_microagg.refiners._catalog import RELATIVE_GAP, Catalog, members_of_all, with_part
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._exchange import exchange
from sk_microagg.refiners._relaxation import OutOfTimeError, Relaxation

# Shares of the time limit: for the relaxation, for partitions rounded from it around one partition
# and around all those of a round, for the integer programs of a round, and for one of these.
SHARE_OF_RELAXATION = 0.15
SHARE_OF_ROUNDING = 0.01
SHARE_OF_ALL_ROUNDING = 0.05
SHARE_OF_PROGRAMS = 0.08
SHARE_OF_ONE_PROGRAM = 0.03

# Share of the time limit for the program over all that is undecided. It is tried if that, and the
# time left, are at least so many seconds.
SHARE_OF_UNDECIDED = 0.15
MIN_SECONDS_OF_UNDECIDED = 4.0

# Seconds for the other programs, if they are more: programs that end early are of no use.
MIN_SECONDS_OF_PROGRAMS = 4.0
MIN_SECONDS_OF_ONE_PROGRAM = 2.0

# The time of rounding starts anew when it lowers the cost by this share.
WORTH_MORE_TIME = 1e-5

# Partitions rounded from the relaxation in each round, if the time limit does not determine it.
N_ROUNDED = 16

# Groups of small reduced cost that each record has to choose from.
N_PROMISING = 12

# Calls of `Relaxation.advance` at most.
MAX_ASCENTS = 50

# All further cuts together are expected to do at most so many times as much as the last ones.
HOPE = 3.0

# Groups of a partition that an integer program replaces. Many programs over a few groups find more
# in the same time than a few over many groups, which take many times as long.
GROUPS_PER_REGION = 60

# Regions are visited until every group was among the first ones, this many, of a region.
CORE_GROUPS_PER_REGION = 30

# Maximum numbers of groups to choose from in a region. Programs of a few hundred groups take a
# fraction of a second, and find most of what there is; those of thousands often find nothing in
# several seconds, so that they come last. Without a time limit, programs have to be small enough to
# end soon.
N_CHOICES = (500, 2000)
N_CHOICES_WITHOUT_LIMIT = (300,)

# One more program replaces nearly all groups on which the relaxation is undecided: those that it
# uses less than this. They are at most this many, divided by k², with so many groups for each
# record to choose from. With a larger k, programs of so many groups find nothing in time.
MAX_USE_OF_UNDECIDED = 0.9
MAX_UNDECIDED_TIMES_K2 = 2400
MIN_UNDECIDED = 100
N_CHOICES_OF_RECORD = 16


@dataclass(eq=False)
class Selection:
    """The groups seen so far, and the linear relaxation that tells which of them fit together."""

    X: Array
    k: int
    random_state: Any
    node_limit: int
    progress: Any
    deadline: Deadline
    is_timed: bool
    relaxation: Any = None

    def __post_init__(self) -> None:
        self.groups = SeenGroups(self.X, self.k)

    def is_near(self, labels, gap):
        """Whether the relaxation is below the cost of a partition by at most a share of it.

        Cuts bring it nearer, but each time by less: where the last ones did so by far too little,
        time is not spent on more.
        """
        before, n_cuts = math.inf, 0
        try:
            for relaxation in self._ascents(labels):
                if len(relaxation.cuts) > n_cuts:
                    now = self._relative_gap(labels)
                    if now > gap and now - gap > HOPE * (before - now):
                        return False
                    before, n_cuts = now, len(relaxation.cuts)
        except OutOfTimeError:
            return False
        return self._relative_gap(labels) <= gap

    def _relative_gap(self, labels):
        """Return how far the relaxation is below the cost of a partition, as a share of it."""
        reduced = self.groups.reduced_costs(labels, self.relaxation)
        return reduced.sum() / self.groups.cost_of(labels)

    def best_of(self, partitions):
        """Return the best partition that the groups of some make, or the best of these."""
        best = min(partitions, key=self.groups.cost_of)
        if self.groups.cost_of(best) == 0 or self.deadline.is_over():
            return best
        try:
            for _ in self._ascents(best):
                pass
        except OutOfTimeError:
            return best
        self._add_promising(best)
        return self._solve(self._round_all(partitions))

    def _ascents(self, labels):
        """Solve the relaxation, with the groups of a partition among its columns, step by step."""
        if self.relaxation is None:
            self.relaxation = Relaxation(self.X, self.k, self.deadline)
        relaxation = self.relaxation
        relaxation.add(members_of_all(labels))
        deadline = self._within(SHARE_OF_RELAXATION)
        for _ in range(MAX_ASCENTS):
            if relaxation.is_settled or deadline.is_over():
                break
            relaxation.advance(deadline)
            yield relaxation

    def _add_promising(self, labels):
        """Add groups of small reduced cost to those seen."""
        if not self.deadline.is_over():
            groups = members_of_all(labels)
            promising = self.relaxation.promising_groups(groups, N_PROMISING, self.deadline)
            self.groups.cost = promising | self.groups.cost

    def _round_all(self, partitions):
        """Return the best of what rounding finds around each of some partitions, best ones first.

        A partition that is not the best may have a better one near it.
        """
        most = math.inf if self.is_timed else max(N_ROUNDED // len(partitions), 1)
        deadline = self._within(SHARE_OF_ALL_ROUNDING)
        rounded = []
        for labels in sorted(partitions, key=self.groups.cost_of):
            if not deadline.is_over():
                rounded.append(self._round(labels, most))
        return min([*partitions, *rounded], key=self.groups.cost_of)

    def _round(self, best, most):
        """Return the best of partitions rounded from the relaxation, each after an exchange.

        The groups of the best one so far are preferred, so that others are found around it.
        """
        deadline = self._within(SHARE_OF_ROUNDING)
        n_rounded = 0
        while n_rounded < most and not deadline.is_over() and not self.progress.stopped:
            try:
                labels = self.relaxation.rounded(
                    self.random_state, members_of_all(best), self.deadline
                )
            except OutOfTimeError:
                break
            labels, _, _ = exchange(self.X, labels, self.k, deadline=self.deadline)
            labels = split_large_groups(self.X, labels, self.k, self.deadline)
            self.groups.add(labels)
            n_rounded += 1
            if self.groups.cost_of(labels) < (1 - WORTH_MORE_TIME) * self.groups.cost_of(best):
                deadline = self._within(SHARE_OF_ROUNDING)
            best = min(best, labels, key=self.groups.cost_of)
        return best

    def _solve(self, best):
        """Return the best partition that integer programs make of the groups seen."""
        if self.deadline.is_over():
            return best
        time_limit = self.progress.time_limit
        best = self._solve_undecided(best)
        seconds = max(SHARE_OF_ONE_PROGRAM * time_limit, MIN_SECONDS_OF_ONE_PROGRAM)
        in_all = max(SHARE_OF_PROGRAMS * time_limit, MIN_SECONDS_OF_PROGRAMS)
        return self.groups.recombine(
            best,
            self.random_state,
            self.node_limit,
            self.deadline.within(in_all),
            self.relaxation,
            seconds if self.is_timed else math.inf,
        )

    def _solve_undecided(self, best):
        """Return the best partition that one large program makes of what is undecided."""
        seconds = SHARE_OF_UNDECIDED * self.progress.time_limit
        seconds = min(seconds, self.deadline.seconds_left())
        if not self.is_timed or seconds < MIN_SECONDS_OF_UNDECIDED:
            return best
        return self.groups.recombine_undecided(best, self.node_limit, self.relaxation, seconds)

    def _within(self, share):
        return self.deadline.within(share * self.progress.time_limit)


class SeenGroups:
    """The groups seen in partitions of the same records, each with its cost."""

    def __init__(self, X: Array, k: int) -> None:
        self.X = X
        self.k = k
        self.cost: dict[tuple[int, ...], float] = {}

    def add(self, labels):
        """Add the groups of a partition; return them, each as a tuple of its records."""
        groups = members_of_all(labels)
        costs = Partition(self.X, labels, self.k).all_costs()
        self.cost.update(zip(groups, costs.tolist(), strict=True))
        return groups

    def cost_of(self, labels):
        """Return the cost of a partition whose groups have been seen."""
        return sum(self.cost[group] for group in members_of_all(labels))

    def recombine(
        self,
        labels: Array,
        random_state: Any,
        node_limit: int,
        deadline: Deadline,
        relaxation: Relaxation,
        seconds: float = math.inf,
    ) -> Array:
        """Return a better partition into groups seen so far, or `labels` if none is found.

        The partition is improved region by region: the groups of a region are replaced by the
        cheapest groups seen that cover the same records. Where that helps, the neighborhood of the
        new groups is visited again.
        """
        catalog = Catalog(self.cost, len(self.X), relaxation)
        for n_choices in N_CHOICES if seconds < math.inf else N_CHOICES_WITHOUT_LIMIT:
            is_open = catalog.is_costly(labels)
            while is_open.any() and not deadline.is_over():
                record = catalog.choose(labels, np.flatnonzero(is_open), random_state)
                region = catalog.region(labels, labels[record], GROUPS_PER_REGION)
                is_open[np.isin(labels, region[:CORE_GROUPS_PER_REGION])] = False
                records = np.flatnonzero(np.isin(labels, region))
                choices = catalog.choices(labels, records, n_choices)
                limit = min(seconds, deadline.seconds_left())
                part = catalog.best_cover(choices, records, node_limit, limit)
                if part is None:
                    continue
                better = with_part(labels, records, part)
                if self.cost_of(better) < (1 - RELATIVE_GAP) * self.cost_of(labels):
                    new = set(members_of_all(better)).difference(members_of_all(labels))
                    is_open[np.concatenate([*map(list, new)])] = True
                    is_open &= catalog.is_costly(better)
                    labels = better
        return labels

    def recombine_undecided(self, labels, node_limit, relaxation, seconds):
        """Return a better partition into groups seen so far, or `labels` if none is found.

        One integer program replaces all groups on which the relaxation is undecided, or as many of
        them as one can: where records of outliers are exchanged, the consequences go far.
        Parameters are as those of `recombine`.
        """
        most = MAX_UNDECIDED_TIMES_K2 // self.k**2
        if most < MIN_UNDECIDED:
            return labels
        is_undecided = relaxation.uses(members_of_all(labels)) < MAX_USE_OF_UNDECIDED
        if not is_undecided.any():
            return labels
        catalog = Catalog(self.cost, len(self.X), relaxation)
        reduced = catalog.reduced[catalog.numbers_of(labels)]
        first = np.argmax(np.where(is_undecided, reduced, -1.0))
        region = catalog.region(labels, first, most, is_undecided)
        records = np.flatnonzero(np.isin(labels, region))
        choices = catalog.choices_of_records(labels, records, N_CHOICES_OF_RECORD)
        part = catalog.best_cover(choices, records, node_limit, seconds)
        if part is None:
            return labels
        return min(labels, with_part(labels, records, part), key=self.cost_of)

    def reduced_costs(self, labels, relaxation):
        """Return the reduced cost of each group of a partition, 0 if it is negative."""
        return self._catalog_of(labels, relaxation).reduced

    def is_costly(self, labels, relaxation, share):
        """Whether the reduced cost of each record's group is above a share of its cost."""
        catalog = self._catalog_of(labels, relaxation)
        return (catalog.reduced > share * catalog.cost)[labels]

    def _catalog_of(self, labels, relaxation):
        groups = members_of_all(labels)
        return Catalog({group: self.cost[group] for group in groups}, len(labels), relaxation)
