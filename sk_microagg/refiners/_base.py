"""The interface of a refiner."""

from __future__ import annotations

import math
import time
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._utils._deadline import (
    ProgressLine,
    interruptible,
    seconds_left,
    warn_if_interrupted,
)
from sk_microagg._utils._estimator import BaseEstimator
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._typing import (
    Estimator,
    Floats,
    Labels,
    RandomState,
    SupportsRefine,
    TableLike,
)
from sk_microagg._utils._validation import (
    check_k,
    check_n_jobs,
    check_number,
    check_partition,
    check_records,
    check_seed,
    check_verbose,
)
from sk_microagg.privacy import Rules

# Number of steps that callbacks are notified of, whatever the number of iterations.
N_STEPS = 100


class Refiner(BaseEstimator, metaclass=ABCMeta):
    """Base class of all refiners.

    A refiner takes any partition into groups of at least `k` records, and returns one whose
    information loss is no larger. Subclasses implement `_refine`.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.refiners import Refiner
    >>> class MergeAll(Refiner):
    ...     def _refine(self, X, labels, k, random_state):
    ...         return np.zeros_like(labels)
    >>> MergeAll().refine([[1.0], [1.0], [1.0], [1.0]], [0, 1, 0, 1], k=2)
    array([0, 0, 0, 0])
    """

    # Whether `_refine` draws from `random_state`.
    is_random = True

    # The seed that stands for `random_state=None`; None means that random results then differ.
    default_seed: int | None = None

    # Whether `_refine` takes `rules`, and keeps to them.
    keeps_rules = False

    # Whether it takes categories of many values as codes, or else as an array.
    takes_codes = False

    def refine(
        self,
        X: TableLike,
        labels: ArrayLike,
        k: int,
        random_state: RandomState = None,
        rules: Rules | None = None,
    ) -> Labels:
        """Refine a partition into groups of at least `k` records.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, in the space in which distances are measured.

        labels : array-like of shape (n_samples,)
            Group of each record; any integers.

        k : int
            Minimum group size, from 1 to `n_samples`.

        random_state : int, RandomState instance or None, default=None
            Source of randomness of the refiners that use any. Pass an int for reproducible
            results.

        rules : Rules or None, default=None
            Constraints that every group must satisfy, before and after. Refiners that do not
            support constraints raise an error.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        X = check_records(X)
        k = check_k(k, len(X))
        labels = check_partition(labels, k, len(X), "labels")
        if rules:
            check_keeps_rules(self)
            rules.check(labels, "labels")
        return self._run(X, labels, k, random_state, rules)

    def _run(
        self, X: Floats, labels: Labels, k: int, random_state: RandomState, rules: Rules | None
    ) -> Labels:
        """Do what `refine` does, with arguments that have been validated."""
        seed = check_seed(self.default_seed if random_state is None else random_state)
        if not rules:
            return self._refine(X, labels, k, seed)
        return self._refine(X, labels, k, seed, rules)  # type: ignore[call-arg]

    @abstractmethod
    def _refine(
        self, X: Floats, labels: Labels, k: int, random_state: np.random.RandomState
    ) -> Labels:
        """Return the labels of a refined partition; all arguments have been validated."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a search refines, all validated, and the context of its callbacks for a `Progress`."""

    X: Floats
    labels: Labels
    k: int
    random_state: np.random.RandomState
    rules: Rules | None
    context: Any


