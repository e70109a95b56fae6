"""What a user chooses on the page, as the arguments of `anonymize` that mean the same."""

import json
import re
from argparse import Namespace
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sk_microagg._cli._arguments import named_columns
from sk_microagg._cli._parser import make_parser
from sk_microagg.files._declared import KINDS, Declared
from sk_microagg.files._errors import CommandError
from sk_microagg.release._plan import choose_by_options

# Roles of columns, and the options that name them. Those to keep are named by none.
ROLES = {
    "quasi_identifier": "columns",
    "sensitive": "sensitive",
    "unit": "unit",
    "stratum": "strata",
    "keep": None,
    "drop": "drop",
}

# The options that name kinds of columns.
OPTIONS_OF_KINDS = {kind: option for option, kind in KINDS.items()}

# Options that say how files are written, which `explore` shares with `anonymize`.
FORMAT = ("decimal", "thousands", "encoding", "sheet", "sep")

# A name that needs no quotes, neither in a list of names nor in a shell.
SIMPLE_NAME = re.compile(r"\w[\w.]*")


@dataclass(frozen=True)
class Source:
    """The table on the page."""

    options: Namespace
    names: list

    @property
    def version(self):
        """What changes when the columns do."""
        return sha256(json.dumps(self.names).encode()).hexdigest()[:16]

    def beside(self, name):
        """Return the path of a file next to the table; raise if that is no name of a file."""
        if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\:\0]", name):
            raise CommandError(f"{name!r} must be the name of a file, without a folder.")
        return _path(str(Path(self.options.input).parent / name))


