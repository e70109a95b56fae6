"""Cuts: of a set of fewer than 2k records, at most one group holds k or more.

With columns of k records only, a fractional partition covers a larger group by its k-sets, which
cost less. It then uses k-sets within the group by more than 1 in total, which no partition does.
The cut around the group forbids that, and has a dual variable of its own.
"""

from math import comb

import numpy as np
from scipy import sparse

from sk_microagg._bound._sets import Sets
from sk_microagg._bound._settings import SETTINGS
from sk_microagg._utils._deadline import NEVER


class Cuts:
    """Sets of more than k and fewer than 2k records, of which at most one group holds k or more.

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
        self._largest = largest_cut(k, settings.max_cut_subsets, settings.max_cut_members)

    def __len__(self):
        return len(self.sets)

    def applying_to(self, sets, deadline=NEVER):
        """Which cuts hold k or more members of each set, as a sparse matrix (n_sets, n_cuts)."""
        return self._share_at_least(sets.incidence(), self.sets.incidence(), self._k, deadline)

    def separate(self, pool, use, deadline=NEVER):
        """Add the cuts that the use of the columns of a pool violates most; return how many."""
        used = np.flatnonzero(use > self._settings.min_use)
        incidence, use = pool.incidence()[used], use[used]
        smallest = pool.sizes()[used] == self._k
        candidates = self._candidates(pool, incidence[smallest], use[smallest], deadline)
        inside = self._share_at_least(incidence, candidates.incidence(), self._k, deadline)
        excess = inside.T @ use - 1.0
        worst = np.argsort(-excess, kind="stable")
        worst = worst[excess[worst] > self._settings.min_cut_excess]
        most = max(int(self._settings.max_new_cuts * pool.n_records), 1)
        return self._add(candidates, worst[:most])

    def _candidates(self, pool, incidence, use, deadline):
        """New unions of two k-sets: those that are used most, if the unions are small enough."""
        least_overlap = 2 * self._k - self._largest
        shared = self._share_at_least(incidence, incidence, least_overlap, deadline)
        pairs = sparse.triu(shared, k=1).tocoo()
        both = use[pairs.row] + use[pairs.col]
        n_pairs = self._settings.pairs_per_record * pool.n_records
        most = np.argsort(-both, kind="stable")[:n_pairs]
        unions = (incidence[pairs.row[most]] + incidence[pairs.col[most]]).tocsr()
        candidates = Sets(pool.records, known=self.sets)
        sizes = np.diff(unions.indptr)
        for size in np.unique(sizes):
            first = unions.indptr[:-1][sizes == size]
            candidates.add(unions.indices[first[:, None] + np.arange(size)])
        return candidates

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


def largest_cut(k, max_subsets, max_members):
    """Members that a cut may have, such that it has few enough subsets of more than k records."""
    size = k
    while size + 1 < min(2 * k, max_members + 1):
        if sum(comb(size + 1, n_left_out) for n_left_out in range(size + 1 - k)) > max_subsets:
            break
        size += 1
    return size
