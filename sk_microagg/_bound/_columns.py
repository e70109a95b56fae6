"""The pool of columns: sets of records that must not pay more than they cost."""

import numpy as np


class Columns:
    """Sets of records with their SSE, none of them twice.

    Parameters
    ----------
    records : ndarray of shape (n_records, n_columns)
        The records, scaled.

    Attributes
    ----------
    start : ndarray of shape (n_sets + 1,), int32
        Where the members of each set start.

    member : ndarray of shape (n_members,), int32
        The members, set after set.

    cost : ndarray of shape (n_sets,)
        The SSE of each set.

    use : ndarray of shape (n_sets,)
        How much of each set a fractional partition uses.
    """

    def __init__(self, records):
        self._records = records
        # A set is known by the sum of its members' numbers, modulo a power of two: the chance that
        # two of a million share a sum is below one in ten million, and would cost one of them.
        self._number = np.random.default_rng(0).integers(0, 2**64, len(records), dtype=np.uint64)
        self._known = np.empty(0, dtype=np.uint64)
        self.start = np.zeros(1, dtype=np.int32)
        self.member = np.empty(0, dtype=np.int32)
        self.cost = np.empty(0)
        self.use = np.empty(0)

    def __len__(self):
        return len(self.cost)

    def add(self, members):
        """Take in the sets that are new, of shape (n_sets, size); return how many there were."""
        keys = self._number[members].sum(axis=1, dtype=np.uint64)
        _, first = np.unique(keys, return_index=True)
        first = first[~np.isin(keys[first], self._known)]
        members = members[first]
        self._known = np.concatenate([self._known, keys[first]])
        ends = self.start[-1] + members.shape[1] * np.arange(1, len(members) + 1)
        self.start = np.concatenate([self.start, ends.astype(np.int32)])
        self.member = np.concatenate([self.member, members.ravel().astype(np.int32)])
        self.cost = np.concatenate([self.cost, squared_errors(self._records, members)])
        self.use = np.concatenate([self.use, np.zeros(len(members))])
        return len(members)

    def keep(self, kept):
        """Drop the sets for which a mask is False."""
        sizes = np.diff(self.start)
        self.member = self.member[np.repeat(kept, sizes)]
        self.start = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int32)
        self._known, self.cost, self.use = self._known[kept], self.cost[kept], self.use[kept]

    def paid(self, prices):
        """What the members of each set pay together."""
        return np.add.reduceat(prices[self.member], self.start[:-1])


def squared_errors(records, members, block=20_000):
    """SSE of sets of one size, as an array of shape (n_sets,)."""
    errors = np.empty(len(members))
    for first in range(0, len(members), block):
        rows = records[members[first : first + block]]
        rows = rows - rows[:, :1]
        rows -= rows.mean(axis=1, keepdims=True)
        errors[first : first + block] = np.einsum("gij,gij->g", rows, rows)
    return errors
