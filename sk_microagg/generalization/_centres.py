"""The centres of groups: what a release tells, and all that a fitted model keeps."""

import numpy as np

from sk_microagg._kernels import CentreIndex, Columns


class Centres:
    """The cells that groups are generalised to, and which group new records go to.

    Parameters
    ----------
    hierarchies : list of Hierarchy
        How each column is generalised.

    domains : list
        What the hierarchies have become with the training data.

    low, high : ndarray of shape (n_groups, n_columns)
        First and last position that each group covers, in these domains.

    weights : ndarray of shape (n_columns,)
        Weights of the columns.
    """

    def __init__(self, hierarchies, domains, low, high, weights):
        self._weights = weights
        self._cells = [
            [domain.cell(*ends) for ends in zip(low[:, j], high[:, j], strict=True)]
            for j, domain in enumerate(domains)
        ]
        # From here on nothing is known of a value that is in no cell.
        self._domains = [
            hierarchy.published(cells)
            for hierarchy, cells in zip(hierarchies, self._cells, strict=True)
        ]
        self._low, self._high = self._find_ends()

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
        """The group whose centre each record raises least."""
        index = CentreIndex(Columns(self._domains, self._weights), self._low, self._high)
        distinct, places = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
        distinct_lo, distinct_hi = map(np.ascontiguousarray, np.hsplit(distinct, 2))
        return index.nearest_each(distinct_lo, distinct_hi)[places.reshape(-1)]
