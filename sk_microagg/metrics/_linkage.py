"""Distance-based record linkage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from sk_microagg._utils._typing import Array, Floats, Labels, ScalerLike, TableLike
from sk_microagg._utils._validation import check_n_jobs
from sk_microagg.metrics._anonymity import expected_if_linked, n_own, row_classes
from sk_microagg.metrics._pairs import MixedPair, Pair, are_numbers, nearest_points
from sk_microagg.privacy._codes import codes_of
from sk_microagg.privacy._columns import RoleColumns

# The cost of each pair of a record and a row is in memory: 200 MB.
MOST_RECORDS = 5_000


@dataclass(frozen=True)
class RecordLinkage:
    """How well an intruder links original records to released ones.

    Attributes
    ----------
    linked : float
        Share of the records whose nearest released row is their own.

    expected_matches : float
        Expected share of the records that the intruder re-identifies: a record that is correctly
        linked to a row which m records share is re-identified with probability 1 / m, or n / m if
        n of these records belong to the same person, where people have several records.

    expected_if_linked : float
        What `expected_matches` would be if all records were linked: the expected share for an
        intruder who knows the released row of every record and picks at random one of the records
        that share it. It equals the number of distinct released rows divided by the number of
        records if everybody has one record. If a person has several records, the intruder picks the
        row in which that person has the largest share.

    Examples
    --------
    >>> from sk_microagg.metrics import RecordLinkage
    >>> RecordLinkage(linked=0.9, expected_matches=0.18, expected_if_linked=0.2).linked
    0.9
    """

    linked: float
    expected_matches: float
    expected_if_linked: float


def record_linkage(
    X: TableLike,
    release: TableLike,
    *,
    scaler: ScalerLike = "standard",
    one_to_one: bool = False,
    n_jobs: int | None = None,
    unit: TableLike | None = None,
) -> RecordLinkage:
    """Share of records that an intruder who knows the original values re-identifies.

    The worst case of distance-based record linkage [1]_: the intruder holds the original records
    and links each to the nearest released row, in the space of the scaled columns; or, with
    `one_to_one`, links all records at once, no two of them to the same row of the table.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records: numbers, or columns of any kind with missing values.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order and in the units of `X`.

    scaler : "standard", transformer or None, default="standard"
        The space in which distances are computed, fitted to `X`: standardized columns, any
        transformer that takes an array, or, with None, the columns as they are. For tables with
        categories, dates or missing values it must be "standard".

    one_to_one : bool, default=False
        Whether the intruder uses the fact that each row of the release belongs to one record: a row
        that occurs m times is linked to m records so that the sum of all squared distances is
        minimal. This is possible for up to 5,000 records.

    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    unit : array-like or Series of shape (n_samples,), or None, default=None
        Who each record belongs to, if people have several: the intruder looks for a person, and
        succeeds by picking any record of that person.

    Returns
    -------
    linkage : RecordLinkage
        `linked`, `expected_matches` and `expected_if_linked`, each from 0 to 1.

    See Also
    --------
    risk_utility : Linkage and other measures for several k.
    unit_share : The largest share of one unit in a group, which is the largest such risk.
    attribute_inference : How well an intruder guesses a column from the others.
    membership_inference : How well an intruder recognizes the training records of a model.

    Notes
    -----
    In a k-anonymous release with compact groups, `linked` may be close to 1, since most records are
    nearest to their own centroid. Only `expected_matches` is at most 1 / k, or at most the largest
    :func:`unit_share` if people have several records.

    Among distinct released rows at exactly the same distance, the intruder picks the one with the
    smallest value in the first column in which they differ.

    One-to-one links are an optimal assignment, that of `scipy.optimize`. Equal records
    cannot be told apart: if rows of several groups are linked to them, `linked` is the expected
    share. Of several optimal assignments, the intruder may pick any. Where `exact_transform_` is
    True, the groups of a :class:`~sk_microagg.MicroAggregator` *are* the optimal assignment in its
    scaled space, so that all records are linked, and `expected_matches` is `expected_if_linked`:
    still at most 1 / k.

    Tables with categories, dates or missing values are compared in the coordinates of
    :class:`~sk_microagg.TableAggregator`: one per value of a category, and one that says where a
    value is missing. A released category that `X` does not have, such as "*", is at the same
    distance from all others. Of equally near rows, the intruder may pick any.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "A quantitative comparison of disclosure control methods
       for microdata", in Confidentiality, Disclosure and Data Access, 2001, pp. 111-133.

    Examples
    --------
    >>> from sk_microagg.metrics import record_linkage
    >>> X = [[1.0], [2.0], [3.0], [8.0], [9.0], [10.0]]
    >>> release = [[2.0], [2.0], [6.5], [6.5], [9.5], [9.5]]
    >>> linkage = record_linkage(X, release)
    >>> round(linkage.linked, 3)
    0.833
    >>> round(linkage.expected_matches, 3)
    0.417
    >>> linkage.expected_if_linked
    0.5

    The record of 8 is nearest to 9.5, but two others are nearer to the two rows of 9.5:

    >>> record_linkage(X, release, one_to_one=True).linked
    1.0

    If the first two records belong to one person, so do both rows of 2.0:

    >>> round(record_linkage(X, release, unit=[0, 0, 1, 2, 3, 4]).expected_if_linked, 3)
    0.667
    """
    check_n_jobs(n_jobs)
    is_standard = isinstance(scaler, str) and scaler == "standard"
    if are_numbers(X, release):
        pair = Pair(X, release, scaler)
    elif is_standard:
        pair = MixedPair(X, release)
    else:
        raise ValueError(
            f"scaler={scaler!r} must be 'standard' for a table with categories, dates or missing "
            "values."
        )
    units = units_of(unit, len(pair.classes))
    return link_one_to_one(pair, units) if one_to_one else link(pair, units, n_jobs)


def link(pair: Pair, units: Array | None = None, n_jobs: int | None = None) -> RecordLinkage:
    """The linkage to the nearest rows."""
    nearest = nearest_points(pair.points(), pair.points_of_classes(), n_jobs)
    return linkage_of(pair.classes, nearest == pair.classes, units)


def units_of(unit: TableLike | None, n_records: int) -> Array | None:
    """The number of the unit of each record; None if each belongs to somebody else."""
    if unit is None:
        return None
    columns = RoleColumns(unit, n_records, "unit")
    return codes_of(columns.values(columns.only()))[0]


def link_one_to_one(pair: Pair, units: Array | None = None) -> RecordLinkage:
    """The linkage by optimal assignment."""
    classes = pair.classes
    points = row_classes(pair.original, "X")
    first, n_equal = np.unique(points, return_index=True, return_counts=True)[1:]
    sizes = np.bincount(classes)
    if len(classes) > MOST_RECORDS:
        raise ValueError(
            f"one_to_one=True is possible for at most {MOST_RECORDS:,} records, got "
            f"{len(classes):,}: use one_to_one=False, or a part of the table."
        )
    rows = cheapest_assignment(pair.distances(first), points, sizes)
    # Of n equal records, any is equally likely to be one of those linked to a row.
    linked, own = np.sort(points * len(sizes) + rows), points * len(sizes) + classes
    n_linked = np.searchsorted(linked, own, "right") - np.searchsorted(linked, own, "left")
    return linkage_of(classes, n_linked / n_equal[points], units)


def linkage_of(classes: Labels, is_linked: Array, units: Array | None) -> RecordLinkage:
    """The linkage, given whether or how probably each record is linked to its own class."""
    sizes = np.bincount(classes)
    return RecordLinkage(
        linked=float(is_linked.mean()),
        expected_matches=float((is_linked * n_own(classes, units) / sizes[classes]).mean()),
        expected_if_linked=expected_if_linked(classes, units),
    )


def cheapest_assignment(costs: Floats, points: Labels, sizes: Labels) -> Labels:
    """Assign all records to rows at the least total cost, as many to each row as it has places."""
    places = np.repeat(np.arange(len(sizes)), sizes)
    return places[linear_sum_assignment(costs[np.ix_(points, places)])[1]]
