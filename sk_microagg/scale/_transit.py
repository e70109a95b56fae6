"""How rows travel to their blocks and back, and whether the workers have the memory for them."""

from collections.abc import Iterable
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.system import CPU_COUNT

from sk_microagg._model._points import MAX_CELLS, MIN_RECORDS
from sk_microagg._model._power_cells import rows_of_strata
from sk_microagg._utils._typing import DataFrame, FilePath, Floats, Labels
from sk_microagg._utils._validation import check_option
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.scale._bundles import BATCH_BYTES, Bundle, route
from sk_microagg.scale._parquet import NUMBER_BYTES, OBJECT_BYTES, load, save
from sk_microagg.scale._parts import Parts, Sample
from sk_microagg.tables._coordinates import Coordinates

# A worker that has just started; Dask ends workers that need more than this share of their memory.
PROCESS_BYTES = 180_000_000
USABLE_SHARE = 0.95

# To group the rows of a block: copies of each coordinate, lists of neighbors of each row.
COPIES_OF_COORDINATES = 7
BYTES_PER_ROW = 1000

# Smallest number of groups of a block, but for the last ones, if it is limited by its memory.
MIN_GROUPS_PER_BLOCK = 100

# Dask's shuffle holds several copies of each row, on either way, and blocks need as much again.
COPIES_IN_MEMORY = 16

# Part, row, block and index of each row.
COLUMNS_ADDED = 4

# Origin and destination of a row.
PLACE = ["part", "row", "block"]


