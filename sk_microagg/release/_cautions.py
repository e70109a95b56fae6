"""Columns that may identify people."""

import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._cli._terminal import WARNING
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
from sk_microagg.files._mistyped import shell
from sk_microagg.metrics import determined_columns, unchanged_uniqueness
from sk_microagg.release._summary import Fact

LARGEST_SHARE = 0.9

# A dropped column says who a record belongs to if people have at most this many rows on average.
# Other columns, such as a sex, are dropped for other reasons.
MOST_ROWS = 20
N_LINES = 5

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
INTEGER = r"^[+-]?\d+$"
DATE = r"^(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4})"


def warn_of_identifiers(names, progress):
    """Warn of columns that may identify people.

    Parameters
    ----------
    names : list of str
        Their names.

    progress : CommandProgress
        Where to print the warnings.
    """
    for name in names[:N_LINES]:
        progress.say(
            f"sk-microagg: warning: column {name!r} comes out unchanged, with a different value in "
            "almost every row; use --drop, or name it in --columns"
        )
    if len(names) > N_LINES:
        progress.say(f"sk-microagg: warning: and {len(names) - N_LINES} more")


def identifiers(table, columns):
    """Columns in which almost all known values differ, as patient numbers do.

    Parameters
    ----------
    table : Table
        The table.

    columns : list of str
        Columns that are released unchanged.

    Returns
    -------
    names : list of str
        Those in which more than 90% of the known values are distinct.
    """
    return [name for name in columns if is_identifier(*count_distinct(table.known(name)))]


def several_rows(table, columns):
    """Dropped columns that name people who have several rows each.

    Parameters
    ----------
    table : Table
        The table.

    columns : list of str
        Columns that are dropped.

    Returns
    -------
    lines : dict
        By the name of a column, how many people have how many rows.
    """
    lines = {}
    for name in columns:
        known = table.known(name)
        n_people, n_rows = count_distinct(known)
        if names_people(n_people, n_rows) and not _are_measured(known):
            lines[name] = f"{n_people} people have {n_rows} rows"
    return lines


def names_people(n_distinct, n_known):
    """Whether values of a dropped column seem to name people, of whom some have several rows."""
    return 1 < n_distinct < n_known <= MOST_ROWS * n_distinct


def warn_of_several_rows(lines, may_use_unit, progress):
    """Warn that k does not count people.

    Parameters
    ----------
    lines : dict
        By the name of a dropped column, how many people have how many rows.

    may_use_unit : bool
        Whether `--unit` is an option for this table.

    progress : CommandProgress
        Where to print the warnings.
    """
    for name, line in list(lines.items())[:N_LINES]:
        advice = f" Use --unit {shell(name)}" if may_use_unit else ""
        progress.say(f"sk-microagg: warning: {shown(name)}: {line}; k counts rows.{advice}")


def is_identifier(n_distinct, n_known):
    """Whether almost all known values of a column are distinct."""
    return n_known > 1 and n_distinct > LARGEST_SHARE * n_known


def _are_measured(known):
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


def count_distinct(known):
    """Number of different values of a column, and of all that are known."""
    try:
        return pc.count_distinct(known).as_py(), len(known)
    except pa.ArrowNotImplementedError:  # lists, for example
        return len({str(cell) for cell in known.to_pylist()}), len(known)


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
