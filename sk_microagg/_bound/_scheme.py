"""The bound, step by step: prices that records pay, raised as far as no set pays too much."""

import numpy as np

from sk_microagg._bound._columns import Columns, squared_errors
from sk_microagg._bound._margin import safe_sum
from sk_microagg._bound._proof import Proof
from sk_microagg._bound._records import MOST_NEIGHBOURS, near_records, scaled, sums_of_nearest
from sk_microagg._bound._repair import Repair
from sk_microagg._groups import total_sum_of_squares
from sk_microagg._kernels import Ascent, GroupFinder

# Steps of the first-order method between two looks for sets that pay too much.
N_STEPS = 800

# Looks for such sets before prices are repaired; they end earlier if few new ones are found, as a
# share of the number of records.
MOST_LOOKS = 25
FEW_NEW = 0.03

# A set pays too much if by more than this share of what an average set pays.
NOTABLE = 1e-4

# How far from the best prices the next ones may be, at first and at least, in scales of prices.
WIDEST, NARROWEST = 1.0, 0.03

# Weight of the best prices in those that are repaired next.
INERTIA = 0.2

STEP_RATIO = 0.12

# Sets in the pool, as a multiple of the number of records, from which some are dropped.
MOST_COLUMNS = 25


def prove(X, k, time_limit, tol, verbose):
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

    Returns
    -------
    proof : Proof
        The bound, and when it rose.
    """
    total = total_sum_of_squares(X)
    records, exponent = scaled(X)
    proof = Proof(total, float(np.ldexp(total, -2 * exponent)), X.size, time_limit, verbose)
    try:
        scheme = Scheme(records, k, proof)
        while proof.seconds_left() > 0 and scheme.may_rise(tol):
            scheme.advance()
            proof.show(scheme.ceiling)
    finally:
        proof.finish()
    return proof


class Scheme:
    """Prices of records, and the sets that keep them down.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Smallest size of a group.

    proof : Proof
        Takes the bounds.
    """

    def __init__(self, records, k, proof):
        n = len(records)
        self.k = k
        self.proof = proof
        n_near = min(n, max(40, 12 * k), max(k, 200))
        near, distances = near_records(records, n_near)
        sums = sums_of_nearest(distances[:, : min(k, MOST_NEIGHBOURS)], k)
        # Each pays its share of the distances to its k - 1 nearest others.
        self.best = sums[:, -1] / (2 * k)
        proof.note(safe_sum(self.best))
        self.columns = Columns(records)
        self.own_cost = squared_errors(records, near[:, :k])
        self.columns.add(near[:, :k])
        self.finder = GroupFinder(records, near.astype(np.int32), k)
        self.repair = Repair(records, k, np.ascontiguousarray(sums[:, : k - 1]))
        self.prices = self.best.copy()
        self.ceiling = np.inf
        self.width = WIDEST
        self.inertia = INERTIA
        self.n_rounds = 0

    def may_rise(self, tol):
        """Whether the bound can rise by more than a share of it."""
        least = self.proof.squared_errors
        return self.ceiling - least > max(tol, 1e-7) * least

    def advance(self):
        """Raise prices on the pool, repair them, and take what was found into the pool."""
        prices = self._raise()
        if self.n_rounds > 0:
            prices = self.inertia * self.best + (1 - self.inertia) * prices
        self.n_rounds += 1
        before = self.proof.squared_errors
        repaired, members = self.repair.run(prices, self.proof.deadline)
        if repaired is None:
            return
        n_new = self.columns.add(members) if len(members) else 0
        if n_new < 0.01 * len(prices):
            self.inertia /= 2
        bound = safe_sum(repaired)
        self.proof.note(bound)
        if bound > before:
            self.best = repaired
            if bound < 1.001 * before:
                self.width = max(0.1, 0.8 * self.width)
        else:
            self.width = max(NARROWEST, 0.6 * self.width)

    def _raise(self):
        """Raise the prices as far as the pool and a box allow, and add sets that pay too much."""
        n = len(self.best)
        scale = np.maximum(np.maximum(self.best, 0.3 * self.best.mean()), 0.5 * self.own_cost)
        if self.n_rounds == 0:
            lowest, highest = np.zeros(n), self.own_cost.copy()
        else:
            lowest, highest = self.best - self.width * scale, self.best + self.width * scale
        tolerance = NOTABLE * self.proof.squared_errors / n * self.k
        for _ in range(MOST_LOOKS):
            np.clip(self.prices, lowest, highest, out=self.prices)
            pool = self.columns
            ascent = Ascent(pool.start, pool.member, pool.cost, n, scale)
            weight = STEP_RATIO * len(pool) / n / self.k / scale.mean()
            prices, use = ascent.run(
                self.prices, pool.use, lowest, highest,
                weight=weight, n_iter=N_STEPS, deadline=self.proof.deadline,
            )
            self.ceiling = float(prices.sum())
            if self.proof.seconds_left() < 0:
                break
            if pool.add(self.finder.find(prices, tolerance)) < FEW_NEW * n:
                break
        return prices
