"""The page: facts and pictures, laid out by the files in `templates`."""

from __future__ import annotations

from datetime import datetime
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
from sk_microagg.generalization._base import releases_intervals
from sk_microagg.plotting._convergence_display import total_of, trace_of
from sk_microagg.report._figures import draw_certificate, draw_columns, draw_groups, draw_search
from sk_microagg.report._recipe import describe, describe_parameter, recipe_of

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


def render(
    X, release, estimator, facts, title, certificate=None, categorical=(), units=None, command=None
):
    """The report as HTML.

    `categorical` are the numbers of columns of categories, and `units` says who each record belongs
    to. `command` is what was typed in a shell, if the release was made there.
    """
    trace = trace_of(estimator)
    method = method_of(estimator, facts)
    how = dict(method)["Method"]
    return (
        _environment()
        .get_template("report.html")
        .render(
            title="Anonymization report" if title is None else str(title),
            now=datetime.now().astimezone(),
            facts=facts,
            method=method,
            certificate=certificate,
            certificate_picture=certificate and draw_certificate(certificate, estimator),
            summary=summary_of(facts, how, certificate),
            columns=draw_columns(
                X, release, facts.names, facts.k, facts.column_losses, categorical, units
            ),
            groups=draw_groups(release, facts.k),
            search=None if trace is None else draw_search(trace, total_of(estimator, trace)),
            recipe=recipe_of(estimator, facts.beyond_k, command),
        )
    )


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
