"""What people contribute to groups: rows, amounts and sampling weights, and the risks of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_consistent_length

from sk_microagg._utils._typing import Array, Floats, Labels, TableLike
from sk_microagg._utils._validation import check_number, check_option
from sk_microagg.metrics._anonymity import classes_of, refuse_dask
from sk_microagg.privacy import Constraint, DistinctUnits, Dominance, PPercent, UnitShare
from sk_microagg.privacy._amounts import units_in
from sk_microagg.privacy._codes import as_column, codes_of
from sk_microagg.privacy._population import PopulationSize

# From this number of records of a class on, or this share of them in the sample, a short sum of
# positive terms is exact; below both, a recurrence is.
FEW_RECORDS = 30
LARGE_SHARE = 0.5
N_TERMS = 64


def units_per_group(labels_or_release: TableLike, unit: TableLike) -> int:
    """Smallest number of distinct units, such as people, in any group.

    If people have several records each, a group of k records may belong to fewer than k of them.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    unit : array-like or Series of shape (n_samples,)
        Who each record belongs to, with the records in the same order. Records with a missing value
        here count as one unit.

    Returns
    -------
    n_units : int
        Number of distinct units in the group with the fewest.

    See Also
    --------
    anonymity_level : Smallest number of records in any group.
    unit_share : Largest share of one unit in any group.

    Examples
    --------
    >>> from sk_microagg.metrics import units_per_group
    >>> units_per_group([0, 0, 0, 1, 1, 1], ["Ann", "Ann", "Bob", "Cid", "Bob", "Dan"])
    2
    """
    return int(_figures_of_units("units_per_group", DistinctUnits(), labels_or_release, unit).min())


def unit_share(labels_or_release: TableLike, unit: TableLike) -> float:
    """Largest share of the records of a group that belong to one unit, such as a person.

    A group with records of k people offers little protection if nearly all of them are one
    person's: an intruder who attributes every record of the group to that person is right for this
    share of them. If the share is above 1 / k, so is that person's risk.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    unit : array-like or Series of shape (n_samples,)
        Who each record belongs to, with the records in the same order. Records with a missing value
        here count as one unit.

    Returns
    -------
    share : float
        Above 0, and at most 1, if all records of a group belong to one unit; lower is safer.

    See Also
    --------
    sk_microagg.privacy.UnitShare : Bounds it.
    units_per_group : Smallest number of different units in any group.

    Examples
    --------
    >>> from sk_microagg.metrics import unit_share
    >>> unit_share([0, 0, 0, 0, 1, 1], ["Ann", "Ann", "Ann", "Bob", "Bob", "Dan"])
    0.75
    """
    return float(_figures_of_units("unit_share", UnitShare(), labels_or_release, unit).max())


def dominance(
    labels_or_release: TableLike,
    amounts: TableLike,
    *,
    n: int = 1,
    unit: TableLike | None = None,
    weight: TableLike | None = None,
) -> float:
    """Largest share of a group's total that comes from its largest contributors.

    The mean of a group is released, and with it the total. If nearly all of the total comes from
    one company, so is that company's value.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    amounts : array-like or Series of shape (n_samples,)
        The original values of a column of numbers that are 0 or more, such as sales. Missing
        values contribute nothing.

    n : int, default=1
        Number of largest contributors whose shares are added up.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to: the amounts of each unit are added up.

    weight : array-like or Series of shape (n_samples,) or None, default=None
        The sampling weight of each record: amounts are multiplied by it, since that is what a
        weighted mean adds up.

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
    >>> dominance([0, 0, 0, 1, 1, 1], [90, 5, 5, 30, 35, 35], weight=[1, 10, 8, 1, 1, 1])
    0.5
    """
    return float(_figures(Dominance(1.0, n), labels_or_release, amounts, unit, weight).max())


def p_percent(
    labels_or_release: TableLike,
    amounts: TableLike,
    *,
    unit: TableLike | None = None,
    weight: TableLike | None = None,
) -> float:
    """Smallest error with which the largest contribution to a group can be estimated, in percent.

    The estimate is that of the second largest contributor, who subtracts its own value from the
    group's total.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    amounts : array-like or Series of shape (n_samples,)
        The original values of a column of numbers that are 0 or more, such as sales. Missing
        values contribute nothing.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to: the amounts of each unit are added up.

    weight : array-like or Series of shape (n_samples,) or None, default=None
        The sampling weight of each record: amounts are multiplied by it, since that is what a
        weighted mean adds up.

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
    return float(_figures(PPercent(), labels_or_release, amounts, unit, weight).min())


