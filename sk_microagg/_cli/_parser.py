"""The arguments of the commands."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.metadata import version
from typing import Any, NoReturn

from sk_microagg._choices import FRONTS
from sk_microagg._cli._arguments import Once, number, text_of_kind, texts
from sk_microagg._cli._voice import SHELL
from sk_microagg._utils._formatting import printable
from sk_microagg.files._messages import Option
from sk_microagg.files._settings import GROUPS, SETTINGS
from sk_microagg.files._values import NUMBERS, TEXTS

WRONG_USAGE = 2

WIDTH = 80

FILES = """\
Tables are CSV (.csv, .tsv, also .gz; with a header), Excel (.xlsx) or Parquet (.parquet), by the
suffix. A pipe, /dev/stdin or - is CSV; with OUT -, the summary goes to stderr.

In CSV files, a column holds numbers if all its known cells do, maybe with the same symbol, as % or
$; but codes if one of them has a leading zero, as zip codes have, or is too long for a measurement.
It holds dates if all are ISO dates. Missing values are: empty cells, NA, N/A, n/a, NaN, nan, null,
NULL, ? and *, and what --na names. If most cells are numbers or dates, but not all, that is an
error, until --na, --decimal, --thousands, --categorical or --date settles it.
"""

NAMES = """\
Options that name columns may be repeated, and take names separated by commas. A name that contains
a comma has an option of its own, as in --drop 'income, yearly', or in double quotes; an empty one
is --drop ''. Spaces around names do not matter.
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

FILES_OF = {"anonymize": "IN OUT", "explore": "IN", "risk": "ORIGINAL RELEASE"}

OF_FORMAT = [name for name, one in SETTINGS.items() if one.group == "format"]


class HelpFormatter(argparse.HelpFormatter):
    """Paragraphs, and at most 80 characters in a line."""

    def __init__(self, prog: str, **settings: Any):
        columns = shutil.get_terminal_size().columns
        super().__init__(prog, width=max(40, min(columns, WIDTH) - 2), **settings)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [" ".join(each.split()) for each in text.strip().split("\n\n")]
        settings: dict[str, Any] = {"initial_indent": indent, "subsequent_indent": indent}
        settings |= {"break_on_hyphens": False}
        return "\n\n".join(textwrap.fill(each, width, **settings) for each in paragraphs)


