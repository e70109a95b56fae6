"""How much columns tell of a target."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from sk_microagg._utils._tables import is_null
from sk_microagg._utils._typing import Array, Estimator, RandomState
from sk_microagg._utils._validation import own_copy

# A column that tells nothing has this weight; the mean weight is 1.
FLOOR = 0.1

# Whole numbers with more different values are no classes.
MOST_CLASSES = 20

N_TREES = 100
MIN_RECORDS_PER_LEAF = 5
RECORDS_PER_TREE = 20_000

# Weights are powers of this. Finer ones would depend on single records, so that guesses at one
# could be tested.
STEP = 2.0**0.5


def check_target(y: Any, n_records: int, owner: str) -> Array:
    """Return a target as an array; raise an error that names y if there is none for the records.

    `owner` is what needs it, in messages.
    """
    if y is None:
        raise ValueError(f"{owner} needs y: it requires y to be passed, but the target y is None.")
    y = as_target(y)
    if _has_missing(y):
        raise ValueError(f"y contains NaN or None: {owner} needs the target of every record.")
    if y.shape[:1] != (n_records,):
        raise ValueError(
            f"y of shape {y.shape} must have a value per record of X, which has {n_records}."
        )
    return y


def _has_missing(y: Array) -> bool:
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    return y.dtype.kind == "O" and any(map(is_null, y.flat))


def as_target(y: Any) -> Array:
    """Return a target as an array, a single column of it as one of one dimension, dates as numbers.

    Dates are microseconds, or NaN.
    """
    y = np.asarray(y)
    if y.dtype.kind == "M":
        y = np.where(np.isnat(y), np.nan, y.astype("M8[us]").astype(np.float64))
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def target_weights(
    points: Any,
    column_of: Array,
    y: Array,
    floor: float = FLOOR,
    random_state: RandomState = 0,
    estimator: Estimator = None,
) -> dict[Any, float]:
    """Weights of columns by what a forest finds them to tell of a target.

    Parameters
    ----------
    points : array-like or sparse array of shape (n_records, n_coordinates)
        The records.

    column_of : ndarray of shape (n_coordinates,)
        The column that each coordinate belongs to.

    y : array-like of shape (n_records,)
        The target: classes or numbers.

    floor : float, default=0.1
        The weight of a column that tells nothing.

    random_state : int, RandomState instance or None, default=0
        Seed of the forest, and of an estimator without one.

    estimator : estimator or None, default=None
        A model with `feature_importances_` or `coef_` in the place of the forest.

    Returns
    -------
    weights : dict
        By column its weight, a power of the root of 2; about 1 on average.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._utils._target_weights import target_weights
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> weights = target_weights(X, np.array(["a", "b"]), X[:, 0] > 0)
    >>> weights["a"] > 2 * weights["b"]
    True
    """
    if estimator is None:
        model = _quick_forest(y, points.shape[0], random_state)
    else:
        model = own_copy("estimator", estimator, ("fit", "get_params"), "None or ")
        if model.get_params(deep=False).get("random_state", 0) is None:
            model.set_params(random_state=random_state)
    importances = _importances(model.fit(points, y))
    columns = list(dict.fromkeys(column_of))
    importance = np.array([importances[column_of == name].sum() for name in columns])
    if importance.sum() == 0:
        return dict.fromkeys(columns, 1.0)
    weights = floor + (1.0 - floor) * importance / importance.mean()
    # Only ratios matter: relative to the largest, columns that tell about the same stay equal. What
    # makes the mean about 1 follows from the ratios, and tells nothing more.
    exponents = _exponents(weights / weights.max())
    weights = STEP ** (exponents - _exponents(np.mean(STEP**exponents)))
    return dict(zip(columns, weights.tolist(), strict=True))


def _exponents(weights: Any) -> Any:
    return np.round(np.log(weights) / np.log(STEP))


def _quick_forest(y: Array, n_records: int, random_state: RandomState) -> Estimator:
    # Few need it, and all would wait for it.
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    return (ExtraTreesClassifier if has_classes(y) else ExtraTreesRegressor)(
        N_TREES,
        min_samples_leaf=MIN_RECORDS_PER_LEAF,
        bootstrap=True,
        max_samples=min(n_records, RECORDS_PER_TREE),
        random_state=random_state,
    )


def _importances(model: Estimator) -> Array:
    """What a fitted model finds each coordinate to tell, from 0."""
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_)
    if hasattr(model, "coef_"):
        return np.abs(np.atleast_2d(model.coef_)).sum(axis=0)
    raise TypeError(
        f"estimator={model!r} must have feature_importances_ or coef_ once it is fitted."
    )


def has_classes(y: Array) -> bool:
    """Whether a target consists of classes, not of numbers."""
    return not (type_of_target(y, input_name="y").startswith("continuous") or _are_counts(y))


def _are_counts(y: Array) -> bool:
    """Whether a target of whole numbers has too many different ones to be classes."""
    y = np.asarray(y)
    return y.dtype.kind in "iuf" and len(np.unique(y)) > max(MOST_CLASSES, np.sqrt(len(y)))
