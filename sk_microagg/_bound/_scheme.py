"""The bound, step by step: prices that records pay, raised as far as no set pays too much."""

import numpy as np

from sk_microagg._bound._cuts import Cuts
from sk_microagg._bound._margin import safe_sum
from sk_microagg._bound._proof import Proof
from sk_microagg._bound._records import near_records, scaled, sums_of_nearest
from sk_microagg._bound._repair import Repair
from sk_microagg._bound._sets import Columns, Sets, squared_errors
from sk_microagg._bound._settings import SETTINGS
from sk_microagg._kernels import Ascent, GroupFinder
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
        Whether to print a line that updates.

    n_jobs : int or None
        Number of threads.

    Returns
    -------
    proof : Proof
        The bound, and when it rose.
    """
    total = total_sum_of_squares(X)
    records, exponent = scaled(X)
    proof = Proof(total, float(np.ldexp(total, -2 * exponent)), X.size, time_limit, verbose)
    try:
        scheme = Scheme(records, k, proof, n_jobs)
        while scheme.n_iter != max_iter and proof.seconds_left() > 0 and scheme.may_rise(tol):
            scheme.advance()
            proof.show(scheme.ceiling)
    finally:
        proof.finish()
    return proof


class Scheme:
    """Prices of records, the sets that keep them down, and cuts that let them rise further.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Smallest size of a group.

    proof : Proof
        Takes the bounds.

    n_jobs : int or None
        Number of threads.

    settings : Settings
        How the search is steered.
    """

    def __init__(self, records, k, proof, n_jobs, settings=SETTINGS):
        self.k = k
        self.settings = settings
        self.n = len(records)
        self.proof = proof
        near, distances = near_records(records, self._n_neighbors())
        sums = sums_of_nearest(distances[:, : min(k, settings.max_neighbors_in_sums)], k)
        # Prices of records, later followed by those of cuts. At first each record pays its share
        # of the distances to its k - 1 nearest others.
        self.best = sums[:, -1] / (2 * k)
        self.proof.note(safe_sum(self.best))
        self.prices = self.best.copy()
        self.columns = Columns(records)
        self.columns.add(near[:, :k])
        self.own_cost = squared_errors(records, near[:, :k])
        self.cuts = Cuts(records, k, settings)
        self.finder = GroupFinder(records, near.astype(np.int32), k)
        sums = np.ascontiguousarray(sums[:, : k - 1])
        self.repair = Repair(records, k, sums, n_jobs, settings)
        self.ceiling = np.inf
        # Where each record has k - 1 twins nothing is lost. Prices whose squares vanish beside the
        # range of the records cannot be raised, and the first ones have to do.
        self.is_settled = self.best.mean() < settings.min_mean_dual
        if self.is_settled:
            self.ceiling = self.proof.squared_errors
        self.target = None
        self.reach = 1.0
        self.width = settings.initial_width
        self.inertia = settings.inertia
        self.n_steps = settings.min_ascent_iter
        self.n_iter = 0
        self.n_rounds = 0

    def _n_neighbors(self):
        """Number of records near to each among which heuristics look."""
        settings = self.settings
        n_near = max(settings.min_neighbors, settings.neighbors_per_k * self.k)
        n_near = min(n_near, settings.max_neighbors, settings.max_neighbors_in_all // self.n)
        return min(max(n_near, self.k), self.n)

    def may_rise(self, tol):
        """Whether the bound may rise by more than a share of it."""
        least = self.proof.squared_errors
        return (
            not self.is_settled
            or self.ceiling - least > max(tol, self.settings.same_bound) * least > 0
        )

    def advance(self):
        """Raise prices on the pool, repair them, and take what was found into the pool.

        This is an iteration. It is a round unless the repair was given up, or got only part of the
        step, for lack of time.
        """
        self.n_iter += 1
        if self.target is None:
            self.target = self._raise()
        prices, use = self.target
        is_first = self.n_rounds == 0
        way = self.reach * (1 if is_first else 1 - self.inertia)
        repaired, n_new = self.repair.run(
            self.best + way * (prices - self.best),
            self.cuts,
            self.columns,
            self.proof.deadline_of_part(self.settings.repair_patience),
            at_once=is_first or self.reach < 1,
        )
        if repaired is None:
            self.reach *= self.settings.shorter_step
            return
        before = self.proof.squared_errors
        self._keep_if_better(repaired)
        if self.reach < 1:
            # The same prices, from nearer to them.
            self.reach = min(self.settings.longer_step * self.reach, 1.0)
            return
        self.n_rounds += 1
        self.target = None
        if n_new < self.settings.few_repaired_columns * self.n:
            self.inertia *= self.settings.inertia_decay
        if self.proof.squared_errors < (1 + self.settings.cut_when_below) * before:
            n_cuts = self._cut(use)
            found_few = n_cuts == 0 and n_new <= self.settings.few_new_columns * self.n
            self.is_settled = found_few and not self._is_boxed_in()

    def _keep_if_better(self, repaired):
        before, bound = self.proof.squared_errors, safe_sum(self._signed(repaired))
        self.proof.note(bound)
        if bound <= before:
            self.width = max(
                self.settings.min_width_after_failure,
                self.settings.shrink_after_failure * self.width,
            )
            return
        self.best = repaired
        if bound < self.settings.small_gain * before:
            self.width = max(
                self.settings.min_width_after_small_gain,
                self.settings.shrink_after_small_gain * self.width,
            )

    def _signed(self, prices):
        """Prices of records, and minus those of cuts."""
        return np.concatenate([prices[: self.n], -prices[self.n :]])

    def _cut(self, use):
        """Add cuts that the use of columns violates, at no price; return how many."""
        unused = np.zeros(len(self.columns) - len(use))
        n_new = self.cuts.separate(self.columns, np.concatenate([use, unused]))
        if n_new:
            new = np.arange(len(self.cuts)) >= len(self.cuts) - n_new
            for size in np.unique(self.cuts.sets.sizes()[new]):
                self.columns.add(self.cuts.sets.of_size(size, new))
            self.prices = np.concatenate([self.prices, np.zeros(n_new)])
            self.best = np.concatenate([self.best, np.zeros(n_new)])
            self.width = max(self.width, self.settings.min_width_after_cuts)
            self.inertia = self.settings.inertia
        return n_new

    def _is_boxed_in(self):
        """Whether many prices are as far from the best ones as they may be; then give way."""
        _, lowest, highest = self._box()
        records = slice(0, self.n)
        at_end = (self.prices[records] <= lowest[records]) | (
            self.prices[records] >= highest[records]
        )
        if at_end.mean() <= self.settings.max_share_at_ends:
            return False
        self.width = self.settings.widening * max(self.width, self.settings.initial_width)
        return True

    def _box(self):
        """Scales of the prices, and the box in which they stay."""
        best = self.best[: self.n]
        settings = self.settings
        scale = np.maximum(best, settings.scale_by_mean * best.mean())
        scale = np.maximum(scale, settings.scale_by_cost * self.own_cost)
        cut_cost = self.cuts.sets.cost
        if self.n_rounds == 0:
            return scale, np.zeros(self.n), self.own_cost.copy()
        cut_scale = np.maximum(
            settings.cut_scale_by_cost * cut_cost / self.k,
            settings.cut_scale_by_mean * scale.mean(),
        )
        return (
            np.concatenate([scale, cut_scale]),
            np.concatenate([best - self.width * scale, np.zeros(len(cut_cost))]),
            np.concatenate([best + self.width * scale, cut_cost]),
        )

    def _raise(self):
        """Raise the prices as far as the pool and a box allow, and add sets that pay too much.

        Returns
        -------
        prices : ndarray of shape (n_records + n_cuts,)
            The prices.

        use : ndarray of shape (n_columns,)
            How much of each column in the pool was used when they were found.
        """
        settings = self.settings
        scale, lowest, highest = self._box()
        pool = self.columns
        for _ in range(settings.max_pricings):
            np.clip(self.prices, lowest, highest, out=self.prices)
            start, entry = pool.entries(self.cuts)
            prices, use = Ascent(start, entry, pool.cost, self.n, scale).run(
                self.prices,
                pool.use,
                lowest,
                highest,
                weight=settings.ascent_weight
                * len(pool)
                / self.n
                / self.k
                / scale[: self.n].mean(),
                n_iter=self.n_steps,
                deadline=self.proof.deadline,
            )
            self.ceiling = float(self._signed(prices).sum())
            if self.proof.seconds_left() < 0:
                break
            n_new = self._look(prices)
            if (
                n_new < settings.few_new_columns * self.n
                and self.n_steps == settings.max_ascent_iter
            ):
                break
            if n_new < settings.many_new_columns * self.n:
                self.n_steps = min(2 * self.n_steps, settings.max_ascent_iter)
            else:
                self.n_steps = max(self.n_steps // 2, settings.min_ascent_iter)
            if self.n_rounds == 0 and self.proof.share_of_time() > settings.first_ascent_share:
                break
        return prices, use

    def _look(self, prices):
        """Add sets that pay too much to the pool; return how many are new."""
        tolerance = self.settings.pricing_tolerance * self.proof.squared_errors / self.n * self.k
        found = Sets(self.columns.records, known=self.columns)
        found.add(self.finder.find(prices[: self.n], tolerance))
        excess = found.excess(prices, self.cuts)
        return self.columns.add(found.of_size(self.k, excess > tolerance))
