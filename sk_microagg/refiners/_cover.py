"""Groups of many partitions, and the best partition that can be put together from them."""

import math
import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from sk_microagg._kernels import Partition

# A program over so many groups of a partition takes about a second; one over twice as many may
# take a minute.
GROUPS_OF_A_REGION = 150

# Regions follow one another until all groups were among so many in the middle of one.
GROUPS_IN_THE_MIDDLE = 75

# A partition that is better by less than this share may be rounding; and when a program may end.
LEAST_GAIN = 1e-9


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
        groups = members_of_all(labels)
        costs = Partition(self.X, labels, self.k).all_costs()
        self.cost.update(zip(groups, costs.tolist(), strict=True))
        return groups

    def cost_of(self, labels):
        """Cost of a partition whose groups have been seen."""
        return sum(self.cost[group] for group in members_of_all(labels))

    def recombine(self, labels, random_state, node_limit, deadline=math.inf):
        """A better partition of groups seen so far, or `labels` if none is found.

        Region by region: some groups of the partition are taken apart, and their records are put
        together anew from groups that lie within the region, at the least cost. Where that helps,
        the region is looked at again.

        Parameters
        ----------
        labels : ndarray of shape (n_samples,)
            A partition whose groups have been seen.

        random_state : RandomState instance
            Where regions begin is drawn from it.

        node_limit : int
            Nodes that an integer program may explore.

        deadline : float, default=inf
            Stop when `time.monotonic()` has passed this.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        catalog = _Catalog(self.cost, len(self.X))
        is_open = np.ones(len(self.X), dtype=bool)
        while is_open.any() and time.monotonic() < deadline:
            record = random_state.choice(np.flatnonzero(is_open))
            region = catalog.region(labels, labels[record])
            is_open[np.isin(labels, region[:GROUPS_IN_THE_MIDDLE])] = False
            records = np.flatnonzero(np.isin(labels, region))
            seconds = max(deadline - time.monotonic(), 0.0)
            part = catalog.best_cover(records, node_limit, seconds)
            if part is None:
                continue
            better = with_part(labels, records, part)
            if self.cost_of(better) < (1 - LEAST_GAIN) * self.cost_of(labels):
                new = set(members_of_all(better)).difference(members_of_all(labels))
                is_open[np.concatenate([*map(list, new)])] = True
                labels = better
        return labels


class _Catalog:
    """Groups to choose from, and which records they hold."""

    def __init__(self, cost, n_records):
        self.groups = list(cost)
        self.cost = np.fromiter(cost.values(), np.float64, len(cost))
        self.sizes = np.fromiter(map(len, self.groups), np.intp, len(cost))
        records = (record for group in self.groups for record in group)
        records = np.fromiter(records, np.intp, self.sizes.sum())
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        # A row a record, and a column a group.
        self.holds = csc_array(
            (np.ones(len(records)), records, starts), shape=(n_records, len(cost))
        )

    def region(self, labels, group):
        """Groups of a partition that others connect with one, and with each other: the best first.

        Two groups are connected by every group of the catalog that has records of both. Distance
        does not matter: outliers that are far apart may be exchanged, too.
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
        while len(region) < min(GROUPS_OF_A_REGION, n_groups):
            start, stop = links.indptr[region[-1]], links.indptr[region[-1] + 1]
            strength[links.indices[start:stop]] += links.data[start:stop]
            strength[region[-1]] = -np.inf
            region.append(int(np.argmax(strength)))
        return np.array(region)

    def best_cover(self, records, node_limit, time_limit):
        """The cheapest groups that hold every one of some records once, as labels of these.

        None if the solver does not find any in its limits.
        """
        is_asked = np.zeros(self.holds.shape[0])
        is_asked[records] = 1.0
        inside = np.flatnonzero(self.holds.T @ is_asked == self.sizes)
        cost = self.cost[inside]
        once = LinearConstraint(self.holds[records][:, inside], 1.0, 1.0)
        # Costs of about 1 suit the tolerances of the solver.
        chosen = milp(
            cost / (cost.mean() or 1.0),
            constraints=once,
            integrality=np.ones(len(inside)),
            bounds=Bounds(0.0, 1.0),
            options={"node_limit": node_limit, "time_limit": time_limit, "mip_rel_gap": LEAST_GAIN},
        )
        if chosen.x is None:
            return None
        return (once.A[:, chosen.x > 0.5] @ np.arange(np.sum(chosen.x > 0.5))).astype(np.intp)


def members_of_all(labels):
    """Records of every group, as tuples."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    return [tuple(members.tolist()) for members in np.split(order, ends[:-1])]


def with_part(labels, records, part):
    """The same partition, but for some records, whose groups no others share."""
    labels = labels.copy()
    labels[records] = part + len(labels)
    return np.unique(labels, return_inverse=True)[1]
