"""A table on Dask: the engine of `DaskTableAggregator`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.system import CPU_COUNT

from sk_microagg._utils._typing import DataFrame, FilePath, Floats, Labels
from sk_microagg._utils._validation import check_names_differ
from sk_microagg.scale._bundles import Bundle, route
from sk_microagg.scale._engine import Shuffle
from sk_microagg.scale._parquet import read_parquet
from sk_microagg.scale._transit import PROCESS_BYTES, USABLE_SHARE, FolderShuffle
from sk_microagg.tables._coordinates import Coordinates

# Dask's shuffle holds several copies of each row, on either way, and blocks need as much again.
COPIES_IN_MEMORY = 16

# Part, row, block and index of each row.
COLUMNS_ADDED = 4

MERGED_AT_A_TIME = 4

# Origin and destination of a row.
PLACE = ["part", "row", "block"]


def is_path(X: Any) -> bool:
    return isinstance(X, str | PathLike)


@dataclass(frozen=True)
class DaskTable:
    """A Dask DataFrame, whose partitions are the parts."""

    frame: Any

    @classmethod
    def of(cls, X: Any) -> "DaskTable":
        """The table that the user gave, or that is in a Parquet folder."""
        if is_path(X):
            X = read_parquet(X)
        if not isinstance(X, dd.DataFrame):
            raise TypeError(
                f"X of type {type(X).__name__} must be a dask DataFrame or the path of a Parquet "
                "folder; TableAggregator takes what fits into memory."
            )
        check_names_differ(X.columns)
        return cls(X.optimize())  # Once, as it may join parts: all steps must see the same ones.

    @property
    def meta(self) -> DataFrame:
        return self.frame._meta

    def __len__(self) -> int:
        return self.frame.npartitions

    def map(self, names: Sequence[Any], function: Callable[..., Any], *arguments: Any) -> list[Any]:
        function, arguments = _sent_once(function, arguments)
        parts = enumerate(self.frame[[*names]].to_delayed())
        return [function(part, number, *arguments) for number, part in parts]

    def each(
        self, items: Iterable[Any], function: Callable[..., Any], *arguments: Any
    ) -> list[Any]:
        function, arguments = _sent_once(function, arguments)
        return [function(item, *arguments) for item in items]

    def compute(self, tasks: Iterable[Any]) -> Sequence[Any]:
        return dask.compute(*tasks)

    def merge(self, tasks: Sequence[Any], function: Callable[..., Any], *arguments: Any) -> Any:
        function, arguments = _sent_once(function, arguments)
        while len(tasks) > 1:  # No worker holds all results.
            starts = range(0, len(tasks), MERGED_AT_A_TIME)
            few = (list(tasks[start : start + MERGED_AT_A_TIME]) for start in starts)
            tasks = [function(results, *arguments) for results in few]
        return dask.compute(*tasks)[0]

    def shuffle(self, kind: str, folder: FilePath | None, n_rows: int, n_columns: int) -> Shuffle:
        """The shuffle that the user wants, or the one that suits the size of the table."""
        n_bytes = n_rows * (n_columns + COLUMNS_ADDED) * 8 * COPIES_IN_MEMORY
        in_memory = sum(worker["memory_limit"] or 0 for worker in _workers())  # 0 without a client
        if kind == "memory" or (kind == "auto" and n_bytes < in_memory):
            return MemoryShuffle()
        return FolderShuffle(folder)

    def bytes_per_thread(self) -> float:
        """Memory of a thread of any worker, or of this process if there is no client."""
        shares = [
            (USABLE_SHARE * (worker["memory_limit"] or np.inf) - PROCESS_BYTES) / worker["nthreads"]
            for worker in _workers() or [_this_process()]
        ]
        return max(min(shares), 0.0)

    def replaced(
        self, function: Callable[..., Any], released: Sequence[Any], *arguments: Any
    ) -> Any:
        meta = function(self.meta, None, *arguments)
        function, arguments = _sent_once(function, arguments)
        pairs = zip(self.frame.to_delayed(), released, strict=True)
        parts = [function(part, rows, *arguments) for part, rows in pairs]
        # Otherwise, Dask would turn lists and other objects into text.
        with dask.config.set({"dataframe.convert-string": False}):
            return dd.from_delayed(
                parts, meta=meta, divisions=self.frame.divisions, verify_meta=False
            )

    def mapped(self, released: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        meta = function(released._meta, *arguments)
        return released.map_partitions(function, *arguments, meta=meta)

    def has_index(self) -> bool:
        """Whether the index carries information, and does not just count the rows of each part."""
        if self.frame.known_divisions or not isinstance(self.meta.index, pd.RangeIndex):
            return True
        is_counter = dask.delayed(_is_counter, pure=False)
        return not all(dask.compute(*map(is_counter, self.frame.index.to_delayed())))


def _sent_once(function: Any, arguments: Iterable[Any]) -> tuple[Any, tuple[Any, ...]]:
    """A function and arguments of many tasks, so that they are not sent along with each of them."""
    arguments = tuple(dask.delayed(argument, traverse=False) for argument in arguments)
    return dask.delayed(function, pure=False, traverse=False), arguments


def _is_counter(index: Any) -> bool:
    return index.name is None and index.equals(pd.RangeIndex(len(index)))


def _workers() -> list[dict[str, Any]]:
    """What the scheduler knows of each worker; nothing without a client."""
    try:
        from distributed import get_client

        return list(get_client().scheduler_info(n_workers=-1)["workers"].values())
    except (ImportError, ValueError):
        return []


def _this_process() -> dict[str, Any]:
    try:
        from distributed.system import MEMORY_LIMIT
    except ImportError:
        MEMORY_LIMIT = None  # type: ignore[assignment]
    is_single = dask.config.get("scheduler", None) in ("sync", "synchronous", "single-threaded")
    n_threads = 1 if is_single else dask.config.get("num_workers", None) or CPU_COUNT
    return {"memory_limit": MEMORY_LIMIT, "nthreads": n_threads}


class MemoryShuffle:
    """Rows in transit, in the memory of the workers."""

    def route(self, parts: Any, space: Coordinates, router: Any) -> Sequence[Labels]:
        self.parts, self.route_arguments = parts, (space, router, parts.format)
        return dask.compute(*parts.map(_count, *self.route_arguments))

    def work(self, work: Any, bundles: Sequence[Bundle], edges: Labels) -> Sequence[Any]:
        no_rows = self.parts.format.no_rows()
        starts = np.array([bundle.first for bundle in bundles])
        rows = dd.from_delayed(
            self.parts.map(_addressed, edges, starts, *self.route_arguments),
            meta=_frame(no_rows, 0, []).assign(bundle=np.empty(0, dtype=np.intp)),
            verify_meta=False,
        )
        do = dask.delayed(_work_in_memory, pure=False, nout=2)
        work = dask.delayed(work, traverse=False)
        done = [
            do(work, bundle, there)
            for bundle, there in zip(bundles, _sent(rows, "bundle", len(bundles)), strict=True)
        ]
        done = dask.persist(*done)
        self.back = dd.from_delayed(
            [rows for rows, _ in done],
            meta=_frame(np.empty((0, self.parts.coding.n_released)), 0, []),
            verify_meta=False,
        )
        return dask.compute(*(summary for _, summary in done))

    def released(self) -> list[Any]:
        take = dask.delayed(_in_order, pure=False)
        # Kept, since all work would be done again each time that the release is computed.
        return dask.persist(*map(take, _sent(self.back, "part", len(self.parts.table))))


def _sent(rows: Any, address: str, n_addresses: int) -> list[Any]:
    """Tasks for the rows with each of the addresses 0, 1, ..."""
    divisions = [*range(n_addresses), n_addresses - 1]
    return rows.set_index(address, divisions=divisions, drop=False).to_delayed()


def _count(rows: Floats, part: int, *routing: Any) -> Labels:
    return np.bincount(route(rows, *routing), minlength=routing[1].n_blocks)


def _frame(rows: Floats, part: int, blocks: Any) -> DataFrame:
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    return frame.assign(
        part=np.intp(part), row=np.arange(len(rows)), block=np.asarray(blocks, dtype=np.intp)
    )


def _addressed(rows: Floats, part: int, edges: Labels, starts: Labels, *routing: Any) -> DataFrame:
    blocks = np.searchsorted(edges, route(rows, *routing), side="right") - 1
    bundle = np.searchsorted(starts, blocks, side="right") - 1
    return _frame(rows, part, blocks).assign(bundle=bundle)


def _work_in_memory(work: Any, bundle: Bundle, rows: DataFrame) -> tuple[DataFrame, Any]:
    # A shuffle leaves rows in any order.
    rows = rows.sort_values(["block", "part", "row"], ignore_index=True)
    place = rows[PLACE]
    starts = np.searchsorted(place["block"], np.arange(bundle.first + 1, bundle.end))
    records = np.ascontiguousarray(rows.drop(columns=[*PLACE, "bundle"]).to_numpy())
    releases, summary = work(bundle, np.split(records, starts))
    return _frame(np.concatenate(releases), 0, 0).assign(
        **{name: place[name] for name in PLACE}
    ), summary


def _in_order(rows: DataFrame) -> Floats:
    return rows.sort_values("row").drop(columns=PLACE).to_numpy()
