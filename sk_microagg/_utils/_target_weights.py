"""How much columns tell of a target."""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.utils.multiclass import type_of_target

# A column that tells nothing has this weight; the mean weight is 1.
FLOOR = 0.1

# Whole numbers with more different values are no classes.
MOST_CLASSES = 20

N_TREES = 100
MIN_RECORDS_PER_LEAF = 5
RECORDS_PER_TREE = 20_000


def target_weights(points, column_of, y, floor=FLOOR, random_state=0):
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

    random_state : int, default=0
        Seed of the forest.

    Returns
    -------
    weights : dict
        By column its weight; the mean is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._utils._target_weights import target_weights
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> weights = target_weights(X, np.array(["a", "b"]), X[:, 0] > 0)
    >>> weights["a"] > 1.5, round(weights["a"] + weights["b"], 6)
    (True, 2.0)
    """
    is_numbers = type_of_target(y, input_name="y").startswith("continuous") or _are_counts(y)
    forest = (ExtraTreesRegressor if is_numbers else ExtraTreesClassifier)(
        N_TREES,
        min_samples_leaf=MIN_RECORDS_PER_LEAF,
        bootstrap=True,
        max_samples=min(points.shape[0], RECORDS_PER_TREE),
        random_state=random_state,
    )
    importances = forest.fit(points, y).feature_importances_
    columns = list(dict.fromkeys(column_of))
    importance = np.array([importances[column_of == name].sum() for name in columns])
    if importance.sum() == 0:
        return dict.fromkeys(columns, 1.0)
    weights = floor + (1.0 - floor) * importance / importance.mean()
    return {name: float(weight) for name, weight in zip(columns, weights, strict=True)}


def _are_counts(y):
    """Whether a target of whole numbers has too many different ones to be classes."""
    y = np.asarray(y)
    return y.dtype.kind in "iuf" and len(np.unique(y)) > max(MOST_CLASSES, np.sqrt(len(y)))
