"""The search for a bound: dual variables are raised, then repaired until they are feasible.

A k-partition is a solution of a set-partitioning problem, whose columns are the groups that a
partition may use. The duals of its linear relaxation, one per record, prove a lower bound if for
every group their sum is at most its SSE, the dual constraint of that column. See doc/bound.rst.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_microagg._bound._master import Master
from sk_microagg._bound._proof import Proof, safe_sum
from sk_microagg._bound._repair import Repair, near_records, scaled, sum_of_nearest, sums_of_nearest
from sk_microagg._bound._settings import SETTINGS, Settings
from sk_microagg._utils._deadline import Deadline, interruptible, warn_if_interrupted
from sk_microagg._utils._statistics import (
    group_means,
    loss_share,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg._utils._typing import Array, Floats


def prove(
    X: Array,
    k: int,
    time_limit: float,
    max_iter: int,
    tol: float,
    verbose: int,
    n_jobs: int | None,
    on_rise: Callable[..., Any] | None = None,
) -> Proof:
    """Prove a lower bound on the information loss of any partition into groups of at least k."""
    deadline = Deadline(time_limit)
    total = total_sum_of_squares(X)
    records, exponent = scaled(X)
    unit = float(np.ldexp(total, -2 * exponent))
    proof = Proof(total, unit, X.size, time_limit, verbose, deadline, on_rise)
    with interruptible():
        try:
            scheme = Scheme(records, k, proof, n_jobs)
            while scheme.n_iter != max_iter and not deadline.is_over() and scheme.may_rise(tol):
                scheme.advance()
                proof.show(scheme.ceiling)
        finally:
            proof.finish()
        warn_if_interrupted("the bound is what was proven until then")
    return proof


class Scheme:
    """The search for duals whose sum, less those of the cuts, is a high bound."""

    def __init__(
        self,
        records: Array,
        k: int,
        proof: Proof,
        n_jobs: int | None,
        settings: Settings = SETTINGS,
    ) -> None:
        self.k = k
        self.settings = settings
        self.n = len(records)
        self.proof = proof
        near, distances = near_records(records, self._n_neighbors(), proof.deadline)
        self._prove_first_bound(distances)
        # To look at all roots takes about as long.
        patience = settings.neighbors_before_ranks * proof.time_limit
        self.ranks_roots = proof.deadline.seconds_gone() <= patience
        self.master: Any = None  # a Master, once there is something to raise
        self.n_iter = 0
        self.n_rounds = 0
        # Where each record has k - 1 duplicates, nothing is lost. Duals whose squares underflow
        # cannot be raised, nor those for which there is no time or memory: the first bound is kept.
        self.is_settled = (
            self.best.mean() < settings.min_mean_dual or len(near) < self.n or near.shape[1] < k
        )
        if self.is_settled:
            return
        sums = sums_of_nearest(distances[:, : min(k, settings.max_neighbors_in_sums)], k)
        sums = np.ascontiguousarray(sums[:, : k - 1])
        self.repair = Repair(records, k, sums, n_jobs, settings)
        self.master = Master(records, near, self.best, k, proof, self.repair, settings)
        self.target = None
        self.adds_cuts = False
        self.gain_elsewhere = np.inf
        self.began = self.seconds_of_round = self.seconds_everywhere = 0.0
        self.step_share = 1.0
        self.inertia = settings.inertia

    def _n_neighbors(self):
        """Number of records near each among which the heuristics search."""
        settings = self.settings
        n_near = max(settings.min_neighbors, settings.neighbors_per_k * self.k)
        n_near = min(n_near, settings.max_neighbors, settings.max_neighbors_in_all // self.n)
        if self.n * self.k <= settings.max_members_in_all:
            n_near = max(n_near, self.k)
        return min(max(n_near, 2), self.n)

    def _prove_first_bound(self, distances: Array) -> None:
        """Begin with shares of records in distances to k - 1 near others; 0 if not known."""
        self.best = np.zeros(self.n)
        self.best[: len(distances)] = sum_of_nearest(distances, self.k - 1) / (2 * self.k)
        self.proof.note(safe_sum(self.best))

    @property
    def ceiling(self):
        """The bound that the duals of the last ascent would give if they were feasible."""
        return self.proof.squared_errors if self.master is None else self.master.ceiling

    def may_rise(self, tol):
        """Whether the bound may rise by more than a share `tol` of itself."""
        if not self.is_settled:
            return True
        least = self.proof.squared_errors
        return self.ceiling - least > max(tol, self.settings.same_bound) * least > 0

    def advance(self):
        """Raise duals on the pool, repair them, and add the violated columns and cuts.

        This is one iteration. It is also a round, unless the repair was given up for lack of time
        or repaired a part of the step only, after one that was given up.
        """
        self.n_iter += 1
        if self.target is None:
            self.began = self.proof.deadline.seconds_gone()
            self.target = self._ascend()
        duals, n_cuts = self.target
        repaired, n_new = self.repair.run(
            self.best,
            self.best + self._step() * (duals - self.best),
            self.master.cuts,
            self.master.pool,
            self.proof.deadline_of_part(self.settings.longest_repair),
            self.proof.deadline_of_part(self.settings.repair_patience),
            self.ranks_roots,
        )
        if repaired is None:
            self.step_share *= self.settings.shorter_step
            return
        before = self.proof.squared_errors
        self._keep_if_better(repaired)
        if self.step_share < 1:
            # Try the same duals again, with a longer step from better ones.
            self.step_share = min(self.settings.longer_step * self.step_share, 1.0)
            return
        self.n_rounds += 1
        self.seconds_of_round = self.proof.deadline.seconds_gone() - self.began
        self.target = None
        self.master.leave_first_box()
        if n_new < self.settings.few_repaired_columns * self.master.focus.n_free():
            self.inertia *= self.settings.inertia_decay
        if self.master.focus.is_everywhere():
            self._plan_next_round(before, n_cuts, n_new)

    def _step(self):
        """The part of the way from the best duals to those of the ascent.

        The first duals are far below, and in a focus nearly all violated columns are known: there,
        inertia does not help.
        """
        if self.n_rounds == 0 or not self.master.focus.is_everywhere():
            return self.step_share
        return self.step_share * (1 - self.inertia)

    def _keep_if_better(self, repaired):
        """Keep feasible duals if their bound is higher; narrow the box if it is not, or hardly."""
        settings, master = self.settings, self.master
        before, bound = self.proof.squared_errors, safe_sum(master.signed(repaired))
        self.proof.note(bound)
        if bound <= before:
            narrower = settings.shrink_after_failure * master.width
            master.width = max(settings.min_width_after_failure, narrower)
            return
        self.best = repaired
        if bound < settings.small_gain * before:
            narrower = settings.shrink_after_small_gain * master.width
            master.width = max(settings.min_width_after_small_gain, narrower)

    def _plan_next_round(self, before: float, n_cuts: int, n_new: int) -> None:
        """After a round with all duals free, decide on cuts, and whether it was the last."""
        settings, bound = self.settings, self.proof.squared_errors
        self.seconds_everywhere = self.seconds_of_round
        self.gain_elsewhere = max(self.ceiling - bound, 0.0)
        rose_little = bound < (1 + settings.cut_when_below) * before
        if rose_little and self.adds_cuts:
            found_few = n_cuts == 0 and n_new <= settings.few_new_columns * self.n
            self.is_settled = found_few and not self.master.widen_if_boxed_in(self.best)
        self.adds_cuts = rose_little or self.ceiling < (1 + settings.cut_when_near) * bound

    def _ascend(self) -> tuple[Array, int]:
        """Raise duals, and add cuts: near those that promise most if that is worth it."""
        master, n_cuts, is_focused = self.master, 0, False
        if self.adds_cuts:
            n_cuts = master.add_cuts(self._share_in_focus())
            is_focused = master.narrow_focus(n_cuts)
        if is_focused:
            duals, _ = master.raise_duals(self.best, False, self._is_focus_a_waste)
        if not is_focused or self._is_focus_a_waste():
            master.focus.widen()
            duals, n_more = master.raise_duals(self.best, self.adds_cuts, lambda: False)
            n_cuts += n_more
        self.best = master.completed(self.best)
        if n_cuts:
            self.inertia = self.settings.inertia
        return duals, n_cuts

    def _share_in_focus(self):
        """The share of what violated cuts promise that is in focus: less if time is short."""
        needed = self.settings.spare_time * self.seconds_of_round
        left = self.proof.deadline.seconds_left()
        return self.settings.focus_gain * (left / needed if left < needed else 1.0)

    def _is_focus_a_waste(self):
        """Whether a round with all duals free promises more for its time.

        Its time is taken to be proportional to the number of records in focus, plus a part that
        each round takes. Where too little time is left for such a round, nothing is wasted.
        """
        needed = self.settings.longer_with_cuts * self.seconds_everywhere
        if self.proof.deadline.seconds_left() < needed:
            return False
        time = self.master.focus.n_free() / self.n + self.settings.focus_overhead
        return self.ceiling - self.proof.squared_errors <= time * self.gain_elsewhere


def bound_of(
    X: Floats,
    k: int,
    time_limit: float,
    max_iter: int = -1,
    tol: float = 0.0,
    verbose: int = 0,
    n_jobs: int | None = None,
    on_rise: Callable[[float, float], None] | None = None,
) -> tuple[float, Floats]:
    """Prove that every partition of the records loses at least a certain share."""
    total = total_sum_of_squares(X)
    if k > 1 and len(X) >= 2 * k and total > 0:
        proof = prove(X, k, time_limit, max_iter, tol, verbose, n_jobs, on_rise)
        return proof.bound, proof.trace()
    # All records in one group, or each on its own.
    one_group = np.zeros(len(X), dtype=np.intp)
    sse = squared_error(X, group_means(X, one_group), one_group)
    bound = 0.0 if k == 1 else loss_share(sse, total)
    return bound, np.array([[0.0, bound]]) if bound > 0 else np.empty((0, 2))
