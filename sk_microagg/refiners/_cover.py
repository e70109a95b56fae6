"""Groups of many partitions, and the best partition that can be put together from them."""

import math

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_array

from sk_microagg._kernels import Partition

# A partition that is better by less than this share may be rounding.
LEAST_GAIN = 1e-12

# The integer programme may end when it is as near as this to its bound, relatively.
GAP = 1e-9


class Groups:
    """Groups that were seen in partitions of the same records, each with its cost.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    k : int
        Smallest size of a group.
    """

    def __init__(self, X, k):
        self.X = X
        self.k = k
        self.cost = {}

    def add(self, labels):
        """Note the groups of a partition; return them, each as a tuple of its records."""
        partition = Partition(self.X, labels, self.k)
        costs = partition.all_costs()
        groups = members_of_all(labels)
        self.cost.update(zip(groups, costs, strict=True))
        return groups

    def cost_of(self, labels):
        """Cost of a partition whose groups have been seen."""
        return sum(self.cost[group] for group in members_of_all(labels))

    def best_cover(self, labels, node_limit, time_limit=math.inf):
        """The best partition of groups seen so far, or `labels` if none better is found.

        Every record is to be in exactly one of the groups that are chosen. The linear relaxation
        tells which groups cannot be part of a better partition than `labels`: those with a reduced
        cost beyond what there is to gain. An integer programme chooses among the others.

        Parameters
        ----------
        labels : ndarray of shape (n_samples,)
            A partition whose groups have been seen.

        node_limit : int
            Nodes that the integer programme may explore.

        time_limit : float, default=inf
            Seconds that the programme may take.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        groups = list(self.cost)
        cost = np.fromiter(self.cost.values(), np.float64, len(groups))
        known = self.cost_of(labels)
        holds = _incidence(groups, len(self.X))
        once = np.ones(len(self.X))
        # Costs of about 1 suit the tolerances of the solver.
        unit = known / len(self.X)
        relaxed = linprog(cost / unit, A_eq=holds, b_eq=once, options={"time_limit": time_limit})
        if relaxed.status != 0:
            return labels
        reduced_cost = cost - unit * (holds.T @ relaxed.eqlin.marginals)
        candidates = np.flatnonzero(reduced_cost < known - unit * relaxed.fun + GAP * known)
        chosen = milp(
            cost[candidates] / unit,
            constraints=LinearConstraint(holds[:, candidates], once, once),
            integrality=np.ones(len(candidates)),
            bounds=Bounds(0, 1),
            options={"node_limit": node_limit, "time_limit": time_limit, "mip_rel_gap": GAP},
        )
        if chosen.x is None:
            return labels
        cover = [groups[candidate] for candidate in candidates[chosen.x > 0.5]]
        if sum(map(self.cost.get, cover)) >= known * (1 - LEAST_GAIN):
            return labels
        return _labels_of(cover, len(self.X))


def members_of_all(labels):
    """Records of every group, as tuples."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    return [tuple(members) for members in np.split(order.tolist(), ends[:-1])]


def _incidence(groups, n_records):
    """Which records are in which groups: a sparse matrix with a row a record."""
    sizes = np.fromiter(map(len, groups), np.intp, len(groups))
    records = np.fromiter((record for group in groups for record in group), np.intp, sizes.sum())
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return csc_array((np.ones(len(records)), records, starts), shape=(n_records, len(groups)))


def _labels_of(groups, n_records):
    labels = np.full(n_records, -1, dtype=np.intp)
    for number, group in enumerate(groups):
        labels[list(group)] = number
    return labels
