"""Risk and utility of releases for several values of k."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._tables import columns_of
from sk_microagg._utils._typing import Estimator, Labels, TableLike
from sk_microagg._utils._validation import check_k, check_n_jobs, check_records, own_copy
from sk_microagg.generalization._generalizer import check_generalizes_all
from sk_microagg.metrics._changes import correlations_of
from sk_microagg.metrics._contributions import unit_share, units_per_group
from sk_microagg.metrics._disclosure import shares_of_known, values_in_interval, values_near_in_rank
from sk_microagg.metrics._groups import closeness, diversity, homogeneity
from sk_microagg.metrics._linkage import link, units_of
from sk_microagg.metrics._pairs import are_numbers, holds_only_numbers, make_pair
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

SENSITIVE_FIELDS = [("homogeneity", np.float64), ("diversity", np.int64), ("closeness", np.float64)]

UNIT_FIELDS = [("units_per_group", np.int64), ("unit_share", np.float64)]


def risk_utility(
    X: TableLike,
    ks: Iterable[int],
    *,
    estimator: Estimator = None,
    n_jobs: int | None = None,
    sensitive: TableLike | None = None,
    unit: TableLike | None = None,
) -> NDArray[np.void]:
    """Disclosure risk and information loss of releases for several values of k.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records: numbers, or columns of any kind with missing values.

    ks : list of int
        The values of `k` to try.

    estimator : estimator or None, default=None
        It is cloned and fitted for each k. It needs a parameter `k` and a method `fit_transform`
        that returns a release with the columns of `X`, numbers as numbers and dates as dates. None
        is `MicroAggregator()` if `X` holds numbers, and otherwise `TableAggregator()`. If a
        TableAggregator has roles for columns, the quasi-identifiers are measured.

    n_jobs : int or None, default=None
        Number of values of k that run in parallel, in threads.

    sensitive : array-like, Series or DataFrame, or None, default=None
        One or several columns that are released unchanged: what the groups disclose about them is
        also measured. An estimator whose parameter `privacy` is not None is fitted with them.

    unit : array-like or Series of shape (n_samples,), or None, default=None
        Who each record belongs to, if people have several records. An estimator whose `fit` has
        this parameter is fitted with it, so that `k` counts units; for others, only the units per
        group are counted. The risk is then that of a person, see :func:`record_linkage`.

    Returns
    -------
    table : structured ndarray of shape (n_ks,)
        One row per value in `ks`; it can be passed to `pandas.DataFrame`. Its fields are

        - `k`;
        - `information_loss`: squared distances from the records to their released rows, as a share
          of the total sum of squares, in standardized columns, or in the coordinates of
          categories, see :func:`record_linkage`;
        - `linked` and `expected_matches`: see :func:`record_linkage`;
        - `interval_disclosure` and `rank_disclosure`: means over the columns;
        - `correlation_change`: mean over all pairs of columns of numbers or dates, with missing
          values replaced by means;
        - `smallest_group` and `n_groups`: size of the smallest class of equal released rows, and
          the number of these classes. Groups with the same centroid count as one;
        - `seconds`: time of `fit_transform`; it is longer if several jobs share the machine.

        With `sensitive`, further fields are :func:`homogeneity`, :func:`diversity` (the number of
        different values) and :func:`closeness`, each of the column where it is worst. With `unit`,
        there are :func:`units_per_group` and :func:`unit_share`.

    See Also
    --------
    record_linkage, interval_disclosure, rank_disclosure, correlation_change : Single measures.
    homogeneity, diversity, closeness, units_per_group, unit_share : Measures of groups.

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

    Columns of any kind:

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 35, None, 52, 58], "ward": ["A", "A", "A", "B", "B"]})
    >>> risk_utility(people, [2])["interval_disclosure"].round(2)
    array([0.5])

    Releases of people who have two records each:

    >>> table = risk_utility(X, [2, 5, 10], unit=np.arange(100) // 2)
    >>> table["units_per_group"], table["smallest_group"]
    (array([ 2,  5, 10]), array([ 2,  5, 10]))
    """
    if are_numbers(X):
        check_records(X)
    n_samples = len(columns_of(X, "X")[0])
    ks = _check_ks(ks, n_samples)
    check_n_jobs(n_jobs)
    if estimator is None:
        estimator = MicroAggregator() if holds_only_numbers(X) else TableAggregator()
    estimator = own_copy("estimator", estimator, ("fit_transform", "set_params"), "None or ")
    if sensitive is not None:
        RoleColumns(sensitive, n_samples)  # checks that there is a value per record
    if unit is not None:
        RoleColumns(unit, n_samples, "unit").only()
    estimators = [clone(estimator).set_params(k=k) for k in ks]
    rows = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_row)(X, estimator, sensitive, unit) for estimator in estimators
    )
    fields = [*FIELDS]
    fields += [] if sensitive is None else SENSITIVE_FIELDS
    fields += [] if unit is None else UNIT_FIELDS
    return np.array(rows, dtype=fields)


def _check_ks(ks: Iterable[int], n_samples: int) -> list[int]:
    if isinstance(ks, str) or not np.iterable(ks):
        raise TypeError(f"ks={ks!r} must be a list of integers, got {type(ks).__name__}.")
    return [check_k(k, n_samples) for k in ks]


def _row(
    X: TableLike, estimator: Estimator, sensitive: TableLike | None, unit: TableLike | None
) -> tuple[Any, ...]:
    roles = {}
    has_constraints = getattr(estimator, "privacy", None) is not None
    if sensitive is not None and has_constraints and has_fit_parameter(estimator, "sensitive"):
        roles["sensitive"] = sensitive
    if unit is not None and has_fit_parameter(estimator, "unit"):
        roles["unit"] = unit
    start = perf_counter()
    release = estimator.fit_transform(X, **roles)
    check_generalizes_all(estimator)
    seconds = perf_counter() - start
    pair = make_pair(X, release, estimator)
    units = units_of(unit, len(pair.classes))
    linkage = link(pair, units)
    measures = (
        pair.information_loss(),
        linkage.linked,
        linkage.expected_matches,
        shares_of_known(pair, values_in_interval(pair)).mean(),
        shares_of_known(pair, values_near_in_rank(pair)).mean(),
        correlations_of(*pair.numbers()).mean,
    )
    classes = pair.classes
    sizes = np.bincount(classes)
    return (
        estimator.k,
        *measures,
        sizes.min(),
        len(sizes),
        seconds,
        *(() if sensitive is None else _of_sensitive_columns(classes, sensitive)),
        *(() if units is None else (units_per_group(classes, units), unit_share(classes, units))),
    )


def _of_sensitive_columns(classes: Labels, sensitive: TableLike) -> tuple[float, float, float]:
    """Homogeneity, diversity and closeness of the column where each is worst."""
    return (
        np.max(homogeneity(classes, sensitive)),
        np.min(diversity(classes, sensitive)),
        np.max(closeness(classes, sensitive)),
    )
