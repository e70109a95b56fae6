"""The page: facts and pictures, laid out by the files in `templates`."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import (
    at_most,
    counted,
    in_a_list,
    percent,
    signed,
    whole_percent,
)
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.plotting._search_displays import total_of, trace_of
from sk_microagg.report._figures import draw_certificate, draw_columns, draw_groups, draw_search
from sk_microagg.report._recipe import describe, describe_parameter, recipe_of
from sk_microagg.report._scenario import INTRUDERS

FILTERS = {
    "at_most": at_most,
    "counted": counted,
    "in_a_list": in_a_list,
    "percent": percent,
    "signed": signed,
    "thousands": "{:,}".format,
    "whole_percent": whole_percent,
}

# What fits on the page, whatever the table.
MOST_NAMES, LONGEST_NAME, MOST_LOSSES, MOST_SENSITIVE = 8, 48, 3, 3

QUOTES = "'\""

CATEGORIES = {
    "mode": "the most frequent value of the group",
    "generalize": "the lowest common node of their hierarchy, or *",
}


def contents_of(estimator, facts, title, certificate, command):
    """All that a report says, apart from pictures.

    `command` is what was typed in a shell, if the release was made there.
    """
    method = method_of(estimator, facts)
    return {
        "title": "Anonymization report" if title is None else str(title),
        "now": datetime.now().astimezone(),
        "facts": facts,
        "verdicts": [*verdicts_of(facts), *_verdicts_by_threshold(facts)],
        "method": method,
        "certificate": certificate,
        "summary": summary_of(facts, dict(method)["Method"], certificate),
        "recipe": recipe_of(estimator, facts.beyond_k, command),
    }


def render(X, release, estimator, contents, categorical=(), units=None):
    """The report as HTML.

    `categorical` are the numbers of columns of categories, and `units` says who each record belongs
    to.
    """
    trace = trace_of(estimator)
    facts, certificate = contents["facts"], contents["certificate"]
    return (
        _environment()
        .get_template("report.html")
        .render(
            **contents,
            intruders=INTRUDERS,
            certificate_picture=certificate and draw_certificate(certificate, estimator),
            columns=draw_columns(
                X, release, facts.names, facts.k, facts.column_losses, categorical, units
            ),
            groups=draw_groups(release, facts.k),
            search=None if trace is None else draw_search(trace, total_of(estimator, trace)),
        )
    )


def _verdicts_by_threshold(facts):
    """Whether risks are acceptable by the scenario, if there is one."""
    if facts.scenario is None:
        return
    threshold, after = facts.scenario["threshold"], facts.risks[1]
    risks = f"the largest risk is {after.words('prosecutor', 'largest')}"
    if after.is_acceptable(threshold):
        yield "holds", f"Acceptable by the threshold of {percent(threshold)}: {risks}."
    else:
        yield "broken", f"Not acceptable by the threshold of {percent(threshold)}: {risks}."


@cache
def _environment():
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["zip"] = zip
    return environment


def _read_template(name):
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def summary_of(facts: Any, method: str, certificate: Any = None) -> list[Any]:
    """The table, the method, the loss and the risk, each in a line or two."""
    records = counted(facts.n_records, "record")
    return [
        ("Table", records if facts.source is None else f"{short(facts.source)}, {records}"),
        ("Anonymized", named(facts.names)),
        *_others(facts),
        ("How", method),
        ("Highest losses", _highest_losses(facts)),
        *([] if certificate is None else [("Optimality", certificate.verdict())]),
        ("Risk", _risk(facts)),
        ("Sensitive", _sensitive(facts)),
    ]


def verdicts_of(facts: Any) -> list[tuple[str, str]]:
    """What holds, what does not and what is open, each in a sentence."""
    # Nothing is said to hold if other columns, or one unit with many records, undo it.
    holds = "holds" if facts.is_safe else "open"
    level, k, beyond, unchanged = facts.level, facts.k, facts.beyond_k, facts.unchanged
    shared_by = counted(level, "record")
    if level >= k > 1:
        text = f"is shared by at least {shared_by}; k = {k} was requested."
        found = [(holds, f"Every combination of the anonymized columns {text}")]
    elif k > 1:
        text = f"a combination of the anonymized columns is shared by only {shared_by}."
        found = [("broken", f"Not {k}-anonymous: {text}")]
    elif level > 1:
        text = f"of the anonymized columns is shared by at least {shared_by}, but only by chance."
        found = [("broken", f"k = 1 protects nobody: each combination {text}")]
    else:
        text = "k = 1 protects nobody, and at least one row represents a single record."
        found = [("broken", f"Not anonymous: {text}")]
    found += [("broken", text) for text in _by_unchanged(facts)]
    if unchanged.assumed_unknown:
        columns = "columns" if len(unchanged.assumed_unknown) > 1 else "column"
        text = (
            f"intruders do not know the sensitive {columns} {in_a_list(unchanged.assumed_unknown)}"
        )
        found.append(("open", f"Assumed, not measured: {text}."))
    if beyond.n_units is not None:
        units = counted(beyond.n_units, "different unit")
        if beyond.n_units >= k > 1:
            found.append((holds, f"Every group has records of at least {units}."))
        else:
            text = f"A group has records of only {units}: k = {k} was counted in records."
            found.append(("broken", text))
    if beyond.is_share_large:
        text = (
            f"Up to {whole_percent(beyond.unit_share)} of the records of a group belong to one "
            f"unit, more than 1 in {k:,}: an intruder who attributes all of them to that unit is "
            "right that often. The constraint UnitShare bounds it."
        )
        found.append(("broken", text))
    for demand in beyond.demands:
        if demand.is_met is None:
            found.append(("broken", f"Not checked, for lack of {demand.needs}: {demand.name}."))
        elif demand.is_met:
            found.append((holds, f"Every group satisfies {demand.name}."))
        else:
            found.append(("broken", f"A group violates {demand.name}."))
    return found


def _by_unchanged(facts):
    """What columns that are released unchanged undo."""
    unchanged = facts.unchanged
    found = unchanged.found
    if found is not None and found.unique_with_release > 0:
        together = facts.as_text(found.unique_with_release, " of the records")
        if found.unique > 0:
            alone = facts.as_text(found.unique, " of the records")
            yield (
                f"Columns that are released unchanged single people out: {alone} are unique by "
                f"{unchanged.in_a_list}, {together} together with the anonymized columns."
            )
        else:
            single = "single" if len(unchanged.names) > 1 else "singles"
            yield (
                f"Together with the anonymized columns, {unchanged.in_a_list}, released unchanged, "
                f"{single} people out: {together} are unique."
            )
    elif unchanged.is_risk_larger(facts.largest_risk):
        yield (
            f"Whoever knows {unchanged.in_a_list}, released unchanged, too, re-identifies "
            f"{at_most(found.expected_matches)} of the records, more than the anonymized columns "
            "alone allow."
        )
    for sentence in unchanged.determined:
        yield f"Released unchanged, {sentence}."


def short(name):
    """A name that may be long; one in quotes keeps the closing one."""
    if len(name) <= LONGEST_NAME:
        return name
    end = f"…{name[-1]}" if name[0] == name[-1] and name[0] in QUOTES else "…"
    return name[: LONGEST_NAME - len(end)] + end


def named(names):
    """The number of columns, and the first of their names."""
    words = ", ".join(short(name) for name in list(names)[:MOST_NAMES])
    n_more = len(names) - MOST_NAMES
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return f"{counted(len(names), 'column')}: {words}{more}"


def _others(facts):
    if facts.homogeneous:
        yield "Unchanged", named(facts.homogeneous)
    if facts.dropped:
        yield "Dropped", named(facts.dropped)


def _highest_losses(facts):
    order = np.argsort(-facts.column_losses, kind="stable")[:MOST_LOSSES]
    return ", ".join(f"{short(facts.names[j])} {percent(facts.column_losses[j])}" for j in order)


def _risk(facts):
    if facts.risk is None:
        before, after = facts.as_text(facts.unique_before), facts.as_text(facts.unique_after)
        return (
            "Records with a combination of the anonymized columns that nobody else has: "
            f"{before} before, {after} after."
        )
    found = facts.unchanged.found
    with_unchanged = (
        ""
        if found is None
        else f" One who knows the unchanged columns, too: {at_most(found.expected_matches)}."
    )
    return (
        "An intruder who knows all original values of the anonymized columns is expected to "
        f"re-identify {facts.expected_matches(facts.risk.linkage)} of the records."
        f"{with_unchanged}{_unit_share(facts)}"
    )


def _unit_share(facts):
    share = facts.beyond_k.unit_share
    return "" if share is None else f" One unit has {at_most(share)} of the records of a group."


def _sensitive(facts):
    if not facts.beyond_k.columns:
        return "No sensitive column was examined."
    worst_first = sorted(
        facts.beyond_k.columns, key=lambda one: (-max(one.homogeneous, one.one_known), one.n_values)
    )
    lines = [_of_column(facts, column) for column in worst_first[:MOST_SENSITIVE]]
    n_more = len(worst_first) - len(lines)
    if n_more:
        lines.append(f"And {counted(n_more, 'more sensitive column')}, no worse than these.")
    return " ".join(lines)


def _of_column(facts, column):
    where = f"In the {short(column.words)},"
    if column.homogeneous > 0:
        shared = facts.share_of_groups(column.homogeneous, " of the records")
        return f"{where} {shared} are in groups that share one value."
    if column.one_known > 0:
        known = facts.share_of_groups(column.one_known, " of the records")
        return f"{where} {known} are in groups with a single known value, apart from missing ones."
    return f"{where} every group has at least {counted(column.n_values, 'different value')}."


def method_of(estimator, facts):
    """The table, the treatment of its columns, and how the groups were made."""
    is_generalized = releases_intervals(estimator)
    how = _how_generalized(estimator, facts) if is_generalized else _how_averaged(estimator, facts)
    smallest = counted(facts.smallest_group, "record")
    return [
        *_origin(facts),
        ("Minimum group size", f"k = {facts.k:,}"),
        ("Groups", f"{facts.n_groups:,}, each of at least {smallest}"),
        *_beyond_k(facts.beyond_k),
        *how,
    ]


def _origin(facts):
    """The table and its columns."""
    if facts.source is not None:
        yield "Input file", facts.source
    yield "Records", f"{facts.n_records:,}"
    yield "Columns anonymized", _names(facts.names)
    if facts.homogeneous is not None:
        yield "Columns released unchanged", _names(facts.homogeneous)
    if facts.dropped is not None:
        yield "Columns dropped", _names(facts.dropped)


def _names(columns):
    return f"{len(columns):,}: {', '.join(columns)}" if columns else "none"


def _beyond_k(facts):
    """Constraints, units and strata, if any."""
    if facts.demands:
        yield "Constraints on groups", "; ".join(demand.name for demand in facts.demands)
    if facts.n_units is not None:
        yield (
            "Units",
            f"each group has records of at least {facts.n_units:,} different units, and one unit "
            f"has {at_most(facts.unit_share)} of them",
        )
    if facts.n_strata is not None:
        yield "Strata", f"{facts.n_strata:,}; no group has records of two strata"


def _how_averaged(estimator, facts):
    if isinstance(estimator, TableAggregator):
        yield from _how_released(estimator)
    else:
        yield "Method", "Microaggregation: each record is replaced by the mean of its group."
    if facts.mixed is not None:
        yield "Missing in the original", facts.missing
    if getattr(estimator, "n_blocks_", 1) > 1:
        yield "Blocks", f"{estimator.n_blocks_:,}, each partitioned separately"
    for label, name in (("Groups built by", "builder"), ("Groups refined by", "refiner")):
        used = getattr(estimator, f"{name}_", getattr(estimator, name))
        yield label, _by_name(used)
    if hasattr(estimator, "scaler"):
        scaler = getattr(estimator, "scaler_", estimator.scaler)
        yield "Columns scaled by", _by_name(scaler)


def _by_name(used):
    """An object, or its name if it was given by it."""
    return "none" if used is None else describe(used).strip("'")


def _how_released(estimator):
    yield (
        "Method",
        "Microaggregation of whole tables: in each column, every record has the common value of "
        "its group.",
    )
    yield "Numbers and dates released as", f"the {estimator.numbers} of the group"
    yield "Categories released as", CATEGORIES[estimator.categories]
    if estimator.hierarchies:
        yield "Hierarchies", describe_parameter("hierarchies", estimator.hierarchies)
    if estimator.column_weights:
        yield "Column weights", describe(estimator.column_weights)


def _how_generalized(estimator, facts):
    yield (
        "Method",
        "Generalization: in each column, a group is released as the smallest category or interval "
        "that covers its records.",
    )
    yield "Missing in the original", facts.missing
    is_suppressed = estimator.labels_ < 0
    if is_suppressed.any():
        n_suppressed = facts.bound(is_suppressed.mean()) or f"{is_suppressed.sum():,}"
        yield "Records suppressed", f"{n_suppressed}, released as * in all columns"
    if estimator.hierarchies:
        yield "Hierarchies", describe_parameter("hierarchies", estimator.hierarchies)
    if hasattr(estimator, "distance"):
        yield "Distance between records", f"{estimator.distance}"
        yield "Numbers released as", f"{estimator.output}s"
        yield "Groups refined by", _by_name(estimator.refiner_)
    if getattr(estimator, "weights", None) is not None:
        yield "Column weights", describe(estimator.weights)
