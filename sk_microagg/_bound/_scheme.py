"""The bound, step by step: prices that records pay, raised as far as no set pays too much."""

import numpy as np

from sk_microagg._bound._cuts import Cuts
from sk_microagg._bound._margin import safe_sum
from sk_microagg._bound._proof import Proof
from sk_microagg._bound._records import MOST_NEIGHBORS, near_records, scaled, sums_of_nearest
from sk_microagg._bound._repair import Repair
from sk_microagg._bound._sets import Columns, Sets, squared_errors
from sk_microagg._kernels import Ascent, GroupFinder
from sk_microagg._utils._statistics import total_sum_of_squares

# Records near to each among which the heuristics look; fewer where there are very many records.
LEAST_NEAR, NEAR_PER_K, MOST_NEAR = 40, 12, 200
MOST_NEAR_IN_ALL = 10_000_000

# Steps of the first-order method between two looks for sets that pay too much: twice as many
# whenever fewer new ones were found than this share of the number of records, else half as many.
FEWEST_STEPS, MOST_STEPS = 100, 800
MANY_NEW, FEW_NEW = 0.3, 0.03
MOST_LOOKS = 25

# The first prices are repaired when this share of the time has passed, finished or not.
TIME_TO_START = 0.4

# A set pays too much if by more than this share of what an average set pays.
NOTABLE = 1e-4

# How far from the best prices the next ones may be, in scales of prices: less after a failure.
WIDEST, NARROW, NARROWEST = 1.0, 0.1, 0.03

# Weight of the best prices in those that are repaired next.
INERTIA = 0.2

# A repair that takes longer than this share of the time is given up, and one of prices tried that
# are nearer to the best, by the one factor; after a success they are farther away, by the other.
PATIENCE = 0.15
NEARER, FARTHER = 0.25, 2.0

# Cuts are added when the bound has risen by less than this share in one round.
TIME_TO_CUT = 2e-3

# How large steps of prices are in the first-order method.
STEP_RATIO = 0.12

# Prices at the ends of their box keep the bound down if there are more than this share of them.
MOST_AT_THE_END = 0.002

# With a mean price below this, squares of prices would vanish.
LEAST_PRICE = 1e-140

# Sums of prices that differ by less than this share of them are taken for the same.
SAME = 1e-7


