"""What attacks on a release achieve: on identity and on attributes.

Who is attacked and who is held out is drawn by a seed, so that a report can be made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._tables import as_table, missing_cells
from sk_microagg._utils._targets import as_target, has_classes
from sk_microagg._utils._typing import Array, Booleans, Labels
from sk_microagg.metrics._anonymity import number_values
from sk_microagg.metrics._attribute_inference import AttributeAttack, draw_records
from sk_microagg.metrics._changes import LARGEST_SEED
from sk_microagg.metrics._disclosure import INTERVAL
from sk_microagg.metrics._linkage import RecordLinkage, link_one_to_one, linkage_of
from sk_microagg.metrics._pairs import Pair, make_pair
from sk_microagg.privacy._codes import as_column
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.report._sections import Attack, Attacks, Estimate, Share
from sk_microagg.tables._encoder import LOST
from sk_microagg.tables._frames import Frame
from sk_microagg.tables._sampling_weights import RARE_WEIGHTS, SMALL_GROUPS

# Values of more records are not guessed: the standard error of a share is then at most 1.2%.
MOST_ASKED = 2_000

# In smaller tables, success by chance is as large as any difference.
FEWEST_ASKED = 100

# Of more records, most of them alike, links one to one may take more than some seconds.
MOST_LINKED = 2_000

# People who are held out of a release, as a share of all and in number, and the most members.
SHARE_OF_OTHERS = 0.2
FEWEST_OTHERS, MOST_OTHERS = 50, 1_000

# Columns that are guessed of them, and predicates of so many columns that may single them out.
MOST_COMPARED = 8
N_PREDICATES, COLUMNS_PER_PREDICATE = 500, 3

# Of a normal distribution, for confidence intervals of 95%.
Z = 1.96

TOO_FEW_TO_GUESS = (
    "Attacks by guessing are left out: the table has fewer than {fewest} rows, and success by "
    "chance would be as large as any difference."
)
TOO_MANY_TO_LINK = "There are too many records to link one to one."
NOT_COMPARED = "No comparison with people outside the release was made: {why}."
TOO_FEW = "there are too few records"
NOT_AGAIN = "a part of the records cannot be anonymized in the same way"


class Attacker:
    """Attacks a release of averages, in columns with these names; `X` is what was fitted."""

    def __init__(
        self,
        pair: Pair,
        estimator: Any,
        names: list[str],
        X: Any,
        roles: dict[str, Any],
        random: RandomState,
        units: Array | None,
    ) -> None:
        self.pair, self.estimator, self.names = pair, estimator, names
        self.X, self.roles, self.random, self.units = X, roles, random, units
        self.n_jobs = getattr(estimator, "n_jobs", None)
        self.n_records = len(pair.classes)
        self.sensitive = dict(_guessed_columns(roles["sensitive"], self.n_records))

    def measure(self, linkage: RecordLinkage) -> Attacks:
        """Attack; `linkage` is that to the nearest rows."""
        everybody = np.zeros(self.n_records, dtype=np.intp)
        by_chance = linkage_of(everybody, everybody == 0, self.units).expected_if_linked
        left_out: list[str] = []
        one_to_one = None
        if self.n_records > MOST_LINKED:
            left_out.append(TOO_MANY_TO_LINK)
        else:
            found = link_one_to_one(self.pair, self.units)
            one_to_one = Share.of(found.expected_matches)
        guesses: list[Attack] = []
        compared: list[Attack] = []
        n_asked = n_members = n_others = 0
        if self.n_records < FEWEST_ASKED:
            left_out.append(TOO_FEW_TO_GUESS.format(fewest=FEWEST_ASKED))
        else:
            asked = draw_records(self.n_records, MOST_ASKED, self.random)
            n_asked = len(asked)
            guesses = [*self._guesses(asked)]
            members, others = _held_out(self.n_records, self.units, self.random)
            n_members, n_others = len(members), len(others)
            compared, why = self._compared(members, others, _most_gained(guesses, self.names))
            left_out += [] if why is None else [NOT_COMPARED.format(why=why)]
        return Attacks(
            Share.of(linkage.expected_matches),
            one_to_one,
            Share.of(by_chance),
            guesses,
            n_asked,
            compared,
            n_members,
            n_others,
            left_out,
        )

    def _guesses(self, asked: Labels) -> Iterator[Attack]:
        """Guess all anonymized columns, then all sensitive ones."""
        extras = {name: (values, values, line) for name, (values, line) in self.sensitive.items()}
        for name, attacker, hits, by_chance, is_known, _ in self._hits(self.pair, extras, asked, 0):
            success, chance = (
                _plain_estimate(each[is_known].mean()) if is_known.any() else _plain_estimate(0.0)
                for each in (hits, by_chance)
            )
            yield Attack("inference", name, attacker, success, None, chance, None)

    def _hits(
        self,
        pair: Pair,
        extras: dict[str, Any],
        asked: Labels,
        n_control: int,
        places: Any = None,
    ) -> Iterator[tuple[str, str, Booleans, Booleans, Booleans, Booleans]]:
        """Yield a column, its best attacker, and masks: guessed, by chance, known, in the table."""
        plain = AttributeAttack(pair, asked, n_control)
        places = range(len(self.names)) if places is None else places
        guessed = [(self.names[place], plain, place) for place in places]
        for name, extra in extras.items():
            attack = AttributeAttack(pair, asked, n_control, extra)
            guessed.append((name, attack, len(self.names)))
        for name, attack, place in guessed:
            found = attack.hits(place, INTERVAL, self.n_jobs)
            yield name, *found, attack.is_known(place), attack.is_member

    def _compared(
        self, members: Labels, held_out: Labels, most: list[int]
    ) -> tuple[list[Attack], str | None]:
        """Anonymize the members in the same way, and attack them and the others; or say why not.

        `most` are the places of the columns to guess.
        """
        n_others = len(held_out)
        if n_others < FEWEST_OTHERS or len(members) < self.estimator.k:
            return [], TOO_FEW
        try:
            own = self._release_of(members)
            both = own.with_others(_rows(self.pair.original, held_out))
        except ValueError:
            # Such as a stratum with fewer than k members, or a constraint that they cannot satisfy.
            return [], NOT_AGAIN
        asked = draw_records(len(members), MOST_ASKED, self.random)
        rows = np.concatenate([members[asked], held_out]), members, held_out
        people, *of_sample = (None if self.units is None else self.units[each] for each in rows)
        found = [_singling_out(both, n_others, self.random, *of_sample)]
        if len(both.names) > 1:
            attack = AttributeAttack(both, asked, n_others)
            hits, by_chance = _linked(attack, self.random, self.n_jobs)
            everybody = np.ones(len(hits), dtype=bool)
            shares = _shares(hits, by_chance, everybody, attack.is_member, people)
            found.append(Attack("linkability", None, None, *shares))
        extras = {
            name: (values[members], values[np.concatenate([members, held_out])], is_line)
            for name, (values, is_line) in self.sensitive.items()
        }
        for name, attacker, hits, by_chance, is_known, is_member in self._hits(
            both, extras, asked, n_others, most
        ):
            shares = _shares(hits, by_chance, is_known, is_member, people)
            found.append(Attack("inference", name, attacker, *shares))
        return found, None

    def _release_of(self, members: Labels) -> Pair:
        """The anonymized columns of the members, as an estimator of their own releases them."""
        X, roles = self.X, self.roles
        is_table = isinstance(self.estimator, TableAggregator)
        needed = set(roles) if self.estimator.privacy is not None else {"unit", "strata"}
        if is_table:  # It finds columns of the table by itself.
            needed &= set() if self.estimator._table_roles.sensitive else {"sensitive"}
        given = {name: _rows(roles[name], members) for name in needed if roles[name] is not None}
        estimator = clone(self.estimator).set_params(verbose=0)
        if estimator.get_params().get("random_state") is None:
            estimator.set_params(random_state=self.random.randint(LARGEST_SEED))
        table = _rows(Frame(X).table if is_table else self.pair.original, members)
        with catch_warnings():
            # The user knows it from the fit of all records.
            known = f".* are in (groups of a single class of y|one group)|{LOST}"
            known += f"|{RARE_WEIGHTS}|{SMALL_GROUPS}"
            filterwarnings("ignore", known, UserWarning)
            released = estimator.fit_transform(table, **given)
        return make_pair(table, released, estimator)


def _most_gained(guesses: list[Attack], names: list[str]) -> list[int]:
    """Places of the anonymized columns that are guessed more often than by chance."""
    gains = [each.success.value - each.by_chance.value for each in guesses[: len(names)]]
    return sorted(np.argsort(gains)[::-1][:MOST_COMPARED].tolist())


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


def _shares(
    hits: Booleans,
    by_chance: Booleans,
    is_known: Booleans,
    is_member: Booleans,
    people: Array | None,
) -> tuple[Estimate, Estimate, Estimate, Estimate | None]:
    """Success on members, on others and by chance, and what is due to the release."""
    found = []
    for mask, of in ((hits, is_member), (hits, ~is_member), (by_chance, is_member)):
        of = of & is_known
        own = take_units(people, of)
        n_independent = int(of.sum()) if own is None else len(np.unique(own))
        if n_independent == 0:
            found.append(_estimate(0.0, 0.0, 1.0))
            continue
        found.append(with_interval(float(mask[of].mean()), n_independent))
    success, others, chance = found
    return success, others, chance, due_to_release(success, others)


def with_interval(share: float, n_independent: int) -> Estimate:
    """A share with its confidence interval; records of one person are not independent."""
    return _estimate(share, *wilson(share, n_independent))


def _plain_estimate(share: float) -> Estimate:
    return Estimate(float(share), None, percent(share))


def _estimate(share: float, low: float, high: float) -> Estimate:
    return Estimate(
        round(share, 12), (low, high), f"{percent(share)} [{percent(low)}, {percent(high)}]"
    )


def due_to_release(success: Estimate, control: Estimate) -> Estimate | None:
    """The share of what fails on others that succeeds on people in the table, with its interval.

    That is Anonymeter's privacy risk; as there, its interval is computed from the centers and the
    widths of Wilson's, by propagation of errors. None if nothing fails on others.
    """
    if success.interval is None or control.interval is None or control.value == 1:
        return None
    due = max((success.value - control.value) / (1 - control.value), 0.0)
    (center, error), (of_others, error_of_others) = (
        ((high + low) / 2, (high - low) / 2) for low, high in (success.interval, control.interval)
    )
    middle = (center - of_others) / (1 - of_others)
    error = np.hypot(error, error_of_others * (1 - middle)) / (1 - of_others)
    ends = np.clip([min(middle - error, due), max(middle + error, due)], 0.0, 1.0)
    return _estimate(due, *map(float, ends))


def wilson(share: float, n: int) -> tuple[float, float]:
    """Ends of the confidence interval of a share of n."""
    center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return float(max(center - half, 0.0)), float(min(center + half, 1.0))


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
    shares = [with_interval(float(share), N_PREDICATES) for share in n_hits / N_PREDICATES]
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


def _labels(values):
    """Labels for a forest, and whether they are numbers: classes are numbered from 0."""
    if values.dtype.kind == "O":
        values = as_column(values.tolist())
    values = as_target(values)
    if values.dtype.kind in "iuf" and not has_classes(values):
        return values.astype(np.float64), True
    return number_values(values), False


def _rows(table, rows):
    table = as_table(table)
    return table.iloc[rows].reset_index(drop=True) if hasattr(table, "iloc") else table[rows]
