"""Sets of records with their SSE, without repetitions."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from sk_microagg._bound._settings import SETTINGS, Settings
from sk_microagg._kernels import CutCheck, CutFinder
from sk_microagg._utils._deadline import NEVER, Deadline
from sk_microagg._utils._typing import Array


class Sets:
    """Sets of records, none of them twice."""

    def __init__(self, records: Array, known: Sets | None = None) -> None:
        self.records = records
        self.n_records = len(records)
        # A set is identified by the sum of random numbers of its members, modulo a power of two.
        # The probability that any two of a million sets share one is below one in ten million;
        # then one of them is left out.
        self._number = np.random.default_rng(0).integers(0, 2**64, len(records), dtype=np.uint64)
        self._known = np.empty(0, dtype=np.uint64)
        self._elsewhere = np.empty(0, dtype=np.uint64) if known is None else known._known
        self.start = np.zeros(1, dtype=np.int32)
        self.member = np.empty(0, dtype=np.int32)
        self.cost = np.empty(0)

    def __len__(self):
        return len(self.cost)

    def sizes(self):
        return np.diff(self.start)

    def members_of(self, number):
        return self.member[self.start[number] : self.start[number + 1]]

    def add(self, members, deadline=NEVER):
        """Add the sets that are new while there is time, shape (n_sets, size); return how many."""
        keys, first = np.unique(self._keys(members, deadline), return_index=True)
        is_new = ~(_holds(self._known, keys) | _holds(self._elsewhere, keys))
        members = members[first[is_new]]
        cost = squared_errors(self.records, members, deadline)
        members = members[: len(cost)]
        # Two sorted runs are merged.
        known = np.concatenate([self._known, keys[is_new][: len(cost)]])
        self._known = np.sort(known, kind="stable")
        ends = self.start[-1] + members.shape[1] * np.arange(1, len(members) + 1)
        self.start = np.concatenate([self.start, ends.astype(np.int32)])
        self.member = np.concatenate([self.member, members.ravel().astype(np.int32)])
        self.cost = np.concatenate([self.cost, cost])
        return len(members)

    def _keys(self, members, deadline):
        def keys_of(block):
            return self._number[block].sum(axis=1, dtype=np.uint64)

        return _by_blocks(keys_of, members, 1, deadline)

    def of_size(self, size, chosen=True):
        """The sets of one size among those for which a mask is True: (n_sets, size)."""
        first = self.start[:-1][(self.sizes() == size) & chosen]
        return self.member[first[:, None] + np.arange(size)]

    def add_each(self, sets):
        """Add those of a list of sets, of any sizes, that are new; return how many were."""
        by_size = {}
        for members in sets:
            by_size.setdefault(len(members), []).append(members)
        return sum(self.add(np.array(members)) for members in by_size.values())

    def incidence(self):
        """Which records are in which sets, as a sparse matrix of shape (n_sets, n_records)."""
        return sparse.csr_matrix(
            (np.ones(len(self.member)), self.member, self.start), shape=(len(self), self.n_records)
        )

    def excess(self, duals, cuts, deadline=NEVER):
        """Violation of each dual constraint, given the duals of records and then of cuts."""
        dual_sum = self.incidence() @ duals[: self.n_records]
        if len(cuts):
            dual_sum -= cuts.applying_to(self.incidence(), deadline) @ duals[self.n_records :]
        return dual_sum - self.cost


class ColumnPool(Sets):
    """The columns of the linear program that are known: sets that a partition may use."""

    def __init__(self, records: Any) -> None:
        super().__init__(records)
        self.use = np.empty(0)

    def add(self, members, deadline=NEVER):
        """Add the sets that are new, given as shape (n_sets, size); return how many were."""
        n_new = super().add(members, deadline)
        self.use = np.concatenate([self.use, np.zeros(n_new)])
        return n_new

    def entries(
        self, cuts: Cuts, chosen: Any = slice(None), deadline: Deadline = NEVER
    ) -> tuple[Array, Array]:
        """Members of sets, and the cuts that apply to them, numbered after the records."""
        entries = self.incidence()[chosen]
        if len(cuts):
            entries = sparse.hstack([entries, cuts.applying_to(entries, deadline)], format="csr")
        return (
            entries.indptr.astype(np.int32, copy=False),
            entries.indices.astype(np.int32, copy=False),
        )


def squared_errors(records, members, deadline=NEVER):
    """SSE of sets of one size, as an array of shape (n_sets,): the first ones if time is short."""

    def errors_of(block):
        rows = records[block]
        rows -= rows[:, :1].copy()
        rows -= rows.mean(axis=1, keepdims=True)
        return np.einsum("gij,gij->g", rows, rows)

    return _by_blocks(errors_of, members, records.shape[1], deadline)


def _by_blocks(function, members, n_values, deadline):
    """Numbers that a function gives for sets, by blocks while there is time."""
    block = max(SETTINGS.values_per_block // (members.shape[1] * n_values), 1)
    numbers = [function(members[:0])]
    for first in range(0, len(members), block):
        if deadline.is_over():
            break
        numbers.append(function(members[first : first + block]))
    return np.concatenate(numbers)


def _holds(numbers, wanted):
    """Whether sorted numbers hold each of others."""
    if len(numbers) == 0:
        return np.zeros(len(wanted), dtype=bool)
    place = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return numbers[place] == wanted


class Cuts:
    """Sets of more than k records, with the number of groups that can hold k or more of them."""

    def __init__(self, records: Array, k: int, settings: Settings = SETTINGS) -> None:
        self._k = k
        self._settings = settings
        self.sets = Sets(records)
        self._largest = largest_cut(k, settings)

    def __len__(self):
        return len(self.sets)

    def applying_to(self, incidence, deadline=NEVER):
        """Which cuts hold k or more members of each set, as a sparse matrix (n_sets, n_cuts)."""
        return self._share_at_least(incidence, self.sets.incidence(), self._k, deadline)

    def separate(self, pool, use, share=1.0, deadline=NEVER):
        """Add cuts that the use of the columns of a pool violates, also to the pool; how many.

        Those that promise most are added, until they promise a share of what all do: a cut promises
        the more, the more it is violated and the more the columns within cost.
        """
        used = np.flatnonzero(use > self._settings.min_use)
        incidence, use = pool.incidence()[used], use[used]
        candidates = self._candidates(pool, incidence, use, deadline)
        inside = self._share_at_least(incidence, candidates.incidence(), self._k, deadline)
        excess = inside.T @ use - candidates.sizes() // self._k
        promise = excess * (inside.T @ (use * pool.cost[used]))
        promise[excess <= self._settings.min_cut_excess] = 0.0
        best = np.argsort(-promise, kind="stable")[: np.count_nonzero(promise)]
        total = np.cumsum(promise[best])
        n_most = max(int(self._settings.max_new_cuts * pool.n_records), 1)
        if len(best):
            n_most = min(n_most, 1 + np.searchsorted(total, share * total[-1]))
        n_new = self._add(candidates, best[:n_most])
        if n_new:
            is_new = np.arange(len(self)) >= len(self) - n_new
            for size in range(self._k + 1, 2 * self._k):
                pool.add(self.sets.of_size(size, is_new), deadline)
        return n_new

    def _candidates(self, pool, incidence, use, deadline):
        """New sets that the use of columns violates, grown from those that are used most."""
        finder = CutFinder(incidence.indptr, incidence.indices, use, pool.n_records, self._k)
        most_used = np.argsort(-use, kind="stable")
        grown = finder.grow(
            most_used, self._largest, self._settings.min_cut_excess, deadline=deadline
        )
        candidates = Sets(pool.records, known=self.sets)
        candidates.add_each(grown)
        return candidates

    def find_larger(self, duals, tolerance, deadline=NEVER):
        """Sets of more than k records within cuts that violate their dual constraints."""
        check = CutCheck(self.sets.records, self._k, self.sets.start, self.sets.member)
        n = self.sets.n_records
        return check.find(duals[:n], duals[n:], tolerance, deadline=deadline)

    def limits(self):
        """How many groups each cut can hold."""
        return (self.sets.sizes() // self._k).astype(np.float64)

    def _add(self, candidates, chosen):
        """Add those of the chosen candidates whose records are not in too many cuts."""
        count = np.bincount(self.sets.member, minlength=candidates.n_records)
        added = np.zeros(len(candidates), dtype=bool)
        for number in chosen:
            members = candidates.members_of(number)
            if count[members].max() < self._settings.max_cuts_of_record:
                count[members] += 1
                added[number] = True
        for size in np.unique(candidates.sizes()[added]):
            self.sets.add(candidates.of_size(size, added))
        return np.count_nonzero(added)

    def _share_at_least(self, some, others, n_shared, deadline):
        """Which sets share `n_shared` members with which others; as many as time allows."""
        blocks, transposed = [], others.T.tocsr()
        for first in range(0, some.shape[0], self._settings.sets_per_product):
            if deadline.is_over():
                break
            shared = (some[first : first + self._settings.sets_per_product] @ transposed).tocsr()
            shared.data = (shared.data >= n_shared).astype(np.float64)
            shared.eliminate_zeros()
            blocks.append(shared)
        n_left = some.shape[0] - sum(block.shape[0] for block in blocks)
        blocks.append(sparse.csr_matrix((n_left, others.shape[0])))
        return sparse.vstack(blocks, format="csr")


def largest_cut(k, settings):
    """Members that a cut may have: as few as two groups, or such that it has few larger subsets."""
    if 3 * k - 1 <= settings.max_cut_members:
        return 3 * k - 1
    size = k
    while size + 1 < min(2 * k, settings.max_cut_members + 1):
        n_subsets = sum(comb(size + 1, n_left_out) for n_left_out in range(size + 1 - k))
        if n_subsets > settings.max_cut_subsets:
            break
        size += 1
    return size