class HelpOnAll(argparse.Action):
    """Print the help on all options, and exit."""

    def __init__(self, option_strings: list[str], dest: str, **settings: Any):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **settings)

    def __call__(self, parser: Any, *given: Any) -> None:
        sys.stdout.write(parser.help_on_all())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser with short messages, which escape control characters and suggest options.

    Its options stand in the groups of their settings. The parser of a command that `takes_request`
    leaves out values that are not given; its help explains common options, and names the others.
    """

    about_help = "shows its options"
    takes_request = False

    def __init__(self, **settings: Any):
        super().__init__(formatter_class=HelpFormatter, allow_abbrev=False, **settings)
        self._groups: dict[str, Any] = {}
        self._common: list[argparse.Action] = []

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: --"):
            unknown = message.split()[2].partition("=")[0]
            near = get_close_matches(unknown, self._options_of_commands(), n=1)
            is_new = near and near[0] != unknown  # It may be an option of another command.
            message += f" (did you mean {near[0]}?)" if is_new else ""
        # The usage would hide the message.
        hint = f"{self.prog} --help {self.about_help}."
        self.exit(WRONG_USAGE, f"{self.prog}: error: {printable(message)}\n{hint}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, where a request may name the files that otherwise must be given."""
        if not self.takes_request:
            return super().parse_known_args(args, namespace)
        is_asked = any(each.partition("=")[0] == "--request" for each in args)
        files = self._positionals._group_actions
        for file in files:
            file.required, file.nargs = not is_asked, "?" if is_asked else None
            file.default = argparse.SUPPRESS
        options, others = super().parse_known_args(args, namespace)
        for file in files:
            # An option between two files ends the first search for them.
            is_missing = getattr(options, file.dest, None) is None
            if is_asked and is_missing and others and (others[0] == "-" or others[0][:1] != "-"):
                setattr(options, file.dest, others.pop(0))
        return options, others

    def settings(self, names: Iterable[str], **helps: str) -> None:
        """Add the options of settings, some with another help."""
        for name in names:
            self.setting(name, helps.get(name))

    def setting(self, name: str, help: str | None = None) -> None:
        """Add the option of a setting; some have other words in other commands."""
        described = SETTINGS[name]
        if name == "header":
            return self._add_header(described.help)
        if described.kind == "constraints":
            return self._add_constraints()
        usual = list(described.default) if described.default == () else described.default
        options = ["-q"] if name == "quasi_identifiers" else []
        settings: dict[str, Any] = {
            "dest": name,
            "help": (help or described.help).replace("%", "%%"),
            "default": argparse.SUPPRESS if self.takes_request else usual,
            "metavar": described.usage or None,
            **_how(described.kind),
        }
        if settings.get("action") == "store_true":
            del settings["metavar"]
        action = self.group(described.group).add_argument(
            *options, SHELL.option(Option(name)), **settings
        )
        if described.is_common:
            self._common.append(action)
        return None

    def group(self, name: str) -> Any:
        if name not in self._groups:
            self._groups[name] = self.add_argument_group(GROUPS[name])
        return self._groups[name]

    def _add_constraints(self) -> None:
        for front in FRONTS.values():
            for option in front.options:
                usual = argparse.SUPPRESS if self.takes_request else option.default
                is_number = isinstance(option.kind, str)
                action = self.group("protection").add_argument(
                    f"--{option.name.replace('_', '-')}",
                    help=option.help.replace("%(default)s", str(option.default)),
                    default=usual,
                    metavar=option.name[0].upper() if is_number else None,
                    **_how(option.kind),
                )
                if option.name in ("l", "t"):
                    self._common.append(action)

    def _add_header(self, help: str) -> None:
        header = self.group("format").add_mutually_exclusive_group()
        settings = {"action": "store_const", "dest": "header"}
        settings["default"] = (
            argparse.SUPPRESS if self.takes_request else SETTINGS["header"].default
        )
        header.add_argument("--header", const="given", help=help, **settings)
        none = "CSV files have no header: columns are named c1, c2, ..."
        header.add_argument("--no-header", const="none", help=none, **settings)

    def flag(self, name: str, help: str) -> None:
        self.add_argument(name, action="store_true", help=help)

    def about_tables(self) -> None:
        """Explain files, and names of columns."""
        self.add_argument_group("files", FILES)
        self.add_argument_group("names of columns", NAMES)

    def help_on_all(self) -> str:
        return super().format_help()

    def format_help(self) -> str:
        """The whole help, or if it is short, that of common options with the names of others."""
        if not self.takes_request:
            return self.help_on_all()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.start_section("common options")
        general = [*self._positionals._group_actions, *self._optionals._group_actions]
        formatter.add_arguments([*general, *self._common])
        formatter.end_section()
        formatter.start_section("other options, which --help-all explains")
        for group in self._groups.values():
            others = [each for each in group._group_actions if each not in self._common]
            names = ", ".join(each.option_strings[-1] for each in others)
            formatter.add_text(f"{group.title}: {names}" if names else None)
        formatter.end_section()
        return formatter.format_help()

    def _options_of_commands(self) -> list:
        return [
            option
            for action in self._actions
            if isinstance(action.choices, dict)
            for command in action.choices.values()
            for option in command._option_string_actions
        ]


def _how(kind: str | Sequence[str]) -> dict[str, Any]:
    """How argparse takes the value of a setting."""
    if not isinstance(kind, str):
        return {"choices": kind}
    if kind in ("columns", "orders", "patterns", "weights", "decimals", "formulas"):
        return {"action": "append"}
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind in NUMBERS:
        return {"type": number(kind)}
    return {"type": text_of_kind(kind)} if kind in TEXTS else {}


_BY_KIND: dict[str, dict[str, Any]] = {
    "column": {"action": Once},
    "scenario": {"action": Once},
    "texts": {"action": "extend", "type": texts},
    "flag": {"action": "store_true"},
    "pairs": {"action": "append", "nargs": 2, "metavar": ("ORIGINAL", "RELEASE")},
}


