"""Recombination: the best partition made of the groups of several annealing runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Array, Floats, Labels
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners._annealing import Schedule, anneal
from sk_microagg.refiners._base import Part, Progress, SearchRefiner, Task
from sk_microagg.refiners._catalog import RELATIVE_GAP, members_of_all, with_part
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._exchange import FinalExchange
from sk_microagg.refiners._neighborhoods import Neighborhoods
from sk_microagg.refiners._relaxation import OutOfTimeError
from sk_microagg.refiners._selection import Selection

# Default number of steps per record of an initial run.
STEPS_OF_INITIAL_RUN = 5_000

# With a time limit, there are fewer initial runs rather than runs of fewer steps than this per
# record, times k; a single one may have fewer.
MIN_STEPS_TIMES_K = 10_000

# If the time limit allows fewer steps than this per record, times k², one run takes all of it.
MIN_STEPS_TO_RECOMBINE = 6_000

# Up to this many times as many steps, a trial decides whether to recombine: a run that takes this
# share of the time limit, and the relaxation, which must be near the loss of the run. Where it is
# far, groups of different runs rarely fit together, and one long run finds better ones. The gap may
# be this share of the loss, times how many times as many steps there are.
MAX_DOUBT = 4.0
SHARE_OF_TRIAL = 0.03
SMALL_GAP = 0.01

# About the number of annealing steps per second: these decisions need no exact number.
STEPS_PER_SECOND = 15_000_000

# Runs per round, and how many of the latest runs must agree on a group for it to be kept.
RUNS_PER_ROUND = 4
RUNS_TO_AGREE = 8

# Share of the time limit for all initial runs together.
SHARE_OF_INITIAL_RUNS = 0.25

# The length of a later run relative to an initial run: this factor times the share of the records
# that it anneals, and at least MIN_LENGTH.
LENGTH_FACTOR = 1.5
MIN_LENGTH = 0.3

# A group is disputed, too, if its reduced cost is above this share of its cost.
COSTLY = 0.01

# Half of the runs of a round keep the groups that the relaxation uses this much, and anneal the
# other records. Where outliers are grouped decides how many records are left for their neighbors,
# and so on: only the relaxation sees so far.
DECIDED = 0.8

# If fewer records are disputed than fill this many groups, all records are annealed again.
MIN_DISPUTED_GROUPS = 4

# Share of the time left that the runs of a round take at most: integer programs follow.
MAX_SHARE_OF_RUNS = 0.6

# Seconds that a run gets at least.
MIN_SECONDS = 1e-3

# Runs with different schedules find a larger variety of groups than seeds alone. Many jumps help
# where far outliers can be grouped in very different ways, from which short steps do not escape.
SCHEDULES = (
    Schedule(),
    Schedule(base_effort=0.1),
    Schedule(jump_rate=16.0),
    Schedule(base_effort=1.0),
)


class Recombination(SearchRefiner):
    """Anneal several times, and combine the best of all groups found into one partition.

    Annealing runs end in different partitions, each of them good in different regions. An integer
    program selects, from the groups of all runs, those that cover every record once with the least
    loss. More groups to select from come from the linear relaxation of this program: those of
    small reduced cost, and partitions into which its fractional solution is rounded, in which the
    groups of each run are preferred in turn. Each round then anneals again in four runs, and
    the program selects again. Two of these runs keep the groups of the best partition on which the
    latest runs agree and whose reduced costs are negligible, and two the groups that the fractional
    solution uses nearly alone: they anneal the other records. Where k is at most 4 and the time
    limit half a minute or more, one large program also replaces all groups that are not used so.
    :class:`Exchange` refines the result. Ctrl-C ends the search with the best partition found so
    far, and a warning says so; a second Ctrl-C raises KeyboardInterrupt.

    Parameters
    ----------
    n_init : int, default=8
        Number of initial runs, over all records. With a `time_limit` there are fewer if they would
        be too short otherwise.

    max_iter : int, default=20
        Maximum number of iterations. An iteration is one round of annealing and recombination after
        the initial runs.

    time_limit : float or None, default=None
        Time limit in seconds, after which the search ends with the best partition found so far. If
        it is too short for recombination to pay, a single annealing run takes all of it; where that
        is not clear, a short run and the relaxation decide. With a
        time limit the result depends on the machine and its load; without one, a seed makes it
        reproducible.

    annealing_max_iter : int or None, default=None
        Maximum number of iterations (`max_iter`) of each :class:`Annealing` run over all records;
        runs over fewer records are shorter. None means 5000 times the number of records or, with a
        `time_limit`, as many as it allows.

    node_limit : int, default=1000
        Maximum number of nodes that the solver explores in each integer program.

    n_jobs : int or None, default=None
        Number of runs in parallel, in threads. Without a time limit it does not change the
        result.

    verbose : int, default=0
        If 1, print a progress line.

    Attributes
    ----------
    trace_ : ndarray of shape (n_improvements, 3)
        Iteration, seconds and sum of squared errors of each partition that is better than all
        before it; iteration 0 stands for the initial runs. The last row is the result after the
        exchange.

    n_iter_ : int
        Number of iterations performed.

    See Also
    --------
    Annealing : A single run.
    sk_microagg.metrics.optimality_gap : Upper bound on the distance from the optimum.

    Notes
    -----
    The integer program is solved by HiGHS, through `scipy.optimize.milp`. Under constraints
    beyond k, groups of different runs rarely fit together: a single annealing run takes the time of
    all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import microaggregate
    >>> from sk_microagg.metrics import information_loss
    >>> from sk_microagg.refiners import Recombination
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> labels = microaggregate(X, k=3, refiner="exchange")
    >>> search = Recombination(n_init=4, max_iter=2, annealing_max_iter=20_000)
    >>> refined = search.refine(X, labels, k=3, random_state=0)
    >>> information_loss(X, refined) < information_loss(X, labels)
    True
    """

    def __init__(
        self,
        n_init: int = 8,
        max_iter: int = 20,
        time_limit: float | None = None,
        annealing_max_iter: int | None = None,
        node_limit: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_init = n_init
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.annealing_max_iter = annealing_max_iter
        self.node_limit = node_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _search(self, task: Task) -> Labels:
        X, k, rules = task.X, task.k, task.rules
        n_runs, total = self.n_init + RUNS_PER_ROUND * self.max_iter, total_sum_of_squares(X)
        progress = Progress(
            n_runs, total, self._seconds(), self.verbose, self, task.context, unit="run"
        )
        deadline = Deadline(progress.time_limit)
        given = split_large_groups(X, task.labels, k, deadline, rules)
        half = deadline.within(progress.time_limit / 2)
        neighborhoods = Neighborhoods.find(X, k, half, rules)
        final = FinalExchange(deadline, progress.time_limit)
        end = final.end_of_search()
        search = Search(self, X, neighborhoods, task.random_state, progress, end)
        with progress:
            best = search.run(given)
        labels = final.run(neighborhoods, best)
        search.note(labels)
        self.trace_: Floats = np.array(search.trace)
        self.n_iter_ = search.n_rounds
        return labels

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in ("n_init", "max_iter", "node_limit"):
            check_count(name, getattr(self, name))
        check_count("annealing_max_iter", self.annealing_max_iter, or_none=True)


@dataclass(eq=False)
class Search:
    """The state of a search: the groups seen so far, and those on which the latest runs agree."""

    parameters: Any
    X: Array
    neighborhoods: Any
    random_state: Any
    progress: Any
    deadline: Deadline

    def __post_init__(self) -> None:
        self.k, self.time_limit = self.neighborhoods.k, self.progress.time_limit
        # Whether the time limit determines how much is done, and is not a mere limit.
        self.is_timed = self.time_limit < math.inf and self.parameters.annealing_max_iter is None
        random_state, node_limit = self.random_state, self.parameters.node_limit
        self.selection = Selection(
            self.X, self.k, random_state, node_limit, self.progress, self.deadline, self.is_timed
        )
        self.groups = self.selection.groups
        self.seen: list[Any] = []
        self.trace: list[Any] = []
        self.n_rounds = 0
        self.room = self._room()
        self.n_runs, self.seconds_of_run = self._plan()

    def run(self, labels: Labels) -> Labels:
        """Return the best partition found, starting from a given one."""
        self.note(labels)
        if self.deadline.is_over():
            return labels
        if self.n_runs == 0:
            return self._anneal_once(labels, self._seconds_left())
        self.groups.add(labels)
        best = labels
        if self.room < MAX_DOUBT:
            best = self._anneal_once(labels, SHARE_OF_TRIAL * self.time_limit)
            if not self._is_worthwhile(best):
                return self._anneal_once(best, self._seconds_left())
        best = self._improve(best, [(best, np.arange(len(self.X)))], self.n_runs)
        while (
            self.trace[-1][2] > 0
            and self.n_rounds < self.parameters.max_iter
            and not self.deadline.is_over()
            and not self.progress.stopped
        ):
            self.n_rounds += 1
            best = self._improve(best, self._parts(best), RUNS_PER_ROUND)
        return best

    def note(self, labels: Labels) -> None:
        sse = self._sse(labels)
        self.progress.note(sse)
        self.trace.append((self.n_rounds, self.progress.seconds, sse))

    def _sse(self, labels: Labels) -> float:
        return Partition(self.X, labels, self.k).sse

    def _room(self) -> Any:
        """Return how many times as many steps there are as recombination needs at least."""
        if self.neighborhoods.rules:
            return 0.0
        if not self.is_timed:
            return math.inf
        steps_per_record = STEPS_PER_SECOND * self.deadline.seconds_left() / len(self.X)
        return steps_per_record / (MIN_STEPS_TO_RECOMBINE * self.k**2)

    def _plan(self) -> tuple[Any, Any]:
        """Return the number of initial runs and their seconds; 0 for one run and nothing else."""
        n_init = self.parameters.n_init
        if self.room < 1.0:
            return 0, math.inf
        if self.time_limit == math.inf:
            return n_init, math.inf
        seconds = SHARE_OF_INITIAL_RUNS * self.time_limit
        if not self.is_timed:
            return n_init, seconds / self._n_batches(n_init)
        steps_per_record = self.room * MIN_STEPS_TO_RECOMBINE * self.k**2
        share_of_run = MIN_STEPS_TIMES_K * self.k / (SHARE_OF_INITIAL_RUNS * steps_per_record)
        n_batches = min(max(int(1 / share_of_run), 1), self._n_batches(n_init))
        is_full = n_batches == self._n_batches(n_init)
        n_runs = min(n_batches * effective_n_jobs(self.parameters.n_jobs), n_init)
        return n_runs, seconds / n_batches if is_full else min(share_of_run, 1.0) * seconds

    def _is_worthwhile(self, labels: Labels) -> bool:
        """Whether recombination is worthwhile, given the partition of a short run."""
        self.groups.add(labels)
        if self.groups.cost_of(labels) == 0:
            return False
        return self.selection.is_near(labels, SMALL_GAP * self.room)

    def _anneal_once(self, labels: Labels, seconds: float) -> Labels:
        """Return the better one of a partition and of what a run makes of it.

        With the seconds of the whole search, it is the run of `Annealing`: it gets the same seed,
        and nothing else takes time.
        """
        (seed,) = self.random_state.randint(np.iinfo(np.int32).max, size=1)
        run, trace, _ = anneal(
            self.neighborhoods,
            labels,
            seed,
            SCHEDULES[0],
            self._max_iter(1.0),
            seconds,
            self.progress,
        )
        before, after = trace[0][2], trace[-1][2]
        if after > before:
            return labels
        if after < before:
            self.note(run)
        return run

    def _improve(self, labels: Labels, parts: Any, n_runs: int) -> Labels:
        """Anneal parts, partitions with records, in several runs; recombine all their groups."""
        left = MAX_SHARE_OF_RUNS * self._seconds_left() / self._n_batches(n_runs)
        runs = []
        for start, records in parts:
            length = 1.0
            if self.n_rounds > 0:
                length = max(MIN_LENGTH, LENGTH_FACTOR * len(records) / len(self.X))
            seconds = min(length * self.seconds_of_run, left)
            max_iter = self._max_iter(length)
            runs += self._anneal(start, records, n_runs // len(parts), max_iter, seconds)
        if self.deadline.is_over():
            return min([labels, *runs], key=self._sse)
        self.seen = [*self.seen, *(set(self.groups.add(run)) for run in runs)][-RUNS_TO_AGREE:]
        # The given partition is a poor place to start from.
        best = self.selection.best_of([labels, *runs] if self.n_rounds > 0 else runs)
        if self.groups.cost_of(best) >= (1 - RELATIVE_GAP) * self.groups.cost_of(labels):
            return labels
        self.note(best)
        return best

    def _parts(self, labels: Labels) -> Any:
        """Return what the runs of a round anneal: partitions, each with some of its records."""
        if self.selection.relaxation is None:
            return [(labels, np.arange(len(self.X)))]
        disputed = labels, self._disputed(labels)
        try:
            undecided = self.selection.relaxation.decided(DECIDED, self.deadline)
        except OutOfTimeError:
            return [disputed]
        is_large = len(undecided[1]) >= MIN_DISPUTED_GROUPS * self.k
        return [undecided, disputed] if is_large else [disputed]

    def _disputed(self, labels: Labels) -> Any:
        """Return the records of groups on which the latest runs disagree; all if they are few."""
        if len(self.seen) < 2:
            return np.arange(len(self.X))
        groups = members_of_all(labels)
        is_disputed = self.groups.is_costly(labels, self.selection.relaxation, COSTLY)
        for group in groups:
            is_disputed[list(group)] |= not all(group in run for run in self.seen)
        records = np.flatnonzero(is_disputed)
        return records if len(records) >= MIN_DISPUTED_GROUPS * self.k else np.arange(len(self.X))

    def _anneal(
        self, labels: Labels, records: Array, n_runs: int, max_iter: float, seconds: float
    ) -> list[Any]:
        """Return partitions of all records, in each of which the given records were annealed."""
        neighborhoods = self.neighborhoods
        if len(records) < len(self.X):
            neighborhoods = neighborhoods.among(records, self.deadline)
        _, start = np.unique(labels[records], return_inverse=True)
        part = Partition(np.ascontiguousarray(self.X[records]), start, self.k)
        rest = self._sse(labels) - part.sse
        progress = Part(self.progress, rest)
        seeds = self.random_state.randint(np.iinfo(np.int32).max, size=n_runs)
        runs = Parallel(n_jobs=self.parameters.n_jobs, require="sharedmem")(
            delayed(self._run)(neighborhoods, start, seed, schedule, max_iter, seconds, progress)
            for seed, schedule in zip(seeds, cycle(SCHEDULES), strict=False)
        )
        return [with_part(labels, records, run) for run in runs if run is not None]

    def _run(self, neighborhoods: Any, *options: Any) -> Any:
        """Return the partition of one run; None if time is up before it begins."""
        return None if self.deadline.is_over() else anneal(neighborhoods, *options)[0]

    def _max_iter(self, length: float) -> float:
        """Return the number of steps of a run, given its length relative to an initial run."""
        if self.n_runs == 0:
            length *= self.parameters.n_init  # in the place of all initial runs
        if self.parameters.annealing_max_iter is not None:
            return math.ceil(length * self.parameters.annealing_max_iter)
        if self.is_timed:
            return math.inf
        return math.ceil(length * STEPS_OF_INITIAL_RUN * len(self.X))

    def _seconds_left(self) -> float:
        return max(self.deadline.seconds_left(), MIN_SECONDS)

    def _n_batches(self, n_runs: int) -> int:
        return math.ceil(n_runs / effective_n_jobs(self.parameters.n_jobs))
