"""A request as it was typed: the columns that options name are found when the table is read.

An option may be repeated, and names are separated by commas. A name that contains a comma is alone
in its option, or in double quotes. Spaces around names do not matter.
"""

from __future__ import annotations

import csv
import re
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sk_microagg._cli._command_line import command_line
from sk_microagg._cli._voice import SHELL
from sk_microagg.files._format import levels_of, unknown_column
from sk_microagg.files._messages import Option, RequestError, one_line
from sk_microagg.files._settings import SETTINGS
from sk_microagg.files._values import NUMBERS
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._registry import known_constraints
from sk_microagg.release._request import (
    LISTS,
    MAPPINGS,
    SINGLE,
    ReleaseRequest,
)
from sk_microagg.release._request_file import read_settings

# A name in double quotes, maybe with what is said of it.
QUOTED = re.compile(r'"((?:[^"]|"")*)"(?:=(.*))?', re.DOTALL)

PLAIN = [one.name for one in fields(ReleaseRequest) if one.name not in ("privacy", "command")]


@dataclass(frozen=True)
class TypedRequest(ReleaseRequest):
    """A request whose columns are texts until the names of the table are known."""

    typed: Mapping[str, Any] = field(default_factory=dict)
    read_earlier: Any = None

    @classmethod
    def from_options(cls, options: Namespace, read_earlier: Any = None) -> TypedRequest:
        """The request of a command; its options override those of a file that it names."""
        values = vars(options)
        given = {name: values[name] for name in PLAIN if name in values}
        typed = {name: given[name] for name in (*LISTS, *SINGLE, *MAPPINGS) if name in given}
        # Before anything is read, it matters only whether they were given.
        given |= {name: dict.fromkeys(given[name]) for name in MAPPINGS if name in given}
        path = values.get("request")
        settings = {} if path is None else read_settings(path, given)
        constraints = settings.pop("privacy", {})
        asked = Namespace(**constraints | values)
        given |= {"privacy": constraints_of(asked), "typed": typed, "read_earlier": read_earlier}
        request: TypedRequest = cls._of_settings(settings | given, path or "")
        return request

    def resolve(self, names: Sequence[str]) -> ReleaseRequest:
        plain = {name: getattr(self, name) for name in PLAIN}
        found = found_columns(self.typed, list(names))
        request = ReleaseRequest(**plain | found, privacy=self.privacy)
        command = command_line(request, names, hides=True)
        earlier = self.earlier if self.read_earlier is None else self.read_earlier(request)
        return request.replace(command=command, earlier=earlier).resolve(names)


def constraints_of(options: Namespace) -> list[Constraint]:
    """The constraints that options ask for; raise if the options contradict each other."""
    values, made = vars(options), []
    for kind in known_constraints().values():
        try:
            made.append(kind.from_options(values))
        except (TypeError, ValueError) as error:
            assert kind.front is not None
            given = {one.name: values.get(one.name, one.default) for one in kind.front.options}
            usual = {one.name: one.default for one in kind.front.options}
            shown = " ".join(
                SHELL.option(Option(name, value))
                for name, value in given.items()
                if value != usual[name]
            )
            facts = {"given": shown, "why": one_line(error)}
            raise RequestError("bad_constraint", "{given}: {why}", **facts) from error
    return [constraint for constraint in made if constraint is not None]


def found_columns(typed: Mapping[str, Any], names: list[str]) -> dict:
    """By the name of a parameter, the columns that its texts name, maybe with what they say."""
    found: dict[str, Any] = {}
    for parameter, given in typed.items():
        if given is None:
            found[parameter] = None
        elif parameter in (*LISTS, "amounts"):
            listed = (name for text in given for name in _found(parameter, text, names))
            found[parameter] = list(dict.fromkeys(listed))
        elif parameter in SINGLE:
            found[parameter] = _found_one(parameter, given, names)
        elif parameter == "ordinal":
            pairs = _pairs(parameter, given, names)
            found[parameter] = {
                name: None if text is None else levels_of(text) for name, text in pairs
            }
        elif parameter == "date":
            found[parameter] = dict(_pairs(parameter, given, names))
        elif parameter == "column_weights":
            pairs = _pairs(parameter, given, names)
            found[parameter] = {name: _number(parameter, name, text) for name, text in pairs}
        elif parameter == "decimals":
            found[parameter] = dict(_rounded(parameter, given, names))
    return found


