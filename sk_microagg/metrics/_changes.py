"""What a release keeps of the distributions, correlations and appearance of the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold
from threadpoolctl import ThreadpoolController  # of scikit-learn

from sk_microagg._utils._typing import Estimator, Floats, Labels, RandomState, TableLike
from sk_microagg._utils._validation import check_count, check_n_jobs, check_seed, own_copy
from sk_microagg.metrics._pairs import check_pair, correlations, names_in_frame, standard_deviations

QUARTILES = {"lower_quartile_change": 0.25, "median_change": 0.5, "upper_quartile_change": 0.75}
FIELDS = [
    ("name", object),
    *((name, np.float64) for name in ("mean_change", "variance_ratio", *QUARTILES)),
]

LARGEST_SEED = np.iinfo(np.int32).max

# The libraries with threads, by module of a classifier: finding them takes as long as many trees.
_threads_of = cache(lambda module: ThreadpoolController())


def attribute_changes(X: TableLike, release: TableLike) -> NDArray[np.void]:
    """Changes of the mean, variance and quartiles of each column.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    Returns
    -------
    changes : structured ndarray of shape (n_features,)
        One row per column of `X`; it can be passed to `pandas.DataFrame`. Its fields are

        - `name`: name of the column of `X`, or its number;
        - `mean_change`, `lower_quartile_change`, `median_change`, `upper_quartile_change`: released
          minus original, in standard deviations of the original column, or in its own units if it
          is constant;
        - `variance_ratio`: released over original; for a constant column, 1 if it is released as a
          constant and otherwise infinite.

    See Also
    --------
    correlation_change : Changes of the correlations between columns.

    Examples
    --------
    >>> from sk_microagg.metrics import attribute_changes
    >>> X = [[10.0, 1.0], [20.0, 1.0], [30.0, 1.0], [40.0, 1.0]]
    >>> release = [[15.0, 1.0], [15.0, 1.0], [35.0, 1.0], [35.0, 1.0]]
    >>> changes = attribute_changes(X, release)
    >>> changes["mean_change"]
    array([0., 0.])
    >>> changes["variance_ratio"]
    array([0.8, 1. ])
    >>> changes["upper_quartile_change"].round(3)
    array([0.224, 0.   ])
    """
    names = names_in_frame(X)
    X, release = check_pair(X, release)
    spreads, released_spreads = standard_deviations(X), standard_deviations(release)
    is_constant = spreads == 0
    units = np.where(is_constant, 1.0, spreads)

    changes = np.empty(X.shape[1], dtype=FIELDS)
    changes["name"] = names or range(X.shape[1])
    changes["mean_change"] = (release - X).mean(axis=0) / units
    changes["variance_ratio"] = np.where(
        is_constant, np.where(released_spreads > 0, np.inf, 1.0), (released_spreads / units) ** 2
    )
    before, after = (np.quantile(table, [*QUARTILES.values()], axis=0) for table in (X, release))
    for name, moved in zip(QUARTILES, after - before, strict=True):
        changes[name] = moved / units
    return changes


@dataclass(frozen=True)
class CorrelationChange:
    """Differences between the correlations of original and released columns.

    Attributes
    ----------
    mean : float
        Mean of the absolute differences over all pairs of columns.

    largest : float
        The largest of these differences.

    Examples
    --------
    >>> from sk_microagg.metrics import CorrelationChange
    >>> CorrelationChange(mean=0.02, largest=0.1).largest
    0.1
    """

    mean: float
    largest: float


def correlation_change(X: TableLike, release: TableLike) -> CorrelationChange:
    """Changes of the Pearson correlations between columns.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    Returns
    -------
    change : CorrelationChange
        `mean` and `largest` of the absolute differences over all pairs of columns, from 0 to 2. A
        constant column has a correlation of 0 with any other. Both are 0 if there is only one
        column.

    See Also
    --------
    attribute_changes : Changes of single columns.

    Examples
    --------
    >>> from sk_microagg.metrics import correlation_change
    >>> X = [[1.0, 1.0, 5.0], [2.0, 2.0, 3.0], [3.0, 4.0, 2.0], [4.0, 3.0, 1.0]]
    >>> release = [[1.5, 1.5, 4.0], [1.5, 1.5, 4.0], [3.5, 3.5, 1.5], [3.5, 3.5, 1.5]]
    >>> change = correlation_change(X, release)
    >>> round(change.mean, 3), round(change.largest, 3)
    (0.129, 0.2)
    """
    return correlations_of(*check_pair(X, release))


def correlations_of(X: Floats, release: Floats) -> CorrelationChange:
    pairs = np.triu_indices(X.shape[1], 1)
    differences = np.abs(correlations(release) - correlations(X))[pairs]
    if not len(differences):
        return CorrelationChange(0.0, 0.0)
    return CorrelationChange(float(differences.mean()), float(differences.max()))


def propensity_mse(
    X: TableLike,
    release: TableLike,
    *,
    estimator: Estimator = None,
    cv: int = 5,
    max_samples: int | None = 20_000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> float:
    """Propensity score mean squared error: how well released rows resemble original ones.

    A classifier estimates the probability that a row is a released rather than an original one
    [1]_ [2]_. The error is the mean squared difference between these probabilities and the share of
    released rows, 1/2.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    estimator : classifier or None, default=None
        Any classifier with `predict_proba`. None is gradient-boosted trees.

    cv : int, default=5
        Number of folds: the probabilities of each fold come from a model trained on the others. A
        record and its released row are in the same fold.

    max_samples : int or None, default=20_000
        If there are more records, a random sample of this size is used; with None, all of them are.

    random_state : int, RandomState instance or None, default=None
        Controls the sample of records, the folds and the default classifier.

    n_jobs : int or None, default=None
        Number of folds that run in parallel, in threads or on the backend of
        `joblib.parallel_config`. The result does not depend on it.

    Returns
    -------
    error : float
        From 0, where the classifier cannot distinguish released rows from original ones, to 0.25,
        where it always does, with certainty. Lower is better.

    Notes
    -----
    The error depends on the classifier and on the number of records it is trained on. Use it to
    compare releases of one table, not different tables.

    References
    ----------
    .. [1] M.-J. Woo, J. P. Reiter, A. Oganian and A. F. Karr, "Global measures of data utility for
       microdata masked for disclosure limitation", Journal of Privacy and Confidentiality 1, 2009.
    .. [2] J. Snoke, G. M. Raab, B. Nowok, C. Dibben and A. Slavkovic, "General and specific utility
       measures for synthetic data", Journal of the Royal Statistical Society A 181, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.metrics import propensity_mse
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> propensity_mse(X, X, random_state=0)
    0.0
    >>> release = MicroAggregator(k=50).fit_transform(X)
    >>> propensity_mse(X, release, random_state=0) > 0.2
    True
    """
    X, release = check_pair(X, release)
    random = check_seed(random_state)
    limit = check_count("max_samples", max_samples, or_none=True)
    check_n_jobs(n_jobs)
    if 0 < limit < len(X):
        rows = random.choice(len(X), limit, replace=False)
        X, release = X[rows], release[rows]
    folds = KFold(check_folds(cv, len(X)), shuffle=True, random_state=random.randint(LARGEST_SEED))
    if estimator is None:
        # Centroids preserve the means, so that a linear model would see little difference; trees
        # detect that distinct released rows are few. Early stopping would separate rows of a pair.
        estimator = HistGradientBoostingClassifier(
            early_stopping=False,
            # In a small table, leaves of the usual 20 rows would not allow any split.
            min_samples_leaf=max(1, min(20, len(X) // 10)),
            random_state=random.randint(LARGEST_SEED),
        )
    estimator = own_copy("estimator", estimator, ("fit", "predict_proba"), "None or ")
    errors = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_squared_error)(clone(estimator), X, release, *fold) for fold in folds.split(X)
    )
    return sum(errors) / (2 * len(X))


def check_folds(cv: int, n_samples: int, where: str = "") -> int:
    n_folds = check_count("cv", cv)
    if not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"cv={cv!r} must be at least 2 and at most the number of records{where}, {n_samples}."
        )
    return n_folds


def _squared_error(
    estimator: Estimator, X: Floats, release: Floats, train: Labels, test: Labels
) -> float:
    """Squared differences from 1/2 of probabilities in a fold, which has both rows of a record."""
    # The folds run in parallel: threads within a classifier would only compete with each other.
    with _threads_of(type(estimator).__module__).limit(limits=1, user_api="openmp"):
        estimator.fit(np.concatenate([X[train], release[train]]), np.repeat([0, 1], len(train)))
        is_released = estimator.predict_proba(np.concatenate([X[test], release[test]]))[:, 1]
    return float(np.sum((is_released - 0.5) ** 2))
