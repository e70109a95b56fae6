"""Attacks by an intruder who has a fitted model and knows that all values are integers.

The attacks list the points of the lattice of integers in each power cell, with their slack: how
much farther the second nearest group is than the nearest. Weights that are tight to records make
slacks of records special.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

FEWEST_CLAIMS = 15

# Cells with more points of the lattice are in the outskirts: nobody finds a record there by chance.
MOST_POINTS = 20_000
N_NEAR = 12


@dataclass(frozen=True)
class Diagram:
    """The power diagram of a block, as a model holds it, in the scaled space."""

    mean: np.ndarray
    deviation: np.ndarray
    centroids: np.ndarray
    weights: np.ndarray


def diagrams(aggregator):
    """The power diagrams of a MicroAggregator."""
    scaler = aggregator.scaler_
    for cells in getattr(aggregator._cells, "parts", [aggregator._cells]):  # of each stratum
        for start, end in pairwise(cells.starts):
            block = slice(start, end)
            yield Diagram(scaler.mean_, scaler.scale_, cells.centroids[block], cells.weights[block])


def diagrams_in(folder, scaler):
    """The power diagrams in the model folder of a DaskTableAggregator."""
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as model:
            for number in range(len(model.files) // 3):
                yield Diagram(
                    scaler.mean_,
                    scaler.scale_,
                    model[f"scaled-{number}"],
                    model[f"weights-{number}"],
                )


def lattice(diagrams):
    """Points of the lattice, the cell of each, and their slacks."""
    found = []
    for diagram in diagrams:
        centroids, weights = diagram.centroids, diagram.weights
        squared = ((centroids[:, None] - centroids) ** 2).sum(axis=2)
        for cell, center in enumerate(centroids):
            radius = 1.6 * np.sqrt(np.sort(squared[cell])[:4][-1])
            low = np.floor(diagram.mean + diagram.deviation * (center - radius))
            high = np.ceil(diagram.mean + diagram.deviation * (center + radius))
            if len(centroids) == 1 or np.prod(high - low + 1) > MOST_POINTS:
                continue
            axes = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
            points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
            scaled = (points - diagram.mean) / diagram.deviation
            others = np.argsort(squared[cell] - weights)
            others = others[others != cell][:N_NEAR]
            # Only points inside all walls count. Products, which round the last digits, say which
            # may be: first those of the nearest walls, outside of which most points are.
            rivals = centroids[others]
            level = (rivals**2).sum(axis=1) - weights[others] - (center**2).sum() + weights[cell]
            for walls in (slice(3), slice(3, None)):
                products = (center - rivals[walls]) @ scaled.T
                may_be = (products > -level[walls, None] / 2 - 1e-6).all(axis=0)
                points, scaled = points[may_be], scaled[may_be]
            own = ((scaled - center) ** 2).sum(axis=1) - weights[cell]
            rivals = ((scaled[:, None] - rivals) ** 2).sum(axis=2) - weights[others]
            slacks = (rivals - own[:, None]).min(axis=1, initial=np.inf)
            points, slacks = points[slacks > 0], slacks[slacks > 0]
            found.append((points, np.full(len(points), len(found)), slacks))
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def is_record(points, X):
    """Which points are records."""
    of_points, of_records = (pd.MultiIndex.from_arrays(rows.T) for rows in (points, X))
    return of_points.isin(of_records)


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

    The attacker is given the best t, which nobody could know.
    """
    order = np.argsort(slacks)
    n_hits = np.concatenate([[0], np.cumsum(hits[order])])
    t = np.geomspace(1e-8, 1, 150)
    starts = np.searchsorted(slacks[order], t, side="left")
    ends = np.searchsorted(slacks[order], 1.5 * t, side="right")
    is_enough = ends - starts >= FEWEST_CLAIMS
    shares = (n_hits[ends] - n_hits[starts])[is_enough] / (ends - starts)[is_enough]
    return shares.max(initial=0.0)


def precisions(diagrams, X, *others):
    """The share of records among the claims of both attacks; 0 for too few claims.

    With other tables, a pair for each of them, too.
    """
    points, cells, slacks = lattice(diagrams)
    claims = points_of_one_slack(points, cells, slacks)
    pairs = []
    for records in (X, *others):
        precision = is_record(claims, records).mean() if len(claims) >= FEWEST_CLAIMS else 0.0
        pairs.append((precision, best_slab(slacks, is_record(points, records))))
    return pairs if others else pairs[0]


def tight_on_a_line(most_above, most_below, weights):
    """Weights of one column that are tight to a record of every group, by the widest margin."""
    margin = 0.99 * (most_above + most_below).min() / 2
    return np.r_[0.0, np.cumsum(most_above - margin)]


def patients(*columns):
    return np.round(load_diabetes(scaled=False, as_frame=True).frame[list(columns)].to_numpy())


def people(n, *, with_ages, seed=0):
    rng = np.random.default_rng(seed)
    incomes = np.round(np.exp(rng.normal(10.0, 0.5, size=n)))
    ages = rng.integers(18, 90, size=n)
    return np.c_[ages, incomes // 100] if with_ages else incomes[:, None]


def with_duplicates(X):
    """A fifth of the records two or three times: some are in several groups then."""
    rng = np.random.default_rng(1)
    again = rng.choice(len(X), size=len(X) // 5, replace=False)
    return np.vstack([X, X[again], X[again[::3]]]).astype(float)


TABLES = {
    "age and cholesterol": patients("age", "s1"),
    "blood pressure and cholesterol": patients("bp", "s1"),
    "age and income": people(600, with_ages=True),
    "income": people(300, with_ages=False),
}
TABLES = {
    f"{name}, {version}": make(X)
    for name, X in TABLES.items()
    for version, make in (("unique", partial(np.unique, axis=0)), ("twins", with_duplicates))
}
