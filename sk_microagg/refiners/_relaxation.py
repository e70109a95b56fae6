"""Dual variables of the partitioning problem, and groups that they single out.

A partition into groups is a solution of a set-partitioning problem. The dual variables of its
linear relaxation say what each record should cost. The cost of a group less the duals of its
records is its reduced cost. The reduced costs of all groups of a partition add up to its distance
from the bound, so that good partitions consist of groups of small reduced cost. Here the duals are
approximate: nothing is proven with them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from sk_microagg._bound._repair import Repair, near_records, scaled, sums_of_nearest
from sk_microagg._bound._sets import ColumnPool, Cuts, Sets, squared_errors
from sk_microagg._bound._settings import SETTINGS
from sk_microagg._kernels import Ascent, GroupFinder
from sk_microagg._utils._deadline import NEVER, Deadline
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._typing import Array
from sk_microagg.builders import MDAV

# Number of records near each among which groups are looked for, and at least this many times k.
MIN_PRICED = 40
PRICED_PER_K = 5

# A group grows by one of this many records nearest to one of its members.
N_TO_GROW = 16

# Nodes of the exact search around one record, which finds columns that the quick one overlooks:
# more find hardly more. For a larger k it takes long, and is for outliers only, whose groups matter
# most: records whose duals are so many times the mean.
MAX_NODES = 1_000
MAX_K_TO_SEARCH_AROUND_ALL = 4
OUTLYING = 2.0

# Most iterations of an ascent: more than for a bound, as no repair makes the duals feasible.
MAX_ASCENT_ITER = 800

# Columns that are used less are ignored when a partition is made of them.
MIN_USE = 0.05


class OutOfTimeError(Exception):
    """Time was up before a result that later steps need."""


class Relaxation:
    """The linear relaxation, with columns and cuts that are found on the way."""

    def __init__(self, X: Array, k: int, deadline: Deadline = NEVER) -> None:
        self.k = k
        self.n = len(X)
        self.records, self.exponent = scaled(X)
        n_near = min(max(MIN_PRICED, PRICED_PER_K * k), self.n)
        near, distances = near_records(self.records, n_near, deadline)
        if len(near) < self.n:
            raise OutOfTimeError
        self.near = near.astype(np.int32)
        self.pool = ColumnPool(self.records)
        self.pool.add(near[:, :k])
        self.cuts = Cuts(self.records, k)
        self.finder = GroupFinder(self.records, self.near, k)
        sums = sums_of_nearest(distances[:, : min(k, SETTINGS.max_neighbors_in_sums)], k)
        sums = np.ascontiguousarray(sums[:, : k - 1])
        self.search = Repair(
            self.records, k, sums, 1, replace(SETTINGS, max_nodes_to_price=MAX_NODES)
        )
        self.own_cost = squared_errors(self.records, near[:, :k])
        self.duals = distances[:, :k].sum(axis=1) / (2 * k)
        self.scale = np.maximum(self.duals, SETTINGS.scale_by_cost * self.own_cost)
        self.scale = np.maximum(self.scale, SETTINGS.scale_by_mean * self.duals.mean())
        self.center = None
        self.n_iter = SETTINGS.min_ascent_iter
        self.is_settled = self.scale.mean() < SETTINGS.min_mean_dual

    def add(self, groups):
        """Add groups as columns; each is a sequence of records."""
        self.pool.add_each(groups)

    def advance(self, deadline):
        """Raise the duals as far as the columns allow, then add columns, or else cuts."""
        scale, lowest, highest = self._box()
        np.clip(self.duals, lowest, highest, out=self.duals)
        start, entry = self.pool.entries(self.cuts, deadline=deadline)
        weight = SETTINGS.ascent_weight * len(self.pool) / self.n / self.k
        ascent = Ascent(start, entry, self.pool.cost, self.n, scale, self.cuts.limits())
        duals, use = ascent.run(
            self.duals,
            self.pool.use,
            lowest,
            highest,
            weight=weight / scale[: self.n].mean(),
            n_iter=self.n_iter,
            deadline=deadline,
        )
        self.duals = duals
        if deadline.is_over():
            return
        n_new = self._price_columns(deadline)
        if deadline.is_over():
            return
        is_longest = self.n_iter == MAX_ASCENT_ITER
        if n_new < SETTINGS.few_new_columns * self.n and is_longest:
            n_cuts = self._add_cuts(use, deadline)
            self.center = self.duals[: self.n].copy()
            self.is_settled = n_cuts == 0 and not deadline.is_over()
        elif n_new < SETTINGS.many_new_columns * self.n:
            self.n_iter = min(2 * self.n_iter, MAX_ASCENT_ITER)
        else:
            self.n_iter = max(self.n_iter // 2, SETTINGS.min_ascent_iter)

    def _box(self):
        """Scales of the duals, and the ends of the box in which they stay."""
        cut_cost = self.cuts.sets.cost
        cut_scale = np.maximum(
            SETTINGS.cut_scale_by_cost * cut_cost / self.k,
            SETTINGS.cut_scale_by_mean * self.scale.mean(),
        )
        lowest, highest = np.zeros(self.n), self.own_cost
        if self.center is not None:
            lowest, highest = self.center - self.scale, self.center + self.scale
        return (
            np.concatenate([self.scale, cut_scale]),
            np.concatenate([lowest, np.zeros(len(cut_cost))]),
            np.concatenate([highest, cut_cost]),
        )

    def _price_columns(self, deadline):
        """Add columns of negative reduced cost to the pool; return how many were found."""
        tolerance = SETTINGS.pricing_tolerance * self.duals[: self.n].mean() * self.k
        found = Sets(self.records, known=self.pool)
        self.finder.set_cuts(self.cuts.sets.start, self.cuts.sets.member, self.duals[self.n :])
        found.add(self.finder.find(self.duals[: self.n], tolerance, deadline=deadline))
        excess = found.excess(self.duals, self.cuts, deadline)
        n_new = self.pool.add(found.of_size(self.k, excess > tolerance))
        n_new += self.pool.add_each(self.cuts.find_larger(self.duals, tolerance, deadline))
        if n_new < SETTINGS.few_new_columns * self.n:
            n_new += self.pool.add(self._search_exactly(tolerance, deadline))
        return n_new

    def _search_exactly(self, tolerance, deadline):
        """Return the columns of least reduced cost around records, if it is negative."""
        least = -np.inf
        if self.k > MAX_K_TO_SEARCH_AROUND_ALL:
            least = OUTLYING * self.duals[: self.n].mean()
        roots = np.flatnonzero(self.duals[: self.n] >= least)
        nothing_known = np.zeros_like(self.duals)
        found, _ = self.search.price(
            nothing_known, self.duals, self.cuts, roots, tolerance, deadline
        )
        return found

    def _add_cuts(self, use, deadline):
        """Add cuts that the use of columns violates, with duals of 0; return how many."""
        unused = np.zeros(len(self.pool) - len(use))
        n_new = self.cuts.separate(self.pool, np.concatenate([use, unused]), deadline=deadline)
        self.duals = np.concatenate([self.duals, np.zeros(n_new)])
        return n_new

    def rounded(
        self, random_state: Any, preferred: Sequence[Any] = (), deadline: Deadline = NEVER
    ) -> Any:
        """Return a partition made of the columns that the fractional partition uses most.

        Random numbers added to the use make each call return another one. The records that are
        left over are grouped by MDAV.
        """
        use = self._used(MIN_USE)
        preference, noise = random_state.random_sample(2)
        for group in preferred:
            use[group] = use.get(group, 0.0) + preference
        groups = list(use)
        weights = np.fromiter(use.values(), np.float64, len(use))
        weights += noise * random_state.random_sample(len(use))
        order = np.argsort(-weights, kind="stable")
        labels, _ = self._completed([list(groups[number]) for number in order], deadline)
        return labels

    def decided(self, min_use: float, deadline: Deadline = NEVER) -> tuple[Array, Array]:
        """Return a partition that contains the columns of which the fractional one has enough."""
        columns = np.flatnonzero(self.pool.use >= min_use)
        order = columns[np.argsort(-self.pool.use[columns], kind="stable")]
        return self._completed([self.pool.members_of(column) for column in order], deadline)

    def uses(self, groups):
        """Return how much of some groups, with ascending records, the fractional partition has."""
        use = self._used(0.0)
        return np.array([use.get(group, 0.0) for group in groups])

    def _used(self, least):
        """Return the columns whose use is at least this, in ascending order, and their uses."""
        return {
            tuple(sorted(self.pool.members_of(column).tolist())): self.pool.use[column]
            for column in np.flatnonzero(self.pool.use >= least)
        }

    def _completed(self, groups, deadline):
        """Return a partition with each of some groups that does not overlap earlier ones.

        The records that are left over, which are returned as well, are grouped by MDAV.
        """
        labels = np.full(self.n, -1)
        n_groups = 0
        for members in groups:
            if (labels[members] < 0).all():
                labels[members] = n_groups
                n_groups += 1
        left = np.flatnonzero(labels < 0)
        if len(left) >= self.k:
            built = MDAV()._build(np.ascontiguousarray(self.records[left]), self.k, deadline)
            if built is None:
                raise OutOfTimeError
            labels[left] = n_groups + built
        elif len(left):
            centroids = group_means(self.records[labels >= 0], labels[labels >= 0])
            for record in left:
                gaps = centroids - self.records[record]
                labels[record] = np.argmin(np.einsum("ij,ij->i", gaps, gaps))
        return labels, left

    def reduced_costs(self, holds: Any, cost: Array) -> Any:
        """Return the reduced costs of groups, in the units of X."""
        duals = np.ldexp(self.duals, 2 * self.exponent)
        reduced = cost - holds @ duals[: self.n]
        if len(self.cuts):
            shared = sparse.csr_array(holds @ self.cuts.sets.incidence().T)
            shared.data = (shared.data >= self.k).astype(np.float64)
            reduced += shared @ duals[self.n :]
        return reduced

    def promising_groups(
        self, groups: list[Any], n_per_record: int, deadline: Deadline = NEVER
    ) -> Any:
        """Return groups of small reduced cost with their costs, as a dict."""
        found = Sets(self.records)
        found.add_each([np.array(group) for group in groups])
        for size in range(self.k, 2 * self.k):
            found.add(np.sort(self.pool.of_size(size), axis=1))
            if size <= self.near.shape[1] and not deadline.is_over():
                everything = -np.inf
                finder = GroupFinder(self.records, self.near, size)
                members = finder.find(self.duals[: self.n], everything, deadline=deadline)
                found.add(np.sort(members, axis=1), deadline)
        for size in range(self.k, 2 * self.k - 1):
            if deadline.is_over():
                break
            best, _ = self._best_of(found.of_size(size), n_per_record)
            if len(best):
                larger, _ = self._best_of(self._grown(best), n_per_record)
                found.add(larger)
        promising: dict[Any, float] = {}
        for size in range(self.k, 2 * self.k):
            if deadline.is_over():
                break
            best, cost = self._best_of(found.of_size(size), n_per_record)
            cost = np.ldexp(cost, 2 * self.exponent)
            promising.update(zip(map(tuple, best.tolist()), cost.tolist(), strict=True))
        return promising

    def _grown(self, members):
        """Return groups with one more record each, near to one of the members."""
        added = self.near[members, 1 : 1 + N_TO_GROW // members.shape[1] + 1]
        added = added.reshape(len(members), -1)
        grown = np.empty((*added.shape, members.shape[1] + 1), dtype=np.int64)
        grown[..., :-1] = members[:, None, :]
        grown[..., -1] = added
        grown = np.sort(grown.reshape(-1, grown.shape[2]), axis=1)
        return grown[(np.diff(grown, axis=1) > 0).all(axis=1)]

    def _best_of(self, members, n_per_record):
        """Return the groups that are among the best of any of their records, and their costs."""
        sets = Sets(self.records)
        sets.add(members)
        size = members.shape[1]
        members = sets.of_size(size)
        reduced = -sets.excess(self.duals, self.cuts)
        order = np.lexsort((np.repeat(reduced, size), members.ravel()))
        record = members.ravel()[order]
        rank = np.arange(len(record)) - np.searchsorted(record, record)
        is_best = np.zeros(len(members), dtype=bool)
        is_best[order[rank < n_per_record] // size] = True
        return members[is_best], sets.cost[is_best]
