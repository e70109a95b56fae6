"""The k-set of a root with the least reduced cost: an exact branch and bound.

The reduced cost of a k-set S is SSE(S) - u(S), with u the dual variables of its members; below 0, S
violates its dual constraint. Any numbers s, one per record, give every k-set one of its members as
root: the r for which the sum of d²(r, j)/2 over j in S, plus k s(r), is least. Its mean over r in S
is SSE(S) + s(S), so at the root

    star:    SSE(S) - u(S) >= (k - 1) s(r) - u(r) + sum over q of [d²(r, q)/2 - u(q) - s(q)],

with q over the other members. With s = 0 roots are medoids. With s a negative share of u, roots
tend to have large duals, and a distant record with a large dual is a candidate of few roots.

A second bound needs no root. With P the members chosen so far, `need` more to come, and
g(q) = (sum over p in P of d²(p, q))/k - u(q),

    spread:  SSE(S) - u(S) >= reduced cost of P + sum over q of [g(q) + v(q)/(2k)],

where v(q) is the sum of the need - 1 smallest squared distances from q to others, and the reduced
cost of P counts its pairs with d²/k. Any mean of the two is a bound as well, and a better one, as
they are mixed before the smallest terms are selected.

A cut is a set of records with a dual y of its own, which raises the reduced costs of the k-sets
inside. Complete sets count cuts. Bounds may ignore a cut, which only makes them lower. Or they are
charged y if the members chosen so far are inside, and each candidate outside is credited y: with one
of these the cut does not apply, and with more the bound is only lower.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libcpp.algorithm cimport sort

from ..common._interrupt cimport check_now, is_over, watch_until

cdef enum:
    SEARCH_WORK_BETWEEN_SIGNALS = 400_000


@cython.final
cdef class RootSearch:
    """Find the k-set of a root with the least reduced cost, SSE - duals.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64
        The records.

    k : int
        Size of the sets, at least 2.

    sums : ndarray of shape (n_records, n_sums), float64
        In column t, at most the sum of the t smallest squared distances from each record to
        others; k - 1 columns, or fewer for a looser bound.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import RootSearch
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> search = RootSearch(X, 2, np.zeros((4, 1)))
    >>> search.set_duals(np.array([1.0, 1.0, 1.0, 1.0]), np.zeros(4))
    >>> values, members, complete = search.sweep(np.arange(4))
    >>> values
    array([-1.5, -1.5,  0. ,  0. ])
    >>> members[0]
    array([0, 1], dtype=int32)
    """

    def __init__(self, const double[:, ::1] X, Py_ssize_t k, const double[:, ::1] sums):
        self.k = k
        self.candidates = RootCandidates(X, k, sums)
        self.smallest.resize(k)
        self.listed.resize(k)
        self.gain.resize(k)
        self.ranked.resize(k)
        self.chosen.resize(k)
        self.holds_raised.resize(k)

    def set_duals(self, const double[::1] duals, const double[::1] shift):
        """Set the dual of each record, and the numbers s that say which member is root of a set."""
        self.candidates.set_duals(duals, shift)

    def get_duals(self):
        """Duals of the records, as sweeps have lowered them."""
        return np.array(self.candidates.duals)

    def set_cuts(self, const int32_t[::1] start, const int32_t[::1] member,
                 const double[::1] cut_duals):
        """Set the cuts: the members of cut c are those from `start[c]` to `start[c + 1]`.

        A record is in 64 cuts at most, and no cut has a dual below 0.
        """
        self.candidates.set_cuts(start, member, cut_duals)

    def set_raised(self, const unsigned char[::1] raised):
        """Set which records are raised, 0 or 1 each: sets that hold none are not looked for."""
        self.candidates.set_raised(raised)

    def sweep(self, const Py_ssize_t[::1] roots, *, bint lower=False, double tolerance=0.0,
              Py_ssize_t node_limit=-1, deadline=None):
        """Search several roots for their sets with the least reduced costs.

        Parameters
        ----------
        roots : ndarray of shape (n_roots,), intp
            The roots, in the order in which they are visited.

        lower : bool, default=False
            Whether to lower the dual of each root by the least reduced cost of its sets, if that is
            below 0: then none of them violates its constraint, nor will it when other duals are
            lowered.

        tolerance : float, default=0.0
            Sets whose reduced costs are not below minus this number are not looked for.

        node_limit : int, default=-1
            Nodes of the search for one root after which it ends with a bound; below 0 for no limit.

        deadline : Deadline or None, default=None
            Stop, wherever the search is, when it is over.

        Returns
        -------
        values : ndarray of shape (n_roots,)
            A lower bound on the reduced costs of the sets of each root, at most 0; the least of
            them itself if the node limit was not reached.

        members : ndarray of shape (n_roots, k), int32
            The set that was found, or -1 if there is none below 0.

        complete : bool
            Whether all roots were visited before the deadline.
        """
        cdef Py_ssize_t i, j
        cdef double[::1] values = np.zeros(roots.shape[0])
        cdef int32_t[:, ::1] members = np.full((roots.shape[0], self.k), -1, dtype=np.int32)
        self.node_limit = node_limit
        self.watch = watch_until(deadline, SEARCH_WORK_BETWEEN_SIGNALS)
        check_now(&self.watch)
        with nogil:
            for i in range(roots.shape[0]):
                if is_over(&self.watch, self.candidates.take_work()):
                    break
                values[i] = self._least(roots[i], tolerance)
                for j in range(<Py_ssize_t>self.best_members.size()):
                    members[i, j] = self.best_members[j]
                if lower and values[i] < 0.0:
                    self.candidates.lower(values[i])
        return values.base, members.base, not self.watch.is_late

    def stop(self):
        """End a sweep in another thread soon, as if its time were up."""
        self.watch.is_late = True

    cdef double _least(self, Py_ssize_t root, double tolerance) except? -1.0 nogil:
        """A lower bound on the reduced costs of the sets of a root, at most 0."""
        cdef double cost = -self.candidates.duals[root]
        cdef double star = (self.k - 1) * self.candidates.shift[root] + cost, bound = -INFINITY
        self.best = -tolerance
        self.least_open = 0.0
        self.best_members.clear()
        self.n_nodes = 0
        self.holds_raised[1] = self.candidates.raised[root]
        if self.candidates.find(root, self.best, &self.least_open):
            self._list_all()
            if self._narrow(1, 0.5, cost, star, 0, &bound):
                self._start_greedily()
                if self._narrow_by_all(1, cost, star, &bound):
                    if self.node_limit == 0:
                        self.least_open = bound
                    else:
                        self.candidates.keep(self.listed[1])
                        self._list_all()
                        self._branch(1, cost, star, self.candidates.cuts_of_root(), bound)
        return min(0.0 if self.best_members.empty() else self.best, self.least_open)

    cdef void _list_all(self) noexcept nogil:
        """List all candidates of the root."""
        cdef Py_ssize_t place
        self.weight.resize(self.candidates.n)
        self.listed[1].resize(self.candidates.n)
        for place in range(self.candidates.n):
            self.listed[1][place] = place
        self.gain[1].assign(self.candidates.joining.begin(), self.candidates.joining.end())

    # Branch and bound

    cdef int _start_greedily(self) except -1 nogil:
        """Start with the set that grows from the root by the record that costs least each time."""
        cdef Py_ssize_t n = self.candidates.n, depth, place, cheapest
        cdef double cost = -self.candidates.duals[self.candidates.root]
        cdef uint64_t cuts = self.candidates.cuts_of_root()
        cdef const double *row
        if n < self.k - 1:
            return 0
        for place in range(n):
            self.weight[place] = self.candidates.joining[place]
        for depth in range(1, self.k):
            cheapest = 0
            for place in range(n):
                if self.weight[place] < self.weight[cheapest]:
                    cheapest = place
            cost += self.weight[cheapest]
            cuts &= self.candidates.cuts_at[cheapest]
            self.chosen[depth] = cheapest
            if depth + 1 < self.k:
                row = self.candidates.row(cheapest)
                for place in range(n):
                    self.weight[place] += row[place]
                self.weight[cheapest] = INFINITY
        self._keep_if_best(cost, cuts)
        return 0

    cdef int _branch(self, Py_ssize_t depth, double cost, double star, uint64_t cuts,
                     double inherited) except -1 nogil:
        """Search the sets that hold the `depth` records chosen and others that are listed there.

        The chosen contribute `cost` to the spread bound and `star` to the star bound; no set below
        has a reduced cost under `inherited`. The root counts as chosen.
        """
        cdef Py_ssize_t need = self.k - depth
        cdef uint64_t charged
        cdef double uncharged
        self.n_nodes += 1
        if is_over(
            &self.watch,
            (8 + need // 8) * self.listed[depth].size() + self.candidates.take_work(),
        ):
            return 0
        if need == 1:
            return self._try_last(depth, cost, cuts)
        if not self._narrow_by_all(depth, cost, star, &inherited):
            return 0
        charged = self._cuts_to_charge(depth, cuts) if cuts else 0
        if charged:
            uncharged = inherited
            if not self._narrow(depth, 0.5, cost, star, charged, &inherited):
                return 0
            if inherited == uncharged:
                charged = 0
        if need == 2:
            return self._try_last_two(depth, cost, cuts)
        return self._descend(depth, cost, star, cuts, charged, inherited)

    cdef uint64_t _cuts_to_charge(self, Py_ssize_t depth, uint64_t cuts) noexcept nogil:
        """Those cuts of the chosen that hold also the candidates that are cheapest without cuts."""
        cdef Py_ssize_t need = self.k - depth, n = self.listed[depth].size(), q
        cdef const int32_t *listed = self.listed[depth].data()
        cdef const double *gain = self.gain[depth].data()
        cdef const double *spread = &self.candidates.spread[(need - 1) * self.candidates.n]
        cdef const double *stars = self.candidates.star.data()
        for q in range(n):
            self.weight[q] = stars[listed[q]] + gain[q] + spread[listed[q]]
        sum_of_smallest(self.weight.data(), n, need, self.smallest.data())
        for q in range(n):
            if self.weight[q] <= self.smallest[need - 1]:
                cuts &= self.candidates.cuts_at[listed[q]]
        return cuts

    cdef bint _narrow_by_all(self, Py_ssize_t depth, double cost, double star,
                             double *bound) except -1 nogil:
        """Drop candidates that either bound or their mean excludes; whether a set may be left."""
        return (
            self._narrow(depth, 0.5, cost, star, 0, bound)
            and self._narrow(depth, 0.0, cost, star, 0, bound)
            and self._narrow(depth, 1.0, cost, star, 0, bound)
        )

    cdef bint _narrow(self, Py_ssize_t depth, double mix, double cost, double star,
                      uint64_t charged, double *bound) except -1 nogil:
        """Drop candidates that a mix of the two bounds excludes; whether a set may be left.

        The bounds are charged the duals of the cuts `charged`, which hold all that are chosen. If no
        raised record was chosen yet, one has to join.
        """
        cdef Py_ssize_t need = self.k - depth, n = self.listed[depth].size(), q, n_kept = 0
        cdef int32_t *listed = self.listed[depth].data()
        cdef double *gain = self.gain[depth].data()
        cdef double *weight = self.weight.data()
        cdef const unsigned char *is_raised = self.candidates.is_raised.data()
        cdef const double *spread = &self.candidates.spread[(need - 1) * self.candidates.n]
        cdef const double *stars = self.candidates.star.data()
        cdef double total, limit, limit_if_not_raised, least_raised = INFINITY
        cdef int32_t place
        if n < need:
            return False
        for q in range(n):
            weight[q] = mix * stars[listed[q]] + (1.0 - mix) * (gain[q] + spread[listed[q]])
        total = mix * star + (1.0 - mix) * cost
        if charged:
            total += self.candidates.sum_of_cut_duals(charged)
            for q in range(n):
                weight[q] -= self.candidates.sum_of_cut_duals(
                    charged & ~self.candidates.cuts_at[listed[q]]
                )
        total += sum_of_smallest(weight, n, need, self.smallest.data())
        limit = limit_if_not_raised = self.best - (total - self.smallest[need - 1])
        if not self.holds_raised[depth]:
            for q in range(n):
                if is_raised[listed[q]] and weight[q] < least_raised:
                    least_raised = weight[q]
            if least_raised > self.smallest[need - 1]:
                total += least_raised - self.smallest[need - 1]
                limit_if_not_raised -= least_raised
                limit_if_not_raised += self.smallest[need - 2] if need > 1 else -INFINITY
        if total >= self.best:
            return False
        bound[0] = max(bound[0], total)
        # Without a branch, which would often be mispredicted.
        for q in range(n):
            place = listed[q]
            listed[n_kept] = place
            gain[n_kept] = gain[q]
            n_kept += weight[q] < (limit if is_raised[place] else limit_if_not_raised)
        self.listed[depth].resize(n_kept)
        self.gain[depth].resize(n_kept)
        return n_kept >= need

    cdef int _descend(self, Py_ssize_t depth, double cost, double star, uint64_t cuts,
                      uint64_t charged, double bound) except -1 nogil:
        """Choose each candidate in turn, the most promising first, and search the sets with it.

        They are ranked by the mean of the two bounds, charged with cuts.
        """
        cdef Py_ssize_t need = self.k - depth, n = self.listed[depth].size(), first, q, place
        cdef Ranked *ranked
        cdef int32_t *listed
        cdef double *gain
        cdef const double *row
        cdef const double *spread = &self.candidates.spread[(need - 1) * self.candidates.n]
        cdef const double *stars = self.candidates.star.data()
        cdef double least, all_charges = self.candidates.sum_of_cut_duals(charged)
        self.ranked[depth].resize(n)
        ranked = self.ranked[depth].data()
        for q in range(n):
            place = self.listed[depth][q]
            ranked[q] = Ranked(
                (stars[place] + self.gain[depth][q] + spread[place]) / 2.0
                - self.candidates.sum_of_cut_duals(charged & ~self.candidates.cuts_at[place]),
                q,
            )
        sort(ranked, ranked + n)
        for first in range(n - need + 1):
            least = (star + cost) / 2.0 + all_charges
            for q in range(first, first + need):
                least += ranked[q].first
            least = max(least, bound)
            if least >= self.best or self.watch.is_late:
                return 0
            if 0 <= self.node_limit <= self.n_nodes:
                self.least_open = min(self.least_open, least)
                return 0
            place = self.listed[depth][ranked[first].second]
            row = self.candidates.row(place)
            self.listed[depth + 1].resize(n - first - 1)
            self.gain[depth + 1].resize(n - first - 1)
            listed = self.listed[depth + 1].data()
            gain = self.gain[depth + 1].data()
            for q in range(first + 1, n):
                listed[q - first - 1] = self.listed[depth][ranked[q].second]
                gain[q - first - 1] = (
                    self.gain[depth][ranked[q].second] + row[listed[q - first - 1]]
                )
            self.chosen[depth] = place
            self.holds_raised[depth + 1] = (
                self.holds_raised[depth] or self.candidates.is_raised[place]
            )
            self._branch(
                depth + 1, cost + self.gain[depth][ranked[first].second],
                star + stars[place], cuts & self.candidates.cuts_at[place], least,
            )
        return 0

    cdef int _try_last(self, Py_ssize_t depth, double cost, uint64_t cuts) except -1 nogil:
        cdef size_t q
        for q in range(self.listed[depth].size()):
            if cost + self.gain[depth][q] < self.best:
                self.chosen[depth] = self.listed[depth][q]
                self._keep_if_best(
                    cost + self.gain[depth][q],
                    cuts & self.candidates.cuts_at[self.listed[depth][q]],
                )
        return 0

    cdef int _try_last_two(self, Py_ssize_t depth, double cost, uint64_t cuts) except -1 nogil:
        cdef const int32_t *listed = self.listed[depth].data()
        cdef const double *gain = self.gain[depth].data()
        cdef const double *row
        cdef Py_ssize_t n = self.listed[depth].size(), one, other
        cdef double least = INFINITY, so_far
        for one in range(n):
            least = min(least, gain[one])
        for one in range(n - 1):
            so_far = cost + gain[one]
            if so_far + least >= self.best:
                continue
            row = self.candidates.row(listed[one])
            for other in range(one + 1, n):
                if so_far + gain[other] + row[listed[other]] < self.best:
                    self.chosen[depth] = listed[one]
                    self.chosen[depth + 1] = listed[other]
                    self._keep_if_best(
                        so_far + gain[other] + row[listed[other]],
                        cuts & self.candidates.cuts_at[listed[one]]
                        & self.candidates.cuts_at[listed[other]],
                    )
        return 0

    cdef void _keep_if_best(self, double value, uint64_t cuts) noexcept nogil:
        """Keep the chosen set if its reduced cost, with the duals of its cuts, is the least."""
        cdef Py_ssize_t i
        if cuts:
            value += self.candidates.sum_of_cut_duals(cuts)
        if value >= self.best:
            return
        self.best = value
        self.best_members.resize(self.k)
        self.best_members[0] = self.candidates.root
        for i in range(1, self.k):
            self.best_members[i] = self.candidates.record_of[self.chosen[i]]
