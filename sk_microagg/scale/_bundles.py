"""The work on the rows of some blocks: functions of arrays, which any worker can run.

A bundle is a few neighboring blocks, as many as one task processes.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, issparse

from sk_microagg._aggregation import Problem, group_block
from sk_microagg._model._points import (
    MAX_COORDINATES,
    SparsePoints,
    routing_of,
    with_coordinates_of,
    with_values,
)
from sk_microagg._model._power import nearest_cells, weights_of_points
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.privacy import UnitShare
from sk_microagg.scale._release import written_by_worker
from sk_microagg.scale._survey import Moments

# Largest size of the rows of a bundle, unless a single block is larger. Work on a bundle needs
# about ten times as much memory.
BUNDLE_BYTES = 16_000_000

# Size of the points that are made at a time where rows are not grouped, but sent to blocks or
# assigned to groups. Work on them needs about four times as much memory.
BATCH_BYTES = 32_000_000

CHANGED = "X changed on the way. It must give the same rows each time that it is computed."


@dataclass(frozen=True)
class Bundle:
    """The blocks `first` to `end` - 1, with a seed for each."""

    number: int
    first: int
    end: int
    seeds: list


def make_bundles(sizes, row_bytes, seeds):
    """Bundle consecutive blocks, given their numbers of rows."""
    bundles, first = [], 0
    while first < len(sizes):
        total = np.cumsum(sizes[first:]) * row_bytes
        end = first + max(1, int(np.searchsorted(total, BUNDLE_BYTES, side="right")))
        bundles.append(Bundle(len(bundles), first, end, seeds[first:end]))
        first = end
    return bundles


def route(rows, space, router, row_format):
    """Find the block of each row."""
    records, strata = row_format.records(rows), row_format.strata(rows)
    blocks = [
        router.route(routing_of(points), strata[batch])
        for batch, points in _points_by_batch(space, records)
    ]
    return np.concatenate([np.empty(0, dtype=np.intp), *blocks])


def _points_by_batch(space, records, n_coordinates=0):
    """Yield slices of records, with the points of each, of which a part may become dense."""
    if not len(records):
        return
    row = space.points(records[:1])
    is_sparse = isinstance(row, SparsePoints)
    row_bytes = row.routing.nbytes + 16 * row.matrix.nnz if is_sparse else row.nbytes
    size = max(BATCH_BYTES // (row_bytes + 8 * n_coordinates), 1)
    for start in range(0, len(records), size):
        batch = slice(start, start + size)
        yield batch, space.points(records[batch])


@dataclass(frozen=True)
class Summary:
    """Figures about the groups of some blocks."""

    n_rows: int
    group_sizes: np.ndarray
    sse: float
    moments: Moments
    n_moved: int
    n_iter: int
    figures: np.ndarray
    shown: tuple
    unsuited: list

    @classmethod
    def merged(cls, summaries):
        """The figures of all bundles together, given in the order of their blocks."""
        return cls(
            sum(summary.n_rows for summary in summaries),
            np.concatenate([summary.group_sizes for summary in summaries]),
            sum(summary.sse for summary in summaries),
            Moments.merged([summary.moments for summary in summaries]),
            sum(summary.n_moved for summary in summaries),
            sum(summary.n_iter for summary in summaries),
            _extremes([summary.figures for summary in summaries if not summary.unsuited]),
            _all_shown([summary.shown for summary in summaries if not summary.unsuited]),
            [block for summary in summaries for block in summary.unsuited],
        )


@dataclass(frozen=True)
class Aggregate:
    """Microaggregate blocks, and write what `transform` needs of them into a folder."""

    space: object
    rounding: np.ndarray
    router: object
    method: object
    model_folder: object
    row_format: object

    def __call__(self, bundle, blocks):
        """Return the released rows of each block, and a summary."""
        unsuited = [bundle.first + i for i, rows in enumerate(blocks) if not self._suits(rows)]
        if unsuited:
            releases = list(map(self.row_format.records, blocks))  # They are not released.
            return releases, Summary(
                0,
                np.empty(0, np.int32),
                0.0,
                Moments.from_records(np.empty((0, 1))),
                0,
                0,
                np.empty((0, 2)),
                (),
                unsuited,
            )
        releases, groups_of, moments, figures, n_near_cuts = [], [], [], [], 0
        for rows, seed in zip(blocks, bundle.seeds, strict=True):
            records, rules = self.row_format.records(rows), self.row_format.rules(rows)
            points = self.space.points(records)
            method = self.method.for_a_block()
            labels, groups, kept = self._grouped(records, points, method, seed, rules)
            if rules:
                rules.check(labels, "A block has groups")
                figures.append([rule.figures(labels) for rule in rules.rules])
                if rules.units is not None:
                    # Shown whether or not it was to be bounded.
                    figures[-1].append(UnitShare().measure_groups(labels, rules.units, None))
            strata = self.row_format.strata(rows)
            n_near_cuts += self.router.n_near_cuts(routing_of(points), self.rounding, strata)
            releases.append(groups.centroids[labels])
            groups_of.append(groups)
            moments.append(
                Moments.from_records(kept.matrix if isinstance(kept, SparsePoints) else kept)
            )
        _save_model(self.model_folder, bundle, groups_of)
        return releases, Summary(
            sum(map(len, releases)),
            # Short integers: the client holds those of the whole table.
            np.concatenate([groups.sizes for groups in groups_of]).astype(np.int32),
            sum(groups.sse for groups in groups_of),
            Moments.merged(moments),
            n_near_cuts + sum(groups.n_moved for groups in groups_of),
            sum(groups.n_iter for groups in groups_of),
            _extremes(figures),
            _all_shown([self.row_format.coding.shown(groups.centroids) for groups in groups_of]),
            [],
        )

    def _grouped(self, records, points, method, seed, rules):
        """Labels and groups of the rows of a block, and the points that their loss is about."""
        coding, space = self.row_format.coding, self.space
        averaged = coding.averaged(records, points)
        problem = Problem(averaged, points, self.rounding, rules)
        labels, groups = group_block(problem, method, seed)
        units, hidden, kept = rules.units if rules else None, None, points
        if np.isnan(records).any():
            missing = space.missing(records)
            single_values = space.single_values(missing, labels, units)
            hidden = single_values[:2]
            kept = with_values(points, *space.stand_ins(missing, labels, *hidden))
            groups = _without(single_values, groups, points, labels)
        groups = coding.finish(space, groups, records, kept, labels, units, hidden)
        return labels, groups, kept

    def _suits(self, rows):
        """Whether the rows of a block satisfy all constraints as one group."""
        everything = np.zeros(len(rows), dtype=np.intp)
        return bool(self.row_format.rules(rows).are_met(everything).all())


def _extremes(figures):
    """The smallest and the largest figure for each constraint, given several for each."""
    by_rule = zip(*figures, strict=True)
    return np.array([[np.min(one), np.max(one)] for one in map(np.hstack, by_rule)]).reshape(-1, 2)


def _without(single_values, groups, points, labels):
    """The groups without means that would tell the only known value of one of them."""
    those, columns, places = single_values
    if not len(those):
        return groups
    centroids = with_values(groups.scaled_centroids, those, columns, places)
    own_centroids, own_points = with_coordinates_of(centroids, points)
    weights, cells = weights_of_points(own_points, labels, own_centroids)
    n_moved = groups.n_moved + int(np.sum(cells != labels))
    return replace(groups, scaled_centroids=centroids, weights=weights, n_moved=n_moved)


def _all_shown(parts):
    """The codes that some blocks show, for each column."""
    return tuple(np.unique(np.concatenate(codes)) for codes in zip(*parts, strict=True))


@dataclass(frozen=True)
class Assign:
    """Assign rows to the groups of their blocks."""

    space: object
    model_folder: object
    row_format: object

    def __call__(self, bundle, blocks):
        """Return the centroids for the rows of each block, and None."""
        releases = []
        with _open_model(self.model_folder, bundle) as model:
            for number, records in enumerate(map(self.row_format.records, blocks)):
                centroids, weights = model[f"centroids-{number}"], model[f"weights-{number}"]
                all_scaled = _load_centroids(model, f"scaled-{number}")
                released = [centroids[:0]]
                n_coordinates = min(all_scaled.shape[1], MAX_COORDINATES)
                for _, batch in _points_by_batch(self.space, records, n_coordinates):
                    scaled, points = with_coordinates_of(all_scaled, batch)
                    released.append(centroids[nearest_cells(points, scaled, weights)])
                releases.append(np.concatenate(released))
        return releases, None


def _save_model(folder, bundle, groups_of):
    arrays = {}
    for number, groups in enumerate(groups_of):
        arrays[f"centroids-{number}"] = groups.centroids
        arrays |= _as_arrays(f"scaled-{number}", groups.scaled_centroids)
        arrays[f"weights-{number}"] = groups.weights
    with written_by_worker(_model_file(folder, bundle)) as draft, open(draft, "wb") as file:
        np.savez(file, **arrays)


def _as_arrays(name, centroids):
    """Centroids, dense or sparse, as arrays with names."""
    if not issparse(centroids):
        return {name: centroids}
    parts = {"data": centroids.data, "indices": centroids.indices, "indptr": centroids.indptr}
    return {f"{name}-{part}": array for part, array in parts.items()} | {
        f"{name}-shape": np.array(centroids.shape)
    }


def _load_centroids(model, name):
    if name in model:
        return model[name]
    parts = (model[f"{name}-{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(tuple(parts), shape=tuple(model[f"{name}-shape"]))


def _open_model(folder, bundle):
    try:
        return np.load(_model_file(folder, bundle))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error.filename} is gone: without `folder`, a model is removed with its estimator."
        ) from error


def _model_file(folder, bundle):
    return folder / f"bundle-{bundle.number:06d}.npz"


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
