"""The default: a short annealing, then exchanges."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import SECONDS_TO_FINISH, Deadline
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.privacy import Rules
from sk_microagg.refiners._annealing import Schedule, anneal
from sk_microagg.refiners._base import Progress, SearchRefiner, Task
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._exchange import FinalExchange, exchange, warn_if_unfinished
from sk_microagg.refiners._neighborhoods import MIN_NEIGHBORS, Neighborhoods

# Steps of the annealing: MIN_STEPS_PER_RECORD at least; with few records more, up to
# MAX_STEPS_PER_RECORD, as long as they are no more than FEW_STEPS in all.
MIN_STEPS_PER_RECORD = 200
MAX_STEPS_PER_RECORD = 2_000
FEW_STEPS = 2_000_000

# With so many records, fewer than MANY_COLUMNS, no codes and no rules: more steps, which take less
# time each. Lists of neighbors are shorter, and the temperature follows the active records more
# closely.
MANY_RECORDS = 10_000
STEPS_OF_MANY = 400
STEPS_OF_MANY_WIDE = 450  # From COLUMNS_OF_WIDE on, where groups take more time to settle.
COLUMNS_OF_WIDE = 8
NEIGHBORS_OF_MANY = 10
SCHEDULE_OF_MANY = Schedule(base_effort=0.1)

# Under rules beyond k, with few records: the same times this. If a rule is written in Python, this
# many per record.
MORE_UNDER_RULES = 2
STEPS_IN_PYTHON = 100

# Up to this many records, exchanges alone are tried as well: now and then they lose less, mostly
# where there are nearly as many columns as groups. Under compiled rules, there are more runs: the
# loss of one may be a percent above that of another. Each starts from the best partition so far.
FEW_RECORDS = 5_000
RUNS_UNDER_RULES = 2

# With more records and many columns, records may be about equally far from each other. Lists of
# neighbors then tell little, and exchanges alone lose less than annealing along these lists. So it
# is if a trial of few steps per record, without a local search, raises the loss by more than this
# share.
MANY_COLUMNS = 20
TRIAL_STEPS_PER_RECORD = 30
RAISED_BY_TRIAL = 0.04


class Auto(SearchRefiner):
    """Anneal for a short time, then exchange records until the partition is a power diagram.

    This is the default refiner. It takes up to 2000 random steps per record, and from 10 000
    records on 400, or 450 with 8 to 19 columns, or 200 with more columns or codes; under
    constraints beyond k at least 200, twice as many as without where records are few, and 100 if a
    constraint is written in Python. Under others, up to 5000 records are annealed twice, and the
    better result is kept. The loss is lower than that of :class:`Exchange` alone, often by 5 to
    30%; up to 5000 records it is never higher. With more records and at least 20 columns, exchanges
    alone are made if annealing does not help in a short trial. :class:`Recombination` finds still
    less loss if it is given more time. Ctrl-C ends it with the best partition found so far, and a
    warning says so; a second Ctrl-C raises KeyboardInterrupt.

    Parameters
    ----------
    verbose : int, default=0
        If 1, print a progress line.

    Attributes
    ----------
    n_iter_ : int
        Number of random steps.

    See Also
    --------
    Annealing : The same for any number of steps.
    Exchange : Without annealing, faster.
    Recombination : The least loss in a given time.

    Notes
    -----
    Without a `random_state` the seed is 0, so that the result is always the same for the same
    table. This is for privacy: an intruder who has two releases of one table from different
    partitions can intersect the groups, and finds some of fewer than k records.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import microaggregate
    >>> from sk_microagg.metrics import information_loss
    >>> from sk_microagg.refiners import Auto
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> labels = microaggregate(X, k=3, refiner="exchange")
    >>> refined = Auto().refine(X, labels, k=3)
    >>> information_loss(X, refined) < information_loss(X, labels)
    True
    """

    default_seed = 0
    takes_codes = True

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose

    def _search(self, task: Task) -> Labels:
        X, k, rules = task.X, task.k, task.rules
        is_small = len(X) <= FEW_RECORDS
        n_runs = RUNS_UNDER_RULES if is_small and rules and rules.are_compiled else 1
        seeds = task.random_state.randint(np.iinfo(np.int32).max, size=n_runs)
        labels = split_large_groups(X, task.labels, k, rules=rules)
        total = total_sum_of_squares(X)
        deadline = Deadline()
        n_columns = X.shape[1] if isinstance(X, np.ndarray) else MANY_COLUMNS
        is_large = len(X) >= MANY_RECORDS and n_columns < MANY_COLUMNS and not rules
        n_near = NEIGHBORS_OF_MANY if is_large else MIN_NEIGHBORS
        max_iter = default_max_iter(len(X), rules, n_columns)
        neighborhoods = Neighborhoods.find(X, k, deadline, rules, n_near)
        has_trial = not rules and not is_small and X.shape[1] >= MANY_COLUMNS
        progress = Progress(n_runs, total, math.inf, self.verbose, self, task.context, unit="run")
        run = _Run(neighborhoods, labels, progress, is_large)
        with progress:
            if not has_trial or run.trial_succeeds(seeds[0]) or deadline.is_over():
                run.anneal(seeds, max_iter)
            else:
                progress.advance(math.inf)
        if run.annealed is None:
            deadline = Deadline(grace=SECONDS_TO_FINISH)
            refined, _, is_diagram = exchange(X, labels, k, deadline=deadline)
            warn_if_unfinished(is_diagram)
        else:
            refined = FinalExchange(deadline, math.inf).run(neighborhoods, run.annealed)
            if is_small and not rules and not deadline.is_over():
                other, _, is_diagram = exchange(X, labels, k, deadline=deadline)
                if is_diagram:
                    refined = min(refined, other, key=partial(_sse, X, k))
        self.n_iter_ = run.n_iter
        return refined


@dataclass
class _Run:
    """The annealing of a partition: a trial, its best result, and the number of steps."""

    neighborhoods: Neighborhoods
    labels: Labels
    progress: Progress
    is_large: bool
    annealed: Labels | None = None
    n_iter: int = 0

    def trial_succeeds(self, seed: int) -> bool:
        """Return whether annealing is likely to lose less than exchanges alone."""
        unseen = Progress(1, self.progress.total, math.inf, 0, self.progress.refiner, None)
        max_iter = TRIAL_STEPS_PER_RECORD * len(self.labels)
        trace = self._anneal(seed, max_iter, unseen, descends=False)[1]
        self.progress.note(trace[0][2])
        return trace[-1][2] <= (1 + RAISED_BY_TRIAL) * trace[0][2]

    def anneal(self, seeds: Labels, max_iter: int) -> None:
        """Anneal once for each seed; keep the partition from before where that is better."""
        for seed in seeds:
            annealed, trace = self._anneal(seed, max_iter, self.progress)
            if trace[-1][2] <= trace[0][2]:
                self.labels = annealed
        self.annealed = self.labels

    def _anneal(
        self, seed: int, max_iter: int, progress: Progress, descends: bool = True
    ) -> tuple[Labels, list[tuple[int, float, float]]]:
        """Return the partition and the trace of a run."""
        # It begins as hot as any other one: with the default number of steps, cooler starts lose up
        # to 3% more on some tables, and hardly less on any.
        annealed, trace, n_iter = anneal(
            self.neighborhoods,
            self.labels,
            seed,
            SCHEDULE_OF_MANY if self.is_large else Schedule(),
            max_iter,
            math.inf,
            progress,
            descends=descends,
            looks_ahead=self.is_large,
        )
        self.n_iter += n_iter
        return annealed, trace


def _sse(X: Floats, k: int, labels: Labels) -> float:
    return Partition(X, labels, k).sse


def default_max_iter(
    n_records: int, rules: Rules | None = None, n_columns: int = MANY_COLUMNS
) -> int:
    """Return the number of steps for a table of numbers of so many columns."""
    if rules and not rules.are_compiled:
        return STEPS_IN_PYTHON * n_records
    steps = MIN_STEPS_PER_RECORD
    if n_records >= MANY_RECORDS and n_columns < MANY_COLUMNS and not rules:
        steps = STEPS_OF_MANY if n_columns < COLUMNS_OF_WIDE else STEPS_OF_MANY_WIDE
    few = min(MAX_STEPS_PER_RECORD * n_records, FEW_STEPS) * (MORE_UNDER_RULES if rules else 1)
    return max(steps * n_records, few)
