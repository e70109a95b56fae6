"""A report as a document for machines: the figures of the page, by a versioned schema.

No figure is finer than on the page. A share comes with the words of the page; its value is missing
where the words are a bound because the share stands for a few people.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sk_microagg._utils._formatting import percent, rounded_share, rounded_up, signed, whole_percent

# Grows with every change after which a program that reads documents might fail.
VERSION = 1


def document_of(contents: dict[str, Any]) -> dict[str, Any]:
    """The document with the contents of a report."""
    facts, recipe = contents["facts"], contents["recipe"]
    return {
        "schema": "sk-microagg report",
        "version": VERSION,
        "title": contents["title"],
        "written": contents["now"].isoformat(timespec="minutes"),
        "software": dict(recipe.versions),
        "source": facts.source,
        "verdicts": [{"state": state, "text": text} for state, text in contents["verdicts"]],
        "records": facts.n_records,
        "columns": _columns(facts),
        "method": dict(contents["method"]),
        "protection": _protection(facts),
        "scenario": facts.scenario,
        "risk": _risk(facts),
        "sensitive": [_sensitive(facts, column) for column in facts.beyond_k.columns],
        "attacks": [] if facts.attacks is None else [*_attacks(facts)],
        "information_loss": percent_value(facts.loss),
        "utility": None if facts.utility is None else _utility(facts),
        "analyses": [_analysis(analysis) for analysis in facts.analyses],
        "certificate": _certificate(contents["certificate"]),
        "reproduction": {
            "code": recipe.code,
            "parameters": dict(recipe.parameters),
            "is_random": recipe.is_random and recipe.seed is None,
        },
    }


def share(text: str, value: float) -> dict[str, Any]:
    """A share of the records in words, and as a number if the words are one."""
    return {"text": text, "value": rounded_share(value) if text == whole_percent(value) else None}


def percent_value(number: float) -> dict[str, Any]:
    """A loss in words, and with as many digits."""
    text = percent(number)
    value = None if text[0] in "<>" else round(float(text[:-1]) / 100, 6)
    return {"text": text, "value": value}


def _columns(facts: Any) -> list[dict[str, Any]]:
    losses = dict(zip(facts.names, facts.column_losses.tolist(), strict=True))
    return [
        {
            "name": name,
            "role": role,
            "technique": technique,
            "reason": reason,
            "information_loss": percent_value(losses[name]) if name in losses else None,
        }
        for name, role, technique, reason in facts.roles
    ]


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
        "constraints": [
            {"name": demand.name, "holds": demand.is_met} for demand in facts.beyond_k.demands
        ],
    }


def _risk(facts: Any) -> dict[str, Any]:
    before, after = facts.risks
    found = facts.unchanged.found
    linkage = None if facts.risk is None else facts.expected_matches(facts.risk.linkage)
    return {
        "before": before.risks,
        "after": after.risks,
        "is_acceptable": None
        if facts.scenario is None
        else after.is_acceptable(facts.scenario["threshold"]),
        "unique_before": share(facts.as_text(facts.unique_before), facts.unique_before),
        "unique_after": share(facts.as_text(facts.unique_after), facts.unique_after),
        "expected_re_identifications": linkage,
        "unique_by_unchanged": None
        if found is None
        else share(facts.as_text(found.unique_with_release), found.unique_with_release),
        "re_identified_with_unchanged_at_most": None
        if found is None
        else rounded_up(found.expected_matches),
        "determined_by_unchanged": facts.unchanged.determined,
        "assumed_unknown": facts.unchanged.assumed_unknown,
    }


def _sensitive(facts: Any, column: Any) -> dict[str, Any]:
    return {
        "column": column.words,
        "homogeneous": share(facts.share_of_groups(column.homogeneous), column.homogeneous),
        "different_values_at_least": column.n_values,
        "entropy_at_least": column.entropy,
        "closeness_at_most": column.closeness,
    }


def _attacks(facts: Any) -> Any:
    attacks = facts.attacks
    for name, guessed, by_chance, attacker in zip(
        facts.names, attacks.guessed, attacks.by_chance, attacks.attackers, strict=True
    ):
        yield {
            "goal": "inference",
            "column": name,
            "attacker": attacker,
            "success": {"text": guessed, "interval": None},
            "others": None,
            "by_chance": {"text": by_chance, "interval": None},
        }
    for attack in attacks.compared.attacks:
        place, attacker = attack.name or (None, None)
        yield {
            "goal": attack.goal,
            "column": None if place is None else facts.names[place],
            "attacker": attacker,
            **{
                name: {"text": words, "interval": None if interval is None else list(interval)}
                for name, (words, interval) in (
                    ("success", attack.success),
                    ("others", attack.control),
                    ("by_chance", attack.by_chance),
                )
            },
        }


def _utility(facts: Any) -> dict[str, Any]:
    utility = facts.utility
    return {
        "propensity_ratio": utility.propensity_ratio,
        "columns": [
            {"name": name, "mean": asdict(mean), "standard_deviation": asdict(deviation)}
            for name, mean, deviation in zip(
                utility.names, utility.means, utility.deviations, strict=True
            )
        ],
        "correlations": [
            {"columns": [one, other], **asdict(both)} for one, other, both in utility.correlations
        ],
        "changes": []
        if facts.numbers is None
        else [
            {"name": name, "variance_kept": percent(change["variance_ratio"])}
            | {
                quartile: signed(change[f"{quartile}_change"], decimals=1)
                for quartile in ("mean", "lower_quartile", "median", "upper_quartile")
            }
            for name, change in zip(facts.names, facts.numbers.changes, strict=True)
        ],
    }


def _analysis(analysis: Any) -> dict[str, Any]:
    return {
        "formula": analysis.formula,
        "why_not": analysis.why_not or None,
        "terms": [
            {
                "term": term,
                "before": asdict(before),
                "after": asdict(after),
                "overlap": round(overlap, 2),
            }
            for term, before, after, overlap in analysis.terms
        ],
    }


def _certificate(certificate: Any) -> dict[str, Any] | None:
    if certificate is None:
        return None
    return {"verdict": certificate.verdict(), "k": certificate.k}
