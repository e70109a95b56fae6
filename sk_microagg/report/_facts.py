"""The facts that a report states."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import zip_longest
from math import isclose
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.random import MT19937, RandomState
from sklearn.utils import _safe_indexing

from sk_microagg._model._fitted_groups import release_of
from sk_microagg._series_state import name_of
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import (
    bound_in_words,
    determined_in_words,
    expected_matches,
    fewest_records,
    homogeneity_lines,
    in_a_list,
    percent,
    printable,
    share_in_words,
    share_of_people,
    shown_name,
    singles_out,
    whole_percent,
)
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._tables import (
    as_table,
    cells_of,
    column_names,
    columns_of,
    has_numbers,
    missing_cells,
)
from sk_microagg._utils._typing import TableLike
from sk_microagg.encoding._frames import is_missing
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.metrics import (
    UnchangedUniqueness,
    attribute_changes,
    determined_columns,
    generalization_loss,
    joint_anonymity,
    unchanged_uniqueness,
)
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._changes import correlations_of
from sk_microagg.metrics._disclosure import INTERVAL, RANKS, values_in_interval, values_near_in_rank
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._linkage import link, units_of
from sk_microagg.metrics._pairs import MixedPair
from sk_microagg.plotting._common import categorical_columns
from sk_microagg.report._attacks import measure_attacks
from sk_microagg.report._rounding import SecretRounding
from sk_microagg.report._scenario import IdentityRisks
from sk_microagg.report._sensitive import facts_beyond_k, within_strata
from sk_microagg.report._utility import analyze, measure_utility, rounded_above, step_above


class Facts(SimpleNamespace):
    """What a report states about any release: what `collect_facts` measures."""

    @property
    def fewest_in_words(self):
        """What the smallest number of original records is that a picture may show together."""
        fewest = fewest_records(self.k)
        has_units = self.beyond_k.n_units is not None
        return f"records of at least {fewest} units" if has_units else f"at least {fewest} records"

    @property
    def largest_risk(self):
        """The most that an intruder who knows the row of a person can achieve."""
        return 1 / self.level if self.beyond_k.unit_share is None else self.beyond_k.unit_share

    @property
    def is_safe(self):
        """Whether nothing undoes what holds for every group, so that it may be green."""
        is_joint = self.joint is None or self.joint["people"] is not None
        return (
            is_joint
            and not self.beyond_k.is_share_large
            and self.unchanged.are_safe(self.largest_risk)
        )

    def bound(self, value):
        """What to write instead of a share that stands for too few records; None if enough."""
        return bound_in_words(value, self.n_records, self.fewest)

    def as_text(self, value, of=""):
        """A share of the records as text, followed by `of`, or a bound if it is of too few."""
        return share_in_words(value, self.n_records, self.fewest, of)

    def loss_in_words(self, loss):
        """A loss in percent, as a bound if it is rounded far up."""
        return f"{'at most ' if self.rounding is not None and loss > 0 else ''}{percent(loss)}"

    def share_of_groups(self, value, of=""):
        """The same for records in whole groups, each of which has those of enough people."""
        return share_in_words(value, self.n_records, fewest_records(self.k), of)

    def expected_matches(self, linkage):
        """The share of the records that an intruder is expected to re-identify, as text."""
        return expected_matches(linkage, self.n_records, self.fewest)[1]

    def sensitive_worst_first(self):
        """Facts on sensitive columns, each with how well it is guessed, the worst first."""
        guesses = [] if self.attacks is None else self.attacks.sensitive
        columns = zip_longest(self.beyond_k.columns, guesses)
        return sorted(
            columns, key=lambda one: (-max(one[0].homogeneous, one[0].one_known), one[0].n_values)
        )

    def homogeneity_lines(self):
        """A line for each column released unchanged in which groups share one value."""
        return homogeneity_lines(self.homogeneous, self.n_records, self.k, most=None)


def new_random() -> RandomState:
    """Draws of one report, which nobody can repeat; tests replace this function.

    The state comes from the operating system and is kept nowhere: an intruder who knew the draws
    and all records but one could try values of the last one until every figure agrees.
    """
    return RandomState(MT19937())


def collect_facts(X, release, estimator, pair, refit, scenario, formulas, about):
    """Measure a release; `X` and `release` have the same shape.

    `pair` is what was anonymized, unless it is generalized, `refit` are the arguments of functions
    that anonymize a part of the records once more, and `about` is what `make_report` was told.
    """
    roles = {name: about[name] for name in ("sensitive", "unit", "strata")}
    unchanged = about["unchanged"]
    columns = columns_of(X, "X")
    names = column_names(X)
    if not hasattr(X, "columns"):
        names = [*map(str, getattr(estimator, "feature_names_in_", names))]
    empty = (name for name, cells in zip(names, columns, strict=True) if missing_cells(cells).all())
    kinds = dict(about["kinds"] or {}) | dict.fromkeys(empty, "empty")
    numbers = mixed = None
    units = units_of(about["unit"], len(columns[0]))
    fewest = fewest_records(estimator.k, units)
    random = new_random()
    secret = SecretRounding(new_random(), len(columns[0]), units)
    rounding = secret if categorical_columns(estimator) else None
    if releases_intervals(estimator):
        losses = _generalization_losses(X, release, estimator)
    elif isinstance(pair, MixedPair):
        losses, mixed = measure_any_kind(pair, estimator, kinds, units, rounding)
    else:
        losses, numbers = measure_numbers(pair)
    # Of a generalized release, the loss is the mean over cells: its exact variance is not told.
    if pair is None and rounding is not None:
        losses = rounding.above(losses, rounding.step)
    loss, step = float(np.mean(losses)), step_above(1 / len(columns[0]))
    if pair is not None:
        loss, losses, step = losses_in_steps(estimator, losses, pair, rounding)
    elif rounding is not None and hasattr(estimator, "_encoder"):
        step = rounding.steps_of_losses(estimator._encoder, X, losses)[0]
    # Finding equal rows takes time: it is done once, not once per metric.
    classes = row_classes(release, "release") if pair is None else pair.classes
    class_sizes = np.bincount(classes)
    shown = [shown_name(name) for name in names]
    # Before what takes time: these may raise.
    quick = {
        "roles": _roles(shown, kinds, estimator, mixed, about, scenario),
        "published": _published(about),
        "joint": _joint(X, release, estimator, about),
        "analyses": _analyses(formulas, pair, unchanged, fewest, units, secret),
    }
    beyond_k = facts_beyond_k(classes, estimator, **roles, weight=about["weight"], amounts=X)
    about_unchanged, together = measure_unchanged(X, names, classes, unchanged, **roles)
    original = row_classes(X, "X")
    unique = share_of_people(np.bincount(original)[original] == 1, units)
    return Facts(
        **quick,
        names=shown,
        n_records=len(columns[0]),
        n_groups=int(estimator.n_groups_),
        smallest_group=int(estimator.group_sizes_.min()),
        k=int(estimator.k),
        fewest=fewest,
        level=int(class_sizes.min()),
        n_distinct=len(class_sizes),
        loss=loss,
        loss_step=step,
        column_losses=losses,
        unique_before=unique if rounding is None else rounding.share(unique),
        unique_after=share_of_people(class_sizes[classes] == 1, units),
        missing=_missing_in_words(columns, units, fewest_records(estimator.k), rounding),
        homogeneous=None if unchanged is None else _homogeneous(release, unchanged),
        numbers=numbers,
        mixed=mixed,
        risk=None if pair is None else measure_risk(pair, estimator, units, rounding),
        beyond_k=beyond_k,
        unchanged=about_unchanged,
        attacks=None
        if pair is None
        else measure_attacks(pair, estimator, shown, fewest, refit, random, units, rounding),
        utility=None if pair is None else measure_utility(pair, shown, fewest, random, units),
        scenario=None if scenario is None else scenario.as_dict(),
        risks=(
            IdentityRisks.measure(original, about["weight"], units, fewest, rounding=rounding),
            IdentityRisks.measure(together, about["weight"], units, least=beyond_k.unit_share),
        ),
        source=None if about["source"] is None else printable(about["source"]),
        has_weights=about["weight"] is not None,
        secret=secret,
        rounding=rounding,
    )


def _published(about):
    """The file of the release, and the order of its rows, as far as they are known."""
    path, is_shuffled = about["file"], about["shuffled"]
    if path is not None and not Path(path).is_file():
        raise ValueError(f"file={str(path)!r} must be the file of the release.")
    return {
        "file": None if path is None else printable(Path(path).name),
        "sha256": None if path is None else sha256(Path(path).read_bytes()).hexdigest(),
        "shuffled": is_shuffled if is_shuffled is None else bool(is_shuffled),
    }


def _joint(X, release, estimator, about):
    """How many people share all of their rows, with earlier releases; None if fewer than k."""
    if not about["earlier"]:
        return None
    tables, people = check_earlier(about["earlier"], column_names(X), about["unit"])
    level = joint_anonymity([release, *tables], people)
    return {"releases": len(people), "people": level if level >= estimator.k else None}


def check_earlier(
    earlier: Sequence[tuple[TableLike, TableLike]], names: list[str], unit: TableLike | None
) -> tuple[list, list]:
    """The columns of earlier releases, and whose rows those of all releases are, today's first."""
    if unit is None:
        raise ValueError("earlier needs unit: who each record belongs to.")
    tables, people = [], [_people(unit)]
    for number, (table, others) in enumerate(earlier):
        if hasattr(table, "columns"):
            missing = [name for name in names if name not in column_names(table)]
            if missing:
                raise ValueError(
                    f"earlier[{number}] must have the anonymized column {missing[0]!r}."
                )
            places = [column_names(table).index(name) for name in names]
            table = _safe_indexing(as_table(table), places, axis=1)
        tables.append(table)
        people.append(_people(others))
        if len(people[-1]) != len(row_classes(table, "earlier")):
            raise ValueError(f"earlier[{number}] must name a person for each row of its table.")
        if {*people[0]}.isdisjoint(people[-1]):
            raise ValueError(f"earlier[{number}] has nobody of unit: it must name people alike.")
    return tables, people


