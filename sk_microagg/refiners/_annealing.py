"""Annealing."""

import math
import time

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._kernels import Partition
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._validation import check_count, check_n_jobs, check_number, check_verbose
from sk_microagg.refiners._anneal import STEPS_A_RECORD, Heat, Surroundings, anneal
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._exchange import Exchange
from sk_microagg.refiners._progress import N_STEPS, Progress
from sk_microagg.refiners._split import split_large_groups

# Everything passes at such a temperature, and the arithmetic holds.
HOTTEST = 1e9


class Annealing(CallbackSupportMixin, Refiner):
    """Move records at random, and ever more rarely where it raises the loss, until all is frozen.

    A step moves a record to the group of a neighbor, or swaps it with a record of that group;
    now and then a step makes a new group around a record, or dissolves one. A step that raises the
    sum of squared errors by Δ is taken with probability exp(-Δ / T). The temperature T falls with
    the scale of the records, the mean squared distance to their k - 1 nearest neighbors: first
    from `hottest` times the scale of the outliers, in the end to `coldest` times that of the
    densest. At each temperature most steps are for the records whose scale it suits, and the more
    of them there are, the slower it falls. In the end :class:`Exchange` refines the best.

    Parameters
    ----------
    max_iter : int or None, default=None
        Number of steps of a run, some ten million a second. None for 20 000 times the number of
        records; or, with a `time_limit`, for as many as it allows.

    n_init : int, default=1
        Number of independent runs, of which the best is kept.

    time_limit : float or None, default=None
        Seconds that the runs have. The temperature falls the faster, so that it is at its end by
        then; the exchange comes on top. The result then depends on the machine, and on what else it
        does; with `max_iter` alone it depends on the seed.

    hottest : float, default=0.3
        Temperature at which a record of scale 1 begins to matter, up to 1e9.

    coldest : float, default=0.01
        Temperature at which it has ceased to.

    n_jobs : int or None, default=None
        Number of runs at the same time, in threads. The result does not depend on it.

    verbose : int, default=0
        With 1, a line tells the run, the information loss and the seconds left.

    Attributes
    ----------
    trace_ : ndarray of shape (n_looks, 3)
        How the run that won came to its result: step, seconds of the run and sum of squared
        errors, which rises while it is hot. The last row is the result after the exchange, with the
        seconds of the whole.

    n_iter_ : int
        Number of steps in all runs.

    See Also
    --------
    Recombination : The best of several runs, put together.
    IteratedLocalSearch : Fewer steps, each with a local search.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import microaggregate
    >>> from sk_microagg.metrics import information_loss
    >>> from sk_microagg.refiners import Annealing
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> labels = microaggregate(X, k=3)
    >>> refined = Annealing(max_iter=100_000).refine(X, labels, k=3, random_state=0)
    >>> information_loss(X, refined) < information_loss(X, labels)
    True
    """

    def __init__(
        self,
        max_iter=None,
        n_init=1,
        time_limit=None,
        hottest=0.3,
        coldest=0.01,
        n_jobs=None,
        verbose=0,
    ):
        self.max_iter = max_iter
        self.n_init = n_init
        self.time_limit = time_limit
        self.hottest = hottest
        self.coldest = coldest
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def _refine(self, X, labels, k, random_state):
        self._check_parameters()
        began = time.monotonic()
        context = self._init_callback_context(task_name="refine", max_subtasks=N_STEPS)
        context.call_on_fit_task_begin(estimator=self, X=X)
        given = split_large_groups(X, labels, k)
        runs = self._runs(X, given, k, random_state, context)
        best, trace, _ = min(runs, key=lambda run: run[1][-1][2])
        if trace[-1][2] > trace[0][2]:
            best = given
        labels = Exchange().refine(X, best, k)
        self.n_iter_ = sum(n_steps for _, _, n_steps in runs)
        result = (trace[-1][0], time.monotonic() - began, Partition(X, labels, k).sse)
        self.trace_ = np.vstack([trace, result])
        context.call_on_fit_task_end(estimator=self, X=X)
        return labels

    def _runs(self, X, labels, k, random_state, context):
        """Labels, trace and number of steps of every run."""
        time_limit = math.inf if self.time_limit is None else self.time_limit
        max_iter = self.max_iter
        if max_iter is None:
            max_iter = STEPS_A_RECORD * len(X) if time_limit == math.inf else math.inf
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        n_turns = math.ceil(self.n_init / effective_n_jobs(self.n_jobs))
        total = total_sum_of_squares(X)
        progress = Progress(self.n_init, total, time_limit, self.verbose, self, context, unit="run")
        surroundings = Surroundings.of(X, k)
        heat = Heat(self.hottest, self.coldest)
        try:
            return Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(anneal)(
                    surroundings, labels, seed, heat, max_iter, time_limit / n_turns, progress
                )
                for seed in seeds
            )
        finally:
            progress.stopped = True
            progress.finish()

    def _check_parameters(self):
        check_count("max_iter", self.max_iter, or_none=True)
        check_count("n_init", self.n_init)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0, or_option=None)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_number("hottest", self.hottest, above=0, at_most=HOTTEST)
        check_number("coldest", self.coldest, above=0, at_most=self.hottest)
