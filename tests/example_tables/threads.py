"""A second engine, of threads of this process: the parts of a table are DataFrames in a list."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from sk_microagg.scale import DaskTableAggregator
from sk_microagg.scale._transit import FolderShuffle


@dataclass(frozen=True)
class ThreadTable:
    """A table in parts; a task is a function without arguments."""

    parts: list

    @classmethod
    def of(cls, table, n_parts):
        edges = np.linspace(0, len(table), n_parts + 1).astype(int)
        return cls([table[i:j] for i, j in pairwise(edges)])

    @property
    def meta(self):
        return self.parts[0][:0]

    def __len__(self):
        return len(self.parts)

    def map(self, names, function, *arguments):
        parts = enumerate(part[[*names]] for part in self.parts)
        return [partial(function, part, number, *arguments) for number, part in parts]

    def each(self, items, function, *arguments):
        return [partial(function, item, *arguments) for item in items]

    def compute(self, tasks):
        with ThreadPoolExecutor(2) as pool:
            return [*pool.map(lambda task: task(), tasks)]

    def merge(self, tasks, function, *arguments):
        first, *others = self.compute(tasks)
        for other in others:
            first = function([first, other], *arguments)
        return first

    def shuffle(self, kind, folder, n_rows, n_columns):
        return FolderShuffle(folder)

    def bytes_per_thread(self):
        return np.inf

    def replaced(self, function, released, *arguments):
        released = self.compute(released)
        pairs = zip(self.parts, released, strict=True)
        return pd.concat([function(part, rows, *arguments) for part, rows in pairs])

    def mapped(self, released, function, *arguments):
        return function(released, *arguments)


class ThreadTableAggregator(DaskTableAggregator):
    """DaskTableAggregator for a ThreadTable, whose release is one DataFrame."""

    def _table(self, X):
        return X
