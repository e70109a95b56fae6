"""What to think of before a release is published: columns that may identify people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._formatting import (
    determined_in_words,
    in_a_list,
    in_records,
    percent,
    shown,
    singled_out_lines,
    singles_out,
)
from sk_microagg.files._columns import Column, frame_of
from sk_microagg.files._messages import Message, Option, bad_input_as_request_error
from sk_microagg.files._table import Table
from sk_microagg.metrics import determined_columns, joint_anonymity, unchanged_uniqueness
from sk_microagg.release._summary import Fact

LARGEST_SHARE = 0.9

# A dropped column may say who a record belongs to if people have at most this many rows on average.
# Other columns, such as a sex, are dropped for other reasons.
MOST_ROWS = 20

# Names of columns that hold people, and values that may be theirs.
PEOPLE = re.compile(
    r"(^|[^a-z])(ids?|nr|no|num(ber)?|seqn?|key|uuid|ssn|mrn|pid)([^a-z]|$)|pseudonym"
    r"|patient|person|client|customer|member|subject|participant|resident|employee|student|user",
    re.IGNORECASE,
)
CODE = r"^[A-Za-z._-]*\d[A-Za-z0-9._-]*$"

# Cells of free text have at least this many characters on average.
LONG_TEXT = 30

# Values of a column are about equally frequent if their numbers deviate by this share of the mean.
EQUAL = 0.1

N_LINES = 5

# If more records are in groups that share one value of a column, that is a warning.
LARGEST_DISCLOSED = 0.1

# Fewer successive numbers may be ages.
FEWEST_RUNNING = 100

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
INTEGER = r"^[+-]?\d+$"
DATE = r"^(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4})"


def warn_of_columns(plan: Any, progress: Any) -> None:
    """Warn of columns that may identify people, and of people with several rows."""
    # A measurement that is declared sensitive is assumed to be unknown; a name may be a mistake.
    measured = [name for name in plan.roles.sensitive if _are_measured(plan.table.known(name))]
    # The estimator warns of weights that identify people.
    measured += [plan.roles.weight]
    others = [name for name in plan.roles.unchanged if name not in measured]
    warn_of_identifiers(identifiers(plan.table, others), progress)
    warn_of_free_text(free_texts(plan.table, plan.roles.unchanged), progress)
    for column in plan.known:
        if is_number_of_people(column):
            text = (
                "{column} has a different number in almost every row, as identifiers have: it is "
            )
            text += "averaged, and groups are formed by it. {Advice}"
            advice = (Option("drop", column.name),)
            progress.warn(Message("averaged_identifier", text, column.name, advice=advice))
    # A group never mixes strata, so that they give nothing away.
    others = plan.unchanged.drop(columns=list(plan.roles.strata))
    values = frame_of(plan.records().select([column.name for column in plan.known]))
    warn_of_determined(values, others, progress, plan.demands.units())
    if not plan.request.generalizes:
        averaged = [column.name for column in plan.known if column.kind in ("number", "date")]
        warn_of_redundant(values[averaged], progress, plan.demands.units())
    if plan.roles.unit is None:
        lines = several_rows(plan.table, plan.roles.dropped, [c.name for c in plan.known])
        warn_of_several_rows(lines, progress)


def warn_of_identifiers(names: Sequence[str], progress: Any) -> None:
    for name in names[:N_LINES]:
        text = (
            "column {name!r} comes out unchanged, with a different value in almost every row; "
            "{advice}"
        )
        advice = (Option("drop_or_anonymize"),)
        progress.warn(Message("identifier", text, name, name=name, advice=advice))
    _warn_of_more(len(names), progress)


def free_texts(table: Table, columns: Sequence[str]) -> list[str]:
    """Columns of long texts of which many differ."""
    found = []
    for name in columns:
        known = table.known(name)
        is_text = pa.types.is_string(known.type) or pa.types.is_large_string(known.type)
        if is_text and may_be_free_text(*count_distinct(known)):
            found += [name] * (pc.mean(pc.utf8_length(known)).as_py() >= LONG_TEXT)
    return found


def may_be_free_text(n_distinct: int, n_known: int) -> bool:
    """Whether many values differ, but not almost all: of identifiers, there is another warning."""
    return n_known / 4 < n_distinct <= LARGEST_SHARE * n_known


def warn_of_free_text(names: Sequence[str], progress: Any) -> None:
    """Warn of text that is released unchanged, in which anything may be written."""
    for name in names:
        text = "column {name!r} comes out unchanged, and seems to be free text, in which "
        text += "people may be named; {advice}"
        advice = (Option("drop_or_anonymize"),)
        progress.warn(Message("free_text", text, name, name=name, advice=advice))


def _warn_of_more(n_lines: int, progress: Any) -> None:
    if n_lines > N_LINES:
        progress.warn(Message("more", "and {n_more} more", n_more=n_lines - N_LINES))


def identifiers(table: Table, columns: Sequence[str]) -> list[str]:
    """Columns in which almost all known values differ, as patient numbers do."""
    return [name for name in columns if is_identifier(*count_distinct(table.known(name)))]


def several_rows(table: Table, dropped: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    """Columns that may name people with several rows, and how many values these have."""
    lines = {}
    for name in (*dropped, *others):
        known = table.known(name)
        n_values, n_rows = count_distinct(known)
        if not names_people(n_values, n_rows) or _are_measured(known):
            continue
        signs = is_named_as_people_are(name), _are_equally_frequent(known), _are_codes(known)
        if any(signs) if name in dropped else all(signs[:2]):
            lines[name] = f"{n_values} different values in {n_rows} rows"
    return lines


def is_number_of_people(column: Column) -> bool:
    """Whether numbers seem to be running ones, or identifiers by their name."""
    if column.kind != "number":
        return False
    known = np.sort(column.numbers[np.isfinite(column.numbers)])
    n_distinct = len(np.unique(known))
    if not is_identifier(n_distinct, len(known)) or np.any(known % 1):
        return False
    is_running = n_distinct == len(known) == known[-1] - known[0] + 1
    return is_named_as_people_are(column.name) or (is_running and n_distinct >= FEWEST_RUNNING)


def names_people(n_distinct: int, n_known: int) -> bool:
    """Whether values of a dropped column may name people, of whom some have several rows."""
    return 1 < n_distinct < n_known <= MOST_ROWS * n_distinct


def is_named_as_people_are(name: str) -> bool:
    return PEOPLE.search(name) is not None


def _are_codes(known: Any) -> bool:
    """Whether values are texts of one length with digits, such as P001."""
    if not (pa.types.is_string(known.type) or pa.types.is_large_string(known.type)):
        return False
    return pc.all(pc.match_substring_regex(known, CODE)).as_py() and (
        pc.count_distinct(pc.utf8_length(known)).as_py() == 1
    )


def _are_equally_frequent(known: Any) -> bool:
    """Whether each value is repeated about as often, as people are in every year of a survey."""
    counts = known.value_counts().field("counts")
    mean = pc.mean(counts).as_py()
    return mean >= 2 and pc.stddev(counts).as_py() <= EQUAL * mean


def warn_of_several_rows(lines: Mapping[str, str], progress: Any) -> None:
    """Warn once that k does not count people, if a column names any."""
    if not lines:
        return
    name, *others = sorted(lines, key=lambda name: not is_named_as_people_are(name))
    text = "{column} has {line}: if it names people, k counts their rows, not the people."
    text += " {Advice}"
    if others:
        text += f". The same holds for {in_a_list([*map(shown, others[:N_LINES])])}"
    advice = (Option("unit", name),)
    progress.warn(Message("several_rows", text, name, line=lines[name], advice=advice))


def is_identifier(n_distinct: int, n_known: int) -> bool:
    return n_known > 1 and n_distinct > LARGEST_SHARE * n_known


def _are_measured(known: Any) -> bool:
    """Whether values are dates, truth values, or numbers of which some have decimals."""
    kind = known.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        is_number = pc.match_substring_regex(known, NUMBER)
        is_integer = pc.match_substring_regex(known, INTEGER)
        if pc.all(is_number).as_py():
            return not pc.all(is_integer).as_py()
        return pc.all(pc.match_substring_regex(known, DATE)).as_py()
    if pa.types.is_floating(kind):
        return not pc.all(pc.equal(pc.floor(known), known)).as_py()
    return pa.types.is_temporal(kind) or pa.types.is_boolean(kind)


def count_distinct(known: Any) -> tuple[int, int]:
    """Number of different values of a column, and of all that are known."""
    try:
        return pc.count_distinct(known).as_py(), len(known)
    except pa.ArrowNotImplementedError:  # lists, for example
        return len({str(cell) for cell in known.to_pylist()}), len(known)


def warn_of_determined(
    original: pd.DataFrame, unchanged: pd.DataFrame, progress: Any, unit: Any = None
) -> None:
    """Warn of columns that determine anonymized ones; both are tables, maybe without columns."""
    if not len(unchanged.columns):
        return
    lines = determined_in_words(determined_columns(original, unchanged, unit), shown)
    for line in lines[:N_LINES]:
        advice = (Option("drop_or_anonymize"),)
        progress.warn(
            Message("determines", "unchanged, {line}; {advice}", line=line, advice=advice)
        )
    _warn_of_more(len(lines), progress)


def warn_of_redundant(averaged: pd.DataFrame, progress: Any, unit: Any = None) -> None:
    """Warn of columns whose means are sums of the same values as those of other columns."""
    if len(averaged.columns) < 2:
        return
    found = determined_columns(averaged, unit=unit)
    lines = determined_in_words(found, shown)
    text = "anonymized, {line}: their means are several sums of the same values, which may tell "
    text += "these; {advice}"
    for (_, name), line in zip(found[:N_LINES], lines, strict=False):
        advice = (Option("drop", name),)
        progress.warn(Message("redundant", text, name, line=line, advice=advice))
    _warn_of_more(len(lines), progress)


def singled_out(plan: Any, labels: Any, progress: Any) -> dict:
    """Measure what the unchanged columns of a plan single out, and warn: the fact, or nothing."""
    names = plan.roles.exposed
    if not names:
        return {}
    values, units = plan.unchanged[names], plan.demands.units()
    found = unchanged_uniqueness(labels, values, units)
    about = found, names, len(values)
    # Without units, there is a warning of each identifier.
    if units is not None or len(names) > 1 or found.unique <= LARGEST_SHARE:
        warn_of_singled_out(*about, progress)
    return {"singled out": fact_on_singled_out(*about)}


def warn_of_disclosed(
    roles: Any, shares: Sequence[Any], n_values: Callable[[str], int], progress: Any
) -> tuple:
    """Warn of columns of which one value is known of many people; return the advice.

    There are two shares for each unchanged column. One with a single value discloses nothing.
    """
    # Strata are a part of every row of their groups, and weights are no values of people.
    left_out = {*roles.strata, roles.weight}
    pairs = zip(roles.unchanged, shares, strict=True)
    found = {name: float(share) for name, (share, _) in pairs if name not in left_out}
    found = {
        name: share
        for name, share in found.items()
        if share > LARGEST_DISCLOSED and (share < 1 or n_values(name) > 1)
    }
    for name, share in found.items():
        text = (
            "{column}: {share} of the records are in groups that share one value, which the "
            "release discloses of them; {advice} for different values in each group"
        )
        facts = {"share": percent(share), "advice": _diversity([name], roles)}
        progress.warn(Message("disclosed", text, name, **facts))
    return _diversity([*found], roles) if found else ()


def _diversity(names: Sequence[str], roles: Any) -> tuple:
    """What to do so that no group shares one value of some columns."""
    others = [Option("sensitive", column=name) for name in names if name not in roles.sensitive]
    return ((*others[:N_LINES], Option("l", 2)),)


def joint_with_earlier(plan: Any, release: Any, progress: Any) -> dict:
    """Count the people who share their rows of all releases, and warn of few: the fact, or none."""
    if not plan.request.earlier:
        return {}
    from sk_microagg.report._facts import check_earlier  # Few need it.

    names, k = [column.name for column in plan.known], plan.request.k
    with bad_input_as_request_error(Option("earlier")):
        tables, people = check_earlier(plan.request.earlier, names, plan.people_as_text()["unit"])
    level = joint_anonymity([release.classes[names], *tables], people)
    if level < k:
        text = (
            "together with the earlier releases, only {level} {people} share their rows of all "
            "{n_releases}, fewer than k={k}: an attacker who knows a person in each of them looks "
            "among so few. {Advice} from the first release on"
        )
        noun, advice = "person" if level == 1 else "people", (Option("series"),)
        facts = {"level": level, "people": noun, "n_releases": len(people), "k": k}
        progress.warn(Message("joint_anonymity", text, advice=advice, **facts))
    words = f"{level}  (people who share their rows of all {len(people)} releases)"
    return {"joint anonymity": Fact(words, level)}


def warn_of_singled_out(found: Any, names: Sequence[str], n_records: int, progress: Any) -> None:
    """Warn if columns that are released unchanged single people out, maybe with all others."""
    if not singles_out(found):
        return
    alone, with_release = (
        in_records(share, n_records) for share in (found.unique, found.unique_with_release)
    )
    together = "together with the anonymized columns"
    if found.unique > 0 and alone != with_release:
        together = f"and {with_release} {together}"
    facts = {
        "share": alone if found.unique > 0 else with_release,
        "names": in_a_list([*map(shown, names)]),
        "more": "" if alone == with_release else f", {together}",
        "advice": (Option("drop_or_hide"),),
    }
    text = "{share} are unique by what comes out unchanged, {names}{more}; {advice}"
    progress.warn(Message("singled_out", text, **facts))


def fact_on_singled_out(found: Any, names: Sequence[str], n_records: int) -> Fact:
    """What is printed about columns that are released unchanged, and what programs get."""
    value = {
        "columns": list(names),
        "unique_with_release": found.unique_with_release,
        "unique": found.unique,
        "unique_by": list(found.unique_by),
        "expected_matches": found.expected_matches,
    }
    return Fact(singled_out_lines(found, [*map(shown, names)], n_records), value)
