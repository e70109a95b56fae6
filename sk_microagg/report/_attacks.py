"""What attacks on a release achieve: on identity, attributes and membership."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._points import SparsePoints
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import (
    rounded_share,
    share_in_words,
    share_of_people,
    shown_name,
    whole_percent,
)
from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._tables import as_table, columns_of, missing_cells
from sk_microagg._utils._targets import as_target, has_classes
from sk_microagg._utils._typing import Array, TableLike
from sk_microagg.encoding._encoder import LOST
from sk_microagg.encoding._frames import Frame
from sk_microagg.encoding._sampling_weights import RARE_WEIGHTS
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.metrics import membership_inference
from sk_microagg.metrics._anonymity import number_values, row_classes
from sk_microagg.metrics._attribute_inference import AttributeAttack, draw_records
from sk_microagg.metrics._changes import LARGEST_SEED
from sk_microagg.metrics._disclosure import INTERVAL
from sk_microagg.metrics._linkage import MOST_PAIRS, link_one_to_one, linkage_of
from sk_microagg.metrics._pairs import MixedPair, Pair, make_pair
from sk_microagg.privacy._codes import as_column
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.report._rounding import SHARE_ASKED, SecretRounding

# Values of more records are not guessed: the standard error of a share is then at most 1.2%.
MOST_ASKED = 2_000

# Links one to one between more records and rows would take minutes.
MOST_PAIRS_IN_A_REPORT = MOST_PAIRS // 4

# Members, and as many others. With fewer than the minimum, chance would hide any difference.
MOST_MEMBERS = 5_000
FEWEST_MEMBERS = 200

N_TREES = 100

# People who are held out of a release, as a share of all and in number, and the most members.
SHARE_OF_OTHERS = 0.2
FEWEST_OTHERS, MOST_OTHERS = 50, 1_000

# Columns that are guessed of them, and predicates of so many columns that may single them out.
MOST_COMPARED = 8
N_PREDICATES, COLUMNS_PER_PREDICATE = 500, 3

# Of a normal distribution, for confidence intervals of 95%.
Z = 1.96


class Attack(NamedTuple):
    """An attack on people of the table, maybe on others: shares in words, with their intervals."""

    goal: str
    column: str | None
    attacker: str | None
    success: Told
    others: Told | None
    by_chance: Told
    due_to_release: Told | None = None


class Told(NamedTuple):
    """A share in words, the ends of its confidence interval, and its value, as far as told."""

    text: str
    interval: tuple[float, float] | None = None
    value: float | None = None


@dataclass(frozen=True)
class AttackFacts:
    """What a report states about attacks: guesses at anonymized columns, then at sensitive ones."""

    one_to_one: object
    identity_by_chance: float
    guesses: list
    sensitive: list
    n_asked: int
    membership: object
    compared: object


def measure_attacks(
    pair: Pair,
    estimator: Any,
    names: list[str],
    fewest: int,
    refit: dict[Any, Any],
    random: RandomState,
    units: Array | None = None,
    rounding: SecretRounding | None = None,
) -> AttackFacts:
    """Attack a release of columns with these names."""
    refit = {**refit, "pair": pair, "random": random}
    n_records = len(pair.original)
    asked: Any = draw_records(n_records, min(MOST_ASKED, ceil(SHARE_ASKED * n_records)), random)
    everybody = np.zeros(n_records, dtype=np.intp)
    sensitive = dict(_guessed_columns(refit["roles"]["sensitive"], n_records))
    extras = {name: (values, values, is_line) for name, (values, is_line) in sensitive.items()}
    gains, guesses = [], []
    for name, *found in _guesses(pair, names, extras, asked, 0, estimator):
        # Of all records, as figures that stand for few of them are not shown.
        shares = [share_of_people(hits, take_units(units, asked)) for hits in found[1:3]]
        shares = shares if rounding is None else rounding.bars(shares).tolist()
        right, by_chance = (Told(share_in_words(share, len(asked), fewest)) for share in shares)
        gains.append(shares[0] - shares[1])
        guesses.append(Attack("inference", name, found[0], right, None, by_chance))
    most = np.sort(np.argsort(gains[: len(names)])[::-1][:MOST_COMPARED])
    return AttackFacts(
        one_to_one=_one_to_one(pair, units, rounding),
        identity_by_chance=linkage_of(everybody, everybody == 0, units).expected_if_linked,
        guesses=guesses[: len(names)],
        sensitive=guesses[len(names) :],
        n_asked=len(asked),
        membership=None if refit["target"] is None else measure_membership(**refit),
        compared=compare_with_others(
            **refit, fewest=fewest, units=units, names=names, most=most, others=sensitive
        ),
    )


def _guesses(pair, names, extras, asked, n_control, estimator, places=None):
    """Yield each column, its best attacker, who is guessed, who is by chance, and who is asked."""
    n_jobs = getattr(estimator, "n_jobs", None)
    attack = AttributeAttack(pair, asked, n_control)
    for place in range(len(names)) if places is None else places:
        yield names[place], *attack.hits(place, INTERVAL, n_jobs), attack.is_member
    for name, extra in extras.items():
        attack = AttributeAttack(pair, asked, n_control, extra)
        yield name, *attack.hits(len(names), INTERVAL, n_jobs), attack.is_member


def _guessed_columns(sensitive, n_records):
    """Yield sensitive columns as numbers, NaN if missing, and whether these lie on a line."""
    if sensitive is None:
        return
    columns = RoleColumns(sensitive, n_records)
    for number, column in enumerate(columns.all_values()):
        values, is_known = np.full(n_records, np.nan), ~missing_cells(column)
        is_line = False
        if is_known.any():
            values[is_known], is_line = _labels(np.asarray(column)[is_known])
        yield columns.words(number), (values, is_line)


def _one_to_one(pair, units, rounding):
    """Links one to one; None for more pairs of different records and rows than a report takes."""
    n_points = row_classes(pair.original, "X").max() + 1
    if n_points * (pair.classes.max() + 1) > MOST_PAIRS_IN_A_REPORT:
        return None
    found = link_one_to_one(pair, units)
    return found if rounding is None else rounding.linkage(found, pair.classes, units)


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
    X: Any, estimator: Any, target: Any, roles: dict[Any, Any], pair: Pair, random: RandomState
) -> MembershipFacts:
    """Train forests on one half of the records and on its release; attack both."""
    name = getattr(target, "name", None)
    name = "the target" if name is None else shown_name(name)
    members, others = _halves(target, roles["unit"], random)
    if len(members) < max(FEWEST_MEMBERS, estimator.k):
        return MembershipFacts(name, len(members), None, None, "there are too few records")
    known = np.concatenate([members, others])
    labels, are_numbers = _labels(np.asarray(target)[known])
    y_in, y_out = np.split(labels, 2)
    if not are_numbers and 2 * len(np.unique(y_in)) > len(y_in):
        reason = "the target has too many different values"
        return MembershipFacts(name, len(members), None, None, reason)
    try:
        released = _release_of(X, estimator, members, target, pair, roles).released
    except ValueError:
        # Such as a stratum with fewer than k members, or a constraint that they cannot satisfy.
        reason = "half of the records cannot be anonymized in the same way"
        return MembershipFacts(name, len(members), None, None, reason)
    points = _points(pair.original, pair)
    known = points[members], y_in, points[others], y_out
    forest = RandomForestRegressor if are_numbers else RandomForestClassifier
    seed = random.randint(LARGEST_SEED)
    forest = forest(N_TREES, random_state=seed)
    attacks = [
        membership_inference(clone(forest).fit(rows, y_in), *known, random_state=seed)
        for rows in (points[members], _points(released, pair))
    ]
    return MembershipFacts(name, len(members), attacks[0], attacks[1])


@dataclass(frozen=True)
class ComparedFacts:
    """What attacks achieve on people in a release, and on others who are not; or why not."""

    attacks: list
    n_members: int
    n_others: int
    reason: str = ""


def compare_with_others(
    X, estimator, target, roles, pair, random, fewest, units, names, most, others
) -> ComparedFacts:
    """Hold people out, anonymize the others in the same way, and attack both.

    `most` are the places of the columns to guess, and `others` are sensitive columns.
    """
    members, held_out = _held_out(len(pair.original), units, random)
    n_members, n_others = len(members), len(held_out)
    if n_others < FEWEST_OTHERS or n_members < estimator.k:
        return ComparedFacts([], n_members, n_others, "there are too few records")
    try:
        own = _release_of(X, estimator, members, target, pair, roles)
        both = own.with_others(_rows(pair.original, held_out))
    except ValueError:
        reason = "a part of the records cannot be anonymized in the same way"
        return ComparedFacts([], n_members, n_others, reason)
    asked = draw_records(n_members, MOST_ASKED, random)
    people = take_units(units, np.concatenate([members[asked], held_out]))

    def compared(goal, column, attacker, hits, by_chance, is_member):
        shares = []
        for mask, of in ((hits, is_member), (hits, ~is_member), (by_chance, is_member)):
            own_people = take_units(people, of)
            n = int(of.sum()) if own_people is None else len(np.unique(own_people))
            share = share_of_people(mask[of], own_people)
            shares.append(with_interval(share, int(of.sum()), fewest, n))
        return Attack(goal, column, attacker, *shares, due_to_release(*shares[:2]))

    of_sample = take_units(units, members), take_units(units, held_out)
    found = [_singling_out(both, n_others, random, *of_sample)]
    if len(pair.names) > 1:
        attack = AttributeAttack(both, asked, n_others)
        hits, by_chance = _linked(attack, random, getattr(estimator, "n_jobs", None))
        found.append(compared("linkability", None, None, hits, by_chance, attack.is_member))
    extras = {
        name: (values[members], values[np.concatenate([members, held_out])], is_line)
        for name, (values, is_line) in others.items()
    }
    guesses: Any = _guesses(both, names, extras, asked, n_others, estimator, most)
    found += [compared("inference", *guess) for guess in guesses]
    return ComparedFacts(found, n_members, n_others)


def _held_out(n_records, units, random):
    """Members and others, both at random; all records of a person are on one side."""
    person_of = np.arange(n_records) if units is None else units
    rank = random.permutation(int(person_of.max()) + 1)[person_of]
    order = np.argsort(rank, kind="stable")
    n_others = min(int(SHARE_OF_OTHERS * n_records), MOST_OTHERS)
    most = int(n_others / SHARE_OF_OTHERS)
    is_other = rank < rank[order[n_others]] if n_others else np.zeros(n_records, dtype=bool)
    members = order[~is_other[order]][: most - n_others]
    return np.sort(members), np.flatnonzero(is_other)


def with_interval(share, n_asked, fewest, n_independent=None) -> Told:
    """A share in words, and the ends of its confidence interval; none if it is of a few people.

    The interval is that of the rounded share, so that it tells no more than this. Records of one
    person are not independent: `n_independent` is the number of people.
    """
    words = share_in_words(share, n_asked, fewest)
    if words != whole_percent(share):
        return Told(words)
    share = rounded_share(share)
    return Told(words, wilson(share, n_independent or n_asked), share)


def due_to_release(success: Any, control: Any) -> Told:
    """The share of what fails on others that succeeds on people in the table, with its interval.

    That is Anonymeter's privacy risk; as there, its interval is computed from the centers and the
    widths of Wilson's, by propagation of errors.
    """
    if success.interval is None or control.interval is None or control.value == 1:
        return Told("not shown")
    due = max((success.value - control.value) / (1 - control.value), 0.0)
    (center, error), (of_others, error_of_others) = (
        ((high + low) / 2, (high - low) / 2) for low, high in (success.interval, control.interval)
    )
    middle = (center - of_others) / (1 - of_others)
    error = np.hypot(error, error_of_others * (1 - middle)) / (1 - of_others)
    ends = np.clip([min(middle - error, due), max(middle + error, due)], 0.0, 1.0)
    due = rounded_share(due)
    return Told(whole_percent(due), tuple(map(rounded_share, ends.tolist())), due)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Ends of the confidence interval of a share of n, in whole percents."""
    center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return round(max(center - half, 0.0), 2), round(min(center + half, 1.0), 2)