def _people(unit):
    return [name_of(value) for value in np.asarray(unit, dtype=object).reshape(-1)]


def _analyses(formulas, pair, unchanged, fewest, units, secret):
    """Regressions before and after; with anonymized categories, before of a secret sample."""
    if not formulas:
        return []
    if pair is None:
        raise ValueError(f"analysis={formulas!r} needs a release of averages: KAIM has ranges.")
    columns = {}
    for name, (before, after, is_line) in zip(pair.names, pair.columns(), strict=True):
        if not is_line:
            before, after = (_texts(table[name]) for table in (pair.original, pair.released))
            before = secret.without_some(before)
        columns[str(name)] = before, after
    if unchanged is not None:
        for name, column in zip(
            column_names(unchanged), columns_of(unchanged, "unchanged"), strict=True
        ):
            cells = np.asarray(column, dtype=np.float64) if has_numbers(column) else _texts(column)
            columns[name] = cells, cells
    return [analyze(formula, columns, fewest, units, shown_name) for formula in formulas]


def _texts(column):
    """The cells of a column as text, None if they are missing."""
    cells = np.array([str(cell) for cell in cells_of(column)], dtype=object)
    cells[missing_cells(column)] = None
    return cells


def _roles(shown, known_kinds, estimator, mixed, about, scenario):
    """Each column with its role, what was done to it, and the reason that was given."""
    reasons = {} if scenario is None else scenario.reasons
    reasons = {shown_name(name): text for name, text in reasons.items()}
    kinds = dict(zip(shown, mixed.kinds, strict=True)) if mixed is not None else {}
    has_weights = isinstance(estimator, TableAggregator) and about["weight"] is not None
    # Some may have been left out of the estimator.
    kinds |= {shown_name(name): kind for name, kind in known_kinds.items() if kind == "empty"}
    found = [
        (name, "quasi-identifier", _technique(estimator, kinds.get(name, "number"), has_weights))
        for name in dict.fromkeys([*shown, *kinds])
    ]
    names = {role: _names(about[role]) for role in ("sensitive", "strata", "weight", "unit")}
    words = {"sensitive": "sensitive", "strata": "stratum", "weight": "weight"}
    is_listed = set()
    for name in [] if about["unchanged"] is None else column_names(about["unchanged"]):
        role = next((word for role, word in words.items() if name in names[role]), "other")
        found.append((shown_name(name), role, "released unchanged"))
        is_listed.add(role)
    if "weight" not in is_listed and isinstance(estimator, TableAggregator):
        found += [(shown_name(name), "weight", "mean of the group") for name in names["weight"]]
    for name in about["dropped"] or []:
        is_unit = str(name) in names["unit"]
        found.append((shown_name(name), "person" if is_unit else "dropped", "removed"))
    unknown = [name for name in reasons if name not in [each[0] for each in found]]
    if unknown:
        raise ValueError(
            f"reasons of the scenario name {unknown[0]!r}, which is no column of the table."
        )
    return [(*each, reasons.get(each[0], "")) for each in found]


