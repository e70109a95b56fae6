"""Constraints whose figure of a group follows from how often it has each value."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sk_microagg._utils._typing import Array, Labels
from sk_microagg.privacy._base import VectorizedConstraint


@dataclass(frozen=True)
class GroupCounts:
    """The codes in each group, and how many of its records have each of them.

    Groups are in the order of their labels, and the codes of a group are in order. The counts of
    several parts of a table can be merged.
    """

    labels: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    n_codes: np.ndarray
    sizes: np.ndarray

    @classmethod
    def from_labels(cls, labels: Labels, codes: Array) -> Self:
        """Count records; labels and codes are integers from 0."""
        base = int(codes.max()) + 1
        pairs, counts = np.unique(
            np.multiply(labels, base, dtype=np.int64) + codes, return_counts=True
        )
        return cls._of_sorted(*np.divmod(pairs, base), counts)

    @classmethod
    def added(cls, labels: Array, codes: Array, counts: Array) -> Self:
        """Add up counts of pairs of a label and a code, which may be any numbers."""
        order = np.lexsort((codes, labels))
        labels, codes, counts = labels[order], codes[order], counts[order]
        is_new = np.ones(len(labels), dtype=bool)
        is_new[1:] = (labels[1:] != labels[:-1]) | (codes[1:] != codes[:-1])
        starts = np.flatnonzero(is_new)
        # Without any pair, there is nothing to reduce.
        counts = np.add.reduceat(counts, starts) if len(starts) else counts
        return cls._of_sorted(labels[starts], codes[starts], counts)

    @classmethod
    def merged(cls, parts: list[Self]) -> Self:
        """Add up the counts of several parts of a table."""
        labels = [part.for_pairs(part.labels) for part in parts]
        columns = labels, [part.codes for part in parts], [part.counts for part in parts]
        return cls.added(*map(np.concatenate, columns))

    @classmethod
    def of_one(cls, codes: Array, counts: Array) -> Self:
        """The counts of a single group, given its codes in order."""
        zero, one = np.array([0]), np.array([len(codes)])
        return cls(zero, codes, counts, zero, one, np.array([counts.sum()]))

    @classmethod
    def _of_sorted(cls, labels: Array, codes: Array, counts: Array) -> Self:
        is_new = np.ones(len(labels), dtype=bool)
        is_new[1:] = labels[1:] != labels[:-1]
        starts = np.flatnonzero(is_new)
        n_codes = np.diff(starts, append=len(labels))
        sizes = np.add.reduceat(counts, starts) if len(starts) else counts
        return cls(labels[starts], codes, counts, starts, n_codes, sizes)

    def sum(self, of_pairs: Array) -> Array:
        """Sum of a quantity over the pairs of each group."""
        return np.add.reduceat(of_pairs, self.starts)

    def for_pairs(self, of_groups: Array) -> Array:
        """A quantity of groups, repeated for each pair."""
        return np.repeat(of_groups, self.n_codes)

    def only(self, are_kept: Array) -> GroupCounts:
        """Some of the pairs."""
        columns = self.for_pairs(self.labels), self.codes, self.counts
        return GroupCounts._of_sorted(*(column[are_kept] for column in columns))

    def ranks(self) -> Array:
        """The number of each pair in its group, from 0."""
        return np.arange(len(self.codes)) - self.for_pairs(self.starts)


class CountedConstraint(VectorizedConstraint):
    """Base of constraints that learn and judge by counts of values.

    Values of the whole table are numbered by `learn`, from each different value and how often it
    occurs, which can be counted part by part. A group is judged by `measure_counts`.
    """

    needs: ClassVar[Literal["records", "counts", "amounts"]] = "counts"

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        # It may look at other values, or measure something else, than its parent counts.
        own = {*vars(cls)}
        learns_otherwise = own & {"prepare", "prepare_with"} and "learn" not in own
        measures_otherwise = own & {"measure", "measure_groups"} and "measure_counts" not in own
        if learns_otherwise or measures_otherwise:
            cls.needs = "records"

    @abstractmethod
    def learn(self, values: Any, counts: Array | None = None) -> tuple[Array, Any]:
        """Number values from 0, and find what `measure_counts` needs of the whole table.

        Parameters
        ----------
        values : array-like of shape (n_values,)
            Values of the sensitive column.

        counts : ndarray of shape (n_values,) or None, default=None
            How many records have each of them; None for one.

        Returns
        -------
        codes : ndarray of shape (n_values,)
            The number of each value.

        table : object
            What depends on the whole table.
        """

    @abstractmethod
    def measure_counts(self, groups: GroupCounts, table: Any) -> Array:
        """Return the figure of each group, given how often it has each code."""

    def prepare(self, values: Any) -> tuple[Array, Any]:
        return self.learn(values)

    def measure_groups(self, labels: Labels, values: Array, table: Any) -> Array:
        return self.measure_counts(GroupCounts.from_labels(labels, values), table)


def total_by_code(codes: Array, counts: Array | None) -> Array:
    """How many records have each code."""
    if counts is None:
        return np.bincount(codes)
    totals = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(totals, codes, counts)
    return totals
