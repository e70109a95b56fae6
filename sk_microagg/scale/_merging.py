"""Work on the parts of a Dask table, and results merged a few at a time."""

from collections.abc import Callable, Iterable
from typing import Any

import dask

MERGED_AT_A_TIME = 4


def wrapped(function: Any, arguments: Iterable[Any]) -> tuple[Any, tuple[Any, ...]]:
    """A function and arguments of many tasks, so that they are not sent along with each of them."""
    arguments = tuple(dask.delayed(argument, traverse=False) for argument in arguments)
    return dask.delayed(function, pure=False, traverse=False), arguments


def compute_merged(tasks: list[Any], merge: Callable[..., Any], *arguments: Any) -> Any:
    """Compute `merge(results, *arguments)` of tasks, a few at a time: no worker holds all of them.

    There is one task per part, at least one, and results are merged in their order.
    """
    merge, arguments = wrapped(merge, arguments)
    while len(tasks) > 1:
        tasks = [
            merge(tasks[start : start + MERGED_AT_A_TIME], *arguments)
            for start in range(0, len(tasks), MERGED_AT_A_TIME)
        ]
    return dask.compute(*tasks)[0]
