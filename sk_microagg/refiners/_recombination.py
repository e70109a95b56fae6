"""Recombination: the best partition that several runs of annealing hold together."""

import math
from itertools import cycle

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._kernels import Partition
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._validation import check_count, check_n_jobs, check_number, check_verbose
from sk_microagg.refiners._anneal import Heat, Surroundings, anneal
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._cover import Groups, members_of_all, with_part
from sk_microagg.refiners._exchange import Exchange
from sk_microagg.refiners._progress import N_STEPS, Part, Progress
from sk_microagg.refiners._split import split_large_groups

# Steps of a first run without a limit of any kind, for each record.
STEPS_A_RECORD = 5_000

# Runs of a round, and how many of the last runs must agree on a group to leave it alone.
RUNS_A_ROUND = 4
RUNS_TO_AGREE = 8

# The first runs, together, have this share of the time.
SHARE_OF_FIRST_RUNS = 0.45

# A run of a round is as long as a first run, times the share of the records that it anneals, times
# this; and never shorter than that share of a first run.
THOROUGHNESS = 1.5
SHORTEST_RUN = 0.3

# With fewer disputed records than so many groups, all are annealed again.
FEWEST_GROUPS = 4

# What is left for the last integer programs, as a share of the time.
SHARE_OF_LAST_PROGRAMS = 0.01

# What runs have even if time is up.
LEAST_SECONDS = 1e-3

# Runs that differ in more than their chances end in more different groups.
HEATS = (
    Heat(0.3, 0.01, evenness=0.3, jumpiness=4.0),
    Heat(0.3, 0.01, evenness=0.1, jumpiness=4.0),
    Heat(0.3, 0.01, evenness=0.3, jumpiness=1.0),
    Heat(0.3, 0.01, evenness=1.0, jumpiness=4.0),
)


class Recombination(CallbackSupportMixin, Refiner):
    """Anneal several times, and put the best partition together from all groups that were found.

    Runs of annealing end in different partitions, each good in other places. An integer program
    chooses from all their groups those that hold every record once and lose least. Then, round
    after round, the groups of the best partition on which the last runs agree stay as they are, the
    other records are annealed four times again, and the program chooses anew. In the end
    :class:`Exchange` refines the best.

    Parameters
    ----------
    n_init : int, default=8
        Number of runs over all records, to begin with.

    max_iter : int, default=20
        Number of rounds, at most.

    time_limit : float or None, default=None
        Seconds after which the search ends with the best found so far; the runs are cut to fit, and
        the exchange comes on top. The result then depends on the machine, and on what else it does;
        without a limit it depends on the seed.

    n_steps : int or None, default=None
        Number of steps of a run over all records; runs over some of them have fewer. None for
        5000 times the number of records; or, with a `time_limit`, for as many as it allows.

    node_limit : int, default=1000
        Number of nodes that the solver of the integer program may explore, each time.

    n_jobs : int or None, default=None
        Number of runs at the same time, in threads. The result does not depend on it.

    verbose : int, default=0
        With 1, a line tells the run, the least information loss and the seconds left.

    Attributes
    ----------
    trace_ : ndarray of shape (n_improvements, 3)
        Round, seconds and sum of squared errors, one row for every partition better than those
        before; round 0 are the runs over all records. The last row is the result after the
        exchange.

    n_iter_ : int
        Number of rounds.

    See Also
    --------
    Annealing : One run.
    sk_microagg.metrics.optimality_gap : How far the result is from the optimum, at most.

    Notes
    -----
    The program is solved by HiGHS, through :func:`scipy.optimize.milp`.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import microaggregate
    >>> from sk_microagg.metrics import information_loss
    >>> from sk_microagg.refiners import Recombination
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> labels = microaggregate(X, k=3)
    >>> search = Recombination(n_init=4, max_iter=2, n_steps=20_000)
    >>> refined = search.refine(X, labels, k=3, random_state=0)
    >>> information_loss(X, refined) < information_loss(X, labels)
    True
    """

    def __init__(
        self,
        n_init=8,
        max_iter=20,
        time_limit=None,
        n_steps=None,
        node_limit=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.n_init = n_init
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_steps = n_steps
        self.node_limit = node_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def _refine(self, X, labels, k, random_state):
        self._check_parameters()
        context = self._init_callback_context(task_name="refine", max_subtasks=N_STEPS)
        context.call_on_fit_task_begin(estimator=self, X=X)
        progress = Progress(
            self.n_init + RUNS_A_ROUND * self.max_iter,
            total_sum_of_squares(X),
            math.inf if self.time_limit is None else self.time_limit,
            self.verbose,
            self,
            context,
            unit="run",
        )
        search = _Search(self, Surroundings.of(X, k), random_state, progress)
        try:
            best = search.run(split_large_groups(X, labels, k))
        finally:
            progress.stopped = True
            progress.finish()
        labels = Exchange().refine(X, best, k)
        search.note(labels)
        self.trace_ = np.array(search.trace)
        self.n_iter_ = search.n_rounds
        context.call_on_fit_task_end(estimator=self, X=X)
        return labels

    def _check_parameters(self):
        for name in ("n_init", "max_iter", "node_limit"):
            check_count(name, getattr(self, name))
        check_count("n_steps", self.n_steps, or_none=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0, or_option=None)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)


