"""The master problem: duals are raised to what the known columns and cuts allow.

The duals need not be feasible: columns that are not known may be violated. A search among near
records finds most of these, and they become known.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_microagg._bound._proof import Proof
from sk_microagg._bound._repair import Repair
from sk_microagg._bound._sets import ColumnPool, Cuts, Sets, squared_errors
from sk_microagg._bound._settings import Settings
from sk_microagg._kernels import Ascent, GroupFinder
from sk_microagg._utils._typing import Array


class Master:
    """The columns and cuts that are known, and a first-order method that raises duals on them."""

    def __init__(
        self,
        records: Array,
        near: Array,
        duals: Array,
        k: int,
        proof: Proof,
        repair: Repair,
        settings: Settings,
    ) -> None:
        self.k = k
        self.n = len(records)
        self.settings = settings
        self.pool = ColumnPool(records)
        self.pool.add(near[:, :k], proof.deadline)
        self.cuts = Cuts(records, k, settings)
        self.focus = Focus(self.n)
        self.ceiling = np.inf
        self.width = settings.initial_width
        self._proof = proof
        self._repair = repair
        self._near = near[:, :k]
        self._own_cost = squared_errors(records, near[:, :k], proof.deadline)
        self._finder = GroupFinder(records, near.astype(np.int32), k)
        self._duals = duals
        self._mean_use = np.empty(0)
        self._n_iter = settings.min_ascent_iter
        self._has_started = False

    def signed(self, duals):
        """Duals of records, and minus those of cuts, as often as groups can use them."""
        return np.concatenate([duals[: self.n], -self.cuts.limits() * duals[self.n :]])

    def completed(self, duals):
        """Duals with those of cuts that were added since, 0."""
        return np.concatenate([duals, np.zeros(self.n + len(self.cuts) - len(duals))])

    def add_cuts(self, share: float = 1.0) -> int:
        """Add cuts that the use of columns violates; return how many."""
        deadline = self._proof.deadline
        n_new = self.cuts.separate(self.pool, self._use(), share, deadline)
        if n_new:
            self.width = max(self.width, self.settings.min_width_after_cuts)
        return n_new

    def narrow_focus(self, n_new):
        """Free only duals near the last cuts; return whether these are few."""
        return self.focus.narrow(self.cuts, n_new, self.pool, self._use(), self.settings)

    def _use(self):
        """How much of each column was used in the last ascents that it took part in."""
        return np.concatenate([self._mean_use, np.zeros(len(self.pool) - len(self._mean_use))])

    def widen_if_boxed_in(self, best):
        """Widen the box if many duals of records are at its ends; return whether it was."""
        _, lowest, highest = self._box(self.completed(best))
        at_end = ((self._duals <= lowest) | (self._duals >= highest))[: self.n]
        if at_end.mean() <= self.settings.max_share_at_ends:
            return False
        self.width = self.settings.widening * max(self.width, self.settings.initial_width)
        return True

    def raise_duals(
        self, best: Array, adds_cuts: bool, is_hopeless: Callable[..., Any]
    ) -> tuple[Array, int]:
        """Raise the free duals to what the pool and a box allow, adding violated columns."""
        settings, n_free, n_cuts = self.settings, self.focus.n_free(), 0
        patience = self._proof.deadline_of_part(settings.longest_ascent)
        starts = self.focus.starts(self._near)
        roots = None if self.focus.is_everywhere() else starts
        for _ in range(settings.max_pricings):
            best = self.completed(best)
            duals = self._run_first_order_method(best, self._n_iter)
            if self._proof.deadline.is_over() or is_hopeless():
                return self.completed(duals), n_cuts
            n_new = self._price_columns(duals, starts)
            if roots is not None and n_new < settings.few_new_columns * n_free:
                n_found, roots = self._price_exactly(best, duals, roots)
                n_new += n_found
            is_longest = self._n_iter == settings.max_ascent_iter
            if adds_cuts and n_new < settings.many_new_columns * n_free and is_longest:
                n_cuts = self.add_cuts()
                adds_cuts = False
            elif n_new < settings.few_new_columns * n_free and is_longest:
                break
            if n_new < settings.many_new_columns * n_free:
                self._n_iter = min(2 * self._n_iter, settings.max_ascent_iter)
            else:
                self._n_iter = max(self._n_iter // 2, settings.min_ascent_iter)
            if patience.is_over():
                break
        if roots is not None and not patience.is_over():
            # In a focus, it is known columns that the duals violate most: more iterations help,
            # and there they take little time.
            n_iter = settings.more_iter_in_focus * self._n_iter
            duals = self._run_first_order_method(self.completed(best), n_iter)
        return self.completed(duals), n_cuts

    def _box(self, best):
        """Scales of the duals, and the lower and upper ends of the box in which they stay."""
        settings, cut_cost = self.settings, self.cuts.sets.cost
        of_records = best[: self.n]
        scale = np.maximum(of_records, settings.scale_by_mean * of_records.mean())
        scale = np.maximum(scale, settings.scale_by_cost * self._own_cost)
        lowest, highest = of_records - self.width * scale, of_records + self.width * scale
        if not self._has_started:
            lowest, highest = np.zeros(self.n), self._own_cost
        cut_scale = np.maximum(
            settings.cut_scale_by_cost * cut_cost / self.k,
            settings.cut_scale_by_mean * scale.mean(),
        )
        lowest = np.concatenate([lowest, np.zeros(len(cut_cost))])
        highest = np.concatenate([highest, cut_cost])
        free = self.focus.free(self.cuts)
        return (
            np.concatenate([scale, cut_scale]),
            np.where(free, lowest, best),
            np.where(free, highest, best),
        )

    def leave_first_box(self):
        """From now on, keep duals near the best ones; before, any that can be feasible will do."""
        self._has_started = True

    def _run_first_order_method(self, best, n_iter):
        """Iterate on the columns in focus; return the mean duals, whose sum becomes the ceiling."""
        scale, lowest, highest = self._box(best)
        self._duals = np.clip(self.completed(self._duals), lowest, highest)
        chosen = self.focus.columns(self.pool, self.cuts)
        start, entry = self.pool.entries(self.cuts, chosen, self._proof.deadline)
        cost, use = self.pool.cost[chosen], self.pool.use[chosen]
        weight = self.settings.ascent_weight * len(chosen) / self.focus.n_free() / self.k
        # Duals in none of these columns stay as they are: in a focus, that is most of them.
        present, entry = _numbered(entry, len(scale))
        n_records = np.searchsorted(present, self.n)
        limits = self.cuts.limits()[present[n_records:] - self.n]
        ascent = Ascent(start, entry, cost, n_records, scale[present], limits)
        duals, last = self._duals.copy(), self._duals[present]
        duals[present], mean_use = ascent.run(
            last,
            use,
            lowest[present],
            highest[present],
            weight=weight / scale[: self.n][self.focus.records].mean(),
            n_iter=n_iter,
            deadline=self._proof.deadline,
        )
        self._duals[present] = last
        self.pool.use[chosen] = use
        self._mean_use = self._use()
        self._mean_use[chosen] = mean_use
        # A mean of equal numbers can differ from them by rounding.
        duals = np.where(self.focus.free(self.cuts), duals, best)
        self.ceiling = float(self.signed(duals).sum())
        return duals

    def _price_columns(self, duals, starts):
        """Find sets that violate their dual constraints, and add them to the pool; how many."""
        tolerance, deadline = self._tolerance(), self._proof.deadline
        found = Sets(self.pool.records, known=self.pool)
        self._finder.set_cuts(self.cuts.sets.start, self.cuts.sets.member, duals[self.n :])
        sets = self._finder.find(duals[: self.n], tolerance, around=starts, deadline=deadline)
        found.add(sets, deadline)
        excess = found.excess(duals, self.cuts, deadline)
        n_new = self.pool.add(found.of_size(self.k, excess > tolerance), deadline)
        return n_new + self.pool.add_each(self.cuts.find_larger(duals, tolerance, deadline))

    def _price_exactly(self, best, duals, roots):
        """Add the most violated sets of roots; how many, and a root of each that is violated."""
        tolerance, deadline = self._tolerance(), self._proof.deadline
        members, roots = self._repair.price(best, duals, self.cuts, roots, tolerance, deadline)
        return self.pool.add(members, deadline), roots

    def _tolerance(self):
        """By how much a new column must violate its constraint."""
        return self.settings.pricing_tolerance * self._proof.squared_errors / self.n * self.k


def _numbered(entries, n_numbers):
    """The numbers below `n_numbers` that occur, in ascending order, and the place of each entry."""
    present = np.flatnonzero(np.bincount(entries, minlength=n_numbers))
    place = np.zeros(n_numbers, dtype=np.int32)
    place[present] = np.arange(len(present))
    return present, place[entries]


class Focus:
    """The records whose duals are free; at first all of them."""

    def __init__(self, n_records: int) -> None:
        self.records = np.ones(n_records, dtype=bool)

    def is_everywhere(self):
        return bool(self.records.all())

    def n_free(self):
        return np.count_nonzero(self.records)

    def widen(self):
        """Bring all records into focus."""
        self.records = np.ones_like(self.records)

    def narrow(self, cuts, n_new, pool, use, settings):
        """Focus on the last cuts and used columns that touch them; return whether it is small."""
        near = np.zeros_like(self.records)
        near[cuts.sets.member[cuts.sets.start[-1 - n_new] :]] = True
        used = pool.incidence()[use > settings.min_use]
        near[used[touching(used, near)].indices] = True
        if n_new == 0 or near.mean() > settings.max_focus:
            return False
        self.records = near
        return True

    def free(self, cuts):
        """Which duals are free: those of records in focus, and of cuts that hold one of them."""
        return np.concatenate([self.records, touching(cuts.sets.incidence(), self.records)])

    def columns(self, pool, cuts):
        """Indices of the columns whose constraints depend on a free dual."""
        if self.is_everywhere():
            return np.arange(len(pool))
        members = cuts.sets.incidence()
        near = self.records.copy()
        near[members[touching(members, near)].indices] = True
        return np.flatnonzero(touching(pool.incidence(), near))

    def starts(self, near):
        """Records around which to look for columns, given those nearest to each record."""
        starts = self.records[near].any(axis=1)
        starts[near[self.records]] = True
        return np.flatnonzero(starts)


def touching(incidence, records):
    """Which of some sets hold one of the records for which a mask is True."""
    return incidence @ records.astype(np.float64) > 0