class SearchRefiner(CallbackSupportMixin, Refiner):
    """Base class of refiners that notify callbacks, and end early after Ctrl-C."""

    if TYPE_CHECKING:  # parameters, and what `refine` sets
        time_limit: float | None
        verbose: int
        n_iter_: int

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
        self.check_parameters()
        context = self._init_callback_context(task_name="refine", max_subtasks=N_STEPS)
        context.call_on_fit_task_begin(estimator=self, X=X)
        with interruptible():
            labels = self._search(Task(X, labels, k, random_state, rules, context))
            warn_if_interrupted("the result is the best partition found so far")
        context.call_on_fit_task_end(estimator=self, X=X)
        return labels

    @abstractmethod
    def _search(self, task: Task) -> Labels:
        """Return what `_refine` does."""

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid."""
        check_number("time_limit", getattr(self, "time_limit", None), above=0, or_option=None)
        check_n_jobs(getattr(self, "n_jobs", None))
        check_verbose(self.verbose)

    def _seconds(self) -> float:
        return math.inf if self.time_limit is None else self.time_limit


def run_refiner(
    refiner: SupportsRefine,
    X: Floats,
    labels: Labels,
    k: int,
    random_state: RandomState = None,
    rules: Rules | None = None,
) -> Labels:
    """Refine a valid partition by any refiner, and check what one that is not ours returns."""
    if isinstance(refiner, Refiner):
        return refiner._run(X, labels, k, random_state, rules)
    options: dict[str, Any] = {"rules": rules} if rules else {}  # not every one has this parameter
    refined = refiner.refine(X, labels, k, random_state=random_state, **options)
    return check_partition(refined, k, len(X), f"refiner={refiner!r} returned labels")


def check_keeps_rules(refiner: object) -> None:
    """Raise an error unless a refiner keeps to constraints beyond k."""
    if not getattr(refiner, "keeps_rules", False):
        raise ValueError(
            f"refiner={refiner!r} does not support constraints beyond k, and would violate them. "
            "With `privacy` or `unit`, use None, 'auto', 'local_search', 'iterated_local_search', "
            "'annealing' or 'recombination'."
        )


@dataclass(eq=False)
class Progress:
    """Progress of one or more searches that run at the same time, and whether they are to stop."""

    n_iterations: int
    total: float
    time_limit: float
    verbose: int
    refiner: Estimator
    context: Any
    unit: str = "iteration"

    def __post_init__(self) -> None:
        self.start = time.monotonic()
        self.stopped = False
        self._lock = Lock()
        self._n_done = 0
        self._n_steps = 0
        self._best = math.inf
        self._line = ProgressLine()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def note(self, cost: float) -> None:
        """Note the cost with which a search starts."""
        with self._lock:
            self._best = min(self._best, cost)

    def advance(self, best: float, n_iterations: Any = 1) -> None:
        """Note iterations of a search, or a part of one, and the least cost found so far."""
        self.note(best)
        with self._lock:
            self._n_done += n_iterations
            if self.context is not None:
                self._call_back()
            if self.verbose and self._line.is_due():
                self._line.draw(self._text(self.seconds))

    def _call_back(self) -> None:
        # The sum of the shares of iterations may be short of 1 by rounding.
        done = min(max(self._shares_done(self.seconds)), 1.0)
        while self._n_steps < int(N_STEPS * done + 1e-6):
            self._n_steps += 1
            step = self.context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=self.refiner)
            self.stopped |= bool(step.call_on_fit_task_end(estimator=self.refiner))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop all searches, and end the line."""
        self.stopped = True
        if self.verbose and self._best < math.inf:
            self._line.draw(self._text(self.seconds, is_finished=True))
            self._line.end()

    def _shares_done(self, seconds: float) -> tuple[float, float]:
        """Shares of the iterations and of the time limit; the search ends when one reaches 1."""
        return self._n_done / self.n_iterations, seconds / self.time_limit

    def _text(self, seconds: float, is_finished: bool = False) -> str:
        by_count, by_time = self._shares_done(seconds)
        done = max(by_count, by_time)
        loss = f"information loss {self._best / self.total if self.total else 0.0:.4%}"
        is_by_time = self.time_limit < math.inf and by_time >= by_count
        if not is_by_time:
            number = min(math.ceil(self._n_done), self.n_iterations)
            loss = f"{self.unit} {number} of {self.n_iterations}, {loss}"
        if is_finished:
            return f"{loss}, {seconds:.0f} s"
        gone = f", {seconds:.0f} s gone" if is_by_time else ""
        left = f", {seconds_left(seconds, done):.0f} s left" if done else ""
        return f"{loss}{gone}{left}"


class Part:
    """Progress of a search among some of the records, while the cost of the others is constant."""

    def __init__(self, whole: Progress, rest: float) -> None:
        self.whole = whole
        self.rest = rest

    @property
    def stopped(self) -> bool:
        """Whether the search is to stop."""
        return self.whole.stopped

    def note(self, cost: float) -> None:
        self.whole.note(cost + self.rest)

    def advance(self, best: float, n_iterations: Any = 1) -> None:
        self.whole.advance(best + self.rest, n_iterations)