def individual_risk(
    labels_or_release: TableLike,
    weight: TableLike,
    *,
    unit: TableLike | None = None,
    method: Literal["exact", "sdcmicro"] = "exact",
) -> Floats:
    """Risk that each record of a sample is re-identified in the population.

    A class has f equal records in the sample, whose sampling weights add up to F. The number of
    people in the population with these values is unknown, but probably about F; the risk is the
    expectation of one over that number [1]_.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    weight : array-like or Series of shape (n_samples,)
        The sampling weight of each record: how many people of the population it stands for.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to, if people have several: then people are counted, each with the
        largest weight of their records.

    method : {"exact", "sdcmicro"}, default="exact"
        "sdcmicro" is what the package of that name computes: for classes of three records or more,
        an approximation that is slightly larger.

    Returns
    -------
    risk : ndarray of shape (n_samples,)
        Above 0, and at most 1 / f.

    See Also
    --------
    population_risk : Risks of a release in a few figures.
    sk_microagg.privacy.PopulationSize : Bounds the sum of the weights of a group from below.

    References
    ----------
    .. [1] L. Franconi, S. Polettini (2004). Individual risk estimation in mu-Argus: a review.
       Privacy in Statistical Databases, 262–272.

    Examples
    --------
    >>> from sk_microagg.metrics import individual_risk
    >>> individual_risk([0, 0, 1, 1, 1], [50, 50, 10, 10, 10]).round(4)
    array([0.0188, 0.0188, 0.0464, 0.0464, 0.0464])
    """
    check_option("method", method, ["exact", "sdcmicro"])
    groups, sizes, totals = _classes(labels_or_release, weight, unit)
    # Weights below 1 would mean more people in the sample than in the population.
    shares = np.minimum(sizes / totals, 1.0)
    risks = _posterior_means(sizes, shares)
    if method == "sdcmicro":
        risks = np.where(sizes > 2, shares / (sizes - 1 + shares), risks)
    return risks[groups]


@dataclass(frozen=True)
class IntruderRisk:
    """Re-identification risks for one kind of intruder.

    Attributes
    ----------
    largest : float
        The largest risk of a record.

    mean : float
        The mean risk of all records.

    expected : float
        Expected number of re-identified records if the intruder tries all of them.

    share_above : float
        Share of the records whose risk is above the threshold.

    See Also
    --------
    population_risk : Returns one for each of three kinds of intruders.

    Examples
    --------
    >>> from sk_microagg.metrics import population_risk
    >>> population_risk([0, 0, 1, 1], [20, 30, 10, 40]).prosecutor
    IntruderRisk(largest=0.5, mean=0.5, expected=2.0, share_above=1.0)
    """

    largest: float
    mean: float
    expected: float
    share_above: float


@dataclass(frozen=True)
class PopulationRisk:
    """Risks of re-identification for three kinds of intruders.

    Attributes
    ----------
    prosecutor : IntruderRisk
        Knows who is in the sample: the risk is 1 over the number of people in the class.

    journalist : IntruderRisk
        Has a register of the population, not knowing who is in the sample: :func:`individual_risk`.

    marketer : IntruderRisk
        Links every record to a register of the population: the risk is 1 over the sum of the
        weights of the class, and `mean` is the expected share of correct links.

    threshold : float
        Risks above it count for `share_above`.

    See Also
    --------
    population_risk : Returns it.

    Examples
    --------
    >>> from sk_microagg.metrics import population_risk
    >>> population_risk([0, 0, 1, 1], [20, 30, 10, 40]).marketer.largest
    0.02
    """

    prosecutor: IntruderRisk
    journalist: IntruderRisk
    marketer: IntruderRisk
    threshold: float


