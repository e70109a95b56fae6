"""The arguments of the commands."""

import argparse
from difflib import get_close_matches
from importlib.metadata import version
from typing import Any, NoReturn

from sk_microagg._choices import BUILDERS, FRONTS, REFINERS
from sk_microagg._cli._arguments import Once, encoding, mark, number, separator, texts
from sk_microagg._utils._formatting import printable

WRONG_USAGE = 2

FILES = """\
files:
  Tables are CSV (.csv, .tsv, also .gz; with a header), Excel (.xlsx) or Parquet (.parquet), by the
  suffix. A pipe, /dev/stdin or - is CSV; with OUT -, the summary goes to stderr.
  In CSV files, a column holds numbers if all its known cells do, maybe with the same symbol, as %
  or $; but codes if one of them has a leading zero, as zip codes have, or is too long for a
  measurement. It holds dates if all are ISO dates. Missing values are: empty cells, NA, N/A, n/a,
  NaN, nan, null, NULL, ? and *, and what --na names. If most cells are numbers or dates, but not
  all, that is an error, until --na, --decimal, --thousands, --categorical or --date settles it.

columns:
  Options that name columns may be repeated, and take names separated by commas. A name that
  contains a comma has an option of its own, as in --drop 'income, yearly', or in double quotes; an
  empty one is --drop ''. Spaces around names do not matter.
"""

ANONYMIZE = """\
Make a table k-anonymous: every combination of the chosen columns occurs at least K times in OUT.

In a group of rows, numbers and dates are replaced by their mean, rounded to the gaps between values
of the column, and categories by the most frequent one, or as --categories says (TableAggregator). A
cell is empty where most of a group are. With --method kaim, values are replaced by intervals, nodes
of hierarchies and * instead. Other columns are released unchanged, so choose all columns by which a
person could be recognized, and drop names and personal numbers. Those that are not named by
--sensitive may be known to intruders: the summary says how many people they single out.

k says nothing about what a group has in common, and counts rows: --sensitive with --l or --t
demands different values in each group, --unit counts people, and --strata keeps parts of the table
apart.
"""

RISK = """\
Compare a release with the original, row by row: its level of anonymity, the records that an
intruder who knows the original values can re-identify, and the changes. Name the columns that were
anonymized: for other columns of the release, it prints how many people they single out. With
--sensitive, it also prints what classes of equal rows disclose about columns that intruders are
assumed not to know, and with --unit, how many people share a row.
"""

EXPLORE = """\
Serve a page on this machine only, and open it in the browser: choose what each column is for, see
what k costs and what risk remains, and write release and report next to the table. The page shows
the command line that does the same. It ends with Ctrl-C, or when the page is closed.
"""

DEMO = """\
Anonymize a made-up table of 300 patients and show the result; or, with --write, write this table to
a file, to try the other commands on.
"""

KINDS = {
    "categorical": "columns of categories, whatever they look like",
    "ordinal": "columns of values in an order: that of numbers, or as in 'size=small<medium<large'",
    "date": "columns of dates in a common format, or in a given one, as in 'born=%%d/%%m/%%Y'",
    "number": "columns of numbers, even if some have leading zeros",
}


class Parser(argparse.ArgumentParser):
    """A parser with short messages, which escape control characters and suggest options."""

    about_help = "shows all options"

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: --"):
            unknown = message.split()[2].partition("=")[0]
            near = get_close_matches(unknown, self._options_of_commands(), n=1)
            is_new = near and near[0] != unknown  # It may be an option of another command.
            message += f" (did you mean {near[0]}?)" if is_new else ""
        # The usage has one line for each few options, and would hide the message.
        hint = f"{self.prog} --help {self.about_help}."
        self.exit(WRONG_USAGE, f"{self.prog}: error: {printable(message)}\n{hint}\n")

    def option(self, usage: str, help: str, **settings: Any) -> None:
        """Add an option, given with the name of its value, as in "--report FILE"."""
        name, _, metavar = usage.partition(" ")
        self.add_argument(name, metavar=metavar or None, help=help, **settings)

    def number(self, usage: str, kind: str, help: str, **settings: Any) -> None:
        self.option(usage, help, type=number(kind), **settings)

    def listed(self, usage: str, help: str, action: str = "append", **settings: Any) -> None:
        self.option(usage, help, action=action, default=[], **settings)

    def column(self, name: str, help: str) -> None:
        self.option(f"{name} COLUMN", help, action=Once)

    def columns(self, name: str, help: str) -> None:
        self.listed(f"{name} A,B", help)

    def choice(self, name: str, choices: list[str], help: str) -> None:
        """Add a choice, of which the first is the default."""
        self.add_argument(name, choices=choices, default=choices[0], help=help)

    def flag(self, name: str, help: str, **settings: Any) -> None:
        self.add_argument(name, action="store_true", help=help, **settings)

    def earlier(self, help: str) -> None:
        pair = ("ORIGINAL", "RELEASE")
        self.add_argument(
            "--earlier", nargs=2, action="append", default=[], metavar=pair, help=help
        )

    def _options_of_commands(self) -> list:
        return [
            option
            for action in self._actions
            if isinstance(action.choices, dict)
            for command in action.choices.values()
            for option in command._option_string_actions
        ]


