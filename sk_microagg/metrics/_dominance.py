"""How much the largest contributors to a group have of its sum."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_consistent_length

from sk_microagg._utils._typing import Array, TableLike
from sk_microagg.metrics._anonymity import classes_of
from sk_microagg.privacy import Constraint, Dominance, PPercent
from sk_microagg.privacy._codes import codes_of


def dominance(
    labels_or_release: TableLike, amounts: TableLike, *, n: int = 1, unit: TableLike | None = None
) -> float:
    """Largest share of the sum of a group that its largest contributors have.

    The mean of a group, and thus its sum, is released: if one company has nearly all of it, its
    value is.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    amounts : array-like or Series of shape (n_samples,)
        The original values of a column of numbers that are 0 or more, such as sales. Missing
        values contribute nothing.

    n : int, default=1
        Number of contributors that are taken together.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to: the amounts of each are added up.

    Returns
    -------
    share : float
        From 0 to 1; lower is safer.

    See Also
    --------
    p_percent : How well the largest contribution can be estimated.
    sk_microagg.privacy.Dominance : Bounds it.

    Examples
    --------
    >>> from sk_microagg.metrics import dominance
    >>> dominance([0, 0, 0, 1, 1, 1], [90, 5, 5, 30, 35, 35])
    0.9
    """
    return float(_figures(Dominance(1.0, n), labels_or_release, amounts, unit).max())


def p_percent(
    labels_or_release: TableLike, amounts: TableLike, *, unit: TableLike | None = None
) -> float:
    """Smallest error with which the largest contribution to a group can be estimated, in percent.

    The estimate is that of the second largest contributor, who subtracts the own value from the
    sum of the group.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    amounts : array-like or Series of shape (n_samples,)
        The original values of a column of numbers that are 0 or more, such as sales. Missing
        values contribute nothing.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to: the amounts of each are added up.

    Returns
    -------
    p : float
        In percent of the largest contribution, from 0; higher is safer. Infinite if all amounts
        are 0.

    See Also
    --------
    dominance : The share of the largest contributors.
    sk_microagg.privacy.PPercent : Bounds it.

    Examples
    --------
    >>> from sk_microagg.metrics import p_percent
    >>> p_percent([0, 0, 0, 1, 1, 1], [80, 40, 4, 30, 35, 35])
    5.0
    """
    return float(_figures(PPercent(), labels_or_release, amounts, unit).min())


def _figures(
    constraint: Constraint, labels_or_release: TableLike, amounts: TableLike, unit: TableLike | None
) -> Array:
    groups = classes_of(labels_or_release, "labels_or_release")
    check_consistent_length(groups, amounts, unit)
    values, table = constraint.prepare(amounts)
    values = constraint.with_units(values, None if unit is None else codes_of(unit)[0])
    return np.asarray(constraint.measure_groups(groups, values, table))
