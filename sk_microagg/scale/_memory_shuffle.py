"""Rows travel by Dask's own shuffle, if the workers can hold them all."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from sk_microagg.scale._bundles import route

# Origin and destination of a row.
PLACE = ["part", "row", "block"]


class MemoryShuffle:
    """Rows in transit, in the memory of the workers."""

    def route(self, parts, space, router):
        """Find the blocks of all rows; return rows per block, by partition."""
        self.parts, self.route_arguments = parts, (space, router, parts.format)
        return dask.compute(*parts.map(_count, *self.route_arguments))

    def work(self, work, bundles, edges):
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
            meta=_frame(np.empty((0, len(self.parts.columns))), 0, []),
            verify_meta=False,
        )
        return dask.compute(*(summary for _, summary in done))

    def released(self):
        """Tasks for the released rows of each part, in the order of the original rows."""
        take = dask.delayed(_in_order, pure=False)
        # Kept, since all work would be done again each time that the release is computed.
        return dask.persist(*map(take, _sent(self.back, "part", len(self.parts))))


def _sent(rows, address, n_addresses):
    """Tasks for the rows with each of the addresses 0, 1, ..."""
    divisions = [*range(n_addresses), n_addresses - 1]
    return rows.set_index(address, divisions=divisions, drop=False).to_delayed()


def _count(rows, part, space, router, row_format):
    return np.bincount(route(rows, space, router, row_format), minlength=router.n_blocks)


def _frame(rows, part, blocks):
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    return frame.assign(
        part=np.intp(part), row=np.arange(len(rows)), block=np.asarray(blocks, dtype=np.intp)
    )


def _addressed(rows, part, space, router, row_format, edges, starts):
    blocks = route(rows, space, router, row_format)
    blocks = np.searchsorted(edges, blocks, side="right") - 1
    bundle = np.searchsorted(starts, blocks, side="right") - 1
    return _frame(rows, part, blocks).assign(bundle=bundle)


def _work_in_memory(work, bundle, rows):
    # A shuffle leaves rows in any order.
    rows = rows.sort_values(["block", "part", "row"], ignore_index=True)
    place = rows[PLACE]
    starts = np.searchsorted(place["block"], np.arange(bundle.first + 1, bundle.end))
    records = np.ascontiguousarray(rows.drop(columns=[*PLACE, "bundle"]).to_numpy())
    releases, summary = work(bundle, np.split(records, starts))
    # Of one type, whatever that of the fitted table was: it holds floats of any size.
    released = np.concatenate(releases).astype(np.float64, copy=False)
    return _frame(released, 0, 0).assign(**{name: place[name] for name in PLACE}), summary


def _in_order(rows):
    return rows.sort_values("row").drop(columns=PLACE).to_numpy()
