"""The command line that asks for a release."""

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from subprocess import list2cmdline
from typing import Any

from sk_microagg._cli._voice import MARKS, SHELL, as_text, in_order
from sk_microagg._utils._formatting import printable
from sk_microagg.files._messages import Option
from sk_microagg.release._request import ReleaseRequest

IS_WINDOWS = os.name == "nt"

# All that neither of the two shells of Windows takes for something else.
PLAIN = re.compile(r"[\w.:=+/\\-]+")

# A name that needs no quotes, neither in a list of names nor in a shell.
SIMPLE_NAME = re.compile(r"\w[\w.]*")

# What needs quotes within an option.
SPECIAL = re.compile(r'[,"\r\n]|^\s|\s$|^--$')

OF_ONE_VALUE = "method", "release", "intervals", "categories", "builder", "refiner", "time_limit"
OF_ONE_VALUE += "weight_release", "certificate", "series", "hold", "leavers", "values", "spare"
OF_ONE_VALUE += "max_loss", "report", "card", "hierarchies", "encoding", "sheet"


def command_line(request: ReleaseRequest, names: Sequence[str] = (), *, hides: bool = False) -> str:
    """The command that asks for a release, as the shells of this system want it.

    The names of all columns of the table decide what is clear without quotes. With `hides`, files
    are named without their folders, and erased people not at all: a report shows neither the
    machine that it was made on, nor who asked to be forgotten.
    """
    shown = _without_secrets(request) if hides else request
    command = ["sk-microagg", *arguments_of(shown, names)]
    line = " ".join(map(_for_windows, command)) if IS_WINDOWS else shlex.join(command)
    return printable(line) if hides else line


def _without_secrets(request: ReleaseRequest) -> ReleaseRequest:
    paths = {
        name: Path(path).name or path
        for name in ("input", "output", "report", "card", "hierarchies", "series")
        if (path := getattr(request, name)) is not None
    }
    if isinstance(request.scenario, str) and not request.scenario.startswith("{"):
        paths["scenario"] = Path(request.scenario).name
    paths["earlier"] = [[Path(path).name for path in pair] for pair in request.earlier]
    return request.replace(**paths, erase=["…"] if request.erase else [])


def arguments_of(request: ReleaseRequest, names: Sequence[str] = ()) -> list[str]:
    # Other names may be taken for a list, or for a name with what is said of it.
    are_clear = not any("," in name or "=" in name for name in names)
    usual = {one.name: one.default for one in fields(ReleaseRequest)}
    arguments = ["anonymize", _path(request.input), _path(request.output), "-k", str(request.k)]
    for name in ("quasi_identifiers", "sensitive", "strata", "drop", "categorical", "number"):
        columns = getattr(request, name) or []
        arguments += _joined(name, columns, columns, are_clear) or [
            f"{SHELL.option(Option(name))}={_quoted(column)}" for column in columns
        ]
    arguments += [
        f"--{name}={_quoted(value)}"
        for name in ("unit", "weight")
        if (value := getattr(request, name)) is not None
    ]
    for name in ("ordinal", "date", "column_weights", "decimals"):
        arguments += _about_columns(name, getattr(request, name), are_clear)
    for constraint in request.privacy:
        for name, value in constraint.to_options().items():
            arguments += _option(SHELL.option(Option(name)), value)
    for name in (*OF_ONE_VALUE, *MARKS, "random_state", "n_jobs", "engine"):
        if getattr(request, name) != usual[name]:
            arguments += _option(SHELL.option(Option(name)), getattr(request, name))
    if request.scenario is not None:
        arguments.append(f"--scenario={_scenario_text(request.scenario)}")
    arguments += [f"--analysis={formula}" for formula in request.analysis]
    for pair in request.earlier:
        arguments += ["--earlier", *map(_path, pair)]
    for name in ("na", "erase"):
        listed = getattr(request, name)
        arguments += [f"--{name}={_quoted(text) if text else _in_quotes(text)}" for text in listed]
    if request.header != usual["header"]:
        arguments.append(SHELL.option(Option("header", request.header)))
    flags = {
        "--series-begin": request.series_begin,
        "--shuffle": request.shuffle,
        "--force": request.overwrite,
    }
    return arguments + [flag for flag, is_set in flags.items() if is_set]


def _for_windows(argument: str) -> str:
    quoted = list2cmdline([argument])
    # Programs need quotes only around spaces, but shells around lists and comparisons, too.
    if quoted != argument or PLAIN.fullmatch(argument):
        return quoted
    backslashes = argument[len(argument.rstrip("\\")) :]  # They would escape the quote.
    return f'"{argument}{backslashes}"'


def _scenario_text(scenario: Any) -> str:
    """The file of a scenario, or its parameters as JSON."""
    if isinstance(scenario, str):
        return scenario
    given = scenario if isinstance(scenario, Mapping) else asdict(scenario)
    return json.dumps({k: v for k, v in given.items() if v not in (None, "", {})}, default=str)


def _path(path: str) -> str:
    """The path, which would be an option if it began with a dash."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def _option(dashed: str, value: Any) -> list[str]:
    """An option with a value, which is joined to it if it begins with a dash."""
    text = as_text(value)
    return [f"{dashed}={text}"] if text.startswith("-") else [dashed, text]


def _joined(
    name: str, columns: Iterable[str | None], items: Sequence[str], are_clear: bool
) -> list[str]:
    """An option with a list of items about columns, if that is clear without quotes."""
    are_simple = all(column is None or SIMPLE_NAME.fullmatch(column) for column in columns)
    if not items or not (are_simple and are_clear):
        return []
    return _option(SHELL.option(Option(name)), ",".join(items))


def _about_columns(name: str, about: Mapping, are_clear: bool) -> list[str]:
    """An option that says something about columns: numbers together, but one order or pattern."""
    texts = {column: None if v is None else as_text(in_order(v)) for column, v in about.items()}
    together = {
        column: text
        for column, text in texts.items()
        if text is None or name in ("column_weights", "decimals")
    }
    items = [_item(column, text, True) for column, text in together.items()]
    joined = _joined(name, together, items, are_clear)
    return joined + [
        f"{SHELL.option(Option(name))}={_quoted(_item(column, text, are_clear))}"
        for column, text in texts.items()
        if not joined or column not in together
    ]


def _item(column: str | None, text: str | None, are_clear: bool) -> str:
    """A column with what is said of it, in quotes unless it is clear where it ends."""
    if column is None:
        return str(text)
    if not are_clear or "=" in column or SPECIAL.search(column):
        column = _in_quotes(column)
    return column if text is None else f"{column}={text}"


def _quoted(name: str) -> str:
    """A name as a list of one name; some versions of argparse leave out --."""
    return _in_quotes(name) if SPECIAL.search(name) else name


def _in_quotes(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