def limit_block_size(block_size: float, n_coordinates: int, k: int) -> float:
    """The largest number of rows of a block whose size the user leaves open."""
    least = max(2 * MIN_RECORDS, MIN_GROUPS_PER_BLOCK * k)
    return min(block_size, max(MAX_CELLS // n_coordinates, least))


def bytes_of_block(n_rows: int, n_coordinates: int) -> int:
    """Estimate the memory that it takes to group the rows of a block."""
    return int(n_rows * (COPIES_OF_COORDINATES * 8 * n_coordinates + BYTES_PER_ROW))


def bytes_of_part(n_rows: int, dtypes: Iterable[Any], width: int, n_coordinates: int) -> int:
    """Estimate the memory that it takes to send the rows of a part to their blocks."""
    are_objects = [not (isinstance(kind, np.dtype) and kind.kind in "biufmM") for kind in dtypes]
    row_bytes = sum(OBJECT_BYTES if one else NUMBER_BYTES for one in are_objects)
    # A batch of points, with what comes of them, beside rows as they travel and sorted by block.
    batch = min(BATCH_BYTES, n_rows * 8 * n_coordinates)
    return int(n_rows * (row_bytes + 2 * 8 * width) + 3 * batch)


def largest_block(router: Any, routing: Any, strata: Labels, sizes: Labels) -> int:
    """Estimate the number of rows of the largest block, given a sample and the sizes of strata."""
    blocks = np.bincount(router.route(routing, strata))
    largest, unseen = blocks.max() * sizes.sum() / len(strata), np.ones(len(sizes), dtype=bool)
    unseen[[stratum for stratum, _ in rows_of_strata(strata)]] = False
    return int(max(largest, sizes[unseen].max(initial=0)))


def check_memory(
    block_size: Any, n_rows_of_block: int, n_coordinates: int, sample: Sample, parts: Parts
) -> None:
    available = bytes_per_thread()
    # Beyond this, records of a block have fewer of them.
    n_coordinates = min(n_coordinates, len(parts.format.columns) * MIN_RECORDS)
    has = f"but a worker has {_in_words(available)} for each of its threads"
    help_ = "give workers more memory, or fewer threads"
    needed = bytes_of_block(n_rows_of_block, n_coordinates)
    if needed > available:
        most = int(available / bytes_of_block(1, n_coordinates))
        raise ValueError(
            f"block_size={block_size!r}: a block of about {n_rows_of_block} rows with "
            f"{n_coordinates} coordinates needs about {_in_words(needed)}, {has}. It must be at "
            f"most {most}; or {help_}."
        )
    needed = bytes_of_part(
        sample.largest_part, parts.frame.dtypes, parts.format.width, n_coordinates
    )
    if needed > available:
        raise ValueError(
            f"X has a part of {sample.largest_part} rows, which needs about {_in_words(needed)}, "
            f"{has}. It must have smaller parts: partitions, or row groups of Parquet files; or "
            f"{help_}."
        )


def bytes_per_thread() -> float:
    """Memory of a thread of any worker, or of this process if there is no client."""
    shares = [
        (USABLE_SHARE * (worker["memory_limit"] or np.inf) - PROCESS_BYTES) / worker["nthreads"]
        for worker in _workers() or [_this_process()]
    ]
    return max(min(shares), 0.0)


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


def _in_words(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.2g} GiB"


def make_shuffle(
    shuffle: str, folder: FilePath | None, n_rows: int, n_columns: int
) -> "DiskShuffle | MemoryShuffle":
    """Make the shuffle that the user wants, or the one that suits the size of the table."""
    check_option("shuffle", shuffle, ("auto", "disk", "memory"))
    n_bytes = n_rows * (n_columns + COLUMNS_ADDED) * 8 * COPIES_IN_MEMORY
    in_memory = sum(worker["memory_limit"] or 0 for worker in _workers())  # 0 without a client
    if shuffle == "memory" or (shuffle == "auto" and n_bytes < in_memory):
        return MemoryShuffle()
    return DiskShuffle(folder)


class DiskShuffle:
    """Rows in transit, in files of a folder that every worker must reach."""

    def __init__(self, folder: FilePath | None) -> None:
        self.there = TemporaryFolder(folder, "rows-")
        self.back = TemporaryFolder(folder, "release-")

    def route(self, parts: Parts, space: Coordinates, router: Any) -> tuple[Labels, ...]:
        """Write all rows, sorted by block; return rows per block, by partition."""
        self.n_parts = len(parts)
        with self.there.removed_on_failure(), self.back.removed_on_failure():
            return dask.compute(
                *parts.map(_write_part, self.there, self.back, space, router, parts.format)
            )

    def work(self, work: Any, bundles: list[Bundle], edges: Labels) -> Any:
        """Do the work on all bundles; return their summaries.

        Blocks have been merged: block b consists of the former `edges[b]` to `edges[b + 1]` - 1.
        """
        self.n_bundles = len(bundles)
        do = dask.delayed(_work_on_disk, pure=False)
        work, edges = dask.delayed(work, traverse=False), dask.delayed(edges)
        with self.there.removed_on_failure(), self.back.removed_on_failure():
            summaries = dask.compute(
                *(
                    do(work, bundle, edges, self.n_parts, self.there, self.back)
                    for bundle in bundles
                )
            )
        self.there.remove()
        return summaries

    def released(self) -> list[Any]:
        """Tasks for the released rows of each part, in the order of the original rows."""
        read = dask.delayed(_read_part, pure=False)
        return [read(part, self.n_bundles, self.back) for part in range(self.n_parts)]


def _write_part(rows: Floats, part: int, there: Any, back: Any, *routing: Any) -> Labels:
    blocks = route(rows, *routing)
    order = np.argsort(blocks, kind="stable")
    n_rows = np.bincount(blocks, minlength=routing[1].n_blocks)
    save(there / f"rows-{part}.npy", rows[order])
    save(there / f"starts-{part}.npy", np.concatenate([[0], np.cumsum(n_rows)]))
    save(back / f"order-{part}.npy", order)
    return n_rows


def _work_on_disk(
    work: Any, bundle: Bundle, edges: Labels, n_parts: int, there: Any, back: Any
) -> Any:
    edges = edges[bundle.first : bundle.end + 1]
    slices, lengths = [], []
    for part in range(n_parts):
        starts = load(there / f"starts-{part}.npy", edges[0], edges[-1] + 1)[edges - edges[0]]
        rows = load(there / f"rows-{part}.npy", starts[0], starts[-1])
        slices.append(np.split(rows, starts[1:-1] - starts[0]))
        lengths.append(len(rows))
    releases, summary = work(bundle, [np.concatenate(rows) for rows in zip(*slices, strict=True)])
    n_rows = np.array([[len(rows) for rows in one] for one in slices])
    save(back / f"bundle-{bundle.number}.npy", _by_part(releases, n_rows))
    save(back / f"bundle-{bundle.number}-starts.npy", np.concatenate([[0], np.cumsum(lengths)]))
    return summary


def _by_part(releases: list[Floats], n_rows: Labels) -> Floats:
    """Sort rows of several blocks, each in the order of the parts, by part and then by block."""
    split = [
        np.split(release, np.cumsum(n_rows[:-1, block])) for block, release in enumerate(releases)
    ]
    return np.concatenate([rows for one_part in zip(*split, strict=True) for rows in one_part])


def _read_part(part: int, n_bundles: int, back: Any) -> Floats:
    slices = []
    for number in range(n_bundles):
        start, stop = load(back / f"bundle-{number}-starts.npy", part, part + 2)
        slices.append(load(back / f"bundle-{number}.npy", start, stop))
    rows = np.concatenate(slices)
    released = np.empty_like(rows)
    released[load(back / f"order-{part}.npy")] = rows
    return released


class MemoryShuffle:
    """Rows in transit, in the memory of the workers."""

    def route(self, parts: Parts, space: Coordinates, router: Any) -> tuple[Labels, ...]:
        """Find the blocks of all rows; return rows per block, by partition."""
        self.parts, self.route_arguments = parts, (space, router, parts.format)
        return dask.compute(*parts.map(_count, *self.route_arguments))

    def work(self, work: Any, bundles: list[Bundle], edges: Labels) -> Any:
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
        """Tasks for the released rows of each part, in the order of the original rows."""
        take = dask.delayed(_in_order, pure=False)
        # Kept, since all work would be done again each time that the release is computed.
        return dask.persist(*map(take, _sent(self.back, "part", len(self.parts))))


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