def _technique(estimator, kind, has_weights):
    if kind == "empty":
        return "none: all cells are missing"
    if releases_intervals(estimator):
        return "generalized to a category or interval that covers the group"
    if kind in ("category", "hierarchy", "boolean"):
        is_general = getattr(estimator, "categories", "mode") == "generalize"
        if is_general:
            return "lowest common node of the group"
        most = "value of the largest total weight" if has_weights else "most frequent value"
        return f"{most} of the group"
    number = getattr(estimator, "numbers", "mean")
    return f"{'weighted ' if has_weights and number == 'mean' else ''}{number} of the group"


def _missing_in_words(columns, units, fewest, rounding):
    """How many cells are missing, and in how many records; no figure is for fewer than `fewest`."""
    missing = np.column_stack([missing_cells(column) for column in columns])
    has_missing, has_known = missing.any(axis=1), ~missing.all(axis=1)
    if rounding is not None:
        return f"{whole_percent(rounding.bars(missing.mean(axis=0)).mean())} of the cells"
    share = share_of_people(has_missing, units)
    records = share_in_words(share, len(missing), fewest, " of the records")
    people = np.arange(len(missing)) if units is None else units
    if any(0 < len(np.unique(people[has])) < fewest for has in (has_missing, has_known)):
        return f"cells in {records}"
    return f"{whole_percent(missing.mean())} of the cells, in {records}"


