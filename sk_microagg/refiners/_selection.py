"""Better partitions, selected from the groups of many: by a relaxation and integer programs."""

import math

from sk_microagg.refiners._catalog import members_of_all
from sk_microagg.refiners._cover import SeenGroups
from sk_microagg.refiners._exchange import exchange
from sk_microagg.refiners._relaxation import OutOfTimeError, Relaxation
from sk_microagg.refiners._split import split_large_groups

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


class Selection:
    """The groups seen so far, and the linear relaxation that tells which of them fit together.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    k : int
        Minimum group size.

    random_state : RandomState instance
        Source of random numbers.

    node_limit : int
        Maximum number of nodes of each integer program.

    progress : Progress
        Knows the time limit, and whether to stop.

    deadline : Deadline
        When to end.

    is_timed : bool
        Whether the time limit determines how much is done.

    Attributes
    ----------
    groups : SeenGroups
        The groups to select from.

    relaxation : Relaxation or None
        The relaxation; None before it is needed.
    """

    def __init__(self, X, k, random_state, node_limit, progress, deadline, is_timed):
        self.X, self.k = X, k
        self.random_state = random_state
        self.node_limit = node_limit
        self.progress = progress
        self.deadline = deadline
        self.is_timed = is_timed
        self.groups = SeenGroups(X, k)
        self.relaxation = None

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
        """Return the best partition that can be made of some whose groups have been seen.

        If time is up, it is the best of them.
        """
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