class _Search:
    """What a search knows: the groups seen so far, and which of them the last runs agree on."""

    def __init__(self, parameters, surroundings, random_state, progress):
        self.parameters = parameters
        self.surroundings = surroundings
        self.X, self.k = surroundings.X, surroundings.k
        self.random_state = random_state
        self.time_limit = progress.time_limit
        self.progress = progress
        self.groups = Groups(self.X, self.k)
        self.seen = []
        self.trace = []
        self.n_rounds = 0

    def run(self, labels):
        """Return the best partition found, from one to start with."""
        self.groups.add(labels)
        self.note(labels)
        best = self._improve(labels, np.arange(len(self.X)), self.parameters.n_init)
        while (
            self.trace[-1][2] > 0
            and self.n_rounds < self.parameters.max_iter
            and self._seconds_left() > 0
            and not self.progress.stopped
        ):
            self.n_rounds += 1
            best = self._improve(best, self._disputed(best), RUNS_A_ROUND)
        return best

    def note(self, labels):
        """Write down a partition that is better than those before."""
        sse = Partition(self.X, labels, self.k).sse
        self.progress.note(sse)
        self.trace.append((self.n_rounds, self.progress.seconds, sse))

    def _improve(self, labels, records, n_runs):
        """Anneal some of the records, each time from one partition, and recombine all."""
        runs = self._anneal(labels, records, n_runs)
        self.seen = [*self.seen, *(set(self.groups.add(run)) for run in runs)][-RUNS_TO_AGREE:]
        best = min([labels, *runs], key=self.groups.cost_of)
        best = self.groups.recombine(
            best,
            self.random_state,
            self.parameters.node_limit,
            deadline=self.progress.start + self.time_limit,
        )
        if best is not labels:
            self.note(best)
        return best

    def _disputed(self, labels):
        """Records of the groups on which the last runs do not agree; all if those are few."""
        groups = members_of_all(labels)
        disputed = [group for group in groups if not all(group in run for run in self.seen)]
        records = np.sort(np.concatenate([[], *disputed])).astype(np.intp)
        return records if len(records) >= FEWEST_GROUPS * self.k else np.arange(len(self.X))

    def _anneal(self, labels, records, n_runs):
        """Partitions of all records, in each of which those given were annealed."""
        surroundings = self.surroundings
        if len(records) < len(self.X):
            surroundings = surroundings.among(records)
        _, start = np.unique(labels[records], return_inverse=True)
        rest = self.groups.cost_of(labels) - Partition(surroundings.X, start, self.k).sse
        progress = Part(self.progress, rest)
        length = 1.0
        if self.n_rounds > 0:
            length = max(SHORTEST_RUN, THOROUGHNESS * len(records) / len(self.X))
        budget = self._n_steps(length), self._seconds(length, n_runs)
        seeds = self.random_state.randint(np.iinfo(np.int32).max, size=n_runs)
        runs = Parallel(n_jobs=self.parameters.n_jobs, require="sharedmem")(
            delayed(anneal)(surroundings, start, seed, heat, *budget, progress)
            for seed, heat in zip(seeds, cycle(HEATS), strict=False)
        )
        return [with_part(labels, records, run) for run, _, _ in runs]

    def _n_steps(self, length):
        """Number of steps of a run that is so long, in first runs."""
        if self.parameters.n_steps is not None:
            return math.ceil(length * self.parameters.n_steps)
        if self.time_limit < math.inf:
            return math.inf
        return math.ceil(length * STEPS_A_RECORD * len(self.X))

    def _seconds(self, length, n_runs):
        """Seconds that each of some runs has."""
        first = SHARE_OF_FIRST_RUNS * self.time_limit / self._turns(self.parameters.n_init)
        left = max(self._seconds_left(), LEAST_SECONDS)
        return min(length * first, left / self._turns(n_runs))

    def _turns(self, n_runs):
        return math.ceil(n_runs / effective_n_jobs(self.parameters.n_jobs))

    def _seconds_left(self):
        """Seconds left for runs: some are kept for the programs that come last."""
        return (1 - SHARE_OF_LAST_PROGRAMS) * self.time_limit - self.progress.seconds
