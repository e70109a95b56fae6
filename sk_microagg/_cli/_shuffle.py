"""Rows in random order: that of a table tells who is in which row to those who know the table."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sk_microagg._utils._files import TemporaryFolder, written_whole


def shuffled(cells):
    """A table with its rows in random order.

    The operating system draws it: no seed, and no number that is drawn before or after, tells it.

    Parameters
    ----------
    cells : pyarrow.Table
        The table.

    Returns
    -------
    cells : pyarrow.Table
        The table in another order.
    """
    order = np.argsort(_random_numbers(len(cells)))
    columns = [_taken(column, order) for column in cells.unify_dictionaries().columns]
    return pa.Table.from_arrays(columns, names=cells.column_names)


def _taken(column, order):
    kind = column.type
    if not pa.types.is_dictionary(kind) or kind.ordered:
        return column.take(order)
    # A dictionary may be in the order in which its values came first.
    return column.cast(kind.value_type).take(order).dictionary_encode().cast(kind)


def _random_numbers(n_numbers):
    return np.frombuffer(os.urandom(8 * n_numbers), dtype=np.uint64)


def write_shuffled(frame, folder):
    """Write the rows of a Dask DataFrame into a folder in random order, as Parquet.

    Each row goes to a random part, and each part is shuffled then: all orders of all rows are
    equally likely. On their way, rows are in a temporary folder, in one file for each old part,
    sorted by the new one. No more than a part is in memory for each thread.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The rows.

    folder : path
        A folder that is there.

    Returns
    -------
    written : dask.dataframe.DataFrame
        The rows as they are there.
    """
    import dask

    from sk_microagg.scale._release import path_of_part, read

    n_parts = frame.npartitions
    scatter, gather = dask.delayed(_scatter, pure=False), dask.delayed(_gather, pure=False)
    with TemporaryFolder(None, "shuffle-").removed_on_failure() as there:
        files = [there / f"{number}.arrow" for number in range(n_parts)]
        parts = zip(frame.to_delayed(), files, strict=True)
        starts = dask.compute(*(scatter(part, file, n_parts) for part, file in parts))
        pieces = dask.delayed(list(zip(files, starts, strict=True)), traverse=False)
        dask.compute(*(gather(pieces, part, path_of_part(folder, part)) for part in range(n_parts)))
        there.remove()
    return read(folder)


def _scatter(part, file, n_parts):
    """Write the rows of a part, sorted by random new parts; return where each of these begins."""
    cells = pa.Table.from_pandas(part, preserve_index=False)
    new_parts = _random_numbers(len(cells)) % np.uint64(n_parts)
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
    # A column may have no known value in some pieces, and hence no type there.
    cells = pa.concat_tables(slices, promote_options="permissive")
    if len(cells):
        with written_whole(path) as draft:
            pq.write_table(shuffled(cells), draft)