def make_parser() -> Any:
    """The parser of the command line; `run` of its result has the module and name of a command."""
    parser = Parser(
        prog="sk-microagg",
        description="Make tables k-anonymous with little information loss.",
        epilog="Exit codes: 0 success; 1 bad input, explained on stderr; "
        "2 wrong usage; 130 interrupted.",
        allow_abbrev=False,
    )
    parser.about_help = f"shows the commands, and {parser.prog} COMMAND --help their options"
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('sk-microagg')}")
    commands = parser.add_subparsers(title="commands", required=True)
    _add_anonymize(_command(commands, "anonymize", "make a table k-anonymous", ANONYMIZE, FILES))
    _add_explore(_command(commands, "explore", "choose on a local web page", EXPLORE, FILES))
    _add_risk(_command(commands, "risk", "compare a release with the original", RISK, FILES))
    _command(commands, "methods", "list builders and refiners")
    _add_demo(_command(commands, "demo", "show the package at work without a file", DEMO))
    return parser


def _command(
    commands: Any, name: str, help: str, description: str | None = None, epilog: str | None = None
) -> Any:
    parser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module = {"explore": "_explore._command", "risk": "_cli._risk"}.get(name, "_cli._commands")
    run = (f"sk_microagg.{module}", name)
    parser.set_defaults(run=run, needs_tables=epilog is FILES)
    return parser


def _add_anonymize(parser: Parser) -> None:
    parser.add_argument("input", metavar="IN", help="the table; - for standard input")
    parser.add_argument(
        "output", metavar="OUT", help="where to write the release; - for standard output"
    )
    parser.number("-k K", "at_least_1", "default: %(default)s", default=5)
    _add_quasi_identifiers(
        parser,
        "columns to anonymize together; default: all that --drop, --sensitive, --unit and --strata "
        "do not name",
    )
    parser.columns("--drop", "columns to leave out of OUT")
    _add_kinds(parser)
    _add_release(parser)
    _add_roles(parser)
    _add_constraints(parser)
    _add_series(parser)
    _add_method(parser)
    parser.number("--seed N", "seed", "default: %(default)s", default=0, dest="random_state")
    _add_jobs(parser)
    _add_hierarchies(parser)
    parser.choice(
        "--engine",
        ["memory", "dask"],
        "dask: for Parquet files and folders larger than memory; OUT is a new folder. "
        "Default: %(default)s",
    )
    _add_format(parser)
    _add_output(parser)


def _add_hierarchies(parser: Parser) -> None:
    parser.option(
        "--hierarchies FOLDER",
        "hierarchies of categories, of which those with a low common node are near; such nodes are "
        "released with --categories generalize, --release generalized and --method kaim: files "
        "COLUMN.csv without a header; each row has a value and its ancestors up to the root, "
        "separated by semicolons, as ARX writes them",
    )


def _add_explore(parser: Parser) -> None:
    parser.add_argument("input", metavar="IN", help="the table, a file")
    parser.flag("--no-browser", "print the address, and open no browser")
    parser.flag("--no-preview", "do not show the first rows of the table")
    _add_hierarchies(parser)
    _add_jobs(parser)
    _add_format(parser)


