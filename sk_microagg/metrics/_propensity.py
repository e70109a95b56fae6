"""How well a classifier tells released rows from original ones."""

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits  # of scikit-learn

from sk_microagg._microaggregate import own_copy
from sk_microagg._utils._validation import check_count, check_n_jobs
from sk_microagg.metrics._numeric import check_pair

LARGEST_SEED = np.iinfo(np.int32).max


def propensity_mse(
    X, release, *, estimator=None, cv=5, max_samples=20_000, random_state=None, n_jobs=None
):
    """Propensity score mean squared error: whether released rows look like original ones.

    A classifier is asked how probable it is that a row was released, rather than original [1]_
    [2]_. The figure is the mean of the squared distances from these probabilities to the share of
    released rows, 1/2.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    release : array-like or DataFrame of shape (n_samples, n_features)
        What was released for each of them.

    estimator : classifier or None, default=None
        Any classifier with `predict_proba`. None is gradient boosting of trees.

    cv : int, default=5
        Number of folds: probabilities of one are those of a model that was trained on the others. A
        record and what was released for it are in the same fold.

    max_samples : int or None, default=20_000
        Largest number of records that are looked at, drawn at random; None looks at all.

    random_state : int, RandomState instance or None, default=None
        Draws records and folds, and is the seed of the default classifier.

    n_jobs : int or None, default=None
        Number of folds at a time, in threads, or on the backend of `joblib.parallel_config`. The
        result does not depend on it.

    Returns
    -------
    error : float
        From 0, where the classifier cannot tell released rows from original ones, to 0.25, where it
        always can and knows. Lower is better.

    Notes
    -----
    The figure depends on the classifier and on the number of records it learns from: compare
    releases of one table by it, not tables.

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
    random = check_random_state(random_state)
    limit = check_count("max_samples", max_samples, or_none=True)
    check_n_jobs(n_jobs)
    if 0 < limit < len(X):
        rows = random.choice(len(X), limit, replace=False)
        X, release = X[rows], release[rows]
    folds = _folds(cv, len(X), random.randint(LARGEST_SEED))
    if estimator is None:
        # Centroids keep all means, and a linear model looks at little else; trees see that released
        # rows are fewer, and where they are. Early stopping would keep single rows of pairs aside.
        estimator = HistGradientBoostingClassifier(
            early_stopping=False,
            # Of a small table, leaves of the usual 20 rows would leave nothing to split.
            min_samples_leaf=max(1, min(20, len(X) // 10)),
            random_state=random.randint(LARGEST_SEED),
        )
    estimator = own_copy("estimator", estimator, ("fit", "predict_proba"), "None or ")
    errors = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_squared_error)(clone(estimator), X, release, *fold) for fold in folds
    )
    return sum(errors) / (2 * len(X))


def _folds(cv, n_samples, seed):
    n_folds = check_count("cv", cv)
    if not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"cv={cv!r} must be at least 2 and at most the number of records, {n_samples}."
        )
    return KFold(n_folds, shuffle=True, random_state=seed).split(np.empty(n_samples))


def _squared_error(estimator, X, release, known, asked):
    """Sum of squared distances from 1/2 to the probabilities that rows of a fold were released.

    A record and its release are on the same side: a classifier that knew one of them would take the
    other for the same kind.
    """
    # Folds are what runs in parallel: threads of a classifier would wait for each other, and most
    # of all on a machine that is busy.
    with threadpool_limits(1, user_api="openmp"):
        estimator.fit(np.concatenate([X[known], release[known]]), np.repeat([0, 1], len(known)))
        is_released = estimator.predict_proba(np.concatenate([X[asked], release[asked]]))[:, 1]
    return float(np.sum((is_released - 0.5) ** 2))
