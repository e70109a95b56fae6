"""The settings of a release, each described once: for requests, their files and the command line.

It imports no other package, so that the command line answers at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sk_microagg._choices import BUILDERS, REFINERS

# In the order of decisions.
GROUPS = {
    "columns": "columns, by what each is for",
    "protection": "protection",
    "released": "what is released",
    "groups": "how groups are made",
    "report": "report and card",
    "format": "file format",
    "series": "series of releases",
    "output": "output",
}


@dataclass(frozen=True)
class Setting:
    """What a parameter of a request takes, and what it does, in one sentence.

    The `kind` is a tuple of words, a kind of number or text, or how columns or files are named.
    `usage` is what help has for its value, as in `--drop A,B`.
    """

    group: str
    kind: str | tuple[str, ...]
    usage: str
    help: str
    default: Any = None
    is_common: bool = False


def setting(name: str) -> Any:
    """The field of a request for a setting."""
    return field(default=SETTINGS[name].default)


_COLUMNS = {
    "quasi_identifiers": Setting(
        "columns",
        "columns",
        "A,B",
        "columns to anonymize together; default: all that have no other role",
        is_common=True,
    ),
    "drop": Setting("columns", "columns", "A,B", "columns to leave out of OUT", (), True),
    "sensitive": Setting(
        "columns",
        "columns",
        "A,B",
        "columns released unchanged that intruders are assumed not to know, such as a diagnosis; "
        "--l and --t are about them",
        (),
        True,
    ),
    "unit": Setting(
        "columns",
        "column",
        "COLUMN",
        "to whom a row belongs, if people have several: each group has rows of at least K "
        "different people. The column is left out of OUT",
        is_common=True,
    ),
    "strata": Setting(
        "columns",
        "columns",
        "A,B",
        "columns such as the region, released unchanged: no group mixes rows of different strata, "
        "so that every combination occurs at least K times together with them",
        (),
    ),
    "weight": Setting(
        "columns",
        "column",
        "COLUMN",
        "sampling weights: means are weighted, so that with the weights, totals of means are "
        "those of the table, except for rounding",
    ),
    "categorical": Setting(
        "columns", "columns", "A,B", "columns of categories, whatever they look like", ()
    ),
    "number": Setting(
        "columns", "columns", "A,B", "columns of numbers, even if some have leading zeros", ()
    ),
    "ordinal": Setting(
        "columns",
        "orders",
        "A,B",
        "columns of values in an order: that of numbers, or as in 'size=small<medium<large'",
        (),
    ),
    "date": Setting(
        "columns",
        "patterns",
        "A,B",
        "columns of dates in a common format, or in a given one, as in 'born=%d/%m/%Y'",
        (),
    ),
}

_PROTECTION = {
    "k": Setting(
        "protection",
        "at_least_1",
        "K",
        "smallest number of rows, or of people with --unit, in a group; default: 5",
        5,
        True,
    ),
    "privacy": Setting("protection", "constraints", "", "what a group must satisfy beyond K"),
    "earlier": Setting(
        "protection",
        "pairs",
        "",
        "an earlier release of the same people, with its original: summary and report say whether "
        "at least K people, as --unit names them, share their rows of all releases; may be "
        "repeated",
        (),
    ),
}

_RELEASED = {
    "method": Setting(
        "released",
        ("aggregate", "kaim"),
        "",
        "aggregate: averages and most frequent values; kaim: what the rows of a group have in "
        "common, as intervals, nodes of hierarchies and *. Default: aggregate",
        "aggregate",
        True,
    ),
    "release": Setting(
        "released",
        ("averages", "generalized"),
        "",
        "what the groups of --method aggregate are released as: averages and most frequent "
        "values, or intervals and what categories have in common. Default: averages",
        "averages",
        True,
    ),
    "intervals": Setting(
        "released",
        ("overlapping", "disjoint"),
        "",
        "whether the intervals of --release generalized may overlap: those of groups of similar "
        "rows do; disjoint ones can be counted, but lose more, since each value is recoded in the "
        "same way wherever it occurs. Default: overlapping",
        "overlapping",
    ),
    "categories": Setting(
        "released",
        ("mode", "shares", "generalize"),
        "",
        "what is released of categories: the most frequent one of a group, one column of shares "
        "per category, for models, or the lowest common node of their hierarchy, * without one; "
        "default: mode",
        is_common=True,
    ),
    "hierarchies": Setting(
        "released",
        "source",
        "FOLDER",
        "hierarchies of categories, of which those with a low common node are near; such nodes "
        "are released with --categories generalize, --release generalized and --method kaim: "
        "files COLUMN.csv without a header; each row has a value and its ancestors up to the "
        "root, separated by semicolons, as ARX writes them",
    ),
    "decimals": Setting(
        "released",
        "decimals",
        "A=1,N",
        "decimals of released means, for single columns or, as a number alone, for all others; "
        "default: as coarse as the gaps between values of the column",
    ),
    "weight_release": Setting(
        "released",
        ("keep", "mean"),
        "",
        "keep: weights are released as they are, and weighted totals of unchanged columns are "
        "exact; mean: for weights that identify people, as the mean of the group, which changes "
        "the totals of unchanged columns: the summary says how much. Default: keep",
        "keep",
    ),
    "shuffle": Setting(
        "released",
        "flag",
        "",
        "write the rows in random order, which --seed does not determine; default: as in IN",
        False,
    ),
    "max_loss": Setting(
        "released",
        "positive_share",
        "SHARE",
        "refuse a release that loses more of the information, as 0.1 for 10%: nothing is written",
    ),
}

_GROUPS = {
    "column_weights": Setting(
        "groups",
        "weights",
        "A=2,B=0.5",
        "how much columns count when groups are made; default: 1 each",
    ),
    "builder": Setting(
        "groups",
        tuple(BUILDERS),
        "NAME",
        "how groups are formed, as sk-microagg methods lists them; default: mdav",
    ),
    "refiner": Setting(
        "groups",
        tuple(REFINERS),
        "NAME",
        "how groups are improved, likewise; default: auto, or local_search with --method kaim",
    ),
    "time_limit": Setting(
        "groups",
        "positive",
        "SECONDS",
        "time to search for better groups, by the annealing or iterated_local_search that "
        "--refiner names; default: recombination, or iterated_local_search with --method kaim. "
        "Ctrl-C ends the search earlier, with the best groups found so far",
    ),
    "certificate": Setting(
        "groups",
        "positive",
        "SECONDS",
        "time to prove an upper bound on how far the information loss is above the optimum. "
        "Ctrl-C ends it earlier",
    ),
    "random_state": Setting("groups", "seed", "N", "seed of the search; default: 0", 0),
    "n_jobs": Setting("groups", "jobs", "N", "threads; default: one per processor", -1),
    "engine": Setting(
        "groups",
        ("memory", "dask"),
        "",
        "dask: for Parquet files and folders larger than memory; OUT is a new folder. "
        "Default: memory",
        "memory",
    ),
}

_REPORT = {
    "report": Setting(
        "report",
        "target",
        "FILE",
        "also write a report on the release, an .html file, or its figures as .json: "
        "confidential, with exact figures of the original",
        is_common=True,
    ),
    "card": Setting(
        "report",
        "target",
        "FILE",
        "also write the release card, an .html, .md or .json file: one page to publish with OUT",
        is_common=True,
    ),
    "scenario": Setting(
        "report",
        "scenario",
        "FILE",
        "a .toml or .json file that says who gets the release and which risk is acceptable, for "
        "the report: recipient, release_model, threshold, justification, reasons, reviewed_by, "
        "review_date",
    ),
    "analysis": Setting(
        "report",
        "formulas",
        "FORMULA",
        "a regression that the report has before and after, as 'income ~ age + C(sex)', in the "
        "words of statsmodels; may be repeated",
        (),
    ),
}

_FORMAT = {
    "na": Setting(
        "format",
        "texts",
        "TEXT,COLUMN=TEXT",
        "more texts that mean that a value is missing, in all columns or in one",
        (),
    ),
    "decimal": Setting("format", "mark", "MARK", "decimal mark; default: a point", "."),
    "thousands": Setting(
        "format",
        "mark",
        "MARK",
        "what separates groups of three digits, as a comma in 1,200; default: nothing",
    ),
    "encoding": Setting(
        "format",
        "encoding",
        "ENCODING",
        "encoding of CSV files, such as latin-1; default: utf-8",
        "utf-8",
    ),
    "sheet": Setting("format", "text", "NAME", "sheet of an Excel file; default: the first"),
    "sep": Setting(
        "format",
        "separator",
        "SEP",
        r"separator of the cells of .csv files, such as ';', '|' or \t; default: a comma",
    ),
    "header": Setting(
        "format",
        ("check", "given", "none"),
        "",
        "the first row of CSV files holds names, even if they look like values; by default, it is "
        "an error if a name is a number or a date, or if several occur again in their columns, "
        "and a warning if one does",
        "check",
    ),
}

_SERIES = {
    "series": Setting(
        "series",
        "target",
        "FILE",
        "the state of a series of releases: people, as --unit names them, keep the groups of "
        "earlier releases, so that all together are k-anonymous. OUT is in random order. The "
        "state and its secret FILE.key are as confidential as IN",
    ),
    "series_begin": Setting(
        "series",
        "flag",
        "",
        "make the first release of a series, and with it the state of --series",
        False,
    ),
    "hold": Setting(
        "series",
        "share_below_1",
        "SHARE",
        "share of the newcomers of a series that may wait for better company; default: 0",
        0.0,
    ),
    "leavers": Setting(
        "series",
        ("freeze_group", "keep", "withdraw_group"),
        "",
        "the last rows of people of a series who are no longer in IN stay, until all of their "
        "group have left. freeze_group: where fewer than K members can follow IN, all rows of the "
        "group stay as they are; keep: those of the others follow IN, so that fewer than K may "
        "change; withdraw_group: the group leaves the series for good. Default: freeze_group",
        "freeze_group",
    ),
    "values": Setting(
        "series",
        ("today", "first"),
        "",
        "what a series releases in columns that are not anonymized: the rows of IN, where changes "
        "show, or those with which people were first released. Default: today",
        "today",
    ),
    "spare": Setting(
        "series",
        "at_least_0",
        "N",
        "how many members new groups of a series have beyond K, so that some can leave before the "
        "others freeze; default: 0",
        0,
    ),
    "erase": Setting(
        "series",
        "texts",
        "ID,ID",
        "people who must be in no release of a series from now on: their groups are withdrawn",
        (),
    ),
}

_OUTPUT = {
    "input": Setting("output", "source", "IN", "the table; - for standard input"),
    "output": Setting(
        "output", "target", "OUT", "where to write the release; - for standard output"
    ),
    "overwrite": Setting("output", "flag", "", "overwrite files that exist", False, True),
}

# The settings of a request by the names of its parameters, in the order of groups.
SETTINGS: dict[str, Setting] = {
    **_COLUMNS,
    **_PROTECTION,
    **_RELEASED,
    **_GROUPS,
    **_REPORT,
    **_FORMAT,
    **_SERIES,
    **_OUTPUT,
}
