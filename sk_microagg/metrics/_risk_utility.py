"""Risk and utility of releases for several values of k."""

from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._utils._scaling import make_scaler, scale
from sk_microagg._utils._statistics import share_of_total
from sk_microagg._utils._validation import check_k, check_n_jobs, check_records, own_copy
from sk_microagg.metrics._attributes import correlation_change
from sk_microagg.metrics._classes import row_classes
from sk_microagg.metrics._disclosure import interval_disclosure, rank_disclosure
from sk_microagg.metrics._diversity import closeness, diversity, homogeneity, units_per_group
from sk_microagg.metrics._linkage import record_linkage
from sk_microagg.privacy._columns import RoleColumns

FIELDS = [
    ("k", np.int64),
    ("information_loss", np.float64),
    ("linked", np.float64),
    ("expected_matches", np.float64),
    ("interval_disclosure", np.float64),
    ("rank_disclosure", np.float64),
    ("correlation_change", np.float64),
    ("smallest_group", np.int64),
    ("n_groups", np.int64),
    ("seconds", np.float64),
]

SENSITIVE_FIELDS = [
    ("homogeneity", np.float64),
    ("diversity", np.int64),
    ("closeness", np.float64),
]

UNIT_FIELDS = [("units_per_group", np.int64)]


def risk_utility(X, ks, *, estimator=None, n_jobs=None, sensitive=None, unit=None):
    """Disclosure risk and information loss of releases for several values of k.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    ks : list of int
        The values of `k` to try.

    estimator : estimator or None, default=None
        It is cloned and fitted for each k. It needs a parameter `k` and a method `fit_transform`
        that returns a numeric release. None is `MicroAggregator()`.

    n_jobs : int or None, default=None
        Number of values of k that run in parallel, in threads.

    sensitive : array-like, Series or DataFrame, or None, default=None
        One or several columns that are released unchanged: what the groups disclose about them is
        measured, too. An estimator with a parameter `privacy` that is not None is fitted with them.

    unit : array-like or Series of shape (n_samples,), or None, default=None
        Who each record belongs to, if people have several records. An estimator whose `fit` has
        this parameter is fitted with it, so that `k` counts units; of others it is measured how
        many units the groups have.

    Returns
    -------
    table : structured ndarray of shape (n_ks,)
        One row per value in `ks`; it can be passed to `pandas.DataFrame`. Its fields are

        - `k`;
        - `information_loss`: squared distances from the records to their released rows, as a share
          of the total sum of squares, in standardized columns;
        - `linked` and `expected_matches`: see :func:`record_linkage`;
        - `interval_disclosure` and `rank_disclosure`: means over the columns;
        - `correlation_change`: mean over all pairs of columns;
        - `smallest_group` and `n_groups`: size of the smallest class of equal released rows, and
          the number of these classes. Groups with the same centroid count as one;
        - `seconds`: time of `fit_transform`; it is longer if several jobs share the machine.

        With `sensitive`, further fields are :func:`homogeneity`, :func:`diversity` (the number of
        different values) and :func:`closeness`, each of the column where it is worst. With `unit`,
        there is :func:`units_per_group`.

    See Also
    --------
    record_linkage, interval_disclosure, rank_disclosure, correlation_change : Single measures.
    homogeneity, diversity, closeness, units_per_group : Measures of groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.metrics import risk_utility
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> table = risk_utility(X, [2, 5, 10])
    >>> table["expected_matches"].round(2)
    array([0.44, 0.18, 0.09])
    >>> table["information_loss"].round(2)
    array([0.02, 0.07, 0.14])

    What groups disclose about a column that is released with them:

    >>> is_ill = X[:, 0] > 0.5
    >>> table = risk_utility(X, [2, 5, 10], sensitive=is_ill)
    >>> table["homogeneity"].round(2)
    array([0.96, 0.78, 0.7 ])

    Releases of people who have two records each:

    >>> table = risk_utility(X, [2, 5, 10], unit=np.arange(100) // 2)
    >>> table["units_per_group"], table["smallest_group"]
    (array([ 2,  5, 10]), array([ 2,  5, 10]))
    """
    records = check_records(X)
    ks = _check_ks(ks, len(records))
    check_n_jobs(n_jobs)
    if estimator is None:
        estimator = MicroAggregator()
    estimator = own_copy("estimator", estimator, ("fit_transform", "set_params"), "None or ")
    if sensitive is not None:
        RoleColumns(sensitive, len(records))  # checks that there is a value per record
    if unit is not None:
        RoleColumns(unit, len(records), "unit").only()
    estimators = [clone(estimator).set_params(k=k) for k in ks]
    rows = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_row)(X, records, estimator, sensitive, unit) for estimator in estimators
    )
    fields = [*FIELDS]
    fields += [] if sensitive is None else SENSITIVE_FIELDS
    fields += [] if unit is None else UNIT_FIELDS
    return np.array(rows, dtype=fields)


def _check_ks(ks, n_samples):
    if isinstance(ks, str) or not np.iterable(ks):
        raise TypeError(f"ks={ks!r} must be a list of integers, got {type(ks).__name__}.")
    return [check_k(k, n_samples) for k in ks]


def _row(X, records, estimator, sensitive, unit):
    roles = {}
    if sensitive is not None and getattr(estimator, "privacy", None) is not None:
        roles["sensitive"] = sensitive
    if unit is not None and has_fit_parameter(estimator, "unit"):
        roles["unit"] = unit
    start = perf_counter()
    release = estimator.fit_transform(X, **roles)
    seconds = perf_counter() - start
    release = check_records(release, name="release")
    linkage = record_linkage(records, release)
    classes = row_classes(release, "release")
    sizes = np.bincount(classes)
    return (
        estimator.k,
        _information_loss(records, release),
        linkage.linked,
        linkage.expected_matches,
        interval_disclosure(records, release).mean(),
        rank_disclosure(records, release).mean(),
        correlation_change(records, release).mean,
        sizes.min(),
        len(sizes),
        seconds,
        *(() if sensitive is None else _of_sensitive_columns(classes, sensitive)),
        *(() if unit is None else [_units_per_group(classes, unit)]),
    )


def _of_sensitive_columns(classes, sensitive):
    """Homogeneity, diversity and closeness of the column where each is worst."""
    return (
        np.max(homogeneity(classes, sensitive)),
        np.min(diversity(classes, sensitive)),
        np.max(closeness(classes, sensitive)),
    )


def _units_per_group(classes, unit):
    columns = RoleColumns(unit, len(classes), "unit")
    return units_per_group(classes, columns.values(columns.only()))


def _information_loss(X, release):
    scaler = make_scaler("standard").fit(X)
    scaled = scale(scaler, X)
    return share_of_total(np.sum((scaled - scale(scaler, release)) ** 2), scaled)
