"""The generalized values of groups: what a release shows, and all that a fitted model keeps."""

from typing import Any, Self

import numpy as np

from sk_microagg._kernels import CenterIndex, RangeColumns
from sk_microagg._utils._typing import Array, Codes, Floats, Labels


class GeneralizedGroups:
    """The generalized values of each group, and which group a new record fits best.

    Parameters
    ----------
    domains : list
        For each column, a domain that knows the generalized values and nothing else of the data.

    covers : list of list of tuple
        For each column, the generalized value of each group.

    weights : ndarray of shape (n_columns,)
        Weights of the columns.
    """

    def __init__(self, domains, covers, weights):
        self._domains = domains
        self._covers = covers
        self._weights = weights
        self._low, self._high = self._find_ends()

    @classmethod
    def of_records(
        cls,
        hierarchies: list[Any],
        domains: list[Any],
        lo: Codes,
        hi: Codes,
        labels: Labels,
        weights: Floats,
    ) -> Self:
        """Generalize the records of each group."""
        shape = (labels.max() + 1, lo.shape[1])
        low, high = np.full(shape, np.iinfo(np.int32).max), np.full(shape, -1)
        np.minimum.at(low, labels, lo)
        np.maximum.at(high, labels, hi)
        covers = [
            [domain.cover(*ends) for ends in zip(*columns, strict=True)]
            for domain, *columns in zip(domains, low.T, high.T, strict=True)
        ]
        released = [
            hierarchy.released_values(*column)
            for hierarchy, *column in zip(hierarchies, covers, domains, strict=True)
        ]
        return cls(released, covers, weights)

    def with_midpoints(self) -> "GeneralizedGroups":
        """The same groups, with the midpoint of each interval instead of its ends."""
        pairs = zip(self._domains, self._covers, strict=True)
        domains, covers = zip(*[domain.with_midpoints(c) for domain, c in pairs], strict=True)
        return GeneralizedGroups(list(domains), list(covers), self._weights)

    def losses(self) -> Floats:
        """Unweighted loss of each group in each column."""
        return self._write(lambda domain, cover: domain.loss_of(cover)).astype(np.float64)

    def labels(self) -> Array:
        """The generalized values as text, an object array of shape (n_groups, n_columns)."""
        return self._write(lambda domain, cover: domain.label(cover))

    def midpoints(self) -> Array:
        """The generalized values as midpoints in columns of numbers, as text in others."""
        table = self._write(
            lambda domain, cover: (
                domain.label(cover) if domain.midpoint(()) is None else domain.midpoint(cover)
            )
        )
        has_text = any(domain.midpoint(()) is None for domain in self._domains)
        return table if has_text else table.astype(np.float64)

    def _write(self, write):
        table = np.empty((len(self._covers[0]), len(self._covers)), dtype=object)
        for j, (domain, covers) in enumerate(zip(self._domains, self._covers, strict=True)):
            written = {cover: write(domain, cover) for cover in dict.fromkeys(covers)}
            table[:, j] = [written[cover] for cover in covers]
        return table

    def _find_ends(self):
        """First and last position that each generalized value covers."""
        ends = np.empty((2, len(self._covers[0]), len(self._covers)), dtype=np.int32)
        for j, (domain, covers) in enumerate(zip(self._domains, self._covers, strict=True)):
            ranges = {cover: domain.range_of(cover) for cover in dict.fromkeys(covers)}
            ends[:, :, j] = np.array([ranges[cover] for cover in covers]).T
        return ends

    def are_alike(self, some: Labels, others: Labels) -> bool:
        """Whether each of some groups is released as the same row as its counterpart."""
        some_ends, other_ends = (np.hstack([self._low, self._high])[g] for g in (some, others))
        return np.array_equal(some_ends, other_ends)

    def encode(self, table: Any) -> tuple[Codes, Codes]:
        """First and last position of each cell of a table."""
        return table.encode(self._domains)

    def nearest_each(self, lo: Codes, hi: Codes) -> Labels:
        """For each record, the group whose loss it raises least."""
        index = CenterIndex(RangeColumns(self._domains, self._weights), self._low, self._high)
        distinct, places = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
        distinct_lo, distinct_hi = map(np.ascontiguousarray, np.hsplit(distinct, 2))
        return index.nearest_each(distinct_lo, distinct_hi)[places.reshape(-1)]