def _linked(attack, random, n_jobs):
    """Whether two halves of what is known of a person lead to one row; and those of two people."""
    halves = [list(range(start, len(attack.names), 2)) for start in (0, 1)]
    classes = [attack.classes_by(half) for half in halves]
    n_second = classes[1].max() + 1
    rows = classes[0] * n_second + classes[1]
    first, second = (
        attack.nearest_by(half, own, n_jobs) for half, own in zip(halves, classes, strict=True)
    )
    shuffled = random.permutation(second)
    return np.isin(first * n_second + second, rows), np.isin(first * n_second + shuffled, rows)


def _singling_out(both, n_others, random, units, others):
    """How many predicates of a released row are true of one person, in samples of one size."""
    columns = list(both.columns())
    middles = [np.nanmedian(released) if is_line else None for _, released, is_line in columns]
    n_rows = len(both.released) - n_others
    sample = random.choice(len(both.original), min(n_others, len(both.original)), replace=False)
    tables = [
        ([values[sample] for values, _, _ in columns], take_units(units, sample)),
        ([released[n_rows:] for _, released, _ in columns], others),
    ]
    n_columns = min(COLUMNS_PER_PREDICATE, len(columns))
    n_hits = np.zeros(3)
    for _ in range(N_PREDICATES):
        chosen = random.choice(len(columns), n_columns, replace=False)
        row, rows = random.randint(n_rows), random.randint(n_rows, size=n_columns)
        cuts = [columns[j][1][row] for j in chosen]
        n_hits[0] += _is_true_of_one(*tables[0], middles, chosen, cuts)
        n_hits[1] += _is_true_of_one(*tables[1], middles, chosen, cuts)
        cuts = [columns[j][1][i] for j, i in zip(chosen, rows, strict=True)]
        n_hits[2] += _is_true_of_one(*tables[0], middles, chosen, cuts)
    shares = [with_interval(share, N_PREDICATES, 0) for share in n_hits / N_PREDICATES]
    return Attack("singling out", None, None, *shares, due_to_release(*shares[:2]))


