"""Cuts: of fewer than (p + 1) k records, at most p groups hold k or more.

With columns of k records only, a fractional partition covers a larger group by its k-sets, which
cost less. It then uses k-sets within one group by more than 1 in total, or within two groups by
more than 2, which no partition does. A cut forbids that, and has a dual variable of its own.
"""

from math import comb

import numpy as np
from scipy import sparse

from sk_microagg._bound._sets import Sets
from sk_microagg._bound._settings import SETTINGS
from sk_microagg._kernels import CutCheck, CutFinder
from sk_microagg._utils._deadline import NEVER


class Cuts:
    """Sets of more than k records, with the number of groups that can hold k or more of them.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    k : int
        Smallest size of a group.

    settings : Settings
        How many cuts, and which.

    Attributes
    ----------
    sets : Sets
        The cuts.
    """

    def __init__(self, records, k, settings=SETTINGS):
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
        """Add cuts that the use of the columns of a pool violates; return how many.

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
        return self._add(candidates, best[:n_most])

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
        """Which of some sets share at least `n_shared` members with which of others.

        Sets for which there is no time count as sharing nothing.
        """
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