def make_parser() -> Any:
    """The parser of the command line; `run` of its result has the module and name of a command."""
    parser = Parser(
        prog="sk-microagg",
        description="Make tables k-anonymous with little information loss.",
        epilog="Exit codes: 0 success; 1 bad input, explained on stderr; "
        "2 wrong usage; 130 interrupted.",
    )
    parser.about_help = f"shows the commands, and {parser.prog} COMMAND --help their options"
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('sk-microagg')}")
    commands = parser.add_subparsers(title="commands", required=True)
    _add_anonymize(_command(commands, "anonymize", "make a table k-anonymous", ANONYMIZE, "table"))
    _add_explore(_command(commands, "explore", "choose on a local web page", EXPLORE, "table"))
    _add_risk(_command(commands, "risk", "compare a release with the original", RISK, "table"))
    _command(commands, "methods", "list builders and refiners")
    _add_demo(_command(commands, "demo", "show the package at work without a file", DEMO))
    return parser


def _command(
    commands: Any, name: str, help: str, description: str | None = None, needs: str | None = None
) -> Any:
    usage = None if needs is None else f"%(prog)s [options] {FILES_OF[name]}"
    parser = commands.add_parser(name, help=help, description=description, usage=usage)
    parser.takes_request = name == "anonymize"
    module = {"explore": "_explore._command", "risk": "_cli._risk"}.get(name, "_cli._commands")
    run = (f"sk_microagg.{module}", name)
    parser.set_defaults(run=run, needs_tables=needs is not None)
    return parser


def _add_anonymize(parser: Parser) -> None:
    for name in ("input", "output"):
        parser.add_argument(name, metavar=SETTINGS[name].usage, help=SETTINGS[name].help)
    parser.add_argument("--help-all", action=HelpOnAll, help="show the help on all options")
    parser.add_argument(
        "--request",
        metavar="FILE",
        action=Once,
        help="a TOML file with the settings of a release, and maybe IN and OUT, as k = 5 or "
        "quasi_identifiers = ['age']; options of the command line override it",
    )
    parser.settings(name for name in SETTINGS if name not in ("input", "output"))
    summary = parser.group("output").add_mutually_exclusive_group()
    summary.add_argument("--quiet", action="store_true", help="print warnings and errors only")
    summary.add_argument(
        "--json",
        action="store_true",
        help="print the summary as JSON, one object per line: one for each column, then one for "
        "the release; warnings likewise, on stderr",
    )
    parser.about_tables()


def _add_explore(parser: Parser) -> None:
    parser.add_argument("input", metavar="IN", help="the table, a file")
    parser.flag("--no-browser", "print the address, and open no browser")
    parser.flag("--no-preview", "do not show the first rows of the table")
    parser.settings(["hierarchies", "n_jobs", *OF_FORMAT])
    parser.about_tables()


def _add_risk(parser: Parser) -> None:
    parser.add_argument("original", metavar="ORIGINAL", help="the table before")
    parser.add_argument(
        "release", metavar="RELEASE", help="the table after, with the rows in the same order"
    )
    parser.settings(
        ["quasi_identifiers", "sensitive", "weight", "unit", "earlier"],
        quasi_identifiers="columns to compare; default: all that are in both and not named by "
        "other options",
        sensitive="columns such as a diagnosis, taken from RELEASE if they are there: print their "
        "homogeneity, diversity and closeness",
        weight="sampling weights, taken from RELEASE if they are there: print population risks",
        unit="to whom a row belongs, if people have several; taken from RELEASE if it is there: "
        "print the smallest number of people who share a row, and the largest share of one of "
        "them; risk is then that of people",
        earlier="an earlier release of the same people, with its original: print the smallest "
        "number of people, as --unit names them, who share their rows of all releases. It may be "
        "repeated",
    )
    parser.group("columns").add_argument(
        "--amounts",
        metavar="A,B",
        action="append",
        default=[],
        help="columns of ORIGINAL such as sales, compared or not: print how much of the sum of a "
        "class one contributor has, and how well the largest value can be estimated",
    )
    parser.settings(["categorical", "number", "ordinal", "date", "n_jobs", *OF_FORMAT])
    parser.about_tables()


def _add_demo(parser: Parser) -> None:
    parser.add_argument("--write", metavar="CSV", help="write a made-up table to this new file")
    parser.flag("--force", "overwrite a file that exists")
