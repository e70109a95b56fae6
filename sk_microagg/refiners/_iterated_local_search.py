"""Iterated local search."""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_random_state

from sk_microagg._kernels import Descent, Guards, Partition
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_count, check_number
from sk_microagg.builders import MDAV
from sk_microagg.privacy import Rules
from sk_microagg.refiners._base import Progress, SearchRefiner, Task
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._decompose_shrink import decompose_and_shrink
from sk_microagg.refiners._exchange import FinalExchange
from sk_microagg.refiners._neighborhoods import Neighborhoods

# An improvement below this share of the cost may be rounding error.
MIN_GAIN_OF_COST = 1e-12

# A partition, what improves it, and what its groups must satisfy.
Start: TypeAlias = tuple[Partition, Descent, Guards | None]

# Share of the time limit that each kind of start may take.
SHARE_OF_A_START = 0.25


class IteratedLocalSearch(SearchRefiner):
    """Repeatedly perturb the partition and repair it by local search, keeping the best [1]_.

    The search starts with a round of :class:`DecomposeShrink` and a local search. A perturbation
    dissolves a group and assigns its records to the nearest other groups, or distills a new group
    from the records in excess of k in their groups. Local search then starts from the groups that
    changed. A worse partition is accepted with some probability; otherwise the search returns to
    the best one. :class:`Exchange` refines the result.

    Ctrl-C ends the search with the best partition found so far, and a warning says so; a second
    Ctrl-C raises KeyboardInterrupt.

    Parameters
    ----------
    max_iter : int, default=5000
        Maximum number of iterations of each search. An iteration is one perturbation followed by a
        local search.

    n_candidates : int, default=5
        Number of groups drawn at random when one is to be dissolved; the one with the largest sum
        of squared errors is chosen. With 1, every group is equally likely.

    acceptance : "dynamic" or float, default="dynamic"
        Probability of continuing from a worse partition. "dynamic" is exp(-t / `temperature`),
        where t is the increase in cost relative to the best partition.

    temperature : float, default=1e-5
        Temperature of the dynamic acceptance: the higher, the more is accepted.

    time_limit : float or None, default=None
        Time limit of all searches in seconds, starts included, after which they end with the best
        partition found so far. The final exchange is included; it ends early if time is up.
        With a time limit the result depends on the machine and its load.

    n_iter_no_change : int or None, default=None
        Number of iterations without improvement after which a search ends; None means no such
        limit.

    n_init : int, default=1
        Number of independent searches; the best one is kept. They differ in their seed and, in
        turn, in their start: with the round of :class:`DecomposeShrink`, without it, and from
        another partition, that of :class:`~sk_microagg.builders.MDAV` with `growth="nc"`.

    n_jobs : int or None, default=None
        Number of searches in parallel, in threads. Without a time limit it does not change the
        result.

    verbose : int, default=0
        If 1, print a progress line.

    Attributes
    ----------
    trace_ : ndarray of shape (n_improvements, 3)
        Course of the best search: iteration, seconds since its start, and sum of squared errors of
        each partition that is better than all before it. The last row is the result after the
        exchange, with the total number of seconds.

    n_iter_ : int
        Number of iterations performed, in all searches.

    See Also
    --------
    LocalSearch : A single local search.
    Annealing : Lower loss in the same time.

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
        max_iter: int = 5000,
        n_candidates: int = 5,
        acceptance: float | Literal["dynamic"] = "dynamic",
        temperature: float = 1e-5,
        time_limit: float | None = None,
        n_iter_no_change: int | None = None,
        n_init: int = 1,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_iter = max_iter
        self.n_candidates = n_candidates
        self.acceptance = acceptance
        self.temperature = temperature
        self.time_limit = time_limit
        self.n_iter_no_change = n_iter_no_change
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _search(self, task: Task) -> Labels:
        X, k, rules = task.X, task.k, task.rules
        deadline, time_limit = self.deadline(), self._seconds()
        neighborhoods = Neighborhoods.find(X, k, deadline.within(time_limit / 4), rules)
        final = FinalExchange(deadline, time_limit)
        end = final.end_of_search()
        starts = starts_of(X, task.labels, k, self.n_init, end, rules)

        def begin(number: int, seed: int, rng: np.random.RandomState) -> Start:
            start = starts[number % len(starts)]
            # The first sweep follows the order of the groups, which is to differ among searches.
            partition = Partition(X, rng.permutation(start.max() + 1)[start], k)
            guards = rules.guards() if rules else None
            return partition, Descent(partition, seed=seed, guards=guards), guards

        best, trace, n_iter = self._run_searches(
            begin, total_sum_of_squares(X), task.random_state, end, task.context
        )
        labels = final.run(neighborhoods, best)
        result = (trace[-1, 0], deadline.seconds_gone(), Partition(X, labels, k).sse)
        self.trace_: Floats = np.vstack([trace, result])
        self.n_iter_ = n_iter
        return labels

    def deadline(self) -> Deadline:
        """Return when a search that begins now has to end."""
        return Deadline(self._seconds())

    def _run_searches(
        self,
        begin: Callable[[int, int, np.random.RandomState], Start],
        total: float,
        random_state: np.random.RandomState,
        deadline: Deadline,
        context: Any = None,
    ) -> tuple[Labels, Floats, int]:
        """Search partitions of any kind, each from the start that `begin` makes."""
        n_rounds = math.ceil(self.n_init / effective_n_jobs(self.n_jobs))
        seconds = deadline.seconds_left() / n_rounds
        n_iterations = self.max_iter * self.n_init
        progress = Progress(n_iterations, total, self._seconds(), self.verbose, self, context)
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        with progress:
            searches = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(self._search_once)(begin, number, seed, seconds, deadline, progress)
                for number, seed in enumerate(seeds)
            )
        searches = [search for search in searches if search is not None]
        labels, trace, _ = min(searches, key=lambda search: search[1][-1][2])
        return labels, np.array(trace), sum(n_iter for _, _, n_iter in searches)

    def _search_once(
        self,
        begin: Callable[[int, int, np.random.RandomState], Start],
        number: int,
        seed: int,
        seconds: float,
        deadline: Deadline,
        progress: Progress,
    ) -> tuple[Labels, list[tuple[int, float, float]], int] | None:
        """Search once; return the best labels, the trace and the number of iterations.

        None if there is no time for another search after the first one.
        """
        if number > 0 and deadline.is_over():
            return None
        deadline = deadline.within(seconds)
        rng = check_random_state(seed)
        partition, descent, guards = begin(number, seed, rng)
        if not deadline.is_over():
            descent.run(partition.groups(), deadline=deadline)
        partition.mark()
        best = partition.cost
        progress.note(best)
        trace = [(0, deadline.seconds_gone(), best)]
        patience = self.max_iter if self.n_iter_no_change is None else self.n_iter_no_change
        n_iter = 0
        while (
            best > 0
            and n_iter < self.max_iter
            and n_iter - trace[-1][0] < patience
            and partition.n_groups > 1
            and not deadline.is_over()
            and not progress.stopped
        ):
            n_iter += 1
            changed = self._perturb(partition, rng)
            is_allowed = guards is None or all(
                guards.hold(partition.members_of(group)) for group in changed
            )
            if is_allowed:
                descent.run(changed, deadline=deadline)
            if is_allowed and partition.cost < best * (1 - MIN_GAIN_OF_COST):
                partition.mark()
                best = partition.cost
                trace.append((n_iter, deadline.seconds_gone(), best))
            elif not is_allowed or rng.random_sample() >= self._acceptance(best, partition.cost):
                partition.rollback()
            progress.advance(best)
        partition.rollback()
        return partition.labels(), trace, n_iter

    def _perturb(self, partition: Partition, rng: np.random.RandomState) -> list[int]:
        """Dissolve a group or distill one; return the groups that changed."""
        k, n_groups, n_records = partition.k, partition.n_groups, partition.n_records
        most = n_records // k
        fewest = most - (most - -(-n_records // (2 * k - 1))) // 5
        n_excess = n_records - k * n_groups
        if n_excess >= k and (n_groups <= fewest or rng.random_sample() < 0.5):
            return distill(partition, rng)
        return dissolve(partition, self.n_candidates, rng)

    def _acceptance(self, best: float, cost: float) -> float:
        if self.acceptance != "dynamic":
            return self.acceptance
        return math.exp(min((best - cost) / best / self.temperature, 0.0))

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in ("max_iter", "n_candidates", "n_init"):
            check_count(name, getattr(self, name))
        check_count("n_iter_no_change", self.n_iter_no_change, or_none=True)
        check_number("temperature", self.temperature, above=0)
        check_number("acceptance", self.acceptance, at_least=0, at_most=1, or_option="dynamic")


def dissolve(partition: Partition, n_candidates: int, rng: np.random.RandomState) -> list[int]:
    """Dissolve the group with the largest cost among some drawn at random."""
    drawn = [_draw_group(partition, rng) for _ in range(n_candidates)]
    return partition.dissolve(max(drawn, key=partition.cost_of))


def _draw_group(partition: Partition, rng: np.random.RandomState) -> int:
    while True:
        group = int(rng.random_sample() * partition.n_slots)
        if partition.size(group):
            return group


def distill(partition: Partition, rng: np.random.RandomState) -> list[int]:
    """Create a group of excess records around one of them, drawn at random."""
    while True:
        group = partition.larger_group(int(rng.random_sample() * partition.n_larger))
        excess = partition.excess(group)
        # Every excess record is equally likely to be the first.
        if rng.random_sample() * partition.k < len(excess):
            break
    group, donors = partition.distill(excess[int(rng.random_sample() * len(excess))])
    return [group, *donors]


def starts_of(
    X: Floats, labels: Labels, k: int, n_init: int, deadline: Deadline, rules: Rules | None
) -> list[Labels]:
    """Return the partitions in which searches start, which take turns in them."""
    # Only the given groups are known to satisfy rules.
    if rules or deadline.is_over():
        return [split_large_groups(X, labels, k, deadline, rules)]
    return [
        start(X, labels, k, deadline.within(SHARE_OF_A_START * deadline.seconds_left()))
        for start in STARTS[:n_init]
    ]


def grown_around_centroids(X: Floats, labels: Labels, k: int, deadline: Deadline | None) -> Labels:
    """Ignore the partition, and build another one; if that takes too long, keep the partition."""
    built = MDAV(growth="nc")._build(X, k, deadline)
    return split_large_groups(X, labels, k, deadline) if built is None else built


# Searches take turns in these starts: different ones end in different local optima. The first one
# dissolves badly placed groups, which perturbations would remove only slowly.
STARTS = (decompose_and_shrink, split_large_groups, grown_around_centroids)
