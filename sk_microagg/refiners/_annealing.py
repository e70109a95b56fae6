"""Annealing."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import Deadline, interruptible, warn_if_interrupted
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_count, check_n_jobs, check_number, check_verbose
from sk_microagg.privacy import Rules
from sk_microagg.refiners._anneal import Schedule, anneal
from sk_microagg.refiners._base import N_STEPS, Progress, Refiner
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._exchange import FinalExchange
from sk_microagg.refiners._neighborhoods import Neighborhoods

# Default number of steps per record: seconds for a few thousand records.
STEPS_PER_RECORD = 20_000

# The largest `hottest` allowed: every step is accepted, and nothing overflows.
MAX_HOTTEST = 1e9


class Annealing(CallbackSupportMixin, Refiner):
    """Simulated annealing: random steps, of which those that raise the loss become ever rarer.

    A step moves a record to the group of a neighbor or swaps it with a record of that group;
    occasionally a step creates a group around a record or dissolves one. A step that raises the sum
    of squared errors by Δ is accepted with probability exp(-Δ / T). The temperature T follows the
    scale of the records, which is the mean squared distance to their k - 1 nearest neighbors: it
    falls from `hottest` times the scale of the outliers to `coldest` times the scale of the densest
    records. At each temperature most steps concern the records of matching scale, and the more of
    them there are, the more slowly it falls. :class:`Exchange` then refines the best run. Ctrl-C
    ends the search with the best partition found so far, and a warning says so; a second Ctrl-C
    raises KeyboardInterrupt.

    Parameters
    ----------
    max_iter : int or None, default=None
        Maximum number of iterations of each run. An iteration is one random step; about 15
        million take a second. None means 20 000 times the number of records or, with a
        `time_limit`, as many as it allows.

    n_init : int, default=1
        Number of independent runs; the best one is kept.

    time_limit : float or None, default=None
        Time limit of all runs in seconds. The temperature falls fast enough to reach its final
        value in time, and the final exchange is included: it ends early if time is up. With a time
        limit the result depends on the machine and its load; without one, a seed makes it
        reproducible.

    hottest : float, default=0.5
        Temperature at which a record of scale 1 becomes active, at most 1e9.

    coldest : float, default=0.06
        Temperature at which a record of scale 1 ceases to be active, at most `hottest`.

    n_jobs : int or None, default=None
        Number of runs in parallel, in threads. Without a time limit it does not change the
        result.

    verbose : int, default=0
        If 1, print a progress line.

    Attributes
    ----------
    trace_ : ndarray of shape (n_rows, 3)
        Course of the best run: iteration, seconds since its start, and sum of squared errors, which
        rises at high temperatures. The last row is the result after the exchange, with the
        total number of seconds.

    n_iter_ : int
        Number of iterations performed, in all runs.

    See Also
    --------
    Recombination : Combines the best groups of several runs.
    IteratedLocalSearch : Fewer iterations, each with a local search.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import microaggregate
    >>> from sk_microagg.metrics import information_loss
    >>> from sk_microagg.refiners import Annealing
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> labels = microaggregate(X, k=3, refiner="exchange")
    >>> refined = Annealing(max_iter=100_000).refine(X, labels, k=3, random_state=0)
    >>> information_loss(X, refined) < information_loss(X, labels)
    True
    """

    if TYPE_CHECKING:  # what `refine` sets
        trace_: Floats
        n_iter_: int

    def __init__(
        self,
        max_iter: int | None = None,
        n_init: int = 1,
        time_limit: float | None = None,
        hottest: float = 0.5,
        coldest: float = 0.06,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_iter = max_iter
        self.n_init = n_init
        self.time_limit = time_limit
        self.hottest = hottest
        self.coldest = coldest
        self.n_jobs = n_jobs
        self.verbose = verbose

    keeps_rules = True

    @with_callbacks
    def _refine(
        self,
        X: Floats,
        labels: Labels,
        k: int,
        random_state: np.random.RandomState,
        rules: Rules | None = None,
    ) -> Labels:
        self._check_parameters()
        context = self._init_callback_context(task_name="refine", max_subtasks=N_STEPS)
        context.call_on_fit_task_begin(estimator=self, X=X)
        time_limit = math.inf if self.time_limit is None else self.time_limit
        with interruptible():
            deadline = Deadline(time_limit)
            given = split_large_groups(X, labels, k, deadline, rules)
            neighborhoods = Neighborhoods.find(X, k, deadline.within(time_limit / 2), rules)
            final = FinalExchange(deadline, time_limit)
            seconds = final.end_of_search().seconds_left()
            runs = self._runs(neighborhoods, given, seconds, random_state, context)
            best, trace, _ = min(runs, key=lambda run: run[1][-1][2])
            if trace[-1][2] > trace[0][2]:
                best = given
            labels = final.run(neighborhoods, best)
            warn_if_interrupted("the result is the best partition found so far")
        self.n_iter_ = sum(n_steps for _, _, n_steps in runs)
        result = (trace[-1][0], deadline.seconds_gone(), Partition(X, labels, k).sse)
        self.trace_ = np.vstack([trace, result])
        context.call_on_fit_task_end(estimator=self, X=X)
        return labels

    def _runs(
        self,
        neighborhoods: Neighborhoods,
        labels: Labels,
        time_limit: float,
        random_state: np.random.RandomState,
        context: Any,
    ) -> list[Any]:
        """Return the labels, the trace and the number of steps of each run."""
        X = neighborhoods.X
        max_iter = self.max_iter
        if max_iter is None:
            max_iter = STEPS_PER_RECORD * len(X) if time_limit == math.inf else math.inf
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        n_batches = math.ceil(self.n_init / effective_n_jobs(self.n_jobs))
        total = total_sum_of_squares(X)
        progress = Progress(self.n_init, total, time_limit, self.verbose, self, context, unit="run")
        schedule = Schedule(self.hottest, self.coldest)
        try:
            return Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(anneal)(
                    neighborhoods,
                    labels,
                    seed,
                    schedule,
                    max_iter,
                    time_limit / n_batches,
                    progress,
                )
                for seed in seeds
            )
        finally:
            progress.stopped = True
            progress.finish()

    def _check_parameters(self) -> None:
        check_count("max_iter", self.max_iter, or_none=True)
        check_count("n_init", self.n_init)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0, or_option=None)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_number("hottest", self.hottest, above=0, at_most=MAX_HOTTEST)
        check_number("coldest", self.coldest, above=0, at_most=self.hottest)
