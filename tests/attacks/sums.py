"""Attacks with the totals in a model, by which a number follows that a group must not tell.

In columns with missing values, a group of which one person has a number does not tell it. The mean
of the column, times how many numbers are known, less the sums of all other groups, would.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.privacy import LDiversity

# The last digit of all numbers.
UNIT = 0.01


def draw(seed):
    """Random records with missing values, who they belong to, strata, a diagnosis and a target."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(36, 64)), int(rng.integers(2, 5))
    X = rng.normal(50.0, 10.0, size=(n, d)).round(2)
    X[rng.random(X.shape) < rng.choice([0.4, 0.6])] = np.nan
    X[:, -1] = rng.normal(50.0, 10.0, size=n).round(2)  # complete
    return {
        "X": X,
        "unit": rng.integers(0, n // 2, size=n),
        "strata": np.arange(n) % 2,
        "diagnosis": rng.choice(["A", "B", "C"], size=n),
        "y": np.where(np.isnan(X[:, 0]), 50.0, X[:, 0]) > 50.0,
    }


def fit_numbers(data, X, **options):
    """A MicroAggregator of the records, with the roles that the options name, and its groups."""
    roles = {name: data[name] for name in ("unit", "strata") if name in options}
    if "privacy" in options:
        roles["sensitive"] = data["diagnosis"]
    model = MicroAggregator(k=4, **_parameters(options)).fit(X, data["y"], **roles)
    return model, model.labels_


def fit_table(data, X, dates=False, **options):
    """A TableAggregator of the records, with dates or without, and its groups."""
    table = _frame(data, X)
    if dates:
        table["x0"] = pd.Timestamp(0) + pd.to_timedelta((X[:, 0] / UNIT).round(), "D")
    roles = {name: name for name in ("unit", "strata") if name in options}
    drop = [name for name in ("unit", "strata") if name not in options]
    model = TableAggregator(k=4, sensitive="diagnosis", drop=drop, **roles, **_parameters(options))
    model.fit(table, data["y"])
    return model, model.labels_


def fit_on_dask(data, X, **options):
    """A DaskTableAggregator of the records, and its groups."""
    import dask
    import dask.dataframe as dd

    from sk_microagg.scale import DaskTableAggregator

    roles = {name: name for name in ("unit", "strata") if name in options}
    if "privacy" in options:
        roles["sensitive"] = "diagnosis"
    columns = [f"x{j}" for j in range(X.shape[1])]
    table = dd.from_pandas(_frame(data, X), npartitions=2)
    model = DaskTableAggregator(
        k=4, quasi_identifiers=columns, decimals=None, **_parameters(options), **roles
    )
    with dask.config.set(scheduler="synchronous"):
        release = model.fit_transform(table).compute()
    rows = release[columns].fillna(-1.0).assign(stratum=data["strata"] * ("strata" in options))
    return model, np.unique(rows.to_numpy(), axis=0, return_inverse=True)[1].ravel()


def _frame(data, X):
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return table.assign(**{name: data[name] for name in ("unit", "strata", "diagnosis")})


def _parameters(options):
    """Searches that lead to the same groups if a record changes a little."""
    refiner = "local_search" if {"unit", "privacy"} & options.keys() else "exchange"
    given = {name: value for name, value in options.items() if name not in ("unit", "strata")}
    return {"refiner": refiner} | given


class Renamed(StandardScaler):
    """A scaler of a user, with which nothing is different."""


STEPS = make_pipeline(StandardScaler(), FunctionTransformer(), Renamed(with_mean=False))

FITS = {
    "numbers": (fit_numbers, {}),
    "numbers, default": (fit_numbers, {"refiner": "auto"}),
    "numbers, unit": (fit_numbers, {"unit": True}),
    "numbers, strata": (fit_numbers, {"strata": True}),
    "numbers, LDiversity": (fit_numbers, {"privacy": LDiversity(2)}),
    "numbers, target": (fit_numbers, {"scaler": "target"}),
    "numbers, unscaled": (fit_numbers, {"scaler": None}),
    "numbers, subclass": (fit_numbers, {"scaler": Renamed()}),
    "numbers, pipeline": (fit_numbers, {"scaler": make_pipeline(StandardScaler())}),
    "numbers, steps": (fit_numbers, {"scaler": STEPS}),
    "numbers, blocks": (fit_numbers, {"block_size": 20}),
    "table": (fit_table, {}),
    "table, default": (fit_table, {"refiner": "auto"}),
    "table, unit": (fit_table, {"unit": True}),
    "table, strata": (fit_table, {"strata": True}),
    "table, LDiversity": (fit_table, {"privacy": LDiversity(2)}),
    "table, weights": (fit_table, {"column_weights": {"x0": 2.0}}),
    "table, target": (fit_table, {"column_weights": "target"}),
    "table, dates": (fit_table, {"dates": True}),
    "Dask": (fit_on_dask, {}),
    "Dask, unit": (fit_on_dask, {"unit": True}),
    "Dask, strata and LDiversity": (fit_on_dask, {"strata": True, "privacy": LDiversity(2)}),
    "Dask, weights": (fit_on_dask, {"column_weights": {"x0": 2.0}}),
}


def fitted(name, data, X):
    """A model of the records, in one of the ways above, and its groups."""
    fit, options = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(data, X, **options)


def hidden_values(X, labels, units=None):
    """Rows and columns of known values of groups in which nobody else has one."""
    units = np.arange(len(X)) if units is None else units
    found = []
    for column in np.flatnonzero(np.isnan(X).any(axis=0)):
        for group in np.unique(labels):
            rows = np.flatnonzero((labels == group) & ~np.isnan(X[:, column]))
            if len(np.unique(units[rows])) == 1:
                found += [(row, column) for row in rows]
    return found


def space_of(model):
    """The scaled space of a model, and the factor of each of its columns."""
    coordinates = model._encoder.coordinates if hasattr(model, "_encoder") else model._space
    if not hasattr(coordinates, "_weights"):
        return coordinates, np.ones(model.n_features_in_)
    weights = [coordinates._weights[column.name] for column in coordinates._lines]
    return coordinates._space, np.sqrt(weights)


def centroids_of(model):
    """The points that a model holds for its groups, in the order of their sizes."""
    if not hasattr(model, "_model"):
        return model._cells.centroids
    folder, parts = Path(model._model.path), []
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as arrays:
            count = sum(name.startswith("weights") for name in arrays)
            parts += [arrays[f"scaled-{number}"] for number in range(count)]
    return np.concatenate(parts)


def remainder(model, column):
    """What the totals in a model leave for the sum of the hidden values of a column.

    It needs nothing but the model: known and missing values of each group follow from the
    coordinate that says "missing", and sums from the other one. A group is known to hide its value
    by being where missing values are, although one of its values is known.
    """
    space, factors = space_of(model)
    missing, centroids, sizes = space._missing, centroids_of(model), model.group_sizes_
    heights = getattr(missing, "heights", None)
    height = missing._heights if heights is None else heights[missing.columns]
    place = np.flatnonzero(missing.columns == column)[0]
    flags = centroids[:, len(factors) + place] / factors[column]
    n_missing = np.round(sizes * flags / height[place])
    values = centroids[:, column] / factors[column] / missing._factors[column]
    mean = missing._means[column]
    is_hiding = (np.abs(values - mean) < 1e-12) & (n_missing < sizes)
    sums = sizes * values - n_missing * mean
    n_known = sizes - n_missing
    left = n_known.sum() * mean - sums[~is_hiding].sum()
    scaler = space._scaler
    if scaler is None:
        return left
    if hasattr(scaler, "steps"):
        # The last steps of pipelines here, if any, only divide by a scale.
        for step in scaler[1:]:
            left = left * getattr(step, "scale_", np.ones(column + 1))[column]
        scaler = scaler[0]
    return left * scaler.scale_[column] + n_known[is_hiding].sum() * scaler.mean_[column]


def numbers_in(thing, path="model", seen=None):
    """All numbers that can be reached from an object, by their paths."""
    seen = {} if seen is None else seen
    if thing is None or isinstance(thing, str | bytes | type) or callable(thing):
        return {}
    if isinstance(thing, bool | int | float | np.generic):
        return {path: thing}
    if id(thing) in seen:
        return {}
    seen[id(thing)] = thing  # It stays, so that no other thing gets its number.
    if isinstance(thing, pd.DataFrame):
        parts = {name: thing[name].to_numpy() for name in thing.columns}
    elif isinstance(thing, pd.Index | pd.Series):
        parts = dict(enumerate(thing))
    elif issparse(thing):
        parts = {"array": thing.toarray()}
    elif isinstance(thing, np.ndarray):
        if thing.dtype != object:
            return {f"{path}[{place}]": number for place, number in enumerate(thing.ravel())}
        parts = dict(enumerate(thing.ravel()))
    elif isinstance(thing, dict):
        parts = thing
    elif isinstance(thing, list | tuple | set | frozenset):
        parts = dict(enumerate(thing))
    else:
        state = thing.__getstate__() if hasattr(thing, "__getstate__") else vars(thing)
        parts = state if isinstance(state, dict) else {"state": state}
    numbers = {}
    for name, part in parts.items():
        numbers |= numbers_in(part, f"{path}.{name}", seen)
    return numbers


def all_numbers(model):
    """All numbers of a model, also those in its folder."""
    numbers = numbers_in(model)
    if hasattr(model, "_model"):
        numbers |= numbers_in(centroids_of(model), "folder")
    return numbers


def changed_numbers(model, other):
    """Paths of the numbers that differ between two models, but for how long their search took."""
    one, two = (
        {path: number for path, number in all_numbers(each).items() if "n_iter_" not in path}
        for each in (model, other)
    )
    return {
        path
        for path in one.keys() | two.keys()
        if path not in one or path not in two or not np.array_equal(one[path], two[path], True)
    }
