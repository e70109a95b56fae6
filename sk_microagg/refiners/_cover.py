"""The groups of many partitions, and the best partition that can be made of them."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from sk_microagg._kernels import Partition
from sk_microagg._utils._quiet import without_lines_of_highs

# An integer program over this many groups of a partition takes about a second; one over twice as
# many may take a minute.
GROUPS_PER_REGION = 150

# Regions are visited until every group was among the first ones, this many, of a region.
CORE_GROUPS_PER_REGION = 75

# The solver may stop this close to the optimum (relative to its cost); smaller improvements of a
# partition do not count either.
RELATIVE_GAP = 1e-9


class SeenGroups:
    """The groups seen in partitions of the same records, each with its cost.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    k : int
        Minimum group size.
    """

    def __init__(self, X, k):
        self.X = X
        self.k = k
        self.cost = {}

    def add(self, labels):
        """Add the groups of a partition; return them, each as a tuple of its records."""
        groups = members_of_all(labels)
        costs = Partition(self.X, labels, self.k).all_costs()
        self.cost.update(zip(groups, costs.tolist(), strict=True))
        return groups

    def cost_of(self, labels):
        """Return the cost of a partition whose groups have been seen."""
        return sum(self.cost[group] for group in members_of_all(labels))

    def recombine(self, labels, random_state, node_limit, deadline):
        """Return a better partition into groups seen so far, or `labels` if none is found.

        The partition is improved region by region: the groups of a region are replaced by the
        cheapest groups seen that cover the same records. Where that helps, the neighborhood of the
        new groups is visited again.

        Parameters
        ----------
        labels : ndarray of shape (n_samples,)
            A partition whose groups have been seen.

        random_state : RandomState instance
            Determines where regions start.

        node_limit : int
            Maximum number of nodes of each integer program.

        deadline : Deadline
            When to stop.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        catalog = _Catalog(self.cost, len(self.X))
        is_open = np.ones(len(self.X), dtype=bool)
        while is_open.any() and not deadline.is_over():
            record = random_state.choice(np.flatnonzero(is_open))
            region = catalog.region(labels, labels[record])
            is_open[np.isin(labels, region[:CORE_GROUPS_PER_REGION])] = False
            records = np.flatnonzero(np.isin(labels, region))
            part = catalog.best_cover(records, node_limit, deadline.seconds_left())
            if part is None:
                continue
            better = with_part(labels, records, part)
            if self.cost_of(better) < (1 - RELATIVE_GAP) * self.cost_of(labels):
                new = set(members_of_all(better)).difference(members_of_all(labels))
                is_open[np.concatenate([*map(list, new)])] = True
                labels = better
        return labels


class _Catalog:
    """The groups to choose from, and the incidence matrix of records and groups."""

    def __init__(self, cost, n_records):
        self.groups = list(cost)
        self.cost = np.fromiter(cost.values(), np.float64, len(cost))
        self.sizes = np.fromiter(map(len, self.groups), np.intp, len(cost))
        records = (record for group in self.groups for record in group)
        records = np.fromiter(records, np.intp, self.sizes.sum())
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        # One row per record, and one column per group.
        self.holds = csc_array(
            (np.ones(len(records)), records, starts), shape=(n_records, len(cost))
        )

    def region(self, labels, group):
        """Return the groups most strongly linked with a given group of a partition, and that one.

        Every group of the catalog that has records of two groups links these. The region grows by
        the group with the most links to it. Distance does not matter: outliers that are far apart
        may be exchanged, too.
        """
        n_records, n_groups = len(labels), labels.max() + 1
        is_member = csc_array(
            (np.ones(n_records), labels, np.arange(n_records + 1)), shape=(n_groups, n_records)
        )
        touches = (is_member @ self.holds).tocsr()
        touches.data[:] = 1.0
        links = (touches @ touches.T).tocsr()
        region = [group]
        strength = np.zeros(n_groups)
        while len(region) < min(GROUPS_PER_REGION, n_groups):
            start, stop = links.indptr[region[-1]], links.indptr[region[-1] + 1]
            strength[links.indices[start:stop]] += links.data[start:stop]
            strength[region[-1]] = -np.inf
            region.append(int(np.argmax(strength)))
        return np.array(region)

    @without_lines_of_highs()
    def best_cover(self, records, node_limit, time_limit):
        """Return labels of the cheapest groups that cover each of the given records once.

        None if the solver finds no cover within its limits.
        """
        is_covered = np.zeros(self.holds.shape[0])
        is_covered[records] = 1.0
        inside = np.flatnonzero(self.holds.T @ is_covered == self.sizes)
        cost = self.cost[inside]
        once = LinearConstraint(self.holds[records][:, inside], 1.0, 1.0)
        # The tolerances of the solver assume costs of about 1.
        chosen = milp(
            cost / (cost.mean() or 1.0),
            constraints=once,
            integrality=np.ones(len(inside)),
            bounds=Bounds(0.0, 1.0),
            options={
                "node_limit": node_limit,
                "time_limit": time_limit,
                "mip_rel_gap": RELATIVE_GAP,
            },
        )
        if chosen.x is None:
            return None
        return (once.A[:, chosen.x > 0.5] @ np.arange(np.sum(chosen.x > 0.5))).astype(np.intp)


def members_of_all(labels):
    """Return the records of each group, as tuples."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    return [tuple(members.tolist()) for members in np.split(order, ends[:-1])]


def with_part(labels, records, part):
    """Return the partition with the labels of some whole groups, `records`, replaced by `part`."""
    labels = labels.copy()
    labels[records] = part + len(labels)
    return np.unique(labels, return_inverse=True)[1]
