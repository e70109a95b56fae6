"""The command line that asks for a release."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import fields
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


def command_line(request: ReleaseRequest, *, hides: bool = False) -> str:
    """The command that asks for a release, as the shells of this system want it.

    With `hides`, files are named without their folders and ordinals without the order of values: a
    report shows neither the machine that it was made on, nor values of the table.
    """
    command = ["sk-microagg", *arguments_of(_without_secrets(request) if hides else request)]
    line = " ".join(map(_for_windows, command)) if IS_WINDOWS else shlex.join(command)
    return printable(line) if hides else line


def _without_secrets(request: ReleaseRequest) -> ReleaseRequest:
    paths = {
        name: Path(path).name or path
        for name in ("input", "output", "report", "hierarchies")
        if (path := getattr(request, name)) is not None
    }
    ordinal = {name: order and ["…"] for name, order in request.ordinal.items()}
    return request.replace(**paths, ordinal=ordinal)


def arguments_of(request: ReleaseRequest) -> list[str]:
    """The arguments of `anonymize` that mean the same as a request."""
    usual = {one.name: one.default for one in fields(ReleaseRequest)}
    arguments = ["anonymize", _path(request.input), _path(request.output), "-k", str(request.k)]
    for name in ("quasi_identifiers", "sensitive", "strata", "drop", "categorical", "number"):
        arguments += _list(name, getattr(request, name) or [])
    arguments += [
        f"--{name}={_not_dashes(value)}"
        for name in ("unit", "target")
        if (value := getattr(request, name)) is not None
    ]
    for name in ("ordinal", "date"):
        about = getattr(request, name)
        arguments += _list(name, [column for column, detail in about.items() if not detail])
        arguments += [
            f"--{name}={_quoted(f'{column}={in_order(detail)}')}"
            for column, detail in about.items()
            if detail
        ]
    arguments += _pairs("--weights", request.column_weights)
    arguments += _pairs("--round", request.decimals)
    for constraint in request.privacy:
        for name, value in constraint.to_options().items():
            arguments += _option(SHELL.option(Option(name)), value)
    for name in ("method", "categories", "builder", "refiner", "time_limit", "certificate"):
        if getattr(request, name) != usual[name]:
            arguments += _option(SHELL.option(Option(name)), getattr(request, name))
    for name in (
        "report",
        "hierarchies",
        "encoding",
        "sheet",
        *MARKS,
        "random_state",
        "n_jobs",
        "engine",
    ):
        if getattr(request, name) != usual[name]:
            arguments += _option(SHELL.option(Option(name)), getattr(request, name))
    arguments += [f"--na={_quoted(text)}" for text in request.na]
    if request.header != usual["header"]:
        arguments.append(SHELL.option(Option("header", request.header)))
    flags = {"--shuffle": request.shuffle, "--force": request.overwrite}
    return arguments + [flag for flag, is_set in flags.items() if is_set]


def _for_windows(argument: str) -> str:
    quoted = list2cmdline([argument])
    # Programs need quotes only around spaces, but shells around lists and comparisons, too.
    if quoted != argument or PLAIN.fullmatch(argument):
        return quoted
    backslashes = argument[len(argument.rstrip("\\")) :]  # They would escape the quote.
    return f'"{argument}{backslashes}"'


def _path(path: str) -> str:
    """The path, which would be an option if it began with a dash."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def _option(dashed: str, value: Any) -> list[str]:
    """An option with a value, which is joined to it if it begins with a dash."""
    text = as_text(value)
    return [f"{dashed}={text}"] if text.startswith("-") else [dashed, text]


def _list(name: str, columns: Sequence[str]) -> list[str]:
    option = SHELL.option(Option(name))
    if not columns:
        return []
    if all(map(SIMPLE_NAME.fullmatch, columns)):
        return [option, ",".join(columns)]
    return [f"{option}={_quoted(column)}" for column in columns]


def _pairs(option: str, about: Any) -> list[str]:
    """An option that says a number of some columns, or of all others."""
    if all(name is None or SIMPLE_NAME.fullmatch(name) for name in about):
        items = [
            as_text(v) if name is None else f"{name}={as_text(v)}" for name, v in about.items()
        ]
        return _option(option, ",".join(items)) if items else []
    return [
        f"{option}={'' if name is None else f'{name}='}{as_text(v)}" for name, v in about.items()
    ]


def _quoted(name: str) -> str:
    """A name as a list of one name."""
    is_plain = name == name.strip() and not re.search(r'[,"\r\n]', name)
    return _not_dashes(name) if is_plain else _in_quotes(name)


def _not_dashes(name: str) -> str:
    """A name, but -- in quotes: some versions of argparse leave that out."""
    return _in_quotes(name) if name == "--" else name


def _in_quotes(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