def _homogeneous(release, unchanged):
    if 0 in np.shape(unchanged):
        return {}
    names = map(shown_name, column_names(unchanged))
    shares = homogeneity_of_both(release, unchanged)
    return dict(zip(names, map(tuple, shares), strict=True))


def _generalization_losses(X, release, estimator):
    if getattr(estimator, "output", "interval") == "midpoint":
        # A midpoint does not show how wide its interval is.
        release = release_of(estimator._intervals(X), estimator.labels_)
    cells = generalization_loss(X, release, hierarchies=estimator.hierarchies, level="cell")
    return cells.mean(axis=0)


def measure_risk(pair, estimator, units=None, rounding=None):
    """Risks of a release of averages."""
    linkage = link(pair, units, getattr(estimator, "n_jobs", None))
    shares = [_shares(of(pair), units) for of in (values_in_interval, values_near_in_rank)]
    if rounding is not None:
        linkage = rounding.linkage(linkage, pair.classes, units)
        for place, (*_, is_line) in enumerate(pair.columns()):
            for found in () if is_line else shares:
                found[place] = rounding.share(found[place])
    return SimpleNamespace(
        linkage=linkage,
        intervals=shares[0],
        ranks=shares[1],
        interval_width=INTERVAL,
        rank_share=RANKS,
    )


def _shares(masks, units):
    """Shares of all records, not of known values: those that stand for few are not shown."""
    return [share_of_people(mask, units) for mask in masks]


def losses_in_steps(estimator, losses, pair, rounding=None):
    """The loss and those of columns, in steps of what they change if a number is wrongly guessed.

    A guess may be wrong by a tenth of a deviation. Losses are rounded up; the last is the step.
    A secret rounding hides categories.
    """
    loss, changes = estimator.information_loss_, np.zeros(len(losses))
    for j, (values, released, is_line) in enumerate(pair.columns()):
        known = ~np.isnan(values + released)
        if is_line and known.any() and (spread := values[known].std()):
            slopes = values - released - losses[j] * (values - values[known].mean())
            changes[j] = 2 * INTERVAL * np.abs(slopes[known]).max() / (spread * known.sum())
    # If all columns weigh the same, each change counts as that of one of them.
    of_all = changes.max() / (len(losses) if isclose(np.mean(losses), loss) else 1)
    steps = [*map(step_above, [of_all, *changes])]
    found = np.minimum([*map(rounded_above, [loss, *losses], steps)], 1.0)
    if rounding is not None:
        encoder = getattr(estimator, "_encoder", pair.encoder)
        secret = rounding.steps_of_losses(encoder, pair.original, losses)
        steps[0] = secret[0] = max(secret[0], steps[0])
        for place in np.flatnonzero(secret):
            found[place] = rounding.above([loss, *losses][place], secret[place])
        if found[0] == 1:
            # Of a column in which nearly all have one category, nothing can be told.
            found[0] = np.average(found[1:], weights=encoder.coordinates.shares())
    return float(found[0]), found[1:], float(steps[0])


