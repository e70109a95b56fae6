"""The work on the rows of some blocks: functions of arrays, which any worker can run.

A bundle is a few neighboring blocks, as many as one task processes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from sk_microagg._aggregation import Problem, group_block
from sk_microagg._microaggregate import Method
from sk_microagg._model._points import (
    MAX_COORDINATES,
    Points,
    SparsePoints,
    routing_of,
    with_coordinates_of,
    with_values,
)
from sk_microagg._model._power import nearest_cells, weights_of_points
from sk_microagg._model._power_cells import n_hidden_rows
from sk_microagg._utils._rounding import Spread
from sk_microagg._utils._statistics import Members
from sk_microagg._utils._typing import Array, Floats, Labels
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.privacy import Rules, UnitShare
from sk_microagg.scale._files import written_by_worker
from sk_microagg.tables._coding import TableCoding, spread_of
from sk_microagg.tables._coordinates import Coordinates

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
    seeds: list[Any]


def make_bundles(sizes: Labels, row_bytes: int, seeds: list[Any]) -> list[Bundle]:
    """Bundle consecutive blocks, given their numbers of rows."""
    bundles: list[Bundle] = []
    first = 0
    while first < len(sizes):
        total = np.cumsum(sizes[first:]) * row_bytes
        end = first + max(1, int(np.searchsorted(total, BUNDLE_BYTES, side="right")))
        bundles.append(Bundle(len(bundles), first, end, seeds[first:end]))
        first = end
    return bundles


def route(rows: Floats, space: Coordinates, router: Any, row_format: Any) -> Labels:
    records, strata = row_format.records(rows), row_format.strata(rows)
    blocks = [
        router.route(routing_of(points), strata[batch])
        for batch, points in _points_by_batch(space, records)
    ]
    return np.concatenate([np.empty(0, dtype=np.intp), *blocks])


def _points_by_batch(
    space: Coordinates, records: Floats, n_coordinates: int = 0
) -> Iterator[tuple[slice, Points]]:
    """Yield slices of records, with the points of each, of which a part may become dense."""
    if not len(records):
        return
    row = space.points(records[:1])
    sparse_bytes = 16 * row.matrix.nnz if isinstance(row, SparsePoints) else 0
    row_bytes = 8 * routing_of(row).shape[1] + sparse_bytes
    size = max(BATCH_BYTES // (row_bytes + 8 * n_coordinates), 1)
    for start in range(0, len(records), size):
        batch = slice(start, start + size)
        yield batch, space.points(records[batch])


@dataclass(frozen=True)
class Moments:
    """Number of rows, their mean and the sum of squared distances to it."""

    n_rows: int
    mean: Floats
    sum_of_squares: float

    @classmethod
    def from_records(cls, X: Any) -> Self:
        """Moments of an array of rows, dense or sparse."""
        if not X.shape[0]:
            return cls(0, np.zeros(X.shape[1]), 0.0)
        mean = X.mean(axis=0)
        if issparse(X):
            return cls(X.shape[0], mean, float(X.power(2).sum() - X.shape[0] * (mean @ mean)))
        return cls(len(X), mean, float(((X - mean) ** 2).sum()))

    @classmethod
    def merged(cls, parts: Iterable["Moments"]) -> "Moments":
        """Merge the moments of several parts (Chan, Golub and LeVeque, 1979)."""
        return reduce(cls._merge, parts)

    def _merge(self, other: "Moments") -> "Moments":
        n_rows = self.n_rows + other.n_rows
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows else other
        apart = other.mean - self.mean
        return Moments(
            n_rows,
            self.mean + apart * (other.n_rows / n_rows),
            self.sum_of_squares
            + other.sum_of_squares
            + float(apart @ apart) * self.n_rows * other.n_rows / n_rows,
        )


@dataclass(frozen=True)
class Summary:
    """Figures about the groups of one or several blocks."""

    n_rows: int
    group_sizes: Labels
    sse: float
    spread: Spread
    hidden: tuple[Floats, ...]
    moments: Moments
    n_moved: int
    n_iter: int
    figures: Floats
    shown: tuple[Array, ...]

    @classmethod
    def merged(cls, summaries: Sequence["Summary"]) -> Self:
        """The figures of all blocks together, given in their order."""
        return cls(
            sum(summary.n_rows for summary in summaries),
            np.concatenate([summary.group_sizes for summary in summaries]),
            sum(summary.sse for summary in summaries),
            Spread.merged([summary.spread for summary in summaries]),
            _joined(summary.hidden for summary in summaries),
            Moments.merged([summary.moments for summary in summaries]),
            sum(summary.n_moved for summary in summaries),
            sum(summary.n_iter for summary in summaries),
            _extremes([summary.figures for summary in summaries]),
            # For each column, the codes that some blocks show.
            tuple(map(np.unique, _joined(summary.shown for summary in summaries))),
        )


@dataclass(frozen=True)
class Aggregate:
    """Microaggregate blocks, and write what `transform` needs of them into a folder."""

    space: Coordinates
    method: Method
    model_folder: Any
    row_format: Any

    def __call__(self, bundle: Bundle, blocks: list[Floats]) -> tuple[list[Floats], Any]:
        """Return the released rows of each block, and a summary, or the unsuited blocks."""
        coding = self.row_format.coding
        unsuited = [bundle.first + i for i, rows in enumerate(blocks) if not self._suits(rows)]
        if unsuited:  # What is returned instead of releases is not released.
            return [np.zeros((len(rows), coding.n_released)) for rows in blocks], unsuited
        releases, groups_of, summaries = [], [], []
        for rows, seed in zip(blocks, bundle.seeds, strict=True):
            records, rules = self.row_format.records(rows), self.row_format.rules(rows)
            weights = self.row_format.weights(rows)
            labels, groups, kept = self._grouped(records, seed, rules, weights)
            n_hidden = n_hidden_rows(groups.scaled_centroids, pd.DataFrame(groups.centroids))
            figures = []
            if rules:
                rules.check(labels, "A block has groups")
                figures = [rule.figures(labels) for rule in rules.rules]
                if rules.units is not None:
                    # Shown whether or not it was to be bounded.
                    figures.append(UnitShare().measure_groups(labels, rules.units, None))
            units = rules.units if rules else None
            averaged = coding.without_single(records, labels, units)
            releases.append(groups.centroids[labels])
            groups_of.append(groups)
            summaries.append(
                Summary(
                    len(rows),
                    groups.sizes.astype(np.int32),  # The client holds those of the whole table.
                    groups.sse,
                    spread_of(averaged, labels),
                    hidden_of(coding.averaged(records), averaged),
                    Moments.from_records(kept.matrix if isinstance(kept, SparsePoints) else kept),
                    groups.n_moved + n_hidden,
                    groups.n_iter,
                    _extremes([figures]),
                    coding.shown(groups.centroids),
                )
            )
        _save_model(self.model_folder, bundle, groups_of)
        return releases, Summary.merged(summaries)

    def _grouped(
        self, records: Floats, seed: Any, rules: Rules, weights: Floats | None
    ) -> tuple[Labels, Any, Points]:
        """Labels and groups of the rows of a block, and the points that their loss is about."""
        space, points = self.space, self.space.points(records)
        # Points are computed cell by cell, so that they are the same in any batch.
        no_rounding = np.zeros(points.shape[1])
        problem = Problem(points, points, no_rounding, rules)
        labels, groups = group_block(problem, self.method.for_a_block(), seed)
        units, hidden, kept = rules.units if rules else None, None, points
        if np.isnan(records).any():
            missing = space.missing(records)
            single_values = space.single_values(missing, labels, units)
            hidden = single_values[:2]
            kept = with_values(points, *space.stand_ins(missing, labels, *hidden))
            groups = _without(single_values, groups, points, labels)
        averages = self.row_format.coding.averages(records, Members(labels, units, weights))
        sums = space.sums_of_squares(records, labels, hidden)
        sse = float(sum(within for within, _ in sums.values()))
        return labels, replace(groups, centroids=averages, sse=sse), kept

    def _suits(self, rows: Floats) -> bool:
        """Whether the rows of a block satisfy all constraints as one group."""
        everything = np.zeros(len(rows), dtype=np.intp)
        return bool(self.row_format.rules(rows).are_met(everything).all())


def _joined(summaries: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Arrays of all blocks, column by column."""
    return tuple(map(np.concatenate, zip(*summaries, strict=True)))


