"""Iterated local search."""

import math
import time

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_random_state

from sk_microagg._kernels import Descent, Partition
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._validation import check_count, check_n_jobs, check_number, check_verbose
from sk_microagg.builders import MDAV
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._decompose_shrink import DecomposeShrink
from sk_microagg.refiners._exchange import Exchange
from sk_microagg.refiners._progress import N_STEPS, Progress
from sk_microagg.refiners._split import split_large_groups

# An SSE lower by less than this share of it may be rounding.
LEAST_GAIN = 1e-12


class IteratedLocalSearch(CallbackSupportMixin, Refiner):
    """Perturb the partition, repair it by local search, keep what is better; again and again [1]_.

    It begins with a round of :class:`DecomposeShrink` and a local search. A perturbation dissolves
    one group, and hands its records to the nearest others; or it distills a new one from the
    records that are too many in their groups. Local search then starts from the groups that were
    touched. A worse partition is accepted now and then, otherwise the search goes back to the best
    one. In the end, :class:`Exchange` refines the best.

    Parameters
    ----------
    max_iter : int, default=5000
        Number of perturbations of a search, at most.

    n_candidates : int, default=5
        Groups that are drawn to find one to dissolve: that with the largest sum of squared errors.
        With 1 all groups are dissolved equally often.

    acceptance : "dynamic" or float, default="dynamic"
        Probability to go on from a worse partition. "dynamic": exp(-t / `temperature`), where t is
        how much worse it is, as a share of the best.

    temperature : float, default=1e-5
        For the dynamic acceptance: the larger, the more is accepted.

    time_limit : float or None, default=None
        Seconds after which the searches end, with the best found so far; the round of
        :class:`DecomposeShrink` before and the exchange after them come on top. Where the limit
        strikes depends on the machine, and so does the result.

    n_iter_no_change : int or None, default=None
        End a search after so many perturbations without a better partition.

    n_init : int, default=1
        Number of independent searches, of which the best is kept. They differ in their chances, and
        in turn in their start: with the round of :class:`DecomposeShrink`, without it, and from a
        partition of their own that :class:`~sk_microagg.builders.MDAV` grows around centroids.

    n_jobs : int or None, default=None
        Number of searches that run at the same time, in threads. The result does not depend on it.

    verbose : int, default=0
        With 1, a line tells the iteration, the least information loss and the seconds left.

    Attributes
    ----------
    trace_ : ndarray of shape (n_improvements, 3)
        How the search that won came to its result: iteration, seconds of the search and sum of
        squared errors, one row for every partition better than those before. The last row is the
        result after the exchange, with the seconds of the whole.

    n_iter_ : int
        Number of perturbations in all searches.

    References
    ----------
    .. [1] Bierman (2020). Improvements to iterated local search for microaggregation.
       Dissertation, Nova Southeastern University.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import microaggregate
    >>> from sk_microagg.metrics import information_loss
    >>> from sk_microagg.refiners import IteratedLocalSearch
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> labels = microaggregate(X, k=3, refiner=None)
    >>> search = IteratedLocalSearch(max_iter=100)
    >>> refined = search.refine(X, labels, k=3, random_state=0)
    >>> information_loss(X, refined) < information_loss(X, labels)
    True
    """

    def __init__(
        self,
        max_iter=5000,
        n_candidates=5,
        acceptance="dynamic",
        temperature=1e-5,
        time_limit=None,
        n_iter_no_change=None,
        n_init=1,
        n_jobs=None,
        verbose=0,
    ):
        self.max_iter = max_iter
        self.n_candidates = n_candidates
        self.acceptance = acceptance
        self.temperature = temperature
        self.time_limit = time_limit
        self.n_iter_no_change = n_iter_no_change
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def _refine(self, X, labels, k, random_state):
        self.check_parameters()
        began = time.monotonic()
        context = self._init_callback_context(task_name="refine", max_subtasks=N_STEPS)
        context.call_on_fit_task_begin(estimator=self, X=X)
        starts = [start(X, labels, k) for start in STARTS[: self.n_init]]

        def begin(number, seed, rng):
            start = starts[number % len(starts)]
            # The first sweep follows the numbers of the groups: let searches differ in it.
            partition = Partition(X, rng.permutation(start.max() + 1)[start], k)
            return partition, Descent(partition, seed=seed)

        best = self.search(begin, total_sum_of_squares(X), random_state, context)
        labels = Exchange().refine(X, best, k)
        result = (self.trace_[-1, 0], time.monotonic() - began, Partition(X, labels, k).sse)
        self.trace_ = np.vstack([self.trace_, result])
        context.call_on_fit_task_end(estimator=self, X=X)
        return labels

    def search(self, begin, total, random_state, context=None):
        """Search among partitions of any kind; set `trace_` and `n_iter_`.

        Parameters
        ----------
        begin : callable
            Given the number of a search, its seed and its RandomState, returns a partition to
            start from and a descent that improves it.

        total : float
            What costs are a share of, as the information loss.

        random_state : RandomState instance
            Where the seeds of the searches come from.

        context : CallbackContext or None, default=None
            The task of which the searches are a part, if anybody wants to hear of it.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The best partition of all searches.
        """
        time_limit = math.inf if self.time_limit is None else self.time_limit
        n_rounds = math.ceil(self.n_init / effective_n_jobs(self.n_jobs))
        n_iterations = self.max_iter * self.n_init
        progress = Progress(n_iterations, total, time_limit, self.verbose, self, context)
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        try:
            searches = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(self._search)(begin, number, seed, time_limit / n_rounds, progress)
                for number, seed in enumerate(seeds)
            )
        finally:
            progress.stopped = True
            progress.finish()
        labels, trace, _ = min(searches, key=lambda search: search[1][-1][2])
        self.n_iter_ = sum(n_iter for _, _, n_iter in searches)
        self.trace_ = np.array(trace)
        return labels

    def _search(self, begin, number, seed, time_limit, progress):
        """One search; return its best labels, its trace and its number of iterations."""
        start = time.monotonic()
        deadline = start + time_limit
        rng = check_random_state(seed)
        partition, descent = begin(number, seed, rng)
        descent.run(partition.groups(), deadline=deadline)
        partition.mark()
        best = partition.cost
        progress.note(best)
        trace = [(0, time.monotonic() - start, best)]
        patience = self.max_iter if self.n_iter_no_change is None else self.n_iter_no_change
        n_iter = 0
        while (
            best > 0
            and n_iter < self.max_iter
            and n_iter - trace[-1][0] < patience
            and partition.n_groups > 1
            and time.monotonic() < deadline
            and not progress.stopped
        ):
            n_iter += 1
            touched = self._perturb(partition, rng)
            descent.run(touched, deadline=deadline)
            if partition.cost < best * (1 - LEAST_GAIN):
                partition.mark()
                best = partition.cost
                trace.append((n_iter, time.monotonic() - start, best))
            elif rng.random_sample() >= self._acceptance(best, partition.cost):
                partition.rollback()
            progress.advance(best)
        partition.rollback()
        return partition.labels(), trace, n_iter

    def _perturb(self, partition, rng):
        """Dissolve a group or distill one; return the groups that were touched."""
        k, n_groups, n_records = partition.k, partition.n_groups, partition.n_records
        most = n_records // k
        fewest = most - (most - -(-n_records // (2 * k - 1))) // 5
        n_excess = n_records - k * n_groups
        if n_excess >= k and (n_groups <= fewest or rng.random_sample() < 0.5):
            return distill(partition, rng)
        return dissolve(partition, self.n_candidates, rng)

    def _acceptance(self, best, cost):
        if self.acceptance != "dynamic":
            return self.acceptance
        return math.exp(min((best - cost) / best / self.temperature, 0.0))

    def check_parameters(self):
        """Raise if a parameter has a value that it cannot have."""
        for name in ("max_iter", "n_candidates", "n_init"):
            check_count(name, getattr(self, name))
        check_count("n_iter_no_change", self.n_iter_no_change, or_none=True)
        check_number("temperature", self.temperature, above=0)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0, or_option=None)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        if self.acceptance != "dynamic":
            check_number("acceptance", self.acceptance, at_least=0, at_most=1, or_option="dynamic")


def without_bad_groups(X, labels, k):
    """Groups in the wrong places are hard to get rid of later, one perturbation at a time."""
    return DecomposeShrink(max_iter=1).refine(X, labels, k)


def grown_around_centroids(X, labels, k):
    return MDAV(growth="nc").build(X, k)


# Searches from different partitions end in different places, so they take turns.
STARTS = (without_bad_groups, split_large_groups, grown_around_centroids)


def dissolve(partition, n_candidates, rng):
    """Dissolve the group with the largest cost of some drawn at random."""
    drawn = [_draw_group(partition, rng) for _ in range(n_candidates)]
    return partition.dissolve(max(drawn, key=partition.cost_of))


def _draw_group(partition, rng):
    while True:
        group = int(rng.random_sample() * partition.n_slots)
        if partition.size(group):
            return group


def distill(partition, rng):
    """Make a group of excess records around one of them, drawn at random."""
    while True:
        group = partition.larger_group(int(rng.random_sample() * partition.n_larger))
        excess = partition.excess(group)
        # The more excess records a group has, the more likely one of them is the first.
        if rng.random_sample() * partition.k < len(excess):
            break
    group, robbed = partition.distill(excess[int(rng.random_sample() * len(excess))])
    return [group, *robbed]
