"""The part of the table in which duals are raised.

Where a few groups hold most of what a proof leaves open, the duals of all other records can stay as
they were proven. Fewer columns then take part in an ascent, and fewer roots are searched again.
"""

import numpy as np


class Focus:
    """The records whose duals are free; at first all of them.

    Parameters
    ----------
    n_records : int
        Number of records.

    Attributes
    ----------
    records : ndarray of shape (n_records,), bool
        Which records are in focus.
    """

    def __init__(self, n_records):
        self.records = np.ones(n_records, dtype=bool)

    def is_everywhere(self):
        """Whether all records are in focus."""
        return bool(self.records.all())

    def n_free(self):
        """Number of records in focus."""
        return np.count_nonzero(self.records)

    def widen(self):
        """Bring all records into focus."""
        self.records = np.ones_like(self.records)

    def narrow(self, cuts, n_new, pool, use, settings):
        """Bring the last cuts into focus, and records in columns that are used and touch them.

        Return whether they are few; otherwise the focus stays as it is.
        """
        near = np.zeros_like(self.records)
        near[cuts.sets.member[cuts.sets.start[-1 - n_new] :]] = True
        used = pool.incidence()[use > settings.min_use]
        near[used[touching(used, near)].indices] = True
        if n_new == 0 or near.mean() > settings.max_focus:
            return False
        self.records = near
        return True

    def free(self, cuts):
        """Which duals are free: those of records in focus, and of cuts that hold one of them."""
        return np.concatenate([self.records, touching(cuts.sets.incidence(), self.records)])

    def columns(self, pool, cuts):
        """Indices of the columns whose constraints depend on a free dual."""
        if self.is_everywhere():
            return np.arange(len(pool))
        members = cuts.sets.incidence()
        near = self.records.copy()
        near[members[touching(members, near)].indices] = True
        return np.flatnonzero(touching(pool.incidence(), near))

    def starts(self, near):
        """Records around which to look for columns, given those nearest to each record."""
        starts = self.records[near].any(axis=1)
        starts[near[self.records]] = True
        return np.flatnonzero(starts)


def touching(incidence, records):
    """Which of some sets hold one of the records for which a mask is True."""
    return incidence @ records.astype(np.float64) > 0
