"""How rows travel to their blocks and back: by files, or in the memory of the workers."""

from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from sk_microagg._utils._typing import DataFrame, FilePath, Floats, Labels
from sk_microagg._utils._validation import check_option
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.encoding._coordinates import Coordinates
from sk_microagg.scale._bundles import Bundle, route
from sk_microagg.scale._memory import bytes_of_workers
from sk_microagg.scale._parquet import load, save
from sk_microagg.scale._parts import Parts, RowFormat

# Dask's shuffle holds several copies of each row, on either way, and blocks need as much again.
COPIES_IN_MEMORY = 16

# Part, row, block and index of each row.
COLUMNS_ADDED = 4

# Origin and destination of a row.
PLACE = ["part", "row", "block"]


def make_shuffle(
    shuffle: str, folder: FilePath | None, n_rows: int, n_columns: int
) -> "DiskShuffle | MemoryShuffle":
    """Make the shuffle that the user wants, or the one that suits the size of the table."""
    check_option("shuffle", shuffle, ("auto", "disk", "memory"))
    n_bytes = n_rows * (n_columns + COLUMNS_ADDED) * 8 * COPIES_IN_MEMORY
    if shuffle == "memory" or (shuffle == "auto" and n_bytes < bytes_of_workers()):
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
                *parts.map(_write_part, space, router, parts.format, self.there, self.back)
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


def _write_part(
    rows: Floats,
    part: int,
    space: Coordinates,
    router: Any,
    row_format: RowFormat,
    there: Any,
    back: Any,
) -> Labels:
    blocks = route(rows, space, router, row_format)
    order = np.argsort(blocks, kind="stable")
    n_rows = np.bincount(blocks, minlength=router.n_blocks)
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
        """Do the work on all bundles; return their summaries.

        Blocks have been merged: block b consists of the former `edges[b]` to `edges[b + 1]` - 1.
        """
        no_rows = self.parts.format.no_rows()
        starts = np.array([bundle.first for bundle in bundles])
        rows = dd.from_delayed(
            self.parts.map(_addressed, *self.route_arguments, edges, starts),
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
            meta=_frame(np.empty((0, len(self.parts.format.columns))), 0, []),
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


def _count(
    rows: Floats, part: int, space: Coordinates, router: Any, row_format: RowFormat
) -> Labels:
    return np.bincount(route(rows, space, router, row_format), minlength=router.n_blocks)


def _frame(rows: Floats, part: int, blocks: Any) -> DataFrame:
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    return frame.assign(
        part=np.intp(part), row=np.arange(len(rows)), block=np.asarray(blocks, dtype=np.intp)
    )


def _addressed(
    rows: Floats,
    part: int,
    space: Coordinates,
    router: Any,
    row_format: RowFormat,
    edges: Labels,
    starts: Labels,
) -> DataFrame:
    blocks = route(rows, space, router, row_format)
    blocks = np.searchsorted(edges, blocks, side="right") - 1
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
