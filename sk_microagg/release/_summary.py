"""The summary of a command, in lines of a name and a fact, or as JSON."""

import json
import sys
import textwrap
from collections import namedtuple
from dataclasses import replace

import numpy as np

from sk_microagg import TableAggregator
from sk_microagg._utils._formatting import homogeneity_lines, percent, printable, shown
from sk_microagg.builders import BUILDERS
from sk_microagg.files._errors import CommandError
from sk_microagg.refiners._chain import name_of

WIDTH_OF_NAMES = 18
WIDTH = 100

# A fact that is written otherwise for people than for programs.
Fact = namedtuple("Fact", "text value")


def facts_of(
    estimator,
    choice,
    n_records,
    smallest_group,
    level,
    homogeneous,
    *,
    singled_out=None,
    columns=(),
    privacy=None,
    certificate=None,
    interrupted=(),
):
    """Summarize an anonymization.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator.

    choice : Choice
        The columns, by what happened to them.

    n_records, smallest_group, level : int
        Number of records, size of the smallest group, and level of anonymity.

    homogeneous : ndarray of shape (n_unchanged, 2)
        For each unchanged column, the share of the records in groups that share one value, and in
        those with a single known value.

    singled_out : dict or None, default=None
        The fact about what unchanged columns single out, if there are such columns.

    columns : list of dict, default=()
        For each anonymized column its name, its kind, how that was recognized, and what is
        released.

    privacy : dict or None, default=None
        Facts about what was demanded of each group beyond its size.

    certificate : Certificate or None, default=None
        What was proven about the information loss.

    interrupted : list of str, default=()
        What was ended early, and what that means.

    Returns
    -------
    facts : dict
        By name, a fact or a list of several.
    """
    shares = dict(zip(choice.unchanged, homogeneous, strict=True))
    lines = _lines_of_sensitive(shares, choice, n_records, estimator.k)
    # A stratum is a part of every row of its groups.
    others = [name for name in choice.unchanged if name not in {*choice.sensitive, *choice.strata}]
    lines += homogeneity_lines(
        {shown(name): shares[name] for name in others}, n_records, estimator.k
    )
    level_of = " together with its stratum" if choice.strata else ""
    facts = {
        "records": n_records,
        "anonymized": _names(choice.anonymized),
        **({"columns": Fact([*map(_line_of_column, columns)], [*columns])} if columns else {}),
        "unchanged": _names(choice.unchanged),
        **({"sensitive": _assumed_unknown(choice.sensitive)} if choice.sensitive else {}),
        **({"strata": _names(choice.strata)} if choice.strata else {}),
        "method": method_of(estimator),
        "groups": estimator.n_groups_,
        "smallest group": smallest_group,
        "anonymity level": Fact(
            f"{level}  (every combination of the anonymized columns occurs at least this "
            f"often{level_of})",
            level,
        ),
        **(singled_out or {}),
        **(privacy or {}),
        **({"homogeneity": lines} if lines else {}),
        "information loss": Fact(
            percent(estimator.information_loss_, digits=3), estimator.information_loss_
        ),
    }
    if certificate is not None:
        facts["certificate"] = f"{certificate.verdict()}: {certificate.reason()}"
    if interrupted:
        facts["interrupted"] = list(interrupted)
    return facts


def _names(columns):
    return Fact(", ".join(map(shown, columns)) or "none", list(columns))


def _assumed_unknown(columns):
    names, value = _names(columns)
    return Fact(f"{names}  (assumed to be unknown to intruders)", value)


def _line_of_column(column):
    about = {**column, "name": shown(column["name"])}
    return "{name}: {kind} ({recognized}); released: {released}".format(**about)


def _lines_of_sensitive(shares, choice, n_records, k):
    """Lines on homogeneity for all sensitive columns, also those without homogeneous groups."""
    none = [
        f"{shown(name)}: no records are in groups that share one value"
        for name in choice.sensitive
        if not any(shares[name])
    ]
    shares = {shown(name): shares[name] for name in choice.sensitive}
    return homogeneity_lines(shares, n_records, k, most=None) + none


def method_of(estimator):
    """The estimator, its builder and its refiner, in words."""
    words = [type(estimator).__name__]
    if hasattr(estimator, "builder_"):
        words.append(f"builder {_name_of_builder(estimator.builder_)}")
    words.append(f"refiner {name_of(estimator.refiner_)}")
    if getattr(estimator, "hierarchies", None):
        words.append(f"hierarchies of {', '.join(estimator.hierarchies)}")
    return ", ".join(words)


def _name_of_builder(builder):
    # Under constraints, a subclass may stand for a builder.
    return next(name for name, kind in BUILDERS.items() if isinstance(builder, kind))


