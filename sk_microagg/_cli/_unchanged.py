"""Columns that are released unchanged and give away what was anonymized."""

from sk_microagg._cli._facts import Fact
from sk_microagg._cli._identifiers import LARGEST_SHARE, N_LINES
from sk_microagg._cli._progress import WARNING
from sk_microagg._utils._formatting import (
    bound_in_words,
    determined_in_words,
    fewest_records,
    in_a_list,
    rounded_share,
    rounded_up,
    share_in_words,
    shown,
    singled_out_lines,
    singles_out,
)
from sk_microagg.metrics import determined_columns, unchanged_uniqueness


def warn_of_determined(original, unchanged, progress, unit=None):
    """Warn of columns that determine anonymized ones; both are tables, maybe without columns."""
    if not len(unchanged.columns):
        return
    lines = determined_in_words(determined_columns(original, unchanged, unit), shown)
    for line in lines[:N_LINES]:
        progress.say(f"{WARNING}unchanged, {line}; use --drop, or name it in --columns")
    if len(lines) > N_LINES:
        progress.say(f"{WARNING}and {len(lines) - N_LINES} more")


def of_plan(plan, release, progress):
    """Measure what the unchanged columns of a plan single out, and warn: the fact, or nothing."""
    names = plan.choice.exposed
    if not names:
        return {}
    values, units = plan.unchanged[names], plan.roles.units()
    found = unchanged_uniqueness(release.labels, values, units)
    about = found, names, len(values), fewest_records(plan.options.k, units)
    # Without units, there is a warning of each identifier.
    if units is not None or len(names) > 1 or found.unique <= LARGEST_SHARE:
        warn_of_singled_out(*about, progress)
    return {"singled out": fact_of(*about)}


def warn_of_singled_out(found, names, n_records, fewest, progress):
    """Warn if columns that are released unchanged single people out, maybe with all others."""
    if not singles_out(found):
        return
    alone, with_release = (
        share_in_words(share, n_records, fewest, " of the records")
        for share in (found.unique, found.unique_with_release)
    )
    together = "together with the anonymized columns"
    if found.unique > 0 and alone != with_release:
        together = f"and {with_release} {together}"
    more = "" if alone == with_release else f", {together}"
    progress.say(
        f"{WARNING}{alone if found.unique > 0 else with_release} are unique by what comes out "
        f"unchanged, {in_a_list([*map(shown, names)])}{more}; use --drop, or --columns, or "
        "--sensitive for what no intruder can know"
    )


def fact_of(found, names, n_records, fewest):
    """What is printed about columns that are released unchanged, and what programs get."""

    def rounded(share):
        is_hidden = bound_in_words(share, n_records, fewest) is not None
        return None if is_hidden else rounded_share(share)

    def as_text(share, of=""):
        return share_in_words(share, n_records, fewest, of)

    value = {
        "columns": list(names),
        "unique_with_release": rounded(found.unique_with_release),
        "unique": rounded(found.unique),
        "unique_by": [*map(rounded, found.unique_by)],
        "expected_matches": rounded_up(found.expected_matches),
    }
    return Fact(singled_out_lines(found, [*map(shown, names)], as_text), value)
