"""Rows travel by files, so that little memory is enough for the workers.

Each part of the table is written once, sorted by block, so that the rows of neighboring blocks are
a slice of it. A bundle of blocks reads its slice of every part, and writes the released rows in the
same order. So the released rows of a part are one slice of the file of each bundle.
"""

import dask
import numpy as np

from sk_microagg._utils._files import TemporaryFolder
from sk_microagg.scale._bundles import route
from sk_microagg.scale._files import load, save


class DiskShuffle:
    """Rows in transit, in files.

    Parameters
    ----------
    folder : path or None
        The folder of the files, which every worker must reach; None for that of temporary files.
    """

    def __init__(self, folder):
        self.there = TemporaryFolder(folder, "rows-")
        self.back = TemporaryFolder(folder, "release-")

    def route(self, parts, space, router):
        """Write all rows, sorted by block; return rows per block, by partition."""
        self.n_parts = len(parts)
        with self.there.removed_on_failure(), self.back.removed_on_failure():
            return dask.compute(
                *parts.map(_write_part, space, router, parts.format, self.there, self.back)
            )

    def work(self, work, bundles, edges):
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

    def released(self):
        """Tasks for the released rows of each part, in the order of the original rows."""
        read = dask.delayed(_read_part, pure=False)
        return [read(part, self.n_bundles, self.back) for part in range(self.n_parts)]


def _write_part(rows, part, space, router, row_format, there, back):
    blocks = route(rows, space, router, row_format)
    order = np.argsort(blocks, kind="stable")
    n_rows = np.bincount(blocks, minlength=router.n_blocks)
    save(there / f"rows-{part}.npy", rows[order])
    save(there / f"starts-{part}.npy", np.concatenate([[0], np.cumsum(n_rows)]))
    save(back / f"order-{part}.npy", order)
    return n_rows


def _work_on_disk(work, bundle, edges, n_parts, there, back):
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


def _by_part(releases, n_rows):
    """Sort rows of several blocks, each in the order of the parts, by part and then by block."""
    split = [
        np.split(release, np.cumsum(n_rows[:-1, block])) for block, release in enumerate(releases)
    ]
    return np.concatenate([rows for one_part in zip(*split, strict=True) for rows in one_part])


def _read_part(part, n_bundles, back):
    slices = []
    for number in range(n_bundles):
        start, stop = load(back / f"bundle-{number}-starts.npy", part, part + 2)
        slices.append(load(back / f"bundle-{number}.npy", start, stop))
    rows = np.concatenate(slices)
    released = np.empty_like(rows)
    released[load(back / f"order-{part}.npy")] = rows
    return released