def prove(X, k, time_limit, tol, verbose, n_jobs):
    """Prove a lower bound on the information loss of any partition into groups of at least k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records, at least 2k, not all equal.

    k : int
        Smallest size of a group, at least 2.

    time_limit : float
        Seconds after which to stop.

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
        while proof.seconds_left() > 0 and scheme.may_rise(tol):
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
    """

    def __init__(self, records, k, proof, n_jobs):
        self.k = k
        self.n = len(records)
        self.proof = proof
        n_near = min(max(LEAST_NEAR, NEAR_PER_K * k), MOST_NEAR, MOST_NEAR_IN_ALL // self.n)
        n_near = min(max(n_near, k), self.n)
        near, distances = near_records(records, n_near)
        sums = sums_of_nearest(distances[:, : min(k, MOST_NEIGHBORS)], k)
        # Prices of records, later followed by those of cuts. At first each record pays its share
        # of the distances to its k - 1 nearest others.
        self.best = sums[:, -1] / (2 * k)
        self.proof.note(safe_sum(self.best))
        self.prices = self.best.copy()
        self.columns = Columns(records)
        self.columns.add(near[:, :k])
        self.own_cost = squared_errors(records, near[:, :k])
        self.cuts = Cuts(records, k)
        self.finder = GroupFinder(records, near.astype(np.int32), k)
        self.repair = Repair(records, k, np.ascontiguousarray(sums[:, : k - 1]), n_jobs)
        self.ceiling = np.inf
        # Where each record has k - 1 twins nothing is lost. Prices whose squares vanish beside the
        # range of the records cannot be raised, and the first ones have to do.
        self.is_settled = self.best.mean() < LEAST_PRICE
        if self.is_settled:
            self.ceiling = self.proof.squared_errors
        self.target = None
        self.reach = 1.0
        self.width = WIDEST
        self.inertia = INERTIA
        self.n_steps = FEWEST_STEPS
        self.n_rounds = 0

    def may_rise(self, tol):
        """Whether the bound may rise by more than a share of it."""
        least = self.proof.squared_errors
        return not self.is_settled or self.ceiling - least > max(tol, SAME) * least > 0

    def advance(self):
        """Raise prices on the pool, repair them, and take what was found into the pool."""
        if self.target is None:
            self.target = self._raise()
        prices, use = self.target
        is_first = self.n_rounds == 0
        way = self.reach * (1 if is_first else 1 - self.inertia)
        repaired, n_new = self.repair.run(
            self.best + way * (prices - self.best),
            self.cuts,
            self.columns,
            self.proof.deadline_of_part(PATIENCE),
            at_once=is_first or self.reach < 1,
        )
        if repaired is None:
            self.reach *= NEARER
            return
        before = self.proof.squared_errors
        self._keep_if_better(repaired)
        if self.reach < 1:
            # The same prices, from nearer to them.
            self.reach = min(FARTHER * self.reach, 1.0)
            return
        self.n_rounds += 1
        self.target = None
        if n_new < 0.01 * self.n:
            self.inertia /= 2
        if self.proof.squared_errors < (1 + TIME_TO_CUT) * before:
            n_cuts = self._cut(use)
            self.is_settled = n_cuts == 0 and n_new <= FEW_NEW * self.n and not self._is_boxed_in()

    def _keep_if_better(self, repaired):
        before, bound = self.proof.squared_errors, safe_sum(self._signed(repaired))
        self.proof.note(bound)
        if bound <= before:
            self.width = max(NARROWEST, 0.6 * self.width)
            return
        self.best = repaired
        if bound < 1.001 * before:
            self.width = max(NARROW, 0.8 * self.width)

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
            self.width = max(self.width, WIDEST / 2)
            self.inertia = INERTIA
        return n_new

    def _is_boxed_in(self):
        """Whether many prices are as far from the best ones as they may be; then give way."""
        _, lowest, highest = self._box()
        records = slice(0, self.n)
        at_end = (self.prices[records] <= lowest[records]) | (
            self.prices[records] >= highest[records]
        )
        if at_end.mean() <= MOST_AT_THE_END:
            return False
        self.width = 1.5 * max(self.width, WIDEST)
        return True

    def _box(self):
        """Scales of the prices, and the box in which they stay."""
        best = self.best[: self.n]
        scale = np.maximum(np.maximum(best, 0.3 * best.mean()), 0.5 * self.own_cost)
        cut_cost = self.cuts.sets.cost
        if self.n_rounds == 0:
            return scale, np.zeros(self.n), self.own_cost.copy()
        return (
            np.concatenate([scale, np.maximum(0.5 * cut_cost / self.k, 1e-3 * scale.mean())]),
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
        scale, lowest, highest = self._box()
        pool = self.columns
        for _ in range(MOST_LOOKS):
            np.clip(self.prices, lowest, highest, out=self.prices)
            start, entry = pool.entries(self.cuts)
            prices, use = Ascent(start, entry, pool.cost, self.n, scale).run(
                self.prices,
                pool.use,
                lowest,
                highest,
                weight=STEP_RATIO * len(pool) / self.n / self.k / scale[: self.n].mean(),
                n_iter=self.n_steps,
                deadline=self.proof.deadline,
            )
            self.ceiling = float(self._signed(prices).sum())
            if self.proof.seconds_left() < 0:
                break
            n_new = self._look(prices)
            if n_new < FEW_NEW * self.n and self.n_steps == MOST_STEPS:
                break
            if n_new < MANY_NEW * self.n:
                self.n_steps = min(2 * self.n_steps, MOST_STEPS)
            else:
                self.n_steps = max(self.n_steps // 2, FEWEST_STEPS)
            if self.n_rounds == 0 and self.proof.share_of_time() > TIME_TO_START:
                break
        return prices, use

    def _look(self, prices):
        """Add sets that pay too much to the pool; return how many are new."""
        tolerance = NOTABLE * self.proof.squared_errors / self.n * self.k
        found = Sets(self.columns.records, known=self.columns)
        found.add(self.finder.find(prices[: self.n], tolerance))
        excess = found.excess(prices, self.cuts)
        return self.columns.add(found.of_size(self.k, excess > tolerance))
