"""The search for a bound: dual variables are raised, then repaired until they are feasible.

A k-partition is a solution of a set-partitioning problem, whose columns are the groups that a
partition may use. The duals of its linear relaxation, one per record, prove a lower bound if for
every group their sum is at most its SSE, the dual constraint of that column. See doc/bound.rst.
"""

import numpy as np

from sk_microagg._bound._cuts import Cuts
from sk_microagg._bound._margin import safe_sum
from sk_microagg._bound._proof import Proof
from sk_microagg._bound._records import near_records, scaled, sum_of_nearest, sums_of_nearest
from sk_microagg._bound._repair import Repair
from sk_microagg._bound._sets import ColumnPool, Sets, squared_errors
from sk_microagg._bound._settings import SETTINGS
from sk_microagg._kernels import Ascent, GroupFinder
from sk_microagg._utils._deadline import Deadline, interruptible, warn_if_interrupted
from sk_microagg._utils._statistics import total_sum_of_squares


def prove(X, k, time_limit, max_iter, tol, verbose, n_jobs):
    """Prove a lower bound on the information loss of any partition into groups of at least k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records, at least 2k, not all equal.

    k : int
        Smallest size of a group, at least 2.

    time_limit : float
        Seconds after which to stop; if infinite, the bound does not depend on the clock.

    max_iter : int
        Calls of `Scheme.advance` after which to stop; below 0 for no limit.

    tol : float
        Stop when the bound can rise by less than this share of it.

    verbose : int
        If 1, print a progress line that updates.

    n_jobs : int or None
        Number of threads.

    Returns
    -------
    proof : Proof
        The bound, and when it rose.
    """
    deadline = Deadline(time_limit)
    total = total_sum_of_squares(X)
    records, exponent = scaled(X)
    unit = float(np.ldexp(total, -2 * exponent))
    proof = Proof(total, unit, X.size, time_limit, verbose, deadline)
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
    """The search for duals whose sum, less those of the cuts, is a high bound.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Smallest size of a group.

    proof : Proof
        Records the bounds.

    n_jobs : int or None
        Number of threads.

    settings : Settings
        How the search is steered.

    Attributes
    ----------
    best : ndarray of shape (n_records + n_cuts,)
        The best feasible duals, those of records followed by those of cuts.

    duals : ndarray of shape (n_records + n_cuts,)
        The last iterate of the first-order method, which need not be feasible.

    pool : ColumnPool
        The columns that are known.

    cuts : Cuts
        The cuts that are known.

    ceiling : float
        The bound that the duals of the last ascent would give if they were feasible.

    adds_cuts : bool
        Whether ascents add cuts. The bound must be near the ceiling before: many cuts at a time
        leave the duals far from feasible.

    n_iter : int
        Number of calls of `advance`.

    n_rounds : int
        Number of ascents whose duals were repaired.
    """

    def __init__(self, records, k, proof, n_jobs, settings=SETTINGS):
        self.k = k
        self.settings = settings
        self.n = len(records)
        self.proof = proof
        near, distances = near_records(records, self._n_neighbors(), proof.deadline)
        self._prove_first_bound(distances)
        self.duals = self.best.copy()
        self.ceiling = np.inf
        self.n_iter = 0
        self.n_rounds = 0
        # Where each record has k - 1 duplicates, nothing is lost. Duals whose squares underflow
        # cannot be raised, nor those for which there is no time or memory: the first bound is kept.
        self.is_settled = (
            self.best.mean() < settings.min_mean_dual or len(near) < self.n or near.shape[1] < k
        )
        if self.is_settled:
            self.ceiling = self.proof.squared_errors
            return
        self.pool = ColumnPool(records)
        self.pool.add(near[:, :k], proof.deadline)
        self.own_cost = squared_errors(records, near[:, :k], proof.deadline)
        self.cuts = Cuts(records, k, settings)
        self.finder = GroupFinder(records, near.astype(np.int32), k)
        sums = sums_of_nearest(distances[:, : min(k, settings.max_neighbors_in_sums)], k)
        sums = np.ascontiguousarray(sums[:, : k - 1])
        self.repair = Repair(records, k, sums, n_jobs, settings)
        self.target = None
        self.adds_cuts = False
        self.step_share = 1.0
        self.width = settings.initial_width
        self.inertia = settings.inertia
        self.ascent_iter = settings.min_ascent_iter

    def _n_neighbors(self):
        """Number of records near each among which the heuristics search."""
        settings = self.settings
        n_near = max(settings.min_neighbors, settings.neighbors_per_k * self.k)
        n_near = min(n_near, settings.max_neighbors, settings.max_neighbors_in_all // self.n)
        if self.n * self.k <= settings.max_members_in_all:
            n_near = max(n_near, self.k)
        return min(max(n_near, 2), self.n)

    def _prove_first_bound(self, distances):
        """Let the first duals be the shares of records in distances to their k - 1 nearest others.

        Those of records whose neighbors are not known are 0.

        Parameters
        ----------
        distances : ndarray of shape (n_known, n_neighbors)
            Squared distances of the first records to their nearest ones.
        """
        self.best = np.zeros(self.n)
        self.best[: len(distances)] = sum_of_nearest(distances, self.k - 1) / (2 * self.k)
        self.proof.note(safe_sum(self.best))

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
            self.target = self._ascend()
        duals, n_cuts = self.target
        is_first = self.n_rounds == 0
        step = self.step_share * (1 if is_first else 1 - self.inertia)
        repaired, n_new = self.repair.run(
            self.best + step * (duals - self.best),
            self.cuts,
            self.pool,
            self.proof.deadline_of_part(self.settings.longest_repair),
            self.proof.deadline_of_part(self.settings.repair_patience),
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
        self.target = None
        if n_new < self.settings.few_repaired_columns * self.n:
            self.inertia *= self.settings.inertia_decay
        bound = self.proof.squared_errors
        rose_little = bound < (1 + self.settings.cut_when_below) * before
        if rose_little and self.adds_cuts:
            found_few = n_cuts == 0 and n_new <= self.settings.few_new_columns * self.n
            self.is_settled = found_few and not self._widen_if_boxed_in()
        self.adds_cuts = rose_little or self.ceiling < (1 + self.settings.cut_when_near) * bound

    def _keep_if_better(self, repaired):
        """Keep feasible duals if their bound is higher; narrow the box if it is not, or hardly."""
        settings = self.settings
        before, bound = self.proof.squared_errors, safe_sum(self._signed(repaired))
        self.proof.note(bound)
        if bound <= before:
            narrower = settings.shrink_after_failure * self.width
            self.width = max(settings.min_width_after_failure, narrower)
            return
        self.best = repaired
        if bound < settings.small_gain * before:
            narrower = settings.shrink_after_small_gain * self.width
            self.width = max(settings.min_width_after_small_gain, narrower)

    def _signed(self, duals):
        """Duals of records, and minus those of cuts."""
        return np.concatenate([duals[: self.n], -duals[self.n :]])

    def _add_cuts(self, use):
        """Add cuts that the use of columns violates, with duals of 0; return how many."""
        unused = np.zeros(len(self.pool) - len(use))
        deadline = self.proof.deadline
        n_new = self.cuts.separate(self.pool, np.concatenate([use, unused]), deadline)
        if n_new:
            new = np.arange(len(self.cuts)) >= len(self.cuts) - n_new
            for size in np.unique(self.cuts.sets.sizes()[new]):
                self.pool.add(self.cuts.sets.of_size(size, new), deadline)
            self.duals = np.concatenate([self.duals, np.zeros(n_new)])
            self.best = np.concatenate([self.best, np.zeros(n_new)])
            self.width = max(self.width, self.settings.min_width_after_cuts)
            self.inertia = self.settings.inertia
        return n_new

    def _widen_if_boxed_in(self):
        """Widen the box if many duals of records are at its ends; return whether it was."""
        _, lowest, highest = self._box()
        duals, lowest, highest = self.duals[: self.n], lowest[: self.n], highest[: self.n]
        at_end = (duals <= lowest) | (duals >= highest)
        if at_end.mean() <= self.settings.max_share_at_ends:
            return False
        self.width = self.settings.widening * max(self.width, self.settings.initial_width)
        return True

    def _box(self):
        """Scales of the duals, and the lower and upper ends of the box in which they stay."""
        best = self.best[: self.n]
        settings = self.settings
        scale = np.maximum(best, settings.scale_by_mean * best.mean())
        scale = np.maximum(scale, settings.scale_by_cost * self.own_cost)
        cut_cost = self.cuts.sets.cost
        lowest, highest = best - self.width * scale, best + self.width * scale
        if self.n_rounds == 0:
            lowest, highest = np.zeros(self.n), self.own_cost
        cut_scale = np.maximum(
            settings.cut_scale_by_cost * cut_cost / self.k,
            settings.cut_scale_by_mean * scale.mean(),
        )
        return (
            np.concatenate([scale, cut_scale]),
            np.concatenate([lowest, np.zeros(len(cut_cost))]),
            np.concatenate([highest, cut_cost]),
        )

    def _ascend(self):
        """Raise the duals as far as the pool and a box allow, adding violated columns and cuts.

        Returns
        -------
        duals : ndarray of shape (n_records + n_cuts,)
            The duals.

        n_cuts : int
            Number of cuts that were added last.
        """
        settings = self.settings
        patience = self.proof.deadline_of_part(settings.longest_ascent)
        adds_cuts, n_cuts = self.adds_cuts, 0
        for _ in range(settings.max_pricings):
            duals, use = self._run_first_order_method(*self._box())
            self.ceiling = float(self._signed(duals).sum())
            if self.proof.deadline.is_over():
                break
            n_new = self._price_columns(duals)
            is_longest = self.ascent_iter == settings.max_ascent_iter
            if adds_cuts and n_new < settings.many_new_columns * self.n and is_longest:
                n_cuts = self._add_cuts(use)
                duals = np.concatenate([duals, np.zeros(n_cuts)])
                adds_cuts = False
            elif n_new < settings.few_new_columns * self.n and is_longest:
                break
            if n_new < settings.many_new_columns * self.n:
                self.ascent_iter = min(2 * self.ascent_iter, settings.max_ascent_iter)
            else:
                self.ascent_iter = max(self.ascent_iter // 2, settings.min_ascent_iter)
            if patience.is_over():
                break
        return duals, n_cuts

    def _run_first_order_method(self, scale, lowest, highest):
        """Iterate on the present pool, within the box; return the means of duals and use."""
        np.clip(self.duals, lowest, highest, out=self.duals)
        start, entry = self.pool.entries(self.cuts, self.proof.deadline)
        weight = self.settings.ascent_weight * len(self.pool) / self.n / self.k
        return Ascent(start, entry, self.pool.cost, self.n, scale).run(
            self.duals,
            self.pool.use,
            lowest,
            highest,
            weight=weight / scale[: self.n].mean(),
            n_iter=self.ascent_iter,
            deadline=self.proof.deadline,
        )

    def _price_columns(self, duals):
        """Find sets that violate their dual constraints, and add them to the pool; how many."""
        tolerance = self.settings.pricing_tolerance * self.proof.squared_errors / self.n * self.k
        found = Sets(self.pool.records, known=self.pool)
        deadline = self.proof.deadline
        self.finder.set_cuts(self.cuts.sets.start, self.cuts.sets.member, duals[self.n :])
        found.add(self.finder.find(duals[: self.n], tolerance, deadline=deadline), deadline)
        excess = found.excess(duals, self.cuts, deadline)
        return self.pool.add(found.of_size(self.k, excess > tolerance), deadline)
