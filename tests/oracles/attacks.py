"""What somebody who has a fitted model, and knows that values are integers, can find out.

The attacks list the points of the lattice of integers in each power cell, with their slack: how
much farther the second nearest group is than the nearest. Weights that are tight to records make
slacks of records special.
"""

import numpy as np

FEWEST_CLAIMS = 15

# Cells with more points of the lattice are in the outskirts: nobody finds a record there by chance.
MOST_POINTS = 20_000
N_NEAR = 12


def lattice(model):
    """Points of the lattice, the cell of each, and their slacks."""
    mean, deviation = model.scaler_.mean_, model.scaler_.scale_
    centroids = (model.centroids_ - mean) / deviation
    squared = ((centroids[:, None] - centroids) ** 2).sum(axis=2)
    found = []
    for cell, center in enumerate(centroids):
        reach = 1.6 * np.sqrt(np.sort(squared[cell])[3])
        low = np.floor(mean + deviation * (center - reach))
        high = np.ceil(mean + deviation * (center + reach))
        if np.prod(high - low + 1) > MOST_POINTS:
            continue
        axes = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        scaled = (points - mean) / deviation
        others = np.argsort(squared[cell] - model.weights_)
        others = others[others != cell][:N_NEAR]
        own = ((scaled - center) ** 2).sum(axis=1) - model.weights_[cell]
        rivals = ((scaled[:, None] - centroids[others]) ** 2).sum(axis=2) - model.weights_[others]
        slacks = rivals.min(axis=1) - own
        inside = slacks > 0
        found.append((points[inside], np.full(inside.sum(), cell), slacks[inside]))
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def is_record(points, X):
    """Which points are records."""
    records = set(map(tuple, X))
    return np.array([tuple(point) in records for point in points], dtype=bool)


def points_of_one_slack(points, cells, slacks, tolerance=1e-12):
    """Points that share their slack, to the last digits, in the most cells, one of each cell.

    Potentials are tight to a record of nearly every group, by one and the same margin.
    """
    order = np.argsort(slacks)
    points, cells, slacks = points[order], cells[order], slacks[order]
    ends = np.searchsorted(slacks, slacks + tolerance, side="right")
    most, claims = 0, points[:0]
    for start in np.argsort(np.arange(len(slacks)) - ends)[:200]:
        values, first, counts = np.unique(
            cells[start : ends[start]], return_index=True, return_counts=True
        )
        if len(values) > most:
            most, claims = len(values), points[start + first[counts == 1]]
    return claims


def best_slab(slacks, hits):
    """The largest share of records among points whose slack is from t to 1.5 t, for the best t.

    The attacker is told which t is best, which nobody could know.
    """
    best = 0.0
    for t in np.geomspace(1e-8, 1, 150):
        claimed = (slacks >= t) & (slacks <= 1.5 * t)
        if claimed.sum() >= FEWEST_CLAIMS:
            best = max(best, hits[claimed].mean())
    return best
