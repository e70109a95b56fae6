"""What a request says about its files and columns: names, formats, kinds, orders and patterns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from sk_microagg._utils._places import RowNames
from sk_microagg._utils._writing import check_page_name
from sk_microagg.files._messages import Message, Option, RequestError, reason

# Of fewer cells, a release does not take over how they are written.
FEWEST_CELLS = 3

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet")

# Formats in which columns have types. They are read from files only.
TITLES = {".parquet": "Parquet", ".xlsx": "Excel"}

# The name of standard input and standard output, which are CSV.
STANDARD = "-"

# Texts that mean that a value is missing, whatever the user adds.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "*")

# Files for which the separator of cells is no question.
NOT_SEPARATED = (".tsv", ".tsv.gz", ".xlsx", ".parquet")

# Parameters by which a user says what columns hold, and the kinds that they mean.
KINDS = {"categorical": "category", "ordinal": "ordinal", "date": "date", "number": "number"}

# A message lists no more columns than this.
MOST_NAMES = 20

DIRECTIVES = "dmyYHIMSpbBj"


def is_standard(path: str | Path) -> bool:
    """Whether a path stands for standard input or standard output."""
    return os.fspath(path) == STANDARD


def name_of_input(path: str) -> str:
    """A table that is read, as messages name it."""
    return "standard input" if is_standard(path) else path


def file_of_input(path: str) -> str:
    """The file of a table that is read: those who cannot read it cannot read the release."""
    return "/dev/stdin" if is_standard(path) else path


def suffix_of(path: str) -> str:
    """The suffix of a table, in lower case, including that of the compression."""
    if is_standard(path):
        return ".csv"
    name = Path(path).name.lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    text = "{path}: a table's name must end in {suffixes}."
    raise RequestError("suffix", text, path=path or repr(path), suffixes=", ".join(SUFFIXES))


def has_types(path: str) -> bool:
    """Whether columns of a table that is written may be numbers or dates, and not only text."""
    return suffix_of(path) in TITLES


def suffix_of_input(path: str) -> str:
    """The suffix of a table that is read; a file without a name, as a pipe, is CSV."""
    if Path(path).is_dir():
        return ".parquet"
    try:
        suffix = suffix_of(path)
    except RequestError as error:
        if _is_nameless(Path(path)):
            return ".csv"
        text = "{why} As -, CSV is read from standard input."
        raise RequestError("suffix", text, why=error) from error
    if suffix in TITLES and not Path(path).is_file():
        text = "{path} is not a file: {title} cannot be read from a pipe, but CSV can be."
        raise RequestError("pipe", text, path=path, title=TITLES[suffix])
    return suffix


def _is_nameless(path: Path) -> bool:
    """Whether a path is a pipe, or a file that the shell has opened."""
    return path == Path("/dev/stdin") or path.parent == Path("/dev/fd") or path.is_fifo()


def check_exists(path: str) -> None:
    if is_standard(path):
        return
    if not path:
        text = "'' cannot be read: it must be the name of a file, or -."
        raise RequestError("cannot_read", text)
    try:
        Path(path).stat()
    except OSError as error:
        raise cannot_read(path, error) from error
    if Path(path).is_dir() and not any(Path(path).rglob("*.parquet")):
        text = "{path} is a folder without a .parquet file."
        raise RequestError("no_parquet", text, path=path)


def cannot_read(path: str, error: Exception) -> RequestError:
    return RequestError(
        "cannot_read", "{path} cannot be read: {why}.", path=path, why=reason(error)
    )


def cannot_write(path: str, why: str | Exception) -> RequestError:
    why = why if isinstance(why, str) else reason(why)
    return RequestError("cannot_write", "{path} cannot be written: {why}.", path=path, why=why)


def check_target(path: str, others: list, *, overwrite: bool) -> None:
    """Raise, before long work, unless a file may be written, in any case none of some others."""
    if is_standard(path):
        return
    target = Path(path)
    for other in others:
        if _is_same(target, Path(other)):
            text = "{path} is the same file as {other}: choose another name."
            raise RequestError("same_file", text, path=path, other=other)
    if not target.parent.is_dir():
        raise cannot_write(path, f"{target.parent} is not a folder")
    if not os.access(target.parent, os.W_OK):
        raise cannot_write(path, f"{target.parent} is write-protected")
    try:
        target.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from error
    if target.is_dir():
        text = "{path} is a folder: choose another name, or remove it first."
        raise RequestError("is_folder", text, path=path)
    if not overwrite:
        text = "{path} exists: choose another name, or {advice}."
        raise RequestError("exists", text, path=path, advice=(Option("overwrite_it"),))


def check_report_name(parameter: str, path: str) -> None:
    """Raise unless a report or a card is named like what it is written as."""
    try:
        check_page_name(path, "", is_card=parameter == "card")
    except ValueError as error:
        option = Option(parameter, path)
        raise RequestError("report_name", "{report}{why}", report=option, why=str(error)) from error


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # One does not exist, but links may lead to the same place.
        return os.path.realpath(path) == os.path.realpath(other)


@dataclass(frozen=True)
class Format:
    """What the user says about the tables."""

    sep: str | None = None
    header: str = "check"
    encoding: str = "utf-8"
    na: tuple = ()
    decimal: str = "."
    thousands: str | None = None
    sheet: str | None = None
    # Formats of fewer cells are not those of a release.
    fewest: int = FEWEST_CELLS

    @classmethod
    def from_request(cls, request: Any) -> Format:
        if request.decimal == request.thousands:
            text = "{thousands} is the decimal mark as well: name another mark by {decimal}."
            thousands = Option("thousands", request.thousands)
            raise RequestError("same_marks", text, thousands=thousands, decimal=Option("decimal"))
        _check_use(request)
        return cls(
            sep=request.sep,
            header=request.header,
            encoding=request.encoding,
            na=tuple(request.na),
            decimal=request.decimal,
            thousands=request.thousands,
            sheet=request.sheet,
            fewest=max(vars(request).get("k") or 0, FEWEST_CELLS),
        )

    def missing_in(self, name: str) -> tuple[str, ...]:
        """The texts that mean missing in a column: those of all columns, and its own."""
        everywhere = [text for text in self.na if "=" not in text]
        own = [text.removeprefix(f"{name}=") for text in self.na if text.startswith(f"{name}=")]
        return (*MISSING, *(text.strip() for text in (*everywhere, *own)))

    def check_names(self, names: Sequence[str]) -> None:
        """Raise unless texts that mean missing in one column name one of these."""
        for text in self.na:
            column, is_of_one, _ = text.partition("=")
            if is_of_one and not any(text.startswith(f"{name}=") for name in names):
                raise unknown_column("na", column, names)


def _check_use(request: Any) -> None:
    """Raise if a parameter is for files of another kind than those of the request."""
    given = vars(request)
    read = [given[name] for name in (("input",) if "input" in given else ("original", "release"))]
    # What explore writes is named later, and may be a .csv file; risk writes no table.
    written = [given.get("output", STANDARD)] if "input" in given else []
    files = [str(path).lower() for path in (*read, *written)]
    # In Python, earlier releases are tables.
    pairs = given.get("earlier", ())
    earlier = [path.lower() for pair in pairs for path in pair if isinstance(path, str)]
    if request.sheet is not None and not any(path.endswith(".xlsx") for path in files + earlier):
        text = "{sheet} is for Excel files, but {path} is none."
        sheet = Option("sheet", request.sheet)
        raise RequestError("no_sheets", text, sheet=sheet, path=read[0])
    if request.sep is not None and all(path.endswith(NOT_SEPARATED) for path in files):
        text = "{sep} is for .csv files: .tsv files have tabs, and others have none."
        raise RequestError("no_separators", text, sep=Option("sep", request.sep))


@dataclass(frozen=True)
class FileStyle:
    """How a file was written, so that a release is written likewise."""

    has_mark: bool = False
    line_end: str = "\n"
    number_formats: dict | None = None


class Contents(NamedTuple):
    """The cells of a file, how they are written, what rows are called, and what is doubtful."""

    cells: Any
    style: FileStyle
    rows: RowNames
    doubts: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Declared:
    """What the user says about columns, by their names."""

    kinds: dict = field(default_factory=dict)
    date_patterns: dict = field(default_factory=dict)
    orders: dict = field(default_factory=dict)

    @classmethod
    def from_request(cls, request: Any) -> Declared:
        """Take it from a request; raise if that contradicts itself."""
        kinds: dict = {}
        for parameter, kind in KINDS.items():
            for name in getattr(request, parameter):
                if kinds.setdefault(name, kind) != kind:
                    other = next(o for o in KINDS if KINDS[o] == kinds[name])
                    text = "Column {name!r} is named by {one} and by {other}."
                    facts = {"one": Option(other), "other": Option(parameter)}
                    raise RequestError("several_kinds", text, name, name=name, **facts)
        patterns = {name: pattern for name, pattern in request.date.items() if pattern is not None}
        for name, pattern in patterns.items():
            _check_pattern(name, pattern)
        orders = {name: [*order] for name, order in request.ordinal.items() if order is not None}
        for name, order in orders.items():
            _check_order(name, order)
        return cls(kinds=kinds, date_patterns=patterns, orders=orders)

    def check_kinds(self, used: list, what: str) -> None:
        """Raise unless kinds are of columns that are used; `what` is done with these, in words."""
        for parameter, kind in KINDS.items():
            named = [name for name in self.kinds if self.kinds[name] == kind]
            check_use(parameter, named, used, what)


def levels_of(text: str) -> list[str]:
    """The values of an order that is written as low<medium<high."""
    return [level.strip() for level in text.split("<")]


def check_use(parameter: str, named: Iterable, used: list, what: str) -> None:
    """Raise unless a parameter names columns that are used; `what` is done with these."""
    for name in named:
        if name not in used:
            text = "{parameter} names {name!r}, which is not {what}."
            facts = {"parameter": Option(parameter), "name": name, "what": what}
            raise RequestError("without_effect", text, name, **facts)


def unknown_column(parameter: str, name: str, names: Sequence[str]) -> RequestError:
    """The error about a column that does not exist; it lists those that do."""
    listed = ", ".join(map(repr, names[:MOST_NAMES]))
    if len(names) > MOST_NAMES:
        listed += f" and {len(names) - MOST_NAMES} more"
    text = "{parameter} names {name!r}, but the columns are {columns}."
    near = {other.strip().lower(): other for other in names}
    close = get_close_matches(name.strip().lower(), near, n=1)
    if any("," in other and name and name in other for other in names):
        text += " A name that contains a comma must be in double quotes."
    elif close:
        text += " Did you mean {close!r}?"
    facts = {"columns": listed, "name": name, "close": near[close[0]] if close else None}
    return RequestError("unknown_column", text, name, parameter=Option(parameter), **facts)


def _check_pattern(name: str, pattern: str) -> None:
    directives = re.findall("%(.?)", pattern)
    if not {"Y", "y"} & {*directives} or {*directives} - {*DIRECTIVES}:
        raise RequestError(
            "date_pattern",
            "{date}: the pattern must have a year, %Y or %y, and no other parts than {parts}.",
            name,
            date=Option("date", pattern, name),
            parts=", ".join("%" + letter for letter in DIRECTIVES),
        )


def _check_order(name: str, levels: list) -> None:
    if len(levels) < 2 or "" in levels or len({*levels}) < len(levels):
        order, advice = Option("ordinal", levels, name), (Option("write_order"),)
        raise RequestError("bad_order", "{ordinal}: {advice}.", name, ordinal=order, advice=advice)
