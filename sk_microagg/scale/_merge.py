"""What was found in each part of a table becomes what holds for the whole table."""

import dask

MERGED_AT_A_TIME = 4


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
