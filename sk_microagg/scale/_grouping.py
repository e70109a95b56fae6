"""Rows go to their blocks and are grouped there."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._utils._files import TemporaryFolder
from sk_microagg.scale._bundles import Aggregate, Summary, make_bundles

CHANGED = "X changed on the way. It must give the same rows each time that it is computed."


@dataclass(frozen=True)
class Grouped:
    """What came of it."""

    shuffle: object
    router: object
    sizes: np.ndarray
    bundles: list
    model: object
    summary: Summary


@dataclass(frozen=True)
class Grouping:
    """Microaggregate all blocks."""

    parts: object
    space: object
    rounding: np.ndarray
    method: object
    seed: int
    n_rows: int
    folder: object

    def run(self, router, make_shuffle, say):
        """Group the rows, in fewer blocks if some of these cannot satisfy the constraints alone.

        The sample suggests blocks that can, so that one attempt is usually enough.

        Parameters
        ----------
        router : StratifiedRouter
            The blocks.

        make_shuffle : callable
            Makes a shuffle, given the number of rows and the parts.

        say : callable
            Receives a line on the progress.

        Returns
        -------
        grouped : Grouped
            The result.
        """
        while True:
            grouped = self._attempt(router, make_shuffle(self.n_rows, self.parts), say)
            unsuited = grouped.summary.unsuited
            if not unsuited:
                check_rows(self.n_rows, grouped.summary.n_rows)
                return grouped
            grouped.model.remove()
            say(f"{len(unsuited)} blocks are merged with others, to satisfy the constraints")
            sizes = grouped.sizes.copy()
            sizes[unsuited] = 0
            router, _ = grouped.router.without_small_blocks(sizes, 2 * self.method.k)
            if router.n_blocks == grouped.router.n_blocks:
                # Nothing is left to merge, but each stratum as a whole satisfied the constraints.
                raise RuntimeError(f"Values of X are not what they were: {CHANGED}")

    def _attempt(self, router, shuffle, say):
        parts, k = self.parts, self.method.k
        sizes = np.sum(shuffle.route(parts, self.space, router), axis=0)
        check_rows(self.n_rows, sizes.sum())
        router, new_block = router.without_small_blocks(sizes, 2 * k)
        edges = np.searchsorted(new_block, np.arange(router.n_blocks + 1))
        sizes = np.add.reduceat(sizes, edges[:-1])
        row_width = max(parts.format.width, len(self.rounding))
        row_bytes = row_width * parts.format.no_rows().itemsize
        bundles = make_bundles(sizes, row_bytes, router.seeds(self.seed))
        say(f"{router.n_blocks} blocks of {sizes.min()} to {sizes.max()} rows")

        with TemporaryFolder(self.folder, "model-").removed_on_failure() as model:
            work = Aggregate(self.space, self.rounding, router, self.method, model, parts.format)
            summary = Summary.merged(shuffle.work(work, bundles, edges))
        return Grouped(shuffle, router, sizes, bundles, model, summary)


def check_rows(n_before, n_now):
    """Raise if the number of rows has changed."""
    if n_before != n_now:
        raise RuntimeError(f"X had {n_before} rows and now has {n_now}: {CHANGED}")