def _is_true_of_one(values_of, units, middles, chosen, cuts):
    """Whether numbers beyond a cut, or values equal to it, are those of exactly one person."""
    is_true = np.ones(len(values_of[0]), dtype=bool)
    for j, cut in zip(chosen, cuts, strict=True):
        values = values_of[j]
        if np.isnan(cut):
            is_true &= np.isnan(values)
        elif middles[j] is None:
            is_true &= values == cut
        else:
            is_true &= values >= cut if cut >= middles[j] else values <= cut
    if units is None:
        return np.count_nonzero(is_true) == 1
    return len(np.unique(units[is_true])) == 1


def _halves(target, unit, random):
    """Members and as many others, both at random; of a person, all records or nearly none."""
    is_known = ~missing_cells(target)
    person_of = np.arange(len(is_known)) if unit is None else number_values(as_column(unit))
    rank_of_person = random.permutation(person_of.max() + 1)
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
    y = None if target is None else np.asarray(target)[members]
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
        known = f".* are in (groups of a single class of y|one group)|{LOST}|{RARE_WEIGHTS}"
        filterwarnings("ignore", known, UserWarning)
        released = estimator.fit_transform(table, y, **given)
    return make_pair(table, released, estimator)


def _rows(table, rows):
    table = as_table(table)
    return table.iloc[rows].reset_index(drop=True) if hasattr(table, "iloc") else table[rows]


def _points(table, pair):
    """Records as points for a forest: numbers as they are, or coordinates of any columns."""
    if not isinstance(pair, MixedPair):
        return table
    points = pair.encoder.points(table)
    return points.matrix if isinstance(points, SparsePoints) else points
