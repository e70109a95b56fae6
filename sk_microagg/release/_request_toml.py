"""Requests written as TOML."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from sk_microagg._utils._typing import FilePath
from sk_microagg.files._format import cannot_write
from sk_microagg.files._messages import RequestError
from sk_microagg.files._settings import GROUPS
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._registry import constraints_from
from sk_microagg.release._request_file import KEYS, is_no_path

# Longer lists have a line for each item.
WIDTH = 88

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(request: Any, path: FilePath) -> str:
    """A request as the text of a file at a path: all that is not as usual, by groups."""
    if request.earlier:
        why = "a file cannot hold earlier releases: name them on the command line"
        raise cannot_write(os.fspath(path), why)
    folder = os.path.dirname(os.fspath(path))
    values = {name: _written(request, name, folder) for name in KEYS}
    given = {name: value for name, value in values.items() if value is not None}
    parts = [_lines({name: given.pop(name) for name in ("input", "output")})]
    for group, title in GROUPS.items():
        of_group = {
            name: value
            for name, value in given.items()
            if KEYS[name].group == group and not isinstance(value, dict)
        }
        if of_group:
            parts.append(f"# {title}\n{_lines(of_group)}")
    for name, value in given.items():
        if isinstance(value, dict):
            parts.append(f"[{name}]\n{_lines(value)}")
    text = "\n".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise cannot_write(os.fspath(path), "a name is no Unicode text") from error
    return text


def _written(request: Any, name: str, folder: str) -> Any:
    """The value of a key; None if it is left out."""
    value, described = getattr(request, name), KEYS[name]
    if name == "privacy":
        return _options_of(value) or None
    if described.kind in ("source", "target", "scenario") and isinstance(value, str | os.PathLike):
        return _relative(os.fspath(value), folder, described.kind)
    if name == "scenario" and value is not None:
        pairs = value.items() if isinstance(value, Mapping) else vars(value).items()
        return {key: each for key, each in pairs if each is not None}
    if described.kind in ("orders", "patterns"):
        return {key: True if each is None else each for key, each in value.items()} or None
    if name == "decimals":
        others = {key: each for key, each in value.items() if key is not None}
        if None not in value:
            return others or None
        return [value[None], others] if others else value[None]
    is_usual = value == described.default or (value in ([], {}) and not described.default)
    return None if is_usual and not (name == "quasi_identifiers" and value == []) else value


def _options_of(constraints: list[Constraint]) -> dict[str, Any]:
    """The options that ask for constraints; raise if these do not say all."""
    options: dict[str, Any] = {}
    for constraint in constraints:
        options |= constraint.to_options()
    made = {type(one): one.get_params() for one in constraints_from(options)}
    asked = {type(one): one.get_params() for one in constraints}
    if made != asked or len(asked) != len(constraints):
        text = "privacy: a request file has one constraint of each kind, for all sensitive columns."
        raise RequestError("cannot_write", text)
    return options


def _relative(path: str, folder: str, kind: Any) -> str:
    """A path from the folder of a request file: only files below it move with it."""
    if is_no_path(path, kind):
        return path
    if not folder:
        return path
    here = os.getcwd()
    top = os.path.join(here, folder, "")
    full = os.path.join(here, path)
    return full[len(top) :] if full.startswith(top) and len(full) > len(top) else full


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{_toml_line(name, value)}\n" for name, value in values.items())


def _toml_line(name: str, value: Any) -> str:
    line = f"{_toml_key(name)} = {_toml(value)}"
    if len(line) <= WIDTH or not isinstance(value, list | tuple):
        return line
    items = "".join(f"    {_toml(item)},\n" for item in value)
    return f"{_toml_key(name)} = [\n{items}]"


def _toml_key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    """A value as TOML."""
    if hasattr(value, "item"):  # a scalar of NumPy
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml_key(k)} = {_toml(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    text = "{kind} cannot be written to a request file."
    raise RequestError("cannot_write", text, kind=type(value).__name__)
