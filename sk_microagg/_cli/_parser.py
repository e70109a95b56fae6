"""The arguments of the commands."""

import argparse
from difflib import get_close_matches

from sk_microagg import KAIM, TableAggregator
from sk_microagg._cli._arguments import (
    Once,
    at_least_1,
    diversity,
    jobs,
    positive,
    positive_share,
    seed,
    share,
)
from sk_microagg._cli._descriptions import ANONYMIZE, DEMO, EXPLORE, FILES, RISK
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._table_options import (
    add_format_options,
    add_kind_options,
    add_release_options,
)
from sk_microagg._utils._estimator import __version__
from sk_microagg._utils._formatting import printable
from sk_microagg.builders import BUILDERS
from sk_microagg.refiners import REFINERS

WRONG_USAGE = 2


class Parser(argparse.ArgumentParser):
    """A parser whose messages are short, and escape control characters in the arguments.

    It also says which option may be meant by one that it does not know.
    """

    raises = False
    about_help = "shows all options"

    def error(self, message):
        if message.startswith("unrecognized arguments: --"):
            unknown = message.split()[2].partition("=")[0]
            near = get_close_matches(unknown, self._options_of_commands(), n=1)
            message += f" (did you mean {near[0]}?)" if near else ""
        if self.raises:
            raise CommandError(f"{message}.")
        # The usage has one line for each few options, and would hide the message.
        hint = f"{self.prog} --help {self.about_help}."
        self.exit(WRONG_USAGE, f"{self.prog}: error: {printable(message)}\n{hint}\n")

    def _options_of_commands(self):
        return [
            option
            for action in self._actions
            if isinstance(action.choices, dict)
            for command in action.choices.values()
            for option in command._option_string_actions
        ]


class RaisingParser(Parser):
    """A parser that raises CommandError, where others print a message and exit."""

    raises = True


def make_parser(*, raises=False):
    """Make the parser of the command line.

    Parameters
    ----------
    raises : bool, default=False
        Whether wrong usage raises CommandError, rather than to print a message and exit.

    Returns
    -------
    parser : argparse.ArgumentParser
        The parser. Its result has the `module` of the command, and whether that `needs_tables`.
    """
    kind = RaisingParser if raises else Parser
    parser = kind(
        prog="sk-microagg",
        description="Make tables k-anonymous with little information loss.",
        epilog="Exit codes: 0 success; 1 bad input, explained in one line on stderr; "
        "2 wrong usage; 130 interrupted.",
        allow_abbrev=False,
    )
    parser.about_help = f"shows the commands, and {parser.prog} COMMAND --help their options"
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    _add_anonymize(_command(commands, "anonymize", "make a table k-anonymous", ANONYMIZE, FILES))
    _add_explore(_command(commands, "explore", "choose on a local web page", EXPLORE, FILES))
    _add_risk(_command(commands, "risk", "compare a release with the original", RISK, FILES))
    _command(commands, "methods", "list builders and refiners")
    _add_demo(_command(commands, "demo", "show the package at work without a file", DEMO))
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
    module = "sk_microagg._explore._command" if name == "explore" else f"sk_microagg._cli._{name}"
    parser.set_defaults(module=module, needs_tables=epilog is FILES)
    return parser


def _add_anonymize(parser):
    parser.add_argument("input", metavar="IN", help="the table; - for standard input")
    parser.add_argument(
        "output", metavar="OUT", help="where to write the release; - for standard output"
    )
    parser.add_argument("-k", type=at_least_1, default=5, metavar="K", help="default: %(default)s")
    _add_columns(
        parser,
        "columns to anonymize together; default: all that --drop, --sensitive, --unit and --strata "
        "do not name",
    )
    parser.add_argument(
        "--drop", action="append", default=[], metavar="A,B", help="columns to leave out of OUT"
    )
    add_kind_options(parser)
    add_release_options(parser)
    _add_roles(parser)
    _add_method(parser)
    parser.add_argument("--seed", type=seed, default=0, help="default: %(default)s")
    _add_jobs(parser)
    _add_hierarchies(parser)
    parser.add_argument(
        "--engine",
        choices=["memory", "dask"],
        default="memory",
        help="dask: for Parquet files and folders larger than memory; OUT is a new folder. "
        "Default: %(default)s",
    )
    add_format_options(parser)
    _add_output(parser)


def _add_hierarchies(parser):
    parser.add_argument(
        "--hierarchies",
        metavar="FOLDER",
        help="hierarchies of categories, of which those with a low common node are near, for "
        "--categories generalize and --method kaim also to release such nodes: files COLUMN.csv "
        "without a header; each row has a value and its ancestors up to the root, separated by "
        "semicolons, as ARX writes them",
    )


def _add_explore(parser):
    parser.add_argument("input", metavar="IN", help="the table, a file")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )
    parser.add_argument(
        "--no-preview", action="store_true", help="do not show the first rows of the table"
    )
    _add_hierarchies(parser)
    _add_jobs(parser)
    add_format_options(parser)


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
    parser.add_argument(
        "--report", metavar="HTML", help="also write a report on the release, an .html file"
    )
    parser.add_argument(
        "--target",
        action=Once,
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
        action="append",
        default=[],
        metavar="A,B",
        help="columns that --l and --t are about, such as a diagnosis; they are released "
        "unchanged, and intruders are assumed not to know them",
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
        action=Once,
        metavar="COLUMN",
        help="who a row belongs to, if people have several: each group has rows of at least K "
        "different people. The column is left out of OUT",
    )
    parser.add_argument(
        "--unit-share",
        type=positive_share,
        metavar="S",
        help="of the rows of a group, at most this share belongs to one person, above 0 and at "
        "most 1; needs --unit",
    )
    parser.add_argument(
        "--strata",
        action="append",
        default=[],
        metavar="A,B",
        help="columns such as the region, released unchanged: no group mixes rows of different "
        "strata, so that every combination of the anonymized columns occurs at least K times also "
        "together with these columns",
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
        action="append",
        default=[],
        metavar="A,B",
        help="columns such as a diagnosis, taken from RELEASE if they are there: print their "
        "homogeneity, diversity and closeness",
    )
    parser.add_argument(
        "--unit",
        action=Once,
        metavar="COLUMN",
        help="who a row belongs to, if people have several; taken from RELEASE if it is there: "
        "print the smallest number of people who share a row, and the largest share of one of "
        "them; risk is then that of people",
    )
    add_kind_options(parser)
    _add_jobs(parser)
    add_format_options(parser)


def _add_columns(parser, help):
    parser.add_argument("--columns", action="append", metavar="A,B", help=help)


def _add_jobs(parser):
    parser.add_argument(
        "--jobs", type=jobs, default=-1, metavar="N", help="threads; default: one per processor"
    )


def _add_demo(parser):
    parser.add_argument("--write", metavar="CSV", help="write a made-up table to this new file")
    parser.add_argument("--force", action="store_true", help="overwrite a file that exists")
