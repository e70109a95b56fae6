"""Groups to choose from, and integer programs that choose some of them."""

import atexit
from concurrent.futures import Future
from threading import Thread

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from sk_microagg._utils._deadline import is_interrupted

# The solver may stop this close to the optimum (relative to its cost); smaller improvements of a
# partition do not count either.
RELATIVE_GAP = 1e-9

# A group whose reduced cost is at most this share of the mean cost of a group is as good as any.
NEGLIGIBLE = 1e-6

# Seconds after which it is checked whether Ctrl-C was pressed during an integer program.
SECONDS_BETWEEN_CHECKS = 0.05


class Catalog:
    """The groups to choose from, and the incidence matrix of records and groups."""

    def __init__(self, cost, n_records, relaxation):
        self.number = {group: number for number, group in enumerate(cost)}
        self.cost = np.fromiter(cost.values(), np.float64, len(cost))
        self.sizes = np.fromiter(map(len, cost), np.intp, len(cost))
        records = (record for group in cost for record in group)
        records = np.fromiter(records, np.intp, self.sizes.sum())
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        # One row per record, and one column per group.
        self.holds = csc_array(
            (np.ones(len(records)), records, starts), shape=(n_records, len(cost))
        )
        self.held_by = self.holds.tocsr()
        self.reduced = np.maximum(relaxation.reduced_costs(self.holds.T, self.cost), 0.0)

    def numbers_of(self, labels):
        return np.array([self.number[group] for group in members_of_all(labels)])

    def is_costly(self, labels):
        """Whether a cover of a region around each record may cost less, by the reduced costs."""
        numbers = self.numbers_of(labels)
        return (self.reduced[numbers] > NEGLIGIBLE * self.cost[numbers].mean())[labels]

    def choose(self, labels, records, random_state):
        """Choose one of the records to start a region from."""
        weights = self.reduced[self.numbers_of(labels)][labels[records]]
        return random_state.choice(records, p=weights / weights.sum())

    def region(self, labels, group, most, among=None):
        """Return the groups most strongly linked with a given group of a partition, and that one.

        Every group of the catalog that has records of two groups links these. The region grows by
        the group with the most links to it. Distance does not matter: outliers that are far apart
        may be exchanged, too. It has `most` groups, and only groups `among` some if these are
        given.
        """
        n_groups = labels.max() + 1
        order = np.argsort(labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        region = [group]
        among = np.ones(n_groups, dtype=bool) if among is None else among
        strength = np.where(among, 0.0, -np.inf)
        while len(region) < min(most, among.sum()):
            members = order[starts[region[-1]] : starts[region[-1] + 1]]
            touching = np.unique(_of_rows(self.held_by, members))
            touched = labels[_of_rows(self.holds, touching)]
            pairs = np.repeat(np.arange(len(touching)), self.sizes[touching]) * n_groups + touched
            strength += np.bincount(np.unique(pairs) % n_groups, minlength=n_groups)
            strength[region] = -np.inf
            region.append(int(np.argmax(strength)))
        return np.array(region)

    def choices(self, labels, records, n_choices):
        """Return the groups to choose from for a better cover of some whole groups of a partition.

        The reduced costs of a better cover add up to less than those of the present one. Of the
        groups within this limit, those with the smallest reduced costs are chosen, together with
        the present ones.
        """
        present, others = self._better_within(labels, records)
        others = others[np.argsort(self.reduced[others], kind="stable")[:n_choices]]
        return np.sort(np.concatenate([present, others]))

    def choices_of_records(self, labels, records, n_choices):
        """Return groups to choose from as `choices` does, at least this many for each record."""
        present, others = self._better_within(labels, records)
        held = self.held_by[records][:, others].tocoo()
        order = np.lexsort((self.reduced[others[held.col]], held.row))
        record = held.row[order]
        rank = np.arange(len(record)) - np.searchsorted(record, record)
        best = others[held.col[order[rank < n_choices]]]
        return np.unique(np.concatenate([present, best]))

    def _better_within(self, labels, records):
        """Return the groups of some records that are present, and others of a better cover."""
        inside, count = np.unique(_of_rows(self.held_by, records), return_counts=True)
        inside = inside[count == self.sizes[inside]]
        present = self._numbers_within(labels, records)
        most = self.reduced[present].sum()
        return present, np.setdiff1d(inside[self.reduced[inside] < most], present)

    def best_cover(self, inside, records, node_limit, time_limit):
        """Return labels of the cheapest of some groups that cover each of the records once.

        None if the solver finds no cover within its limits.
        """
        cost = self.cost[inside]
        once = LinearConstraint(self.held_by[records][:, inside], 1.0, 1.0)
        # The tolerances of the solver assume costs of about 1.
        chosen = _until_interrupted(
            milp,
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
        if chosen is None or chosen.x is None:
            return None
        return (once.A[:, chosen.x > 0.5] @ np.arange(np.sum(chosen.x > 0.5))).astype(np.intp)

    def _numbers_within(self, labels, records):
        """Return the numbers of the groups of a partition that hold the given records."""
        part = np.unique(labels[records], return_inverse=True)[1]
        return np.array(
            [
                self.number[tuple(records[list(members)].tolist())]
                for members in members_of_all(part)
            ]
        )


def _until_interrupted(function, *arguments, **options):
    """Return what a function returns, or None as soon as Ctrl-C asks searches to end.

    The solver cannot be interrupted. It runs in a thread of its own, and Ctrl-C abandons it; only
    the end of the process waits for it.
    """
    outcome = Future()

    def work():
        try:
            outcome.set_result(function(*arguments, **options))
        except BaseException as error:  # raised again where the result is asked for
            outcome.set_exception(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive() and not is_interrupted():
        thread.join(SECONDS_BETWEEN_CHECKS)
    if thread.is_alive():
        # A solver that returns to an interpreter that is shutting down aborts the process.
        atexit.register(thread.join)
    return outcome.result() if outcome.done() else None


def _of_rows(matrix, rows):
    """Return the indices of the entries of some rows (CSR) or columns (CSC) of a matrix."""
    starts, stops = matrix.indptr[rows], matrix.indptr[rows + 1]
    lengths = stops - starts
    shift = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return matrix.indices[shift + np.arange(lengths.sum())]


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
