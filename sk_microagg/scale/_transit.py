"""How rows travel to their blocks and back, and whether the workers have the memory for them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sk_microagg._model._points import MAX_CELLS, MIN_RECORDS
from sk_microagg._model._power_cells import rows_of_strata
from sk_microagg._utils._typing import FilePath, Floats, Labels
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.scale._bundles import BATCH_BYTES, Bundle, route
from sk_microagg.scale._files import NUMBER_BYTES, OBJECT_BYTES, load, save
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
    available = parts.table.bytes_per_thread()
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
        sample.largest_part, parts.table.meta.dtypes, parts.format.width, n_coordinates
    )
    if needed > available:
        raise ValueError(
            f"X has a part of {sample.largest_part} rows, which needs about {_in_words(needed)}, "
            f"{has}. It must have smaller parts: partitions, or row groups of Parquet files; or "
            f"{help_}."
        )


def _in_words(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.2g} GiB"


class FolderShuffle:
    """Rows in transit, in files of a folder that every worker must reach."""

    def __init__(self, folder: FilePath | None) -> None:
        self.there = TemporaryFolder(folder, "rows-")
        self.back = TemporaryFolder(folder, "release-")

    def route(self, parts: Parts, space: Coordinates, router: Any) -> Sequence[Labels]:
        self.table = parts.table
        with self.there.removed_on_failure(), self.back.removed_on_failure():
            return self.table.compute(
                parts.map(_write_part, self.there, self.back, space, router, parts.format)
            )

    def work(self, work: Any, bundles: Sequence[Bundle], edges: Labels) -> Sequence[Any]:
        self.n_bundles = len(bundles)
        arguments = work, edges, len(self.table), self.there, self.back
        with self.there.removed_on_failure(), self.back.removed_on_failure():
            summaries = self.table.compute(self.table.each(bundles, _work_on_disk, *arguments))
        self.there.remove()
        return summaries

    def released(self) -> list[Any]:
        return self.table.each(range(len(self.table)), _read_part, self.n_bundles, self.back)


def _write_part(rows: Floats, part: int, there: Any, back: Any, *routing: Any) -> Labels:
    blocks = route(rows, *routing)
    order = np.argsort(blocks, kind="stable")
    n_rows = np.bincount(blocks, minlength=routing[1].n_blocks)
    save(there / f"rows-{part}.npy", rows[order])
    save(there / f"starts-{part}.npy", np.concatenate([[0], np.cumsum(n_rows)]))
    save(back / f"order-{part}.npy", order)
    return n_rows


def _work_on_disk(
    bundle: Bundle, work: Any, edges: Labels, n_parts: int, there: Any, back: Any
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