def hidden_of(columns: Sequence[Floats], known: Sequence[Floats]) -> tuple[Floats, ...]:
    """The only known values of groups, column by column, given columns with and without these."""
    pairs = zip(columns, known, strict=True)
    return tuple(own[np.isnan(rest) & ~np.isnan(own)] for own, rest in pairs)


def without(values: Floats, hidden: Floats) -> Floats:
    """The known ones of some values, without those that are hidden, each left out once."""
    if not len(hidden):
        return values
    different, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    left_out, n_left_out = np.unique(hidden, return_counts=True)
    if not len(different):
        return different
    places = np.searchsorted(different, left_out)
    is_there = different[np.minimum(places, len(different) - 1)] == left_out
    counts[places[is_there]] -= n_left_out[is_there]
    return np.repeat(different, np.maximum(counts, 0))


def _extremes(figures: Iterable[Any]) -> Floats:
    """The smallest and the largest figure for each constraint, given several for each."""
    by_rule = zip(*figures, strict=True)
    return np.array([[np.min(one), np.max(one)] for one in map(np.hstack, by_rule)]).reshape(-1, 2)


def _without(
    single_values: tuple[Labels, Labels, Floats], groups: Any, points: Points, labels: Labels
) -> Any:
    """The groups without means that would disclose the only known value of one of them."""
    those, columns, places = single_values
    if not len(those):
        return groups
    centroids = with_values(groups.scaled_centroids, those, columns, places)
    own_centroids, own_points = with_coordinates_of(centroids, points)
    weights, cells = weights_of_points(own_points, labels, own_centroids)
    n_moved = groups.n_moved + int(np.sum(cells != labels))
    return replace(groups, scaled_centroids=centroids, weights=weights, n_moved=n_moved)


