"""Releases of the command line on Dask: without an index, and shuffled if wanted."""

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sk_microagg._cli._in_memory import check_level
from sk_microagg._cli._shuffle import random_numbers, shuffled
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.metrics import anonymity_level, unchanged_uniqueness
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.scale._release import Release, path_of_part, read, write, written_by_worker


class CommandRelease(Release):
    """What the command line does with released rows.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the user.

    choice : Choice
        The columns.

    Attributes
    ----------
    level : int
        The level of anonymity, once the release was checked.

    homogeneous : ndarray of shape (n_unchanged, 2)
        For each unchanged column, the share of the records in groups that share one value, and in
        those with a single known value.

    unchanged : UnchangedUniqueness or None
        How far unchanged columns single people out; None if there are none, or with units.

    n_missing : dict
        By the name of each anonymized column, the number of released cells that are missing.
    """

    def __init__(self, options, choice):
        super().__init__(options.output, readers_of=options.input)
        self.is_shuffled = options.shuffle
        self.choice = choice

    def write(self, frame, folder, parts):
        """Write the rows; what was an index is a column by now."""
        if self.is_shuffled:
            return write_shuffled(frame, folder)
        return write(frame, folder, keep_index=False)

    def check(self, written, classes, k):
        """Raise unless the rows are k-anonymous as they were written; count homogeneous groups."""
        self.level = anonymity_level(classes)
        check_level(self.level, k)
        self.homogeneous = []
        if self.choice.unchanged:
            self.homogeneous = homogeneity_of_both(classes, written[self.choice.unchanged])
        self.unchanged = None
        # Who a row belongs to is not in the release.
        if self.choice.exposed and self.choice.unit is None:
            self.unchanged = unchanged_uniqueness(classes, written[self.choice.exposed])
        self.n_missing = written[self.choice.anonymized].isna().sum().compute().to_dict()
        return self.level


def write_shuffled(frame, folder):
    """Write the rows of a Dask DataFrame into a folder in random order, as Parquet.

    Each row goes to a random part, and then each part is shuffled: all orders of all rows are
    equally likely. In transit, rows are in a temporary folder, in one file per old part, sorted by
    the new one. Each thread holds no more than one part in memory.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The rows.

    folder : path
        A folder that exists.

    Returns
    -------
    written : dask.dataframe.DataFrame
        The rows as they were written.
    """
    n_parts = frame.npartitions
    scatter, gather = dask.delayed(_scatter, pure=False), dask.delayed(_gather, pure=False)
    with TemporaryFolder(None, "shuffle-").removed_on_failure() as transit:
        files = [transit / f"{number}.arrow" for number in range(n_parts)]
        parts = zip(frame.to_delayed(), files, strict=True)
        starts = dask.compute(*(scatter(part, file, n_parts) for part, file in parts))
        pieces = dask.delayed(list(zip(files, starts, strict=True)), traverse=False)
        dask.compute(*(gather(pieces, part, path_of_part(folder, part)) for part in range(n_parts)))
        transit.remove()
    return read(folder)


def _scatter(part, file, n_parts):
    """Write the rows of a part, sorted by random new parts; return the start of each of these."""
    cells = pa.Table.from_pandas(part, preserve_index=False)
    new_parts = random_numbers(len(cells)) % np.uint64(n_parts)
    order = np.argsort(new_parts)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, cells.schema) as writer:
        writer.write_table(cells.take(order))
    return np.searchsorted(new_parts[order], np.arange(n_parts + 1))


def _gather(pieces, part, path):
    slices = []
    for file, starts in pieces:
        with pa.memory_map(str(file)) as source:
            rows = pa.ipc.open_file(source).read_all()
        slices.append(rows.slice(starts[part], starts[part + 1] - starts[part]))
    # A column that is missing throughout a piece has no type there.
    cells = pa.concat_tables(slices, promote_options="permissive")
    if len(cells):
        with written_by_worker(path) as draft:
            pq.write_table(shuffled(cells), draft)
