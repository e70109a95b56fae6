"""How often each code occurs in each group."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sk_microagg._utils._typing import Array, Labels


@dataclass(frozen=True)
class GroupCounts:
    """The codes in each group, and how many of its records have each of them."""

    codes: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    n_codes: np.ndarray
    sizes: np.ndarray

    @classmethod
    def from_labels(cls, labels: Labels, codes: Array) -> Self:
        """Count; labels are numbered from 0, and every group has a record."""
        base = int(codes.max()) + 1
        pairs, counts = np.unique(
            np.multiply(labels, base, dtype=np.int64) + codes, return_counts=True
        )
        return cls._of_sorted(*np.divmod(pairs, base), counts)

    @classmethod
    def of_pairs(cls, labels: Array, codes: Array, counts: Array) -> Self:
        """Return the counts of groups, given each pair of a label and a code that occurs once."""
        order = np.lexsort((codes, labels))
        return cls._of_sorted(labels[order], codes[order], counts[order])

    @classmethod
    def _of_sorted(cls, labels: Array, codes: Array, counts: Array) -> Self:
        starts = np.flatnonzero(np.diff(labels, prepend=-1))
        n_codes = np.diff(starts, append=len(labels))
        return cls(codes, counts, starts, n_codes, np.add.reduceat(counts, starts))

    def sum(self, of_pairs: Array) -> Array:
        """Sum of a quantity over the pairs of each group."""
        return np.add.reduceat(of_pairs, self.starts)

    def for_pairs(self, of_groups: Array) -> Array:
        """A quantity of groups, repeated for each pair."""
        return np.repeat(of_groups, self.n_codes)
