"""The arguments of the commands."""

import argparse

from sk_microagg import KAIM, TableAggregator
from sk_microagg._cli._arguments import (
    at_least_1,
    diversity,
    jobs,
    names,
    positive,
    seed,
    share,
)
from sk_microagg._cli._table_options import add_format_options, add_kind_options
from sk_microagg._utils._printable import printable
from sk_microagg._utils._version import __version__
from sk_microagg.builders import BUILDERS
from sk_microagg.refiners import REFINERS

FILES = """\
files:
  Tables are CSV (.csv, .tsv, also .gz; with a header), Excel (.xlsx) or Parquet (.parquet), by the
  suffix. A pipe, /dev/stdin or - is CSV; with OUT -, the summary goes to stderr.
  In CSV files, a column holds numbers if all its known cells do, maybe with the same symbol, as %
  or $; but codes if one of them has a leading zero, as zip codes have, or is too long for a
  measurement. It holds dates if all are ISO dates. Missing values are: empty cells, NA, NaN, nan,
  null, NULL, ? and *, and what --na names. If most cells are numbers or dates, but not all, that is
  an error, until --na, --decimal, --thousands, --categorical or --date settles it.
"""

ANONYMIZE = """\
Make a table k-anonymous: in the chosen columns, every row of OUT occurs at least K times.

In a group of rows, numbers and dates are replaced by their mean, rounded to the decimals that the
column has, and categories by the most frequent one, or as --categories says (TableAggregator). A
cell is empty where most of a group are. With --method kaim, values are replaced by intervals, nodes
of hierarchies and * instead. Other columns are released unchanged, so choose all columns by which a
person could be recognized, and drop names and personal numbers.

k says nothing of what a group shares, and counts rows: --sensitive with --l or --t demands
different values in each group, --unit counts people, and --strata keeps parts of the table apart.
"""

RISK = """\
Compare a release with the original, row by row: its level of anonymity, the records that an
intruder who knows the original values can re-identify, and the changes. Name the columns that were
anonymized; others would count as known to the intruder. With --sensitive, also what classes of
equal rows disclose about other columns, and with --unit, how many people share a row.
"""


class Parser(argparse.ArgumentParser):
    """A parser whose messages escape control characters in the arguments."""

    def error(self, message):
        super().error(printable(message))


def make_parser():
    """Make the parser of the command line.

    Returns
    -------
    parser : argparse.ArgumentParser
        The parser. Its result has the `command`, and whether that `needs_tables`.
    """
    parser = Parser(
        prog="sk-microagg",
        description="Make tables k-anonymous with little information loss.",
        epilog="Exit codes: 0 success; 1 bad input, explained in one line on stderr; "
        "2 wrong usage; 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    _add_anonymize(_command(commands, "anonymize", "make a table k-anonymous", ANONYMIZE, FILES))
    _add_risk(_command(commands, "risk", "compare a release with the original", RISK, FILES))
    _command(commands, "methods", "list builders and refiners")
    _command(commands, "demo", "anonymize a table that ships with scikit-learn and show the result")
    return parser


def _command(commands, name, help, description=None, epilog=None):
    parser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=name, needs_tables=epilog is FILES)
    return parser


def _add_anonymize(parser):
    parser.add_argument("input", metavar="IN", help="the table; - for standard input")
    parser.add_argument(
        "output", metavar="OUT", help="where to write the release; - for standard output"
    )
    parser.add_argument("-k", type=at_least_1, default=5, metavar="K", help="default: %(default)s")
    _add_columns(parser, "columns to anonymize together; default: all that are not dropped")
    parser.add_argument(
        "--drop", type=names, default=[], metavar="A,B", help="columns to leave out of OUT"
    )
    add_kind_options(parser)
    _add_roles(parser)
    _add_method(parser)
    parser.add_argument("--seed", type=seed, default=0, help="default: %(default)s")
    _add_jobs(parser)
    parser.add_argument(
        "--hierarchies",
        metavar="FOLDER",
        help="hierarchies of categories, of which those with a low common node are near, for "
        "--categories generalize and --method kaim also to release such nodes: files COLUMN.csv "
        "without a header; each row has a value and its ancestors up to the root, separated by "
        "semicolons, as ARX writes them",
    )
    parser.add_argument(
        "--engine",
        choices=["memory", "dask"],
        default="memory",
        help="dask: for Parquet files and folders larger than memory; OUT is a new folder. "
        "Default: %(default)s",
    )
    add_format_options(parser)
    _add_output(parser)