def measure_numbers(pair):
    """Return the loss of each column, and what changed in a release of numbers."""
    losses = np.zeros(len(pair.names))
    for j, (column, released, _) in enumerate(pair.columns()):
        spread = np.ptp(column)
        if spread > 0:
            deviations = (column - column.mean()) / spread
            changes = (column - released) / spread
            losses[j] = (changes @ changes) / (deviations @ deviations)
    changes, correlations = attribute_changes(*pair.numbers()), correlations_of(*pair.numbers())
    return losses, SimpleNamespace(changes=changes, correlations=correlations)


def measure_any_kind(pair, estimator, kinds, units=None, rounding=None):
    """Return the loss of each column, its kind and its gaps; `kinds` as in `make_report`."""
    losses = getattr(estimator, "column_losses_", None)
    if losses is None:
        space = pair.encoder.coordinates
        numbers, labels = space.numbers(pair.original), estimator.labels_
        hidden = space.single_values(space.missing(numbers), labels)[:2]
        sums = space.sums_of_squares(numbers, labels, hidden)
        losses = {name: loss_share(*sum_and_total) for name, sum_and_total in sums.items()}
    found = getattr(estimator, "kinds_", {c.name: c.kind for c in pair.encoder.columns})
    kinds = {**found, **kinds}
    before, after = (
        _shares([np.asarray(is_missing(table[name])) for name in table.columns], units)
        for table in (pair.original, pair.released)
    )
    before = before if rounding is None else rounding.bars(before).tolist()
    kinds = [kinds[name] for name in found]
    mixed = SimpleNamespace(kinds=kinds, missing_before=before, missing_after=after)
    return np.array(list(losses.values())), mixed


@dataclass(frozen=True)
class UnchangedFacts:
    """What columns that are released unchanged reveal, with all names as they are shown."""

    names: list = field(default_factory=list)
    found: UnchangedUniqueness | None = None
    determined: list = field(default_factory=list)
    assumed_unknown: list = field(default_factory=list)

    def are_safe(self, risk):
        """Whether they determine nothing, single nobody out, and leave the risk as stated."""
        return not self.determined and not self.is_risk_larger(risk)

    def is_risk_larger(self, risk):
        """Whether somebody who knows these columns, too, achieves more than this risk."""
        found = self.found
        return found is not None and (
            singles_out(found) or found.expected_matches > (1 + 1e-9) * risk
        )

    @property
    def in_a_list(self):
        """The names in a sentence."""
        return in_a_list(self.names)

    def combinations(self):
        """How many columns, which share is unique by some of them, and by which most are."""
        sizes = ("one", "two", "three")[: len(self.names) - 1]
        for found in zip(sizes, self.found.unique_by, self.found.columns_by, strict=False):
            size, share, columns = found
            yield size, share, in_a_list([*map(shown_name, columns)])


def measure_unchanged(X, names, classes, unchanged, sensitive=None, unit=None, strata=None):
    """Measure the columns in `unchanged`; `classes` are the groups, and `names` those of `X`.

    Also the classes of those who know these columns, too, but for sensitive ones.
    """
    together = within_strata(classes, strata)
    unknown = _names(sensitive)
    shown_unknown = [*map(shown_name, unknown)]
    if unchanged is None or 0 in np.shape(unchanged):
        return UnchangedFacts(assumed_unknown=shown_unknown), together
    table = as_table(unchanged)
    columns = column_names(table)

    def without(left_out):
        places = [place for place, name in enumerate(columns) if name not in left_out]
        return [columns[place] for place in places], _safe_indexing(table, places, axis=1)

    (known, of_known), (others, of_others) = without(unknown), without(_names(strata))
    # A group never mixes strata, so that they give nothing away.
    determined = determined_columns(X, of_others, unit) if others else []
    names_in_x = dict(zip(column_names(X), names, strict=True))
    facts = UnchangedFacts(
        names=[*map(shown_name, known)],
        found=unchanged_uniqueness(classes, of_known, unit) if known else None,
        determined=determined_in_words(
            [(columns, names_in_x[name]) for columns, name in determined], shown_name
        ),
        assumed_unknown=shown_unknown,
    )
    if known:
        codes = row_classes(of_known, "unchanged")
        together = np.unique(together * (codes.max() + 1) + codes, return_inverse=True)[1]
    return facts, together


def _names(role):
    """Names of columns with a role, if they have names."""
    role = as_table(role)
    named = getattr(role, "columns", [getattr(role, "name", None)])
    return [str(name) for name in named if name is not None]
