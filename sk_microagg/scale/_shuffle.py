"""How rows travel to their blocks and back: by files, or in the memory of the workers."""

from sk_microagg._utils._validation import check_option
from sk_microagg.scale._disk_shuffle import DiskShuffle
from sk_microagg.scale._memory import bytes_of_workers
from sk_microagg.scale._memory_shuffle import MemoryShuffle

# Dask's shuffle holds several copies of each row, on either way, and blocks need as much again.
COPIES_IN_MEMORY = 16

# Part, row, block and index of each row.
COLUMNS_ADDED = 4


def make_shuffle(shuffle, folder, n_rows, n_columns):
    """Make the shuffle that the user wants, or the one that suits the size of the table.

    Parameters
    ----------
    shuffle : {"auto", "disk", "memory"}
        The choice of the user.

    folder : path or None
        The folder for files.

    n_rows, n_columns : int
        Shape of the columns that are anonymized.

    Returns
    -------
    shuffle : DiskShuffle or MemoryShuffle
        The shuffle, for one table.
    """
    check_option("shuffle", shuffle, ("auto", "disk", "memory"))
    n_bytes = n_rows * (n_columns + COLUMNS_ADDED) * 8 * COPIES_IN_MEMORY
    if shuffle == "memory" or (shuffle == "auto" and n_bytes < bytes_of_workers()):
        return MemoryShuffle()
    return DiskShuffle(folder)
