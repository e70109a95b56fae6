"""The first page of a report: what an approver has to know, as pairs of a name and a text."""

import numpy as np

from sk_microagg._utils._numbers import at_most, counted, percent

# What fits on the page, whatever the table.
MOST_NAMES, LONGEST_NAME, MOST_LOSSES, MOST_SENSITIVE = 8, 48, 3, 3

QUOTES = "'\""


def summary_of(facts, method, certificate=None):
    """The table, the method, the loss and the risk, each in a line or two.

    Parameters
    ----------
    facts : Facts
        What was measured.

    method : str
        How the values of a group are replaced, in a sentence.

    certificate : Certificate or None, default=None
        What was proven about the loss.

    Returns
    -------
    pairs : list of tuple
        Names and texts.
    """
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