def _add_method(parser: Parser) -> None:
    parser.choice(
        "--method",
        ["aggregate", "kaim"],
        "aggregate: averages and most frequent values; kaim: what the rows of a group have in "
        "common, as intervals, nodes of hierarchies and *. Default: %(default)s",
    )
    parser.choice(
        "--release",
        ["averages", "generalized"],
        "what the groups of --method aggregate are released as: averages and most frequent "
        "values, or intervals and what categories have in common. Default: %(default)s",
    )
    parser.choice(
        "--intervals",
        ["overlapping", "disjoint"],
        "whether the intervals of --release generalized may overlap: those of groups of "
        "similar rows do; disjoint ones can be counted, but lose more, since each value is "
        "recoded in the same way wherever it occurs. Default: %(default)s",
    )
    parser.option("--builder", "how groups are formed; default: mdav", choices=BUILDERS)
    parser.option(
        "--refiner",
        "how groups are improved; default: auto, or local_search with --method kaim",
        choices=REFINERS,
    )
    parser.number(
        "--time-limit SECONDS",
        "positive",
        "time to search for better groups, by the annealing or iterated_local_search that "
        "--refiner names; default: recombination, or iterated_local_search with --method kaim. "
        "Ctrl-C ends the search earlier, with the best groups found so far",
    )
    parser.number(
        "--certificate SECONDS",
        "positive",
        "time to prove an upper bound on how far the information loss is above the optimum. "
        "Ctrl-C ends it earlier",
    )


def _add_output(parser: Parser) -> None:
    parser.option(
        "--report FILE",
        "also write a report on the release, an .html file, or its figures as .json: confidential, "
        "with exact figures of the original",
    )
    parser.option(
        "--card FILE",
        "also write the release card, an .html, .md or .json file: one page to publish with OUT",
    )
    parser.option(
        "--scenario FILE",
        "a .toml or .json file that says who gets the release and which risk is acceptable, "
        "for the report: recipient, release_model, threshold, justification, reasons, "
        "reviewed_by, review_date",
        action=Once,
    )
    parser.listed(
        "--analysis FORMULA",
        "a regression that the report has before and after, as 'income ~ age + C(sex)', in the "
        "words of statsmodels; may be repeated",
    )
    parser.earlier(
        "an earlier release of the same people, with its original: summary and report say whether "
        "at least K people, as --unit names them, share their rows of all releases; may be repeated"
    )
    parser.flag(
        "--shuffle",
        "write the rows in random order, which --seed does not determine; default: as in IN",
    )
    parser.flag("--force", "overwrite files that exist", dest="overwrite")
    summary = parser.add_mutually_exclusive_group()
    summary.add_argument("--quiet", action="store_true", help="print warnings and errors only")
    summary.add_argument(
        "--json",
        action="store_true",
        help="print the summary as JSON, one object per line: one for each column, then one for "
        "the release; warnings likewise, on stderr",
    )


def _add_series(parser: Parser) -> None:
    parser.option(
        "--series FILE",
        "the state of a series of releases: people, as --unit names them, keep the groups of "
        "earlier releases, so that all together are k-anonymous. OUT is in random order. The state "
        "and its secret FILE.key are as confidential as IN",
    )
    parser.flag(
        "--series-begin", "make the first release of a series, and with it the state of --series"
    )
    parser.number(
        "--hold SHARE",
        "share_below_1",
        "share of the newcomers of a series that may wait for better company; default: 0",
        default=0.0,
    )
    parser.choice(
        "--leavers",
        ["freeze_group", "keep", "withdraw_group"],
        "the last rows of people of a series who are no longer in IN stay, until all of their "
        "group have left. freeze_group: where fewer than K members can follow IN, all rows of the "
        "group stay as they are; keep: those of the others follow IN, so that fewer than K may "
        "change; withdraw_group: the group leaves the series for good. Default: %(default)s",
    )
    parser.choice(
        "--values",
        ["today", "first"],
        "what a series releases in columns that are not anonymized: the rows of IN, where changes "
        "show, or those with which people were first released. Default: %(default)s",
    )
    parser.number(
        "--spare N",
        "at_least_0",
        "how many members new groups of a series have beyond K, so that some can leave before the "
        "others freeze; default: 0",
        default=0,
    )
    parser.listed(
        "--erase ID,ID",
        "people who must be in no release of a series from now on: their groups are withdrawn",
        "extend",
        type=texts,
    )


def _add_roles(parser: Parser) -> None:
    parser.columns(
        "--sensitive",
        "columns that --l and --t are about, such as a diagnosis; they are released "
        "unchanged, and intruders are assumed not to know them",
    )
    parser.column(
        "--unit",
        "to whom a row belongs, if people have several: each group has rows of at least K "
        "different people. The column is left out of OUT",
    )
    parser.columns(
        "--strata",
        "columns such as the region, released unchanged: no group mixes rows of different "
        "strata, so that even together with these columns, every combination of the anonymized "
        "columns occurs at least K times",
    )
    parser.column(
        "--weight",
        "sampling weights: means are weighted, so that with the weights, totals of means are "
        "those of the table, except for rounding",
    )
    parser.choice(
        "--weight-release",
        ["keep", "mean"],
        "keep: weights are released as they are, and weighted totals of unchanged columns are "
        "exact; mean: for weights that identify people, as the mean of the group, which changes "
        "the totals of unchanged columns: the summary says how much. Default: %(default)s",
    )


