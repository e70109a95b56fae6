"""Columns that are released unchanged and give away what was anonymized."""

from sk_microagg._cli._facts import Fact
from sk_microagg._cli._identifiers import LARGEST_SHARE, N_LINES
from sk_microagg._cli._progress import WARNING
from sk_microagg._utils._formatting import (
    determined_in_words,
    in_a_list,
    records_in_words,
    rounded_share,
    rounded_up,
    shown,
    singled_out_lines,
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
    values = plan.unchanged[names]
    found = unchanged_uniqueness(release.labels, values, plan.roles.units())
    # Without units, there is a warning of each identifier.
    if plan.choice.unit is not None or len(names) > 1 or found.unique <= LARGEST_SHARE:
        warn_of_singled_out(found, names, len(values), plan.options.k, progress)
    return {"singled out": fact_of(found, names, len(values), plan.options.k)}


def warn_of_singled_out(found, names, n_records, k, progress):
    """Warn if columns that are released unchanged single people out together."""
    if found.unique > 0:
        progress.say(
            f"{WARNING}{records_in_words(found.unique, n_records, k)} are unique by what comes out "
            f"unchanged, {in_a_list([*map(shown, names)])}; use --drop, or --columns, or "
            "--sensitive for what no intruder can know"
        )


def fact_of(found, names, n_records, k):
    """What is printed about columns that are released unchanged, and what programs get."""
    value = {
        "columns": list(names),
        "unique": rounded_share(found.unique),
        "unique_by": [rounded_share(share) for share in found.unique_by],
        "expected_matches": rounded_up(found.expected_matches),
    }
    return Fact(singled_out_lines(found, [*map(shown, names)], n_records, k), value)
