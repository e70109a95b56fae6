"""Annealing."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._kernels import Annealer, Descent, Partition, RunningPartition, records_to_visit
from sk_microagg._utils._deadline import SECONDS_TO_FINISH, Deadline
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Array, Floats, Labels
from sk_microagg._utils._validation import check_count, check_number
from sk_microagg.refiners._base import Progress, SearchRefiner, Task
from sk_microagg.refiners._catalog import with_part
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._exchange import FinalExchange
from sk_microagg.refiners._neighborhoods import Neighborhoods

# Default number of steps per record: seconds for a few thousand records.
STEPS_PER_RECORD = 20_000

# The largest `hottest` allowed: every step is accepted, and nothing overflows.
MAX_HOTTEST = 1e9

# The temperature is lowered after this many steps, or more often if there are few steps in all.
STEPS_PER_STAGE = 16_384
MIN_STAGES = 500

# Running means are recomputed exactly, and the trace gets a row, after this many stages.
STAGES_PER_TRACE_ROW = 32

# Share of the time limit that the final local search may take in addition.
SHARE_OF_DESCENT = 0.02

# Temperatures for which the effort is computed; in between it is interpolated.
N_TEMPERATURES = 401

# At least this many records, or this share of all records, are active at any temperature.
MIN_ACTIVE = 20
MIN_ACTIVE_SHARE = 0.01

# Share of the steps that begin with records that are not active.
SHARE_OF_OTHERS = 0.1

# The records with the smallest scales, up to this share of all, do not determine the final
# temperature.
SHARE_FROZEN_LAST = 0.02

# The probability that a step is a long jump is this number, times `jump_rate`, over the number of
# records that are active or frozen; but at most one half.
JUMPS = 30
MAX_JUMP_PROBABILITY = 0.5


# Under rules, groups may grow to this many times their mean size, plus a few records.
ROOM = 4
MIN_ROOM = 8

# Places for records in all groups, with 4 bytes each.
MAX_PLACES = 1 << 26


class Annealing(SearchRefiner):
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

    takes_codes = True

    def _search(self, task: Task) -> Labels:
        X, k, rules, time_limit = task.X, task.k, task.rules, self._seconds()
        deadline = Deadline(time_limit)
        given = split_large_groups(X, task.labels, k, deadline, rules)
        neighborhoods = Neighborhoods.find(X, k, deadline.within(time_limit / 2), rules)
        final = FinalExchange(deadline, time_limit)
        seconds = final.end_of_search().seconds_left()
        runs = self._runs(neighborhoods, given, seconds, task)
        best, trace, _ = min(runs, key=lambda run: run[1][-1][2])
        if trace[-1][2] > trace[0][2]:
            best = given
        labels = final.run(neighborhoods, best)
        self.n_iter_ = sum(n_steps for _, _, n_steps in runs)
        result = (trace[-1][0], deadline.seconds_gone(), Partition(X, labels, k).sse)
        self.trace_: Floats = np.vstack([trace, result])
        return labels

    def _runs(
        self, neighborhoods: Neighborhoods, labels: Labels, time_limit: float, task: Task
    ) -> list[Any]:
        """Return the labels, the trace and the number of steps of each run."""
        X = neighborhoods.X
        max_iter = self.max_iter
        if max_iter is None:
            max_iter = STEPS_PER_RECORD * len(X) if time_limit == math.inf else math.inf
        seeds = task.random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        n_batches = math.ceil(self.n_init / effective_n_jobs(self.n_jobs))
        total = total_sum_of_squares(X)
        context = task.context
        progress = Progress(self.n_init, total, time_limit, self.verbose, self, context, unit="run")
        schedule = Schedule(self.hottest, self.coldest)
        with progress:
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

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("max_iter", self.max_iter, or_none=True)
        check_count("n_init", self.n_init)
        check_number("hottest", self.hottest, above=0, at_most=MAX_HOTTEST)
        check_number("coldest", self.coldest, above=0, at_most=self.hottest)


@dataclass(frozen=True)
class Schedule:
    """The range of temperatures, and how the steps are distributed over it."""

    hottest: float = 0.5
    coldest: float = 0.06
    base_effort: float = 0.3
    jump_rate: float = 4.0


def anneal(
    neighborhoods: Any,
    labels: Array,
    seed: int,
    schedule: Schedule,
    max_iter: Any,
    time_limit: float,
    progress: Any,
    *,
    descends: bool = True,
    looks_ahead: bool = False,
) -> tuple[Array, list[Any], int]:
    """Anneal once, and finish with a local search among near groups."""
    start = time.monotonic()
    deadline = Deadline(time_limit)
    if deadline.is_over():
        return _unchanged(neighborhoods, labels, progress)
    guards, full = None, -1
    if neighborhoods.rules:
        guards, full = neighborhoods.new_guards(), roomy_size(labels, neighborhoods.k)
        movable = np.flatnonzero(np.bincount(labels)[labels] <= full)
        if len(movable) < len(labels):
            options = seed, schedule, max_iter, time_limit, progress
            return _anneal_some(neighborhoods, labels, movable, options, descends, deadline)
        neighborhoods = neighborhoods.with_scales_of(neighborhoods.sorted_labels(labels))
    own_labels = neighborhoods.sorted_labels(labels)
    if looks_ahead:  # Groups next to each other are then next to each other in memory, too.
        first, own_labels = np.unique(own_labels, return_index=True, return_inverse=True)[1:]
        own_labels = np.argsort(np.argsort(first))[own_labels]
    partition = RunningPartition(neighborhoods.points, own_labels, neighborhoods.k, full)
    sse = partition.measure()
    progress.note(sse)
    trace = [(0, 0.0, sse)]
    # Single records have no partner to change places with.
    if neighborhoods.are_frozen or sse == 0 or partition.n_groups == 1 or neighborhoods.k == 1:
        return labels, trace, 0
    cooling = Cooling(neighborhoods.scales, neighborhoods.sorted_scales, schedule, seed)
    annealer = Annealer(
        partition,
        neighborhoods.neighbors,
        neighborhoods.by_scale,
        seed=seed,
        guards=guards,
        looks_ahead=looks_ahead,
    )
    steps_per_stage = min(STEPS_PER_STAGE, max(max_iter / MIN_STAGES, 1))
    n_steps = n_stages = 0
    done = 0.0
    while done < 1.0 and not progress.stopped and not deadline.is_over():
        stage = cooling.at(done)
        n_passes, n_rest = divmod(
            int(min(max(steps_per_stage, len(stage.records)), max_iter - n_steps)),
            len(stage.records),
        )
        for records, passes in ((stage.records, n_passes), (stage.records[:n_rest], 1)):
            annealer.run(
                records,
                passes,
                temperature=stage.temperature,
                first_for_jumps=stage.first_for_jumps,
                chance_of_jump=stage.chance_of_jump,
            )
            n_steps += len(records) * passes
        n_stages += 1
        seconds = time.monotonic() - start
        before = done
        done = max(n_steps / max_iter, seconds / time_limit)
        if n_stages % STAGES_PER_TRACE_ROW == 0 and done < 1.0:
            trace.append((n_steps, seconds, partition.measure()))
        progress.advance(trace[-1][2], min(done, 1.0) - before)
    final = Partition(neighborhoods.X, partition.labels(), neighborhoods.k)
    if descends:
        # After Ctrl-C the exchange that follows needs some time, too.
        deadline = Deadline(SHARE_OF_DESCENT * time_limit, grace=SECONDS_TO_FINISH / 2)
        descent = Descent(final, neighbors=neighborhoods.neighbors, guards=guards)
        descent.run(final.groups(), deadline=deadline)
    trace.append((n_steps, time.monotonic() - start, final.sse))
    progress.note(final.sse)
    return neighborhoods.labels_of_table(final.labels()), trace, n_steps


def roomy_size(labels: Labels, k: int) -> int:
    """Return the maximum size of a group under constraints: that of the largest one, or more.

    Every group has a place for each record of the largest one. Where there would be too many
    places, the largest groups stay as they are.
    """
    sizes = np.bincount(labels)
    room = ROOM * sizes.mean() + MIN_ROOM
    return int(max(min(sizes.max(), MAX_PLACES // max(len(labels) // k, 1)), room))


def _anneal_some(
    neighborhoods: Any,
    labels: Labels,
    records: Array,
    options: Any,
    descends: bool,
    deadline: Deadline,
) -> Any:
    """Anneal the records of some groups; the others stay as they are."""
    if len(records) == 0:
        return _unchanged(neighborhoods, labels, options[-1])
    part = neighborhoods.among(records, deadline)
    start = np.unique(labels[records], return_inverse=True)[1]
    annealed, trace, n_steps = anneal(part, start, *options, descends=descends)
    return with_part(labels, records, annealed), trace, n_steps


def _unchanged(neighborhoods: Any, labels: Labels, progress: Any) -> tuple[Any, Any, Any]:
    """Return the partition as it is, as the result of a run without steps."""
    sse = Partition(neighborhoods.X, neighborhoods.sorted_labels(labels), 1).sse
    progress.note(sse)
    return labels, [(0, 0.0, sse)], 0


@dataclass(frozen=True)
class Stage:
    """Arguments of :meth:`Annealer.run` for the steps at one temperature."""

    temperature: float
    records: np.ndarray
    first_for_jumps: int
    chance_of_jump: float


class Cooling:
    """A temperature that follows the scales of the records, and falls slowly where there are many.

    At temperature T the active records are those with a scale from T / `hottest` to T / `coldest`.
    T falls from `hottest` times the largest scale to `coldest` times the smallest. Each range of
    temperatures gets a share of the steps proportional to the number of records active there, plus
    `base_effort` times the number of all records.
    """

    def __init__(self, scales: Array, sorted_scales: Array, schedule: Schedule, seed: int) -> None:
        # In units of a power of two, which is exact: results do not depend on the units of X.
        self.exponent = math.frexp(sorted_scales[-1])[1]
        self.scales = np.ldexp(scales, -self.exponent)
        self.sorted_scales = np.ldexp(sorted_scales, -self.exponent)
        self.schedule = schedule
        self._rng = np.random.RandomState(seed)
        n_records = len(sorted_scales)
        highest = schedule.hottest * self.sorted_scales[-1]
        lowest = schedule.coldest * self.sorted_scales[int(SHARE_FROZEN_LAST * n_records)]
        lowest = max(lowest, sys.float_info.min)
        self._log_temperatures = np.linspace(math.log(highest), math.log(lowest), N_TEMPERATURES)
        first, last = self._active(np.exp(self._log_temperatures))
        effort = np.cumsum((last - first + schedule.base_effort * n_records)[1:])
        self._progress = np.concatenate([[0.0], effort / effort[-1]])

    def at(self, progress: Any) -> Stage:
        """Return the stage for a share of the work done, from 0 to 1."""
        log_temperature = np.interp(progress, self._progress, self._log_temperatures)
        temperature = math.exp(log_temperature)
        n_records = len(self.sorted_scales)
        first, last = (int(position) for position in self._active(temperature))
        fewest = min(max(MIN_ACTIVE, int(MIN_ACTIVE_SHARE * n_records)), n_records)
        if last - first < fewest:
            first = max(0, min((first + last - fewest) // 2, n_records - fewest))
            last = first + fewest
        chance_of_jump = JUMPS * self.schedule.jump_rate / (n_records - first)
        return Stage(
            math.ldexp(temperature, self.exponent),
            self._records(first, last),
            first,
            min(MAX_JUMP_PROBABILITY, chance_of_jump),
        )

    def _records(self, first: int, last: int) -> Any:
        """Return the active records and a few others, in ascending order."""
        n_others = len(self.scales) - (last - first)
        first_other = step = len(self.scales)
        if n_others > 0:
            n_visited = SHARE_OF_OTHERS / (1 - SHARE_OF_OTHERS) * (last - first)
            step = max(round(n_others / n_visited), 1)
            first_other = self._rng.randint(step)
        lowest, highest = self.sorted_scales[first], self.sorted_scales[last - 1]
        return records_to_visit(self.scales, lowest, highest, first_other=first_other, step=step)

    def _active(self, temperature: Any) -> tuple[Any, Any]:
        """Return the range of active records, in the order of scales, as (first, last + 1)."""
        return (
            self.sorted_scales.searchsorted(temperature / self.schedule.hottest, side="left"),
            self.sorted_scales.searchsorted(temperature / self.schedule.coldest, side="right"),
        )
