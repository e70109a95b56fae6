"""How often each code occurs in each group."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GroupCounts:
    """The codes in each group, and how many of its records have each of them.

    Attributes
    ----------
    codes, counts : ndarray of shape (n_pairs,), int64
        A pair of a group and a code that occurs in it: the code, and how often it occurs. Pairs
        are in the order of groups, then of codes.

    starts, n_codes : ndarray of shape (n_groups,), int64
        First pair and number of pairs of each group.

    sizes : ndarray of shape (n_groups,), int64
        Number of records of each group.
    """

    codes: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    n_codes: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, labels, codes):
        """Count; labels are numbered from 0, and every group has a record."""
        base = int(codes.max()) + 1
        pairs, counts = np.unique(
            np.multiply(labels, base, dtype=np.int64) + codes, return_counts=True
        )
        groups, present = np.divmod(pairs, base)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        n_codes = np.diff(starts, append=len(groups))
        return cls(present, counts, starts, n_codes, np.add.reduceat(counts, starts))

    @classmethod
    def of_one(cls, counts):
        """Return the counts of one group, given how often it has each code: at least once."""
        one, n_codes = np.zeros(1, dtype=np.int64), np.array([len(counts)])
        return cls(np.arange(len(counts)), counts, one, n_codes, counts.sum(keepdims=True))

    def sum(self, of_pairs):
        """Sum of a quantity over the pairs of each group."""
        return np.add.reduceat(of_pairs, self.starts)

    def for_pairs(self, of_groups):
        """A quantity of groups, repeated for each pair."""
        return np.repeat(of_groups, self.n_codes)