@dataclass(frozen=True)
class Assign:
    """Assign rows to the groups of their blocks."""

    space: Coordinates
    model_folder: Any
    row_format: Any

    def __call__(self, bundle: Bundle, blocks: list[Floats]) -> tuple[list[Floats], None]:
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


def _save_model(folder: Any, bundle: Bundle, groups_of: list[Any]) -> None:
    arrays: dict[str, Any] = {}
    for number, groups in enumerate(groups_of):
        arrays[f"centroids-{number}"] = groups.centroids
        arrays |= _as_arrays(f"scaled-{number}", groups.scaled_centroids)
        arrays[f"weights-{number}"] = groups.weights
    _write_model(folder, bundle, arrays)


def round_model(bundle: Bundle, folder: Any, coding: TableCoding) -> None:
    """Round what groups are released as: a median is the value of one person, with all digits."""
    with _open_model(folder, bundle) as model:
        arrays = dict(model)
    for name in arrays:
        if name.startswith("centroids-"):
            arrays[name] = coding.rounded(arrays[name])
    _write_model(folder, bundle, arrays)


def _write_model(folder: Any, bundle: Bundle, arrays: dict[str, Any]) -> None:
    with written_by_worker(_model_file(folder, bundle)) as draft, open(draft, "wb") as file:
        np.savez(file, **arrays)


def _as_arrays(name: str, centroids: Any) -> dict[str, Array]:
    if not issparse(centroids):
        return {name: centroids}
    parts = {"data": centroids.data, "indices": centroids.indices, "indptr": centroids.indptr}
    return {f"{name}-{part}": array for part, array in parts.items()} | {
        f"{name}-shape": np.array(centroids.shape)
    }


def _load_centroids(model: Any, name: str) -> Any:
    if name in model:
        return model[name]
    parts = (model[f"{name}-{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(tuple(parts), shape=tuple(model[f"{name}-shape"]))


def _open_model(folder: Any, bundle: Bundle) -> Any:
    try:
        return np.load(_model_file(folder, bundle))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error.filename} is gone: without `folder`, a model is removed with its estimator."
        ) from error


def _model_file(folder: Any, bundle: Bundle) -> Any:
    return folder / f"bundle-{bundle.number:06d}.npz"


@dataclass(frozen=True)
class Grouped:
    """The groups of all blocks, and how their rows come back."""

    shuffle: Any
    router: Any
    sizes: Labels
    bundles: list[Bundle]
    model: Any
    summary: Any


@dataclass(frozen=True)
class Grouping:
    """Microaggregate all blocks; `say` gets lines of progress."""

    parts: Any
    space: Coordinates
    n_coordinates: int
    method: Method
    seed: int
    n_rows: int
    folder: Any
    make_shuffle: Callable[..., Any]
    say: Callable[[str], None]

    def run(self, router: Any) -> Grouped:
        """Group the rows, in fewer blocks if some of these cannot satisfy the constraints alone.

        The sample suggests blocks that can, so that one attempt is usually enough.
        """
        while True:
            grouped, unsuited = self._attempt(router)
            if not unsuited:
                check_rows(self.n_rows, grouped.summary.n_rows)
                return grouped
            grouped.model.remove()
            self.say(f"{len(unsuited)} blocks are merged with others, to satisfy the constraints")
            sizes = grouped.sizes.copy()
            sizes[unsuited] = 0
            router, _ = grouped.router.without_small_blocks(sizes, 2 * self.method.k)
            if router.n_blocks == grouped.router.n_blocks:
                # Nothing is left to merge, but each stratum as a whole satisfied the constraints.
                raise RuntimeError(f"Values of X are not what they were: {CHANGED}")

    def _attempt(self, router: Any) -> tuple[Grouped, list[int]]:
        parts, shuffle = self.parts, self.make_shuffle(self.n_rows, self.parts)
        sizes = np.sum(shuffle.route(parts, self.space, router), axis=0)
        check_rows(self.n_rows, sizes.sum())
        router, new_block = router.without_small_blocks(sizes, 2 * self.method.k)
        edges = np.searchsorted(new_block, np.arange(router.n_blocks + 1))
        sizes = np.add.reduceat(sizes, edges[:-1])
        row_width = max(parts.format.width, self.n_coordinates)
        row_bytes = row_width * parts.format.no_rows().itemsize
        bundles = make_bundles(sizes, row_bytes, router.seeds(self.seed))
        self.say(f"{router.n_blocks} blocks of {sizes.min()} to {sizes.max()} rows")

        with TemporaryFolder(self.folder, "model-").removed_on_failure() as model:
            work = Aggregate(self.space, self.method, model, parts.format)
            done = shuffle.work(work, bundles, edges)
        unsuited = [block for one in done if isinstance(one, list) for block in one]
        summary = None if unsuited else Summary.merged(done)
        return Grouped(shuffle, router, sizes, bundles, model, summary), unsuited


def check_rows(n_before: int, n_now: int) -> None:
    if n_before != n_now:
        raise RuntimeError(f"X had {n_before} rows and now has {n_now}: {CHANGED}")