def _add_method(parser):
    parser.add_argument(
        "--method",
        choices=["aggregate", "kaim"],
        default="aggregate",
        help="aggregate: averages and most frequent values; kaim: what the rows of a group have in "
        "common, as intervals, nodes of hierarchies and *. Default: %(default)s",
    )
    parser.add_argument(
        "--builder",
        choices=BUILDERS,
        help=f"how groups are made; default: {TableAggregator().builder}",
    )
    parser.add_argument(
        "--refiner",
        choices=[*REFINERS, "none"],
        help=f"how groups are improved; default: {TableAggregator().refiner}, or {KAIM().refiner} "
        "with --method kaim",
    )
    parser.add_argument(
        "--time-limit",
        type=positive,
        metavar="SECONDS",
        help="time to search for better groups, by the annealing or iterated_local_search that "
        "--refiner names; default: recombination, or iterated_local_search with --method kaim. "
        "Ctrl-C ends the search earlier, with the best groups found so far",
    )
    parser.add_argument(
        "--certificate",
        type=positive,
        metavar="SECONDS",
        help="time to prove an upper bound on how far the information loss is above the optimum. "
        "Ctrl-C ends it earlier",
    )


def _add_output(parser):
    parser.add_argument("--report", metavar="HTML", help="also write a report on the release")
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="a column that is released unchanged and that a model is to predict: the report says "
        "how well an intruder recognizes the records that a model was trained on",
    )
    parser.add_argument(
        "--shuffle",
        action="store_true",
        help="write the rows in random order, which --seed does not determine; default: as in IN",
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    summary = parser.add_mutually_exclusive_group()
    summary.add_argument("--quiet", action="store_true", help="print warnings and errors only")
    summary.add_argument(
        "--json",
        action="store_true",
        help="print the summary as JSON, one object per line: one for each column, then one for "
        "the release; warnings likewise, on stderr",
    )


def _add_roles(parser):
    parser.add_argument(
        "--sensitive",
        type=names,
        default=[],
        metavar="A,B",
        help="columns that --l and --t are about, such as a diagnosis; they are released unchanged",
    )
    parser.add_argument(
        "--l",
        type=diversity,
        metavar="L",
        help="each group has at least L different values in every sensitive column",
    )
    parser.add_argument(
        "--l-kind",
        choices=["distinct", "entropy", "recursive"],
        default="distinct",
        help="entropy: values as hard to predict as L equally frequent ones; recursive: the most "
        "frequent value occurs less than C times as often as all but the L - 1 most frequent ones "
        "together. Default: %(default)s",
    )
    parser.add_argument("--c", type=positive, metavar="C", help="for --l-kind recursive")
    parser.add_argument(
        "--t",
        type=share,
        metavar="T",
        help="each group has nearly the distribution of the whole table in every sensitive column: "
        "the earth mover's distance, over the order of numbers, and between equally distant "
        "values of other columns, is at most T, from 0 to 1",
    )
    parser.add_argument(
        "--unit",
        metavar="COLUMN",
        help="who a row belongs to, if people have several: each group has rows of at least K "
        "different people. The column is left out of OUT",
    )
    parser.add_argument(
        "--strata",
        type=names,
        default=[],
        metavar="A,B",
        help="columns such as the region, released unchanged: no group mixes rows of different "
        "strata, so that every row occurs at least K times also together with these columns",
    )


def _add_risk(parser):
    parser.add_argument("original", metavar="ORIGINAL", help="the table before")
    parser.add_argument(
        "release", metavar="RELEASE", help="the table after, with the rows in the same order"
    )
    _add_columns(
        parser, "columns to compare; default: all that are in both and not named by other options"
    )
    parser.add_argument(
        "--sensitive",
        type=names,
        default=[],
        metavar="A,B",
        help="columns such as a diagnosis, taken from RELEASE if they are there: print their "
        "homogeneity, diversity and closeness",
    )
    parser.add_argument(
        "--unit",
        metavar="COLUMN",
        help="who a row belongs to, if people have several; taken from RELEASE if it is there: "
        "print the smallest number of people who share a row",
    )
    _add_jobs(parser)
    add_format_options(parser)


def _add_columns(parser, help):
    parser.add_argument("--columns", type=names, metavar="A,B", help=help)


def _add_jobs(parser):
    parser.add_argument(
        "--jobs", type=jobs, default=-1, metavar="N", help="threads; default: one per processor"
    )
