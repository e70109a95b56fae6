"""The page and the document: facts and pictures in HTML, by the files in `templates`, and as JSON.

No figure of the document is finer than on the page. A share comes with the words of the page; its
value is missing where the words are a bound because the share stands for a few people.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import (
    at_most,
    counted,
    in_a_list,
    percent,
    rounded_share,
    rounded_up,
    signed,
    whole_percent,
)
from sk_microagg.builders import BUILDERS
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.plotting._search_displays import total_of, trace_of
from sk_microagg.refiners._chain import REFINERS
from sk_microagg.report._attacks import Told
from sk_microagg.report._figures import draw_certificate, draw_columns, draw_groups, draw_search
from sk_microagg.report._recipe import describe, describe_parameter, recipe_of
from sk_microagg.report._scenario import INTRUDERS
from sk_microagg.report._utility import rounded_above

FILTERS: dict[str, Any] = {
    "at_most": at_most,
    "counted": counted,
    "in_a_list": in_a_list,
    "percent": percent,
    "signed": signed,
    "thousands": "{:,}".format,
    "whole_percent": whole_percent,
}

# What fits on the page, whatever the table.
MOST_NAMES, LONGEST_NAME = 8, 48

# The version of the document; grows with every change after which a program might fail.
VERSION = 1

GENERALIZED = (
    "Generalization: in each column, a group is released as the smallest category or interval that "
    "covers its records."
)
AVERAGED = "Microaggregation: each record is replaced by the mean of its group."
OF_TABLES = (
    "Microaggregation of whole tables: in each column, every record has the common value of its "
    "group."
)

KEPT = (
    "In columns of weighted means without missing values, sums of weight × value stay as they are, "
    "in each group and in the table, but for rounding."
)


def contents_of(estimator, facts, about, certificate):
    """All that a report says, apart from pictures."""
    title, proof = about["title"], certificate and _in_steps(certificate, facts)
    return {
        "title": "Anonymization report" if title is None else str(title),
        "now": datetime.now().astimezone(),
        "facts": facts,
        "verdicts": [*verdicts_of(facts), *_verdicts_by_threshold(facts)],
        "method": dict(method_of(estimator, facts)),
        "certificate": proof,
        "proof": proof and _in_words(proof, facts),
        "recipe": recipe_of(estimator, facts.beyond_k, about["command"]),
    }


def _in_steps(certificate, facts):
    """A certificate that is as true, and tells no more of the loss than the rest of the report."""
    step, trace = facts.loss_step, certificate.trace.copy()
    if facts.rounding is not None:
        loss = float(facts.rounding.above(certificate.loss, step))
        bound = max(float(facts.rounding.below(certificate.bound, step)), 0.0)
        return replace(certificate, loss=loss, bound=bound, trace=None)
    loss, bound = rounded_above(certificate.loss, step), -rounded_above(-certificate.bound, step)
    trace[:, 1] = -rounded_above(-trace[:, 1], step)
    loss = bound if certificate.gap == 0 and bound else loss
    return replace(certificate, loss=float(loss), bound=float(bound), trace=trace)


def _in_words(certificate, facts):
    """What was proven, and why it is true."""
    if certificate.bound == 0 and facts.rounding is not None:
        return "not told", "the table is so small that the steps of this report hide it"
    return certificate.verdict(), certificate.reason()


def render(X, release, estimator, contents, categorical=(), units=None):
    """The report as HTML; for the last two, see `draw_columns`."""
    facts, certificate = contents["facts"], contents["certificate"]
    trace = trace_of(estimator) if estimator.information_loss_ else None
    if facts.rounding is not None:
        # Of many losses, some lie next to a line, wherever that is.
        trace = certificate = None
    step, names, losses = facts.loss_step, facts.names, facts.column_losses
    settings = {"categorical": categorical, "units": units, "rounding": facts.secret}
    page = _environment().get_template("report.html")
    return page.render(
        **contents,
        intruders=INTRUDERS,
        certificate_picture=certificate and draw_certificate(certificate, estimator, step),
        columns=draw_columns(X, release, names, facts.k, losses, **settings),
        groups=draw_groups(release, facts.k),
        search=None if trace is None else draw_search(trace, total_of(estimator, trace), step),
    )


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
    environment.filters.update(FILTERS, short=short, named=named)
    environment.globals["zip"] = zip
    return environment


def _read_template(name):
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


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
    if facts.joint is not None:
        found.append(_by_earlier(facts, holds))
    if beyond.is_share_large:
        text = (
            f"Up to {whole_percent(beyond.unit_share)} of the records of a group belong to one "
            f"unit, more than 1 in {k:,}: an intruder who attributes all of them to that unit is "
            "right that often. The constraint UnitShare bounds it."
        )
        found.append(("broken", text))
    found += [(holds if demand.is_met else "broken", demand.verdict) for demand in beyond.demands]
    return found


def _by_earlier(facts, holds):
    """What this release and earlier ones say together."""
    people, releases = facts.joint["people"], f"all {facts.joint['releases']} releases"
    if people is None:
        return (
            "broken",
            f"Not {facts.k:,}-anonymous together with earlier releases: fewer people share their "
            f"rows of {releases}.",
        )
    return (
        holds,
        f"Every combination of rows of {releases} is shared by at least {people:,} people.",
    )


def _verdicts_by_threshold(facts):
    """Whether risks are acceptable by the scenario, if there is one."""
    if facts.scenario is None:
        return
    threshold, after = facts.scenario["threshold"], facts.risks[1]
    risks = f"the largest risk is {after.words('prosecutor', 'largest')}"
    if after.is_acceptable(threshold):
        yield "holds", f"Acceptable by the threshold of {100 * threshold:g}%: {risks}."
    else:
        yield "broken", f"Not acceptable by the threshold of {100 * threshold:g}%: {risks}."


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
    """A name that may be long; a quote at its end stays."""
    if len(name) <= LONGEST_NAME:
        return name
    end = f"…{name[-1]}" if name[-1] in "'\"" else "…"
    return name[: LONGEST_NAME - len(end)] + end


def named(names):
    """The number of columns, and the first of their names."""
    words = ", ".join(short(name) for name in list(names)[:MOST_NAMES])
    n_more = len(names) - MOST_NAMES
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return f"{counted(len(names), 'column')}: {words}{more}"


def method_of(estimator, facts):
    """What was done, as far as the first page does not say it."""
    is_generalized = releases_intervals(estimator)
    is_table = isinstance(estimator, TableAggregator)
    yield "Method", GENERALIZED if is_generalized else OF_TABLES if is_table else AVERAGED
    published, strata = facts.published, facts.beyond_k.n_strata
    if published["file"] is not None:
        yield "Release file", f"{published['file']}, SHA-256 {published['sha256']}"
    if published["shuffled"] is not None:
        yield "Order of rows", "random" if published["shuffled"] else "that of the original"
    if strata is not None:
        yield "Strata", f"{strata:,}; no group has records of two strata"
    if is_table and facts.has_weights and not is_generalized:
        yield "Weights", KEPT
    if is_generalized or facts.mixed is not None:
        yield "Missing in the original", facts.missing
    if is_generalized and (is_suppressed := estimator.labels_ < 0).any():
        n_suppressed = facts.bound(is_suppressed.mean()) or f"{is_suppressed.sum():,}"
        yield "Records suppressed", f"{n_suppressed}, released as * in all columns"
    if getattr(estimator, "n_blocks_", 1) > 1:
        yield "Blocks", f"{estimator.n_blocks_:,}, each partitioned separately"
    if getattr(estimator, "hierarchies", None):
        yield "Hierarchies", describe_parameter("hierarchies", estimator.hierarchies)
    for name in ("column_weights", "weights"):
        weights = getattr(estimator, name, None)
        if weights is not None and len(weights):
            yield "Column weights", describe(weights)
    if is_generalized and hasattr(estimator, "distance"):
        yield "Distance between records", f"{estimator.distance}"
        yield "Numbers released as", f"{estimator.output}s"
    labels = "Groups built by", "Groups refined by", "Columns scaled by"
    for label, name in zip(labels, ("builder", "refiner", "scaler"), strict=True):
        if hasattr(estimator, name):
            yield label, _by_name(getattr(estimator, f"{name}_", getattr(estimator, name)))


def _by_name(used):
    """An object, or the name that it is given by."""
    text = "none" if used is None else describe(used).strip("'")
    names = {f"{kind.__name__}()": name for name, kind in (*BUILDERS.items(), *REFINERS.items())}
    return names.get(text, text)


def document_of(contents: dict[str, Any]) -> dict[str, Any]:
    """The document with the contents of a report."""
    facts, recipe, certificate = (contents[name] for name in ("facts", "recipe", "certificate"))
    losses = dict(zip(facts.names, facts.column_losses.tolist(), strict=True))
    columns = ("name", "role", "technique", "reason")
    return {
        "schema": "sk-microagg report",
        "version": VERSION,
        "title": contents["title"],
        "written": contents["now"].isoformat(timespec="minutes"),
        "software": dict(recipe.versions),
        "source": facts.source,
        "release": facts.published,
        "verdicts": [{"state": state, "text": text} for state, text in contents["verdicts"]],
        "records": facts.n_records,
        "columns": [
            dict(zip(columns, column, strict=True))
            | {"information_loss": _loss(facts, losses[column[0]]) if column[0] in losses else None}
            for column in facts.roles
        ],
        "method": contents["method"],
        "protection": _protection(facts),
        "scenario": facts.scenario,
        "risk": _risk(facts),
        "sensitive": [
            {
                "column": column.words,
                "homogeneous": _share(
                    facts, column.homogeneous, facts.share_of_groups(column.homogeneous)
                ),
                "different_values_at_least": column.n_values,
                "entropy_at_least": column.entropy,
                "closeness_at_most": column.closeness,
            }
            for column in facts.beyond_k.columns
        ],
        "attacks": [] if facts.attacks is None else [*_attacks(facts.attacks)],
        "information_loss": _loss(facts, facts.loss),
        "utility": None if facts.utility is None else _utility(facts),
        "analyses": [asdict(analysis) for analysis in facts.analyses],
        "certificate": certificate and {"verdict": contents["proof"][0], "k": certificate.k},
        "reproduction": {
            "code": recipe.code,
            "parameters": dict(recipe.parameters),
            "is_random": recipe.is_random and recipe.seed is None,
        },
    }


def _share(facts: Any, value: float, text: str | None = None) -> dict[str, Any]:
    """A share of the records in words, and as a number if the words are one."""
    text = facts.as_text(value) if text is None else text
    return {"text": text, "value": rounded_share(value) if text == whole_percent(value) else None}


def _loss(facts: Any, loss: float) -> dict[str, Any]:
    """A loss in words, and with as many digits."""
    text = facts.loss_in_words(loss)
    number = text.removeprefix("at most ")
    value = None if number[0] in "<>" else round(float(number[:-1]) / 100, 6)
    return {"text": text, "value": value}


def _protection(facts: Any) -> dict[str, Any]:
    return {
        "k_requested": facts.k,
        "k_achieved": facts.level,
        "groups": facts.n_groups,
        "smallest_group": facts.smallest_group,
        "distinct_rows": facts.n_distinct,
        "units_per_group": facts.beyond_k.n_units,
        "largest_unit_share": facts.beyond_k.unit_share,
        "strata": facts.beyond_k.n_strata,
        "joint_anonymity": facts.joint,
        "constraints": [{"name": one.name, "holds": one.is_met} for one in facts.beyond_k.demands],
    }


def _risk(facts: Any) -> dict[str, Any]:
    before, after = facts.risks
    found = facts.unchanged.found
    threshold = None if facts.scenario is None else facts.scenario["threshold"]
    linkage = None if facts.risk is None else facts.expected_matches(facts.risk.linkage)
    return {
        "before": before.risks,
        "after": after.risks,
        "is_acceptable": None if threshold is None else after.is_acceptable(threshold),
        "unique_before": _share(facts, facts.unique_before),
        "unique_after": _share(facts, facts.unique_after),
        "expected_re_identifications": linkage,
        "unique_by_unchanged": found and _share(facts, found.unique_with_release),
        "re_identified_with_unchanged_at_most": found and rounded_up(found.expected_matches),
        "determined_by_unchanged": facts.unchanged.determined,
        "assumed_unknown": facts.unchanged.assumed_unknown,
    }


def _attacks(attacks: Any) -> Any:
    for attack in (*attacks.guesses, *attacks.sensitive, *attacks.compared.attacks):
        yield {
            name: {"text": one.text, "interval": one.interval} if isinstance(one, Told) else one
            for name, one in attack._asdict().items()
        }


def _utility(facts: Any) -> dict[str, Any]:
    numbers = [] if facts.numbers is None else zip(facts.names, facts.numbers.changes, strict=True)
    places = "mean", "lower_quartile", "median", "upper_quartile"
    changes = [
        {"name": name} | {each: signed(change[f"{each}_change"], decimals=1) for each in places}
        for name, change in numbers
    ]
    return {**asdict(facts.utility), "changes": changes}
