"""How well a classifier distinguishes released rows from original ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits  # of scikit-learn

from sk_microagg._utils._typing import Estimator, Floats, Labels, RandomState, TableLike
from sk_microagg._utils._validation import check_count, check_n_jobs, check_seed, own_copy
from sk_microagg.metrics._mixed import check_pair

LARGEST_SEED = np.iinfo(np.int32).max


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
        If there are more records, a random sample of this size is used; None uses all records.

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
    folds = _folds(cv, len(X), random.randint(LARGEST_SEED))
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
        delayed(_squared_error)(clone(estimator), X, release, *fold) for fold in folds
    )
    return sum(errors) / (2 * len(X))


def _folds(cv: int, n_samples: int, seed: int) -> Iterator[tuple[Labels, Labels]]:
    n_folds = check_count("cv", cv)
    if not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"cv={cv!r} must be at least 2 and at most the number of records, {n_samples}."
        )
    return KFold(n_folds, shuffle=True, random_state=seed).split(np.empty(n_samples))


def _squared_error(
    estimator: Estimator, X: Floats, release: Floats, train: Labels, test: Labels
) -> float:
    """Sum of squared differences from 1/2 of the probabilities that rows of a fold are released.

    A record and its released row are on the same side: a classifier trained on one of them would
    assign the other to the same class.
    """
    # The folds run in parallel; threads within a classifier would only compete with each other,
    # above all on a busy machine.
    with threadpool_limits(1, user_api="openmp"):
        estimator.fit(np.concatenate([X[train], release[train]]), np.repeat([0, 1], len(train)))
        is_released = estimator.predict_proba(np.concatenate([X[test], release[test]]))[:, 1]
    return float(np.sum((is_released - 0.5) ** 2))