def arguments_of(settings, source):
    """Return the arguments of `anonymize` that mean the same as what a user has chosen.

    Parameters
    ----------
    settings : dict
        What the page sends: `k`, `method`, `categories`, `l`, `t`, `unit_share`, `time_limit`,
        `certificate`, `shuffle`, `release`, `report`, `overwrite`, and in `columns` the `role`,
        `kind` and `weight` of each column of the table, and maybe as `detail` the order of its
        values or the pattern of its dates.

    source : Source
        The table.

    Returns
    -------
    arguments : list of str
        The arguments, which were parsed to see that they name the same columns.
    """
    try:
        columns = dict(zip(source.names, settings["columns"], strict=True))
        arguments = [
            "anonymize",
            _path(source.options.input),
            source.beside(settings["release"]),
            *_option("-k", settings["k"]),
            *_roles(columns),
            *_kinds(columns),
            *_weights(columns, settings["method"]),
            *_demands(settings),
            *_method(settings),
            *_output(settings, source),
            *_format(source.options),
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandError("The settings are incomplete: load the page again.") from error
    # To a command that names none, all columns are quasi-identifiers.
    if not any(column["role"] == "quasi_identifier" for column in columns.values()):
        raise CommandError("No column is a quasi-identifier: choose one.")
    _check_columns(arguments, columns)
    return arguments


def parsed(arguments):
    """Return the options of arguments; raise CommandError if they are not possible."""
    options = make_parser(raises=True).parse_args(arguments)
    options.arguments = arguments
    return options


def _path(path):
    """The path, which would be an option if it began with a dash."""
    return f"./{path}" if path.startswith("-") else path


def _option(name, value):
    """An option with a value, or nothing if there is no value."""
    if value is None:
        return []
    text = f"{value:g}" if isinstance(value, float) else str(value)
    # Values that begin with a dash must be joined to the option.
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def _roles(columns):
    named = {role: [] for role in ROLES}
    for name, column in columns.items():
        named[column["role"]].append(name)
    if not named["keep"]:  # All other columns are anonymized.
        named["quasi_identifier"] = []
    arguments = []
    for role, option in ROLES.items():
        if role == "unit":
            arguments += [f"--unit={_not_dashes(name)}" for name in named[role]]
        elif option is not None:
            arguments += _list(option, named[role])
    return arguments


def _list(option, names):
    if not names:
        return []
    joined = ",".join(names)
    if all(map(SIMPLE_NAME.fullmatch, names)):
        return [f"--{option}", joined]
    return [f"--{option}={_quoted(name)}" for name in names]


def _quoted(name):
    """A name as a list of one name."""
    is_plain = name == name.strip() and not re.search(r'[,"\r\n]', name)
    return _not_dashes(name) if is_plain else _in_quotes(name)


def _not_dashes(name):
    """A name, but -- in quotes: some versions of argparse leave that out."""
    return _in_quotes(name) if name == "--" else name


def _in_quotes(name):
    return '"{}"'.format(name.replace('"', '""'))


def _kinds(columns):
    arguments = []
    for kind, option in OPTIONS_OF_KINDS.items():
        chosen = {name: _detail(c) for name, c in columns.items() if _kind(c) == kind}
        arguments += _list(option, [name for name, detail in chosen.items() if not detail])
        arguments += [f"--{option}={_quoted(f'{n}={d}')}" for n, d in chosen.items() if d]
    return arguments


def _kind(column):
    """The kind that was chosen, if it matters: other columns are not even read."""
    return column["kind"] if column["role"] in ("quasi_identifier", "sensitive") else None


def _detail(column):
    """What is said of a kind that was chosen: the order of values, or how dates are written."""
    is_told = _kind(column) in ("ordinal", "date")
    return str(column.get("detail") or "").strip() if is_told else ""


def _details(declared, name):
    """The same, as it was understood."""
    return declared.date_patterns.get(name) or "<".join(declared.orders.get(name, []))


def _weights(columns, method):
    if method == "kaim":
        return []
    weights = {
        name: float(column["weight"])
        for name, column in columns.items()
        if column["role"] == "quasi_identifier" and column["weight"] != 1
    }
    if all(map(SIMPLE_NAME.fullmatch, weights)):
        return _option("--weights", ",".join(f"{n}={w:g}" for n, w in weights.items()) or None)
    return [f"--weights={name}={weight:g}" for name, weight in weights.items()]


def _demands(settings):
    options = {"--l": "l", "--t": "t", "--unit-share": "unit_share"}
    return [text for option, name in options.items() for text in _option(option, settings[name])]


def _method(settings):
    method = None if settings["method"] == "aggregate" else settings["method"]
    categories = None if settings["categories"] == "mode" else settings["categories"]
    return [
        *_option("--method", method),
        *_option("--categories", categories),
        *_option("--time-limit", settings["time_limit"]),
    ]


def _output(settings, source):
    report = settings["report"]
    return [
        *_option("--certificate", settings["certificate"]),
        *_option("--report", None if report is None else source.beside(report)),
        *(["--shuffle"] if settings["shuffle"] else []),
        *(["--force"] if settings["overwrite"] is True else []),
    ]


def _format(options):
    """The options that say how files are written, as the user gave them to `explore`."""
    usual = make_parser().parse_args(["explore", "table.csv"])
    arguments = [f"--na={_quoted(text)}" for text in options.na]
    for name in FORMAT:
        if getattr(options, name) != getattr(usual, name):
            arguments += _option(f"--{name}", getattr(options, name))
    arguments += {"given": ["--header"], "none": ["--no-header"]}.get(options.header, [])
    return [
        *arguments,
        *_option("--hierarchies", options.hierarchies),
        *([] if options.jobs == usual.jobs else _option("--jobs", options.jobs)),
    ]


def _check_columns(arguments, columns):
    """Raise unless the arguments name the columns as they were chosen.

    Otherwise a name that is read in another way would release a column that was to be dropped.
    """
    options = named_columns(parsed(arguments), list(columns))
    choice, declared = choose_by_options(list(columns), options), Declared.of(options)
    found = {
        **dict.fromkeys(choice.names, "drop"),
        **dict.fromkeys(choice.unchanged, "keep"),
        **dict.fromkeys(choice.anonymized, "quasi_identifier"),
        **dict.fromkeys(choice.sensitive, "sensitive"),
        **dict.fromkeys(choice.strata, "stratum"),
        **({} if choice.unit is None else {choice.unit: "unit"}),
    }
    for name, column in columns.items():
        is_weighed = column["role"] == "quasi_identifier" and options.method != "kaim"
        weight = float(column["weight"]) if is_weighed else 1.0
        if (
            found[name] != column["role"]
            or declared.kinds.get(name) != _kind(column)
            or _details(declared, name) != re.sub(r"\s*<\s*", "<", _detail(column))
            or abs(declared.weights.get(name, 1.0) - weight) > 1e-5 * weight
        ):
            raise CommandError(
                f"Column {name!r} cannot be named on a command line together with the other "
                "columns: rename it."
            )
