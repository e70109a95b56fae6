"""The seam to an engine: all that is done with a table in parts, wherever these are.

The steps of an aggregator use nothing else, but for writing a release into a folder, which Dask
does. `DaskTable` is one engine, and a second one needs a table like it, in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from sk_microagg._utils._typing import DataFrame, FilePath, Labels


class PartedTable(Protocol):
    """A table whose parts are in an order. A *task* is work that is yet to be done, by anybody.

    A task may run several times, so that results depend on the arguments only.
    """

    @property
    def meta(self) -> DataFrame:
        """No rows, with the columns of the table and their types."""

    def __len__(self) -> int:
        """Number of parts."""

    def map(self, names: Sequence[Any], function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """One task per part: `function(rows of some columns, number of the part, *arguments)`."""

    def each(
        self, items: Iterable[Any], function: Callable[..., Any], *arguments: Any
    ) -> list[Any]:
        """One task per item: `function(item, *arguments)`."""

    def compute(self, tasks: Iterable[Any]) -> Sequence[Any]:
        """Do all tasks, and return their results."""

    def merge(self, tasks: Sequence[Any], function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute `function(results, *arguments)`, a few results at a time, in their order.

        A result of the function may be one of those that it merges. A single one is not merged.
        """

    def shuffle(self, kind: str, folder: FilePath | None, n_rows: int, n_columns: int) -> Shuffle:
        """A way for so many rows to travel: `FolderShuffle`, or the engine's own."""

    def bytes_per_thread(self) -> float:
        """Memory of a worker that does one task at a time."""

    def replaced(
        self, function: Callable[..., Any], released: Sequence[Any], *arguments: Any
    ) -> Any:
        """A table for the user: `function(rows, released rows, *arguments)` of each part.

        There is a task for the released rows of each part. Of `meta` and None, the function makes
        the columns of the result.
        """

    def mapped(self, released: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        """A table for the user, `released`, of which each part becomes `function(rows, ...)`."""


class Shuffle(Protocol):
    """Rows on their way to their blocks, and back to their parts."""

    def route(self, parts: Any, space: Any, router: Any) -> Sequence[Labels]:
        """Send each row to its block; return the number of rows per block, part by part."""

    def work(
        self, work: Callable[..., Any], bundles: Sequence[Any], edges: Labels
    ) -> Sequence[Any]:
        """Do `work(bundle, rows of each block)` on all bundles of blocks; return the summaries.

        It returns released rows for those of each block, in their order by part, and a summary.
        Blocks have been merged: block b consists of the former `edges[b]` to `edges[b + 1]` - 1.
        """

    def released(self) -> list[Any]:
        """Tasks for the released rows of each part, in the order of its rows."""
