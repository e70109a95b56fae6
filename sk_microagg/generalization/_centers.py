"""The centers of groups: what a release tells, and all that a fitted model keeps."""

import numpy as np

from sk_microagg._kernels import CenterIndex, RangeColumns


class Centers:
    """The cells that groups are generalized to, and which group new records go to.

    Parameters
    ----------
    domains : list
        For each column a domain that knows its cells, and nothing else of the data.

    cells : list of list of tuple
        For each column the cells of the groups.

    weights : ndarray of shape (n_columns,)
        Weights of the columns.
    """

    def __init__(self, domains, cells, weights):
        self._domains = domains
        self._cells = cells
        self._weights = weights
        self._low, self._high = self._find_ends()

    @classmethod
    def of_groups(cls, hierarchies, domains, lo, hi, labels, weights):
        """Generalize groups.

        Parameters
        ----------
        hierarchies : list of Hierarchy
            How each column is generalized.

        domains : list
            What the hierarchies have become with the training data.

        lo, hi : ndarray of shape (n_records, n_columns), int32
            First and last position of each cell, in these domains.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        weights : ndarray of shape (n_columns,)
            Weights of the columns.

        Returns
        -------
        centers : Centers
            Nothing is known to them of a value that is in no cell.
        """
        shape = (labels.max() + 1, lo.shape[1])
        low, high = np.full(shape, np.iinfo(np.int32).max), np.full(shape, -1)
        np.minimum.at(low, labels, lo)
        np.maximum.at(high, labels, hi)
        cells = [
            [domain.cell(*ends) for ends in zip(*columns, strict=True)]
            for domain, *columns in zip(domains, low.T, high.T, strict=True)
        ]
        published = [
            hierarchy.published(*column)
            for hierarchy, *column in zip(hierarchies, cells, domains, strict=True)
        ]
        return cls(published, cells, weights)

    def in_the_middle(self):
        """Centers that know of each interval the number in its middle, and not its ends."""
        pairs = zip(self._domains, self._cells, strict=True)
        domains, cells = zip(*[domain.with_middles(c) for domain, c in pairs], strict=True)
        return Centers(list(domains), list(cells), self._weights)

    def losses(self):
        """What each group loses in each column, without weights."""
        return self._write(lambda domain, cell: domain.loss_of(cell)).astype(np.float64)

    def labels(self):
        """The cells as text, an object array of shape (n_groups, n_columns)."""
        return self._write(lambda domain, cell: domain.label(cell))

    def middles(self):
        """The cells as the numbers in their middle, where there are numbers; else as text."""
        table = self._write(
            lambda domain, cell: (
                domain.label(cell) if domain.middle(()) is None else domain.middle(cell)
            )
        )
        has_text = any(domain.middle(()) is None for domain in self._domains)
        return table if has_text else table.astype(np.float64)

    def _write(self, write):
        table = np.empty((len(self._cells[0]), len(self._cells)), dtype=object)
        for j, (domain, cells) in enumerate(zip(self._domains, self._cells, strict=True)):
            written = {cell: write(domain, cell) for cell in dict.fromkeys(cells)}
            table[:, j] = [written[cell] for cell in cells]
        return table

    def _find_ends(self):
        """First and last position of each cell."""
        ends = np.empty((2, len(self._cells[0]), len(self._cells)), dtype=np.int32)
        for j, (domain, cells) in enumerate(zip(self._domains, self._cells, strict=True)):
            ranges = {cell: domain.range_of(cell) for cell in dict.fromkeys(cells)}
            ends[:, :, j] = np.array([ranges[cell] for cell in cells]).T
        return ends

    def are_alike(self, some, others):
        """Whether groups are released as the same as others, one by one."""
        some_ends, other_ends = (np.hstack([self._low, self._high])[g] for g in (some, others))
        return np.array_equal(some_ends, other_ends)

    def encode(self, table):
        """First and last position of each cell of a table."""
        return table.encode(self._domains)

    def nearest_each(self, lo, hi):
        """The group whose center each record raises least."""
        index = CenterIndex(RangeColumns(self._domains, self._weights), self._low, self._high)
        distinct, places = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
        distinct_lo, distinct_hi = map(np.ascontiguousarray, np.hsplit(distinct, 2))
        return index.nearest_each(distinct_lo, distinct_hi)[places.reshape(-1)]
