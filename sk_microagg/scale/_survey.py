"""A sample and the moments of a table that is too large for one machine."""

from dataclasses import dataclass
from functools import reduce

import dask
import numpy as np
from scipy.sparse import issparse

MERGED_AT_A_TIME = 4


@dataclass(frozen=True)
class Sample:
    """A uniform sample of the rows of a table, or all rows if there are few."""

    n_rows: int
    largest_part: int
    keys: np.ndarray
    place: np.ndarray
    rows: np.ndarray

    @classmethod
    def of_part(cls, records, part, seed, size):
        """Sample one part of the table. Seed and number of the part determine the result."""
        keys = np.random.default_rng([seed, part]).random(len(records))
        place = np.column_stack([np.full(len(records), part), np.arange(len(records))])
        return cls(len(records), len(records), keys, place, records)._lowest(size)

    @classmethod
    def merged(cls, samples, size):
        """Merge the samples of several parts."""
        together = cls(
            sum(sample.n_rows for sample in samples),
            max(sample.largest_part for sample in samples),
            *(
                np.concatenate([getattr(sample, name) for sample in samples])
                for name in ("keys", "place", "rows")
            ),
        )
        return together._lowest(size)

    def _lowest(self, size):
        if len(self.keys) <= size:
            return self
        chosen = np.sort(np.argpartition(self.keys, size)[:size])
        taken = (array[chosen] for array in (self.keys, self.place, self.rows))
        return Sample(self.n_rows, self.largest_part, *taken)


@dataclass(frozen=True)
class Moments:
    """Number of rows, their mean and the sum of squared distances to it."""

    n_rows: int
    mean: np.ndarray
    sum_of_squares: float

    @classmethod
    def from_records(cls, X):
        """Moments of an array of rows, dense or sparse."""
        if not X.shape[0]:
            return cls(0, np.zeros(X.shape[1]), 0.0)
        mean = X.mean(axis=0)
        if issparse(X):
            return cls(X.shape[0], mean, float(X.power(2).sum() - X.shape[0] * (mean @ mean)))
        return cls(len(X), mean, float(((X - mean) ** 2).sum()))

    @classmethod
    def merged(cls, parts):
        """Merge the moments of several parts (Chan, Golub and LeVeque, 1979)."""
        return reduce(cls._merge, parts)

    def _merge(self, other):
        n_rows = self.n_rows + other.n_rows
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows else other
        apart = other.mean - self.mean
        return Moments(
            n_rows,
            self.mean + apart * (other.n_rows / n_rows),
            self.sum_of_squares
            + other.sum_of_squares
            + float(apart @ apart) * self.n_rows * other.n_rows / n_rows,
        )


def compute_merged(tasks, merge, *arguments):
    """Compute tasks and merge their results, a few at a time, so that no worker holds all of them.

    Parameters
    ----------
    tasks : list of Delayed
        One per part, at least one.

    merge : callable
        `merge(results, *arguments)` merges a list of results, in the order of the tasks.

    *arguments : object
        Further arguments of `merge`.

    Returns
    -------
    merged : object
        The result of all tasks together.
    """
    merge = dask.delayed(merge, pure=False)
    arguments = [dask.delayed(argument, traverse=False) for argument in arguments]
    while len(tasks) > 1:
        tasks = [
            merge(tasks[start : start + MERGED_AT_A_TIME], *arguments)
            for start in range(0, len(tasks), MERGED_AT_A_TIME)
        ]
    return dask.compute(*tasks)[0]
