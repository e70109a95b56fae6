"""The sentences at the top of a report: what holds, what does not and what is open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sk_microagg._utils._formatting import counted, in_a_list
from sk_microagg.report._sections import (
    Joint,
    Protection,
    Risk,
    ScenarioFacts,
    State,
    Unchanged,
    Verdict,
)


def largest_risk(protection: Protection) -> float:
    """The most that an intruder who knows the row of a person can achieve."""
    share = protection.largest_unit_share
    return 1 / protection.k_achieved if share is None else share.value


def verdicts_of(
    protection: Protection,
    unchanged: Unchanged,
    beyond: Any,
    risk: Risk,
    scenario: ScenarioFacts | None,
) -> list[Verdict]:
    """What holds, what does not and what is open, each in a sentence."""
    level, k, joint = protection.k_achieved, protection.k_requested, protection.joint_anonymity
    is_undone = unchanged.determined or unchanged.is_risk_larger(largest_risk(protection))
    is_joint = joint is None or joint.people >= k
    # Nothing is said to hold if other columns, or one unit with many records, undo it.
    holds: State = "open" if is_undone or beyond.is_share_large or not is_joint else "holds"
    found = [_on_k(level, k, holds)]
    found += [Verdict("broken", text) for text in _by_unchanged(unchanged, protection)]
    if unchanged.assumed_unknown:
        columns = "columns" if len(unchanged.assumed_unknown) > 1 else "column"
        listed = in_a_list(unchanged.assumed_unknown)
        text = f"Assumed, not measured: intruders do not know the sensitive {columns} {listed}."
        found.append(Verdict("open", text))
    if beyond.n_units is not None:
        units = counted(beyond.n_units, "different unit")
        if beyond.n_units >= k > 1:
            found.append(Verdict(holds, f"Every group has records of at least {units}."))
        else:
            text = f"A group has records of only {units}: k = {k} was counted in records."
            found.append(Verdict("broken", text))
    if joint is not None:
        found.append(_by_earlier(joint, k, holds))
    if beyond.is_share_large and protection.largest_unit_share is not None:
        text = (
            f"Up to {protection.largest_unit_share.text} of the records of a group belong to one "
            f"unit, more than 1 in {k:,}: an intruder who attributes all of them to that unit is "
            "right that often. The constraint UnitShare bounds it."
        )
        found.append(Verdict("broken", text))
    found += [Verdict(holds if one.is_met else "broken", one.verdict) for one in beyond.demands]
    if scenario is not None:
        found.append(_by_threshold(risk, scenario))
    return found


def _on_k(level: int, k: int, holds: State) -> Verdict:
    shared_by = counted(level, "record")
    if level >= k > 1:
        text = f"is shared by at least {shared_by}; k = {k} was requested."
        return Verdict(holds, f"Every combination of the anonymized columns {text}")
    if k > 1:
        text = f"a combination of the anonymized columns is shared by only {shared_by}."
        return Verdict("broken", f"Not {k}-anonymous: {text}")
    if level > 1:
        text = f"of the anonymized columns is shared by at least {shared_by}, but only by chance."
        return Verdict("broken", f"k = 1 protects nobody: each combination {text}")
    text = "k = 1 protects nobody, and at least one row represents a single record."
    return Verdict("broken", f"Not anonymous: {text}")


def _by_earlier(joint: Joint, k: int, holds: State) -> Verdict:
    """What this release and earlier ones say together."""
    people, releases = f"{joint.people:,} people", f"all {joint.releases}"
    if joint.people < k:
        return Verdict(
            "broken",
            f"Not {k:,}-anonymous together with earlier releases: only {people} share their rows "
            f"of {releases} releases.",
        )
    return Verdict(
        holds,
        f"Every combination of rows of {releases} releases is shared by at least {people}.",
    )


def _by_threshold(risk: Risk, scenario: ScenarioFacts) -> Verdict:
    """Whether risks are acceptable by the scenario."""
    largest = risk.after.prosecutor.largest.text
    words = f"acceptable by the threshold of {100 * scenario.threshold:g}%: the largest risk is"
    if risk.is_acceptable:
        return Verdict("holds", f"{words.capitalize()} {largest}.")
    return Verdict("broken", f"Not {words} {largest}.")


def _by_unchanged(unchanged: Unchanged, protection: Protection) -> Iterator[str]:
    """What columns that are released unchanged undo."""
    alone, together = unchanged.unique, unchanged.unique_with_release
    expected = unchanged.if_row_is_known
    if alone is not None and together is not None and together.value > 0:
        if alone.value > 0:
            yield (
                f"Columns that are released unchanged single people out: {alone.text} are unique "
                f"by {unchanged.in_a_list}, {together.text} together with the anonymized columns."
            )
        else:
            single = "single" if len(unchanged.columns) > 1 else "singles"
            yield (
                f"Together with the anonymized columns, {unchanged.in_a_list}, released unchanged, "
                f"{single} people out: {together.text} are unique."
            )
    elif expected is not None and unchanged.is_risk_larger(largest_risk(protection)):
        yield (
            f"An intruder who also knows {unchanged.in_a_list}, released unchanged, re-identifies "
            f"{expected.text} of the records, more than the anonymized columns alone allow."
        )
    for sentence in unchanged.determined:
        yield f"Released unchanged, {sentence}."