def _add_constraints(parser: Parser) -> None:
    for front in FRONTS.values():
        for option in front.options:
            usage, settings = f"--{option.name.replace('_', '-')}", {"default": option.default}
            if isinstance(option.kind, str):
                value = option.name[0].upper()
                parser.number(f"{usage} {value}", option.kind, option.help, **settings)
            else:
                parser.option(usage, option.help, choices=option.kind, **settings)


def _add_risk(parser: Parser) -> None:
    parser.add_argument("original", metavar="ORIGINAL", help="the table before")
    parser.add_argument(
        "release", metavar="RELEASE", help="the table after, with the rows in the same order"
    )
    _add_quasi_identifiers(
        parser, "columns to compare; default: all that are in both and not named by other options"
    )
    parser.columns(
        "--sensitive",
        "columns such as a diagnosis, taken from RELEASE if they are there: print their "
        "homogeneity, diversity and closeness",
    )
    parser.column(
        "--weight", "sampling weights, taken from RELEASE if they are there: print population risks"
    )
    parser.columns(
        "--amounts",
        "columns of ORIGINAL such as sales, compared or not: print how much of the sum of a class "
        "one contributor has, and how well the largest value can be estimated",
    )
    parser.column(
        "--unit",
        "to whom a row belongs, if people have several; taken from RELEASE if it is there: "
        "print the smallest number of people who share a row, and the largest share of one of "
        "them; risk is then that of people",
    )
    parser.earlier(
        "an earlier release of the same people, with its original: print the smallest number "
        "of people, as --unit names them, who share their rows of all releases. It may be repeated"
    )
    _add_kinds(parser)
    _add_jobs(parser)
    _add_format(parser)


def _add_quasi_identifiers(parser: Parser, help: str) -> None:
    parser.add_argument("-q", "--quasi-identifiers", action="append", metavar="A,B", help=help)


def _add_jobs(parser: Parser) -> None:
    parser.number(
        "--jobs N", "jobs", "threads; default: one per processor", default=-1, dest="n_jobs"
    )


def _add_demo(parser: Parser) -> None:
    parser.option("--write CSV", "write a made-up table to this new file")
    parser.flag("--force", "overwrite a file that exists")


def _add_format(parser: Parser) -> None:
    parser.listed(
        "--na TEXT,COLUMN=TEXT",
        "more texts that mean that a value is missing, in all columns or in one",
        "extend",
        type=texts,
    )
    parser.option("--decimal MARK", "decimal mark; default: a point", type=mark, default=".")
    parser.option(
        "--thousands MARK",
        "what separates groups of three digits, as a comma in 1,200; default: nothing",
        type=mark,
    )
    parser.option(
        "--encoding",
        "encoding of CSV files, such as latin-1; default: %(default)s",
        type=encoding,
        default="utf-8",
    )
    parser.option("--sheet NAME", "sheet of an Excel file; default: the first")
    parser.option(
        "--sep",
        r"separator of the cells of .csv files, such as ';', '|' or \t; default: a comma",
        type=separator,
    )
    header = parser.add_mutually_exclusive_group()
    header.add_argument(
        "--header",
        action="store_const",
        const="given",
        dest="header",
        help="the first row of CSV files holds names, even if they look like values; by default, "
        "it is an error if a name is a number or a date, or if several occur again in their "
        "columns, and a warning if one does",
    )
    header.add_argument(
        "--no-header",
        action="store_const",
        const="none",
        dest="header",
        help="CSV files have no header: columns are named c1, c2, ...",
    )
    parser.set_defaults(header="check")


def _add_kinds(parser: Parser) -> None:
    for kind, help in KINDS.items():
        parser.columns(f"--{kind}", help)


def _add_release(parser: Parser) -> None:
    """Add the options that say how much columns count, and how they are released."""
    parser.listed(
        "--weights A=2,B=0.5",
        "how much columns count when groups are made; default: 1 each",
        dest="column_weights",
    )
    parser.option(
        "--categories",
        "what is released of categories: the most frequent one of a group, one column of "
        "shares per category, for models, or the lowest common node of their hierarchy, * without "
        "one; default: mode",
        choices=["mode", "shares", "generalize"],
    )
    parser.listed(
        "--round A=1,N",
        "decimals of released means, for single columns or, as a number alone, for all "
        "others; default: as coarse as the gaps between values of the column",
        dest="decimals",
    )