def print_facts(facts, file=None):
    """Print one fact per line, each item of a list on its own line.

    Parameters
    ----------
    facts : dict
        By name, a fact or a list of several.

    file : file or None, default=None
        Where to print them; None for standard output.
    """
    for name, fact in facts.items():
        fact = fact.text if isinstance(fact, Fact) else fact
        # Paths and names of columns are never broken.
        lines = [
            line
            for part in (fact if isinstance(fact, list) else [fact])
            for line in textwrap.wrap(
                printable(part),
                WIDTH - WIDTH_OF_NAMES,
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]
        indent = "\n" + " " * WIDTH_OF_NAMES
        print(f"{name:<{WIDTH_OF_NAMES}}{indent.join(lines)}", file=file or sys.stdout)


def print_facts_as_json(facts, file=None):
    """Print one object per line: each item of "columns", then all other facts.

    Parameters
    ----------
    facts : dict
        By name, a fact or a list of several.

    file : file or None, default=None
        Where to print them; None for standard output.
    """
    values = {
        name.replace(" ", "_").replace("-", "_"): fact.value if isinstance(fact, Fact) else fact
        for name, fact in facts.items()
    }
    for column in values.pop("columns", []):
        print_json({"type": "column", **column}, file)
    print_json({"type": "release", **values}, file)


def print_json(value, file=None):
    """Print an object in one line of ASCII, so that no text controls a terminal."""
    print(json.dumps(value, default=_plain), file=file or sys.stdout)


def _plain(value):
    return value.item() if isinstance(value, np.generic) else str(value)


def describe(column, release, estimator):
    """Describe a column: its name, its kind, how that was recognized, and what is released.

    Parameters
    ----------
    column : Column
        The column.

    release : pandas.DataFrame or None
        What is released for it, in one column or several; None if all its values are missing.

    estimator : TableAggregator or KAIM
        The estimator that made the release.

    Returns
    -------
    about : dict
        Text by "name", "kind", "recognized" and "released".
    """
    if release is None:
        released = "empty cells"
    elif not isinstance(estimator, TableAggregator):
        released = _generalized_in_words(column, estimator)
    elif column.notation is not None or estimator.categories == "mode":
        return describe_averages(column, bool(release.isna().to_numpy().any()))
    else:
        released = _category_in_words(column, release, estimator)
    return _description(column, released)


def describe_averages(column, is_incomplete):
    """Describe a column that is released as means or most frequent values, as `describe` does.

    Parameters
    ----------
    column : Column
        The column.

    is_incomplete : bool
        Whether some released cells are missing.

    Returns
    -------
    about : dict
        Text by "name", "kind", "recognized" and "released".
    """
    is_category = column.notation is None
    released = "most frequent value" if is_category else _mean_in_words(column)
    if is_incomplete:
        released += f", empty where most are missing{' or rare' if is_category else ''}"
    return _description(column, released)


def _description(column, released):
    return {
        "name": column.name,
        "kind": column.kind,
        "recognized": column.how,
        "released": released,
    }


def _category_in_words(column, release, estimator):
    if estimator.categories == "shares":
        first, *others = release.columns
        more = f" and {len(others)} more" if others else ""
        return f"one column of shares per value, {first}{more}"
    return _generalized_in_words(column, estimator)


def _generalized_in_words(column, estimator):
    if column.name in (estimator.hierarchies or {}):
        released = "lowest common node"
    else:
        released = "common value" if column.notation is None else "interval"
    return f"{released}, or * for any value"


def _mean_in_words(column):
    if column.kind == "ordinal":
        n_released, n_levels = len(column.notation.ranks), len(column.notation.levels)
        if n_released == n_levels:
            return "value of the mean rank"
        return "shared value next to the mean rank" if n_released else "empty cells"
    if column.kind == "date":
        return f"mean, rounded to {column.notation.unit}s"
    decimals = column.notation.decimals
    if decimals is None:
        digits = column.notation.digits
        return "mean" if digits is None else f"mean, rounded to {digits} significant digits"
    if decimals == 0:
        return "mean, rounded to integers"
    if decimals < 0:
        return f"mean, rounded to multiples of {10**-decimals}"
    return f"mean, rounded to {decimals} decimal{'s' if decimals > 1 else ''}"


def with_decimals(column, declared):
    """The column, with the number of decimals that the user wants, if it holds numbers.

    Parameters
    ----------
    column : Column
        The column.

    declared : Declared
        What the user says.

    Returns
    -------
    column : Column
        The column.
    """
    if column.name in declared.decimals and column.kind not in ("number", "empty"):
        raise CommandError(
            f"--round names {column.name!r}, which must hold numbers, but is of the kind "
            f"{column.kind}."
        )
    decimals = declared.decimals_of(column.name)
    if decimals is None or column.kind != "number":
        return column
    return replace(column, notation=replace(column.notation, decimals=decimals, is_padded=False))


def with_shared_levels(column, declared, k, units=None):
    """The column, which releases only ordinal values that k people have or the user names.

    Parameters
    ----------
    column : Column
        The column.

    declared : Declared
        What the user says: values of an order that is given may be released.

    k : int
        Smallest number of people who share a value that is released otherwise.

    units : ndarray of int or None, default=None
        Who each record belongs to, numbered from 0; None if each belongs to somebody else.

    Returns
    -------
    column : Column
        The column.
    """
    if column.kind != "ordinal" or column.name in declared.orders:
        return column
    return replace(column, notation=column.notation.of_shared(column.values, k, units))


def released_by_column(released, columns, estimator):
    """What is released for each column: one column, or one for each category with its share.

    Parameters
    ----------
    released : pandas.DataFrame
        What the estimator returned.

    columns : list of Column
        The columns that it anonymized.

    estimator : TableAggregator or KAIM
        The estimator.

    Returns
    -------
    release : dict
        A DataFrame by the name of each column.
    """
    names = {column.name: [column.name] for column in columns}
    if getattr(estimator, "categories", None) == "shares":
        names = {name: list(rows.columns) for name, rows in estimator._released.items()}
    return {name: released[parts] for name, parts in names.items()}
