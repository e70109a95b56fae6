"""Recombination: the best partition made of the groups of several annealing runs."""

import math
from typing import TYPE_CHECKING

import numpy as np

from sk_microagg._utils._deadline import Deadline, interruptible, warn_if_interrupted
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_count, check_n_jobs, check_number, check_verbose
from sk_microagg.privacy import Rules
from sk_microagg.refiners._base import N_STEPS, Progress, Refiner
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._exchange import FinalExchange
from sk_microagg.refiners._neighborhoods import Neighborhoods
from sk_microagg.refiners._recombine import RUNS_PER_ROUND, Search


class Recombination(CallbackSupportMixin, Refiner):
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

    if TYPE_CHECKING:  # what `refine` sets
        trace_: Floats
        n_iter_: int

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
        progress = Progress(
            self.n_init + RUNS_PER_ROUND * self.max_iter,
            total_sum_of_squares(X),
            math.inf if self.time_limit is None else self.time_limit,
            self.verbose,
            self,
            context,
            unit="run",
        )
        with interruptible():
            deadline = Deadline(progress.time_limit)
            given = split_large_groups(X, labels, k, deadline, rules)
            half = deadline.within(progress.time_limit / 2)
            neighborhoods = Neighborhoods.find(X, k, half, rules)
            final = FinalExchange(deadline, progress.time_limit)
            end = final.end_of_search()
            search = Search(self, X, neighborhoods, random_state, progress, end)
            try:
                best = search.run(given)
            finally:
                progress.stopped = True
                progress.finish()
            labels = final.run(neighborhoods, best)
            warn_if_interrupted("the result is the best partition found so far")
        search.note(labels)
        self.trace_ = np.array(search.trace)
        self.n_iter_ = search.n_rounds
        context.call_on_fit_task_end(estimator=self, X=X)
        return labels

    def _check_parameters(self) -> None:
        for name in ("n_init", "max_iter", "node_limit"):
            check_count(name, getattr(self, name))
        check_count("annealing_max_iter", self.annealing_max_iter, or_none=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0, or_option=None)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