def _found(parameter: str, text: str, names: list[str]) -> list[str]:
    parts = _parts(text)
    if text not in names or _is_quoted(text, parts, names):
        return [_one(parameter, part, names) for part in parts]
    stripped = {name.strip() for name in names}
    if len(parts) > 1 and all(part.strip() in stripped for part in parts):
        message = (
            "{option} {text} is one column or {n_parts}: name each by {option} of its own, or "
            "write '\"{text}\"' for the one."
        )
        facts = {"option": Option(parameter), "text": text, "n_parts": len(parts)}
        raise RequestError("ambiguous_name", message, text, **facts)
    return [text]


def _found_one(parameter: str, text: str, names: list[str]) -> str:
    parts = _parts(text)
    is_name = text in names and not _is_quoted(text, parts, names)
    return _one(parameter, text if is_name or len(parts) != 1 else parts[0], names)


def _is_quoted(text: str, parts: list[str], names: list[str]) -> bool:
    return text.startswith('"') and all(part in names for part in parts)


def _one(parameter: str, name: str, names: list[str]) -> str:
    """The column of a name; spaces around it are ignored if there is none that has them."""
    if name in names:
        return name
    alike = [other for other in names if other.strip() == name.strip()]
    if len(alike) == 1:
        return alike[0]
    raise unknown_column(parameter, name, names)


def _pairs(parameter: str, given: Iterable[str], names: list[str]) -> list:
    """Columns, each with what is written after it and =, or None."""
    return [_pair(parameter, item, names) for text in given for item in _items(text, names)]


def _items(text: str, names: list[str]) -> list[str]:
    """Names with what is said of them, between commas; one item if its name contains a comma."""
    is_one = _beginning(text, [name for name in names if "," in name]) is not None
    return [text] if is_one and not text.startswith('"') else _parts(text)


def _pair(parameter: str, item: str, names: list[str]) -> tuple[str, str | None]:
    if (quoted := QUOTED.fullmatch(item)) and (name := quoted[1].replace('""', '"')) in names:
        return name, quoted[2]
    column = _beginning(item, names)
    if column is not None:
        return column, item[len(column) + 1 :] if item != column else None
    name, is_pair, value = item.partition("=")
    return _one(parameter, name, names), value if is_pair else None


def _rounded(parameter: str, given: Iterable[str], names: list[str]) -> list:
    """Columns with a number of decimals; a number alone is for all others, whose name is None."""
    items = [item for text in given for item in _items(text, names)]
    pairs = [_pair(parameter, item, names) if "=" in item else (None, item) for item in items]
    return [(name, _number(parameter, name, text)) for name, text in pairs]


def _number(parameter: str, name: str | None, text: str | None) -> float:
    option = Option(parameter)
    if text is None:
        message = "{option}: {name!r} must have a number, as in {name}=2."
        raise RequestError("no_number", message, name, option=option, name=name)
    try:
        number = float(text)
    except ValueError:
        message = "{option}: {text!r} must be {allowed}."
        facts = {
            "option": option,
            "text": text,
            "allowed": NUMBERS[str(SETTINGS[parameter].kind)].allowed,
        }
        raise RequestError("bad_value", message, name, **facts) from None
    return int(number) if parameter == "decimals" and number.is_integer() else number


def _beginning(item: str, names: list[str]) -> str | None:
    """The longest column that an item names, alone or before =; None if there is none."""
    found = [name for name in names if item == name or item.startswith(f"{name}=")]
    return max(found, key=len, default=None)


def _parts(text: str) -> list[str]:
    """Texts between commas, of which some may be in double quotes."""
    try:
        return next(csv.reader([text], skipinitialspace=True)) or [""]
    except csv.Error:  # a line break
        return [text]
