"""Requests in TOML files, read with the line of what is wrong."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from sk_microagg._utils._typing import FilePath
from sk_microagg.files._format import cannot_read, is_standard
from sk_microagg.files._messages import RequestError, one_line
from sk_microagg.files._settings import SETTINGS, Setting
from sk_microagg.files._values import NUMBERS, TEXTS
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._registry import constraints_from, known_constraints

# The line in which an error of `tomllib` is.
WHERE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

# All but earlier releases, of which requests have the rows.
KEYS = {name: one for name, one in SETTINGS.items() if one.kind != "pairs"}


def read_settings(path: FilePath, but: Collection[str] = ()) -> dict[str, Any]:
    """The parameters in a file; those in `but` are replaced, so that their files need not exist.

    Constraints are values by the names of their options.
    """
    file = _RequestFile(os.fspath(path))
    found = {}
    for name, given in file.given.items():
        if name not in KEYS:
            raise file.unknown(name, list(KEYS))
        value = _READERS[_kind_of(KEYS[name])](file, (name,), KEYS[name].kind, given)
        if KEYS[name].kind in ("source", "target", "scenario") and isinstance(value, str):
            value = file.beside(value, KEYS[name].kind)
            is_read = KEYS[name].kind != "target" and name not in but
            if is_read and not (is_no_path(value, KEYS[name].kind) or os.path.exists(value)):
                raise file.wrong((name,), "cannot_read", "{file} does not exist", file=value)
        found[name] = value
    return found


def constraints_asked(values: Mapping[str, Any], path: FilePath) -> list[Constraint]:
    """The constraints of a file; raise if they contradict each other."""
    try:
        return constraints_from(values)
    except (TypeError, ValueError) as error:
        text = "{path}: privacy: {why}"
        raise RequestError("bad_constraint", text, path=str(path), why=one_line(error)) from error


class _RequestFile:
    """A request as it stands in a file."""

    def __init__(self, path: str):
        self.path = path
        try:
            with open(path, "rb") as file:
                self.text = file.read().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise cannot_read(path, error) from error
        try:
            self.given = tomllib.loads(self.text)
        except RecursionError as error:
            text = "{path}: this is not TOML: it is nested too deeply."
            raise RequestError("bad_toml", text, path=path) from error
        except ValueError as error:  # Also integers with thousands of digits.
            why = one_line(error)
            where = WHERE.search(why)
            line = where[1] if where and where[1] else len(self.text.splitlines())
            text = "{path}, line {line}: this is not TOML: {why}."
            facts = {"path": path, "line": int(line), "why": WHERE.sub("", why)}
            raise RequestError("bad_toml", text, **facts) from error

    def beside(self, path: str, kind: Any) -> str:
        """A path that is relative to the folder of the file."""
        return path if is_no_path(path, kind) else os.path.join(os.path.dirname(self.path), path)

    def line_of(self, keys: tuple[str, ...]) -> int:
        """The line in which a key begins: all lines above are TOML without it."""
        lines = self.text.split("\n")
        # A key may be written with escapes.
        likely = [number for number, line in enumerate(lines) if keys[-1] in line]
        for number in reversed(likely or range(len(lines))):
            if _is_without("\n".join([*lines[:number], ""]), keys):
                return number + 1
        return 1

    def wrong(
        self, keys: tuple[str, ...], code: str, text: str, allowed: str = "", **facts: object
    ) -> RequestError:
        """What is wrong with a key, after its line."""
        where = {"path": self.path, "line": self.line_of(keys), "key": ".".join(keys)}
        text = f"{{path}}, line {{line}}: {{key}}: {text}."
        return RequestError(code, text, **where, allowed=allowed, **facts)

    def unfit(self, keys: tuple[str, ...], given: Any, allowed: str) -> RequestError:
        return self.wrong(
            keys, "bad_value", "{given} must be {allowed}", allowed, given=_in_words(given)
        )

    def unknown(self, key: str, known: list[str], table: tuple[str, ...] = ()) -> RequestError:
        near = get_close_matches(key, known, n=1)
        allowed = f"did you mean {near[0]}?" if near else f"it must be one of {', '.join(known)}"
        text = "this key is unknown: {allowed}"
        error = self.wrong((*table, key), "unknown_key", text, allowed)
        error.text = error.text.removesuffix("." if near else "")
        return error


def _is_without(text: str, keys: tuple[str, ...]) -> bool:
    """Whether the beginning of a file ends with a whole value, and does not have a key."""
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    for key in keys:
        if not isinstance(found, dict):  # Decimals may be in a table of a list.
            return False
        if key not in found:
            return True
        found = found[key]
    return False


def is_no_path(text: str, kind: Any) -> bool:
    """Whether a text is no path of a file: standard input, or a scenario as JSON."""
    return is_standard(text) or not text or (kind == "scenario" and text.startswith("{"))


def _kind_of(described: Setting) -> str:
    """The kind of a setting, of which there is a reader."""
    if isinstance(described.kind, tuple):
        return "word"
    if described.kind in _READERS:
        return described.kind
    return "number" if described.kind in NUMBERS else "text"


def _word(file: _RequestFile, keys: tuple, words: Any, given: Any) -> str:
    if not isinstance(given, str) or given not in words:
        raise file.unfit(keys, given, f"one of {', '.join(words)}")
    return given


def _number(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> Any:
    number = NUMBERS[kind]
    if not number.allows(given):
        raise file.unfit(keys, given, number.allowed)
    return int(given) if number.convert is int else given


def _flag(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> bool:
    if not isinstance(given, bool):
        raise file.unfit(keys, given, "true or false")
    return given


def _text(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> str:
    is_allowed, allowed = TEXTS.get(kind, (lambda text: True, "a text"))
    if kind == "separator" and given == "\\t":  # as on the command line
        return "\t"
    if not isinstance(given, str) or not is_allowed(given):
        raise file.unfit(keys, given, allowed)
    return given


def _texts(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> list[str]:
    if not isinstance(given, list):
        if keys == ("erase",):  # Messages travel: it may be the name of a person.
            raise file.wrong(keys, "bad_value", "it must be a list of texts")
        raise file.unfit(keys, given, "a list of texts")
    for number, item in enumerate(given, 1):
        if not isinstance(item, str):
            text = "item {number} must be a text"
            raise file.wrong(keys, "bad_value", text, number=number)
    return given


def _table(file: _RequestFile, keys: tuple, given: Any, allowed: str) -> dict:
    if not isinstance(given, dict):
        raise file.unfit(keys, given, allowed)
    return given


def _orders(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> dict[str, Any]:
    """Columns as a list, or as a table in which true stands for what is usual."""
    if isinstance(given, list):
        return dict.fromkeys(_texts(file, keys, kind, given))
    read, what = (_texts, "its order") if kind == "orders" else (_text, "its pattern")
    table = _table(file, keys, given, f"a list of columns, or a table of each with {what}")
    return {
        name: None if value is True else read(file, (*keys, name), kind, value)
        for name, value in table.items()
    }


def _weights(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> dict[Any, Any]:
    table = _table(file, keys, given, "a table of columns with numbers")
    return {name: _number(file, (*keys, name), kind, value) for name, value in table.items()}


def _decimals(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> dict[Any, Any]:
    """A number for all columns, a table of columns, or a list of both."""
    found: dict[Any, Any] = {}
    for one in given if isinstance(given, list) else [given]:
        is_table = isinstance(one, dict)
        added = (
            _weights(file, keys, kind, one) if is_table else {None: _number(file, keys, kind, one)}
        )
        if found.keys() & added.keys():
            raise file.wrong(keys, "bad_value", "it has two values for the same columns")
        found |= added
    return found


def _scenario(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> Any:
    """A scenario as a table, or the path of its file."""
    if isinstance(given, str):
        return given
    from sk_microagg.report import Scenario  # Few need it, and all would wait for it.

    names = [parameter.name for parameter in fields(Scenario)]
    for name in _table(file, keys, given, "a file, or a table"):
        if name not in names:
            raise file.unknown(name, names, keys)
    try:
        Scenario.read(given)
    except (TypeError, ValueError) as error:
        raise file.wrong(keys, "bad_scenario", "{why}", why=one_line(error).rstrip(".")) from error
    return given


def _constraints(file: _RequestFile, keys: tuple, kind: Any, given: Any) -> dict[str, Any]:
    options = {
        option.name: option
        for constraint in known_constraints().values()
        for option in constraint.front.options
    }
    found = {}
    for name, value in _table(file, keys, given, "a table of constraints, as l = 2").items():
        if name not in options:
            raise file.unknown(name, list(options), keys)
        kind = options[name].kind
        read = _word if isinstance(kind, tuple) else _number
        found[name] = read(file, (*keys, name), kind, value)
    return found


_READERS: dict[str, Callable[[_RequestFile, tuple, Any, Any], Any]] = {
    "word": _word,
    "number": _number,
    "flag": _flag,
    "text": _text,
    "columns": _texts,
    "texts": _texts,
    "formulas": _texts,
    "orders": _orders,
    "patterns": _orders,
    "weights": _weights,
    "decimals": _decimals,
    "scenario": _scenario,
    "constraints": _constraints,
}


def _in_words(given: Any) -> str:
    """What is given, without the items of lists."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, list | dict):
        return "a list" if isinstance(given, list) else "a table"
    return repr(given) if isinstance(given, str) else str(given)