def population_risk(
    labels_or_release: TableLike,
    weight: TableLike,
    *,
    unit: TableLike | None = None,
    threshold: float = 0.1,
) -> PopulationRisk:
    """Risks of a release for intruders with and without a register of the population.

    Parameters
    ----------
    labels_or_release : array-like of int, shape (n_samples,), or table (n_samples, n_features)
        The group of each record; or the columns that were anonymized, as they are released
        (numbers, text or both), where equal rows are a group.

    weight : array-like or Series of shape (n_samples,)
        The sampling weight of each record: how many people of the population it stands for.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to, if people have several: then people are counted, each with the
        largest weight of their records.

    threshold : float, default=0.1
        Risks above it count for `share_above`; from 0 to 1.

    Returns
    -------
    risk : PopulationRisk
        With `prosecutor`, `journalist` and `marketer`, each with `largest`, `mean`, `expected` and
        `share_above`.

    See Also
    --------
    individual_risk : The risk of each record.
    record_linkage : What an intruder who knows the original values finds in a release.

    References
    ----------
    K. El Emam, F. K. Dankar (2008). Protecting privacy using k-anonymity. Journal of the American
    Medical Informatics Association 15(5), 627–637.

    Examples
    --------
    >>> from sk_microagg.metrics import population_risk
    >>> risk = population_risk([0, 0, 1, 1, 1], [50, 50, 10, 10, 10])
    >>> risk.prosecutor.largest, round(risk.prosecutor.expected, 4)
    (0.5, 2.0)
    >>> round(risk.journalist.largest, 4), risk.journalist.share_above
    (0.0464, 0.0)
    >>> round(risk.marketer.mean, 4)
    0.024
    """
    threshold = check_number("threshold", threshold, at_least=0, at_most=1)
    groups, sizes, totals = _classes(labels_or_release, weight, unit)
    totals = np.maximum(totals, sizes)
    by_intruder = 1.0 / sizes, _posterior_means(sizes, sizes / totals), 1.0 / totals
    prosecutor, journalist, marketer = (
        _intruder_risk(risks[groups], threshold) for risks in by_intruder
    )
    return PopulationRisk(prosecutor, journalist, marketer, threshold)


def _intruder_risk(risks: Floats, threshold: float) -> IntruderRisk:
    # A share such as 1 / 10 is not above 0.1 by rounding.
    above = risks > threshold * (1 + 1e-9)
    expected = float(risks.sum())
    return IntruderRisk(float(risks.max()), expected / len(risks), expected, float(np.mean(above)))


def _classes(
    labels_or_release: TableLike, weight: TableLike, unit: TableLike | None
) -> tuple[Labels, Floats, Floats]:
    """The class of each record; by class, the number of people, and the sum of their weights."""
    groups, prepared, _ = _prepared(PopulationSize(1), labels_or_release, weight, unit)
    people = PopulationSize(1).contributions(groups, *units_in(prepared))
    return groups, np.bincount(people.labels).astype(np.float64), people.totals()


def _prepared(
    constraint: Constraint,
    labels_or_release: TableLike,
    values: TableLike,
    unit: TableLike | None,
    weight: TableLike | None = None,
) -> tuple[Labels, Any, Any]:
    """The group of each record, and what a constraint makes of amounts and of who has them."""
    groups = classes_of(labels_or_release, "labels_or_release")
    check_consistent_length(groups, values, unit, weight)
    prepared, table = constraint.prepare(values)
    if weight is not None:
        weights = PopulationSize().prepare(weight)[0]["amount"]
        prepared = constraint.with_weights(prepared, weights)
    units = None if unit is None else codes_of(unit)[0]
    return groups, constraint.with_units(prepared, units), table


def _figures(
    constraint: Constraint,
    labels_or_release: TableLike,
    amounts: TableLike,
    unit: TableLike | None,
    weight: TableLike | None = None,
) -> Array:
    groups, prepared, table = _prepared(constraint, labels_or_release, amounts, unit, weight)
    return np.asarray(constraint.measure_groups(groups, prepared, table))


def _figures_of_units(
    function: str, constraint: Constraint, labels_or_release: TableLike, unit: TableLike
) -> Array:
    refuse_dask(function, labels_or_release, unit)
    if len(np.shape(unit)) != 1:
        raise ValueError(f"unit of shape {np.shape(unit)} must have one dimension.")
    return _figures(constraint, labels_or_release, as_column(unit), None)


def _posterior_means(f: Floats, p: Floats) -> Floats:
    """Expectation of 1 over the number of people of each class, given f of them and their share.

    It is the integral of s^(f-1) p / (p + (1 - p) s) over s from 0 to 1: p / f times a sum of
    positive terms, which is short unless f is small and p near 0. There, the integral follows from
    that of f - 1.
    """
    term, total = np.ones(len(f)), np.ones(len(f))
    for j in range(N_TERMS):
        term = term * ((j + 1) * (1 - p) / (f + 1 + j))
        total += term
    risks = p / f * total
    few = (f < FEW_RECORDS) & (p < LARGE_SHARE)
    ratio = p[few] / (1 - p[few])
    integral = -np.log(p[few])
    for size in range(1, FEW_RECORDS):
        those = f[few] == size
        risks[np.flatnonzero(few)[those]] = (ratio * integral)[those]
        integral = 1 / size - ratio * integral
    return np.minimum(risks, 1 / f)
