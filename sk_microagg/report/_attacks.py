"""What attacks on a release achieve: on identity, attributes and membership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._points import SparsePoints
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import share_in_words, share_of_people, shown_name
from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._tables import as_table, columns_of, missing_cells
from sk_microagg._utils._targets import as_target, has_classes
from sk_microagg._utils._typing import Array, TableLike
from sk_microagg.encoding._encoder import LOST
from sk_microagg.encoding._frames import Frame
from sk_microagg.generalization._base import releases_intervals
from sk_microagg.metrics import membership_inference
from sk_microagg.metrics._anonymity import number_values, row_classes
from sk_microagg.metrics._attribute_inference import AttributeAttack, draw_records
from sk_microagg.metrics._disclosure import INTERVAL
from sk_microagg.metrics._linkage import MOST_PAIRS, link_one_to_one, linkage_of
from sk_microagg.metrics._pairs import MixedPair, Pair, make_pair
from sk_microagg.privacy._codes import as_column
from sk_microagg.privacy._columns import RoleColumns

# Values of more records are not guessed: the standard error of a share is then at most 1.2%.
MOST_ASKED = 2_000

# Links one to one between more records and rows would take minutes.
MOST_PAIRS_IN_A_REPORT = MOST_PAIRS // 4

# Members, and as many others. With fewer than the minimum, chance would hide any difference.
MOST_MEMBERS = 5_000
FEWEST_MEMBERS = 200

N_TREES = 100


@dataclass(frozen=True)
class AttackFacts:
    """What a report states about attacks."""

    one_to_one: object
    identity_by_chance: float
    guessed: list
    by_chance: list
    attackers: list
    n_asked: int
    membership: object
    interval_width: float = INTERVAL


def measure_attacks(
    pair: Pair,
    estimator: Any,
    fewest: int,
    membership: dict[Any, Any] | None,
    units: Array | None = None,
) -> AttackFacts:
    """Attack a release."""
    n_records = len(pair.original)
    n_jobs = getattr(estimator, "n_jobs", None)
    asked = draw_records(n_records, MOST_ASKED)
    attack = AttributeAttack(pair, asked)
    found = [attack.hits(place, INTERVAL, n_jobs) for place in range(len(attack.names))]
    everybody = np.zeros(n_records, dtype=np.intp)

    def in_words(hits):
        # Of all records, as figures that stand for few of them are not shown.
        share = share_of_people(hits, take_units(units, asked))
        return share_in_words(share, len(asked), fewest)

    return AttackFacts(
        one_to_one=_one_to_one(pair, units),
        identity_by_chance=linkage_of(everybody, everybody == 0, units).expected_if_linked,
        guessed=[in_words(hits) for _, hits, _ in found],
        by_chance=[in_words(hits) for _, _, hits in found],
        attackers=[attacker for attacker, _, _ in found],
        n_asked=len(asked),
        membership=None if membership is None else measure_membership(**membership),
    )


def _one_to_one(pair, units):
    """Links one to one; None for more pairs of different records and rows than a report takes."""
    n_points = row_classes(pair.original, "X").max() + 1
    if n_points * (pair.classes.max() + 1) > MOST_PAIRS_IN_A_REPORT:
        return None
    return link_one_to_one(pair, units)


@dataclass(frozen=True)
class MembershipFacts:
    """What a report states about membership."""

    target: str
    n_members: int
    original: object
    released: object
    reason: str = ""

    @staticmethod
    def share_right(found):
        """Share of right answers of the better attack, of as many members as others."""
        return (1.0 + max(found.advantage, found.trained_advantage)) / 2.0


def target_of(target: Any, X: TableLike, unchanged: Any, estimator: Any) -> Any:
    """The values of a target, checked; None if there is none."""
    if target is None:
        return None
    is_averaging = isinstance(estimator, MicroAggregator | TableAggregator)
    if not is_averaging or releases_intervals(estimator):
        raise TypeError(
            f"estimator={estimator!r} must be a MicroAggregator or a TableAggregator that releases "
            "averages if there is a target."
        )
    if not isinstance(target, str):
        n_records = len(columns_of(X, "X")[0])
        columns = RoleColumns(target, n_records, "target")
        return columns.all_values()[columns.only()]
    tables = [unchanged] if hasattr(unchanged, "columns") else []
    if isinstance(estimator, TableAggregator):
        tables.append(Frame(X).table.drop(columns=list(estimator.kinds_)))
    names = list(dict.fromkeys(str(name) for table in tables for name in table.columns))
    if target not in names:
        raise ValueError(
            f"target={target!r} must be a column that is not anonymized, one of {names}, or an "
            "array."
        )
    return next(table[target] for table in tables if target in table.columns)


def measure_membership(
    X: Any, estimator: Any, target: Any, pair: Pair, roles: dict[Any, Any]
) -> MembershipFacts:
    """Train forests on one half of the records and on its release; attack both."""
    name = getattr(target, "name", None)
    name = "the target" if name is None else shown_name(name)
    members, others = _halves(target, roles["unit"])
    if len(members) < max(FEWEST_MEMBERS, estimator.k):
        return MembershipFacts(name, len(members), None, None, "there are too few records")
    known = np.concatenate([members, others])
    labels, are_numbers = _labels(np.asarray(target)[known])
    y_in, y_out = np.split(labels, 2)
    if not are_numbers and 2 * len(np.unique(y_in)) > len(y_in):
        reason = "the target has too many different values"
        return MembershipFacts(name, len(members), None, None, reason)
    try:
        released = _release_of(X, estimator, members, target, pair, roles)
    except ValueError:
        # Such as a stratum with fewer than k members, or a constraint that they cannot satisfy.
        reason = "half of the records cannot be anonymized in the same way"
        return MembershipFacts(name, len(members), None, None, reason)
    points = _points(pair.original, pair)
    known = points[members], y_in, points[others], y_out
    forest = RandomForestRegressor if are_numbers else RandomForestClassifier
    forest = forest(N_TREES, random_state=0)
    attacks = [
        membership_inference(clone(forest).fit(rows, y_in), *known, random_state=0)
        for rows in (points[members], _points(released, pair))
    ]
    return MembershipFacts(name, len(members), attacks[0], attacks[1])


def _halves(target, unit):
    """Members and as many others, both at random; of a person, all records or nearly none."""
    is_known = ~missing_cells(target)
    person_of = np.arange(len(is_known)) if unit is None else number_values(as_column(unit))
    rank_of_person = np.random.RandomState(0).permutation(person_of.max() + 1)
    order = np.argsort(rank_of_person[person_of], kind="stable")
    order = order[is_known[order]]
    n_members = min(len(order) // 2, MOST_MEMBERS)
    return np.sort(order[:n_members]), np.sort(order[n_members : 2 * n_members])


def _labels(values):
    """Labels for a forest, and whether they are numbers: classes are numbered from 0."""
    if values.dtype.kind == "O":
        values = as_column(values.tolist())
    values = as_target(values)
    if values.dtype.kind in "iuf" and not has_classes(values):
        return values.astype(np.float64), True
    return number_values(values), False


def _release_of(X, estimator, members, target, pair, roles):
    """The anonymized columns of the members, as an estimator of their own releases them."""
    y = np.asarray(target)[members]
    is_table = isinstance(estimator, TableAggregator)
    needed = set(roles) if estimator.privacy is not None else {"unit", "strata"}
    if is_table:  # It finds columns of the table by itself.
        needed &= set() if estimator._table_roles.sensitive else {"sensitive"}
    given = {name: _rows(roles[name], members) for name in needed if roles[name] is not None}
    estimator = clone(estimator).set_params(verbose=0)
    table = Frame(X).table if is_table else pair.original
    table = _rows(table, members)
    with catch_warnings():
        # The user knows it from the fit of all records.
        known = f".* are in groups of a single class of y|{LOST}"
        filterwarnings("ignore", known, UserWarning)
        released = estimator.fit_transform(table, y, **given)
    return make_pair(table, released, estimator).released


def _rows(table, rows):
    table = as_table(table)
    return table.iloc[rows].reset_index(drop=True) if hasattr(table, "iloc") else table[rows]


def _points(table, pair):
    """Records as points for a forest: numbers as they are, or coordinates of any columns."""
    if not isinstance(pair, MixedPair):
        return table
    points = pair.encoder.points(table)
    return points.matrix if isinstance(points, SparsePoints) else points
