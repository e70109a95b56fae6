"""The groups of many partitions, and the best partition that can be made of them."""

import math

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg.refiners._catalog import RELATIVE_GAP, Catalog, members_of_all, with_part

# Groups of a partition that an integer program replaces. Many programs over a few groups find more
# in the same time than a few over many groups, which take many times as long.
GROUPS_PER_REGION = 60

# Regions are visited until every group was among the first ones, this many, of a region.
CORE_GROUPS_PER_REGION = 30

# Maximum numbers of groups to choose from in a region. Programs of a few hundred groups take a
# fraction of a second, and find most of what there is; those of thousands often find nothing in
# several seconds, so that they come last. Without a time limit, programs have to be small enough to
# end soon.
N_CHOICES = (500, 2000)
N_CHOICES_WITHOUT_LIMIT = (300,)

# One more program replaces nearly all groups on which the relaxation is undecided: those that it
# uses less than this. They are at most this many, divided by k², with so many groups for each
# record to choose from. With a larger k, programs of so many groups find nothing in time.
MAX_USE_OF_UNDECIDED = 0.9
MAX_UNDECIDED_TIMES_K2 = 2400
MIN_UNDECIDED = 100
N_CHOICES_OF_RECORD = 16


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

    def recombine(self, labels, random_state, node_limit, deadline, relaxation, seconds=math.inf):
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

        relaxation : Relaxation
            Provides the reduced costs of groups. Regions start from groups whose reduced costs are
            large, and only groups that can be part of a better cover are considered.

        seconds : float, default=inf
            Seconds of an integer program.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        catalog = Catalog(self.cost, len(self.X), relaxation)
        for n_choices in N_CHOICES if seconds < math.inf else N_CHOICES_WITHOUT_LIMIT:
            is_open = catalog.is_costly(labels)
            while is_open.any() and not deadline.is_over():
                record = catalog.choose(labels, np.flatnonzero(is_open), random_state)
                region = catalog.region(labels, labels[record], GROUPS_PER_REGION)
                is_open[np.isin(labels, region[:CORE_GROUPS_PER_REGION])] = False
                records = np.flatnonzero(np.isin(labels, region))
                choices = catalog.choices(labels, records, n_choices)
                limit = min(seconds, deadline.seconds_left())
                part = catalog.best_cover(choices, records, node_limit, limit)
                if part is None:
                    continue
                better = with_part(labels, records, part)
                if self.cost_of(better) < (1 - RELATIVE_GAP) * self.cost_of(labels):
                    new = set(members_of_all(better)).difference(members_of_all(labels))
                    is_open[np.concatenate([*map(list, new)])] = True
                    is_open &= catalog.is_costly(better)
                    labels = better
        return labels

    def recombine_undecided(self, labels, node_limit, relaxation, seconds):
        """Return a better partition into groups seen so far, or `labels` if none is found.

        One integer program replaces all groups on which the relaxation is undecided, or as many of
        them as one can: where records of outliers are exchanged, the consequences go far.
        Parameters are as those of `recombine`.
        """
        most = MAX_UNDECIDED_TIMES_K2 // self.k**2
        if most < MIN_UNDECIDED:
            return labels
        is_undecided = relaxation.uses(members_of_all(labels)) < MAX_USE_OF_UNDECIDED
        if not is_undecided.any():
            return labels
        catalog = Catalog(self.cost, len(self.X), relaxation)
        reduced = catalog.reduced[catalog.numbers_of(labels)]
        first = np.argmax(np.where(is_undecided, reduced, -1.0))
        region = catalog.region(labels, first, most, is_undecided)
        records = np.flatnonzero(np.isin(labels, region))
        choices = catalog.choices_of_records(labels, records, N_CHOICES_OF_RECORD)
        part = catalog.best_cover(choices, records, node_limit, seconds)
        if part is None:
            return labels
        return min(labels, with_part(labels, records, part), key=self.cost_of)

    def reduced_costs(self, labels, relaxation):
        """Return the reduced cost of each group of a partition, 0 if it is negative."""
        return self._catalog_of(labels, relaxation).reduced

    def is_costly(self, labels, relaxation, share):
        """Whether the reduced cost of each record's group is above a share of its cost."""
        catalog = self._catalog_of(labels, relaxation)
        return (catalog.reduced > share * catalog.cost)[labels]

    def _catalog_of(self, labels, relaxation):
        groups = members_of_all(labels)
        return Catalog({group: self.cost[group] for group in groups}, len(labels), relaxation)
