"""An estimate of the memory that tasks need, and an error before the work if workers lack it."""

from collections.abc import Iterable
from typing import Any

import dask
import numpy as np
from dask.system import CPU_COUNT

from sk_microagg._model._points import MAX_CELLS, MIN_RECORDS
from sk_microagg._model._power_cells import rows_of_strata
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.scale._bundles import BATCH_BYTES
from sk_microagg.scale._parquet import NUMBER_BYTES, OBJECT_BYTES
from sk_microagg.scale._parts import Parts, Sample

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


def largest_block(router: Any, routing: Floats, strata: Labels, sizes: Labels) -> int:
    """Estimate the number of rows of the largest block, given a sample and the sizes of strata."""
    blocks = np.bincount(router.route(routing, strata))
    largest, unseen = blocks.max() * sizes.sum() / len(strata), np.ones(len(sizes), dtype=bool)
    unseen[[stratum for stratum, _ in rows_of_strata(strata)]] = False
    return int(max(largest, sizes[unseen].max(initial=0)))


def check_memory(
    block_size: Any, n_rows_of_block: int, n_coordinates: int, sample: Sample, parts: Parts
) -> None:
    """Raise unless each thread of each worker has the memory for any part and any block."""
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


def bytes_of_workers() -> int:
    """Bytes that the workers of the current client may hold together; 0 without a client."""
    return sum(worker["memory_limit"] or 0 for worker in _workers())


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
