"""What is done with the rows of some blocks, wherever it is done: functions of their arguments.

A bundle is a few blocks next to each other, as many as one task takes on.
"""

from dataclasses import dataclass

import numpy as np

from sk_microagg._blocks import aggregate_block
from sk_microagg._model._power import nearest_cells
from sk_microagg._utils._scaling import scale
from sk_microagg.scale._files import written_by_worker
from sk_microagg.scale._survey import Moments

# Rows of a bundle take so many bytes, unless a single block takes more. With all that is made of
# them they take some ten times as much.
BUNDLE_BYTES = 16_000_000


@dataclass(frozen=True)
class Bundle:
    """Blocks from `first` to before `end`, and a seed for each."""

    number: int
    first: int
    end: int
    seeds: np.ndarray


def make_bundles(sizes, row_bytes, seeds):
    """Bundle blocks, in their order, given their numbers of rows."""
    bundles, first = [], 0
    while first < len(sizes):
        total = np.cumsum(sizes[first:]) * row_bytes
        end = first + max(1, int(np.searchsorted(total, BUNDLE_BYTES, side="right")))
        bundles.append(Bundle(len(bundles), first, end, seeds[first:end]))
        first = end
    return bundles


def route(records, scaler, router):
    """Block of each row, and moments of the rows in the space in which they are compared."""
    if not len(records):
        return np.empty(0, dtype=np.intp), Moments.of(records)
    scaled = scale(scaler, records)
    return router.route(scaled), Moments.of(scaled)


@dataclass(frozen=True)
class Summary:
    """What is known of the groups of some blocks."""

    n_rows: int
    n_groups: int
    smallest_group: int
    sse: float
    n_moved: int
    n_iter: int


@dataclass(frozen=True)
class Aggregate:
    """Microaggregate blocks; what `transform` needs of them is written into a folder."""

    scaler: object
    rounding: np.ndarray
    router: object
    method: object
    model_folder: object

    def __call__(self, bundle, blocks):
        """Return the release of each block, and a summary."""
        releases, groups_of, n_near_cuts = [], [], 0
        for records, seed in zip(blocks, bundle.seeds, strict=True):
            scaled = scale(self.scaler, records)
            method = self.method.for_a_block()
            labels, groups = aggregate_block(records, scaled, self.rounding, method, seed)
            n_near_cuts += self.router.n_near_cuts(scaled, self.rounding)
            releases.append(groups.centroids[labels])
            groups_of.append(groups)
        _save_model(self.model_folder, bundle, groups_of)
        return releases, Summary(
            sum(map(len, releases)),
            sum(len(groups.sizes) for groups in groups_of),
            int(min(groups.sizes.min() for groups in groups_of)),
            sum(groups.sse for groups in groups_of),
            n_near_cuts + sum(groups.n_moved for groups in groups_of),
            sum(groups.n_iter for groups in groups_of),
        )


@dataclass(frozen=True)
class Assign:
    """Send rows to the groups of their blocks."""

    scaler: object
    model_folder: object

    def __call__(self, bundle, blocks):
        """Return the centroids for the rows of each block, and None."""
        releases = []
        with _open_model(self.model_folder, bundle) as model:
            for number, records in enumerate(blocks):
                centroids, scaled, weights = (
                    model[f"{name}-{number}"] for name in ("centroids", "scaled", "weights")
                )
                if len(records):
                    cells = nearest_cells(scale(self.scaler, records), scaled, weights)
                    releases.append(centroids[cells])
                else:
                    releases.append(centroids[:0])
        return releases, None


def _save_model(folder, bundle, groups_of):
    arrays = {}
    for number, groups in enumerate(groups_of):
        arrays[f"centroids-{number}"] = groups.centroids
        arrays[f"scaled-{number}"] = groups.scaled_centroids
        arrays[f"weights-{number}"] = groups.weights
    with written_by_worker(_model_file(folder, bundle)) as draft, open(draft, "wb") as file:
        np.savez(file, **arrays)


def _open_model(folder, bundle):
    try:
        return np.load(_model_file(folder, bundle))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error.filename} is gone: without `folder`, a model goes away with its estimator."
        ) from error


def _model_file(folder, bundle):
    return folder / f"bundle-{bundle.number:06d}.npz"
