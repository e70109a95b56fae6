"""The table on the page: what is said about it, and the file that it was read from."""

import os
from argparse import Namespace
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd

from sk_microagg._explore._page_request import PAGE, Source, constraints_to_choose, request_of
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._tables import (
    DATE,
    FIRST_DAY,
    LAST_DAY,
    SPELLINGS,
    are_similar,
    text_of_day,
)
from sk_microagg.files._columns import Column, texts_of
from sk_microagg.files._format import Format, cannot_read, suffix_of_input
from sk_microagg.files._messages import Message, RequestError
from sk_microagg.files._mistyped import hint_at_categories, hint_at_missing
from sk_microagg.files._table import Table, read_table
from sk_microagg.metrics._attribute_inference import draw_records
from sk_microagg.plotting._common import Bars, Note
from sk_microagg.plotting._distributions import compare_columns
from sk_microagg.privacy._registry import CONSTRAINTS
from sk_microagg.release._cautions import (
    count_distinct,
    free_texts,
    is_identifier,
    is_number_of_people,
    names_people,
)
from sk_microagg.release._plan import read_hierarchies

K = 5
KS = (2, 3, 5, 10, 20, 50)
N_ROWS = 8
LONGEST_CELL = 200

# Previews are computed on this many rows at most.
N_SAMPLE = 5_000

# Numbers with more different values are not drawn as categories if no cell is to be shown.
MOST_BINS = 2

# Fewer values are hardly names, even if the table is small.
FEWEST_NAMES = 6

# Larger numbers are written with an exponent.
LARGEST_PLAIN = 1e15

# By the kinds that are recognized, those that can be declared.
KINDS_TO_DECLARE = {
    "number": "number",
    "date": "date",
    "category": "category",
    "boolean": "category",
}


def describe_table(table: Table, shows_rows: bool) -> dict:
    names = table.cells.column_names
    rows = draw_records(table.cells.num_rows, N_SAMPLE)
    return {
        "n_records": table.cells.num_rows,
        "n_sample": len(rows),
        "rows": _first_rows(table) if shows_rows else None,
        "columns": [_describe_column(table, name, rows, shows_rows) for name in names],
        "ks": [k for k in KS if k <= len(rows)],
    }


def _first_rows(table: Table) -> list:
    first = replace(table, cells=table.cells.slice(0, N_ROWS))
    return [[*map(_shortened, row)] for row in first.as_text(first.cells.column_names).to_numpy()]


def _shortened(cell: Any) -> Any:
    return cell if cell is None or len(cell) <= LONGEST_CELL else f"{cell[:LONGEST_CELL]}…"


def _describe_column(table: Table, name: str, rows: np.ndarray, shows_rows: bool) -> dict:
    column, problem = _recognized(table, name)
    known = table.known(name)
    n_records, n_known = table.cells.num_rows, len(known)
    share = 1 - n_known / n_records
    n_distinct = count_distinct(known)[0]
    seem_names = names_people(n_distinct, n_known)
    # A category is a cell, and numbers can be declared to be categories.
    may_be_cells = column.kind in ("category", "ordinal") or n_distinct > MOST_BINS
    hides_values = not shows_rows and may_be_cells
    role = _suggested_role(column, problem, n_distinct, n_known)
    return {
        "name": name,
        "kind": column.kind,
        "recognized": column.how,
        "problem": problem,
        "missing": percent(share),
        "n_distinct": n_distinct,
        "hides_values": hides_values,
        "distribution": _distribution(column, rows, hides_values),
        "role": role,
        "hint": next((_worded(doubt) for doubt in table.doubts if doubt.column == name), None)
        or (_hint(column, role, n_distinct, n_known) if seem_names or hides_values else None)
        or _worded(hint_at_missing(column, is_typed=not table.is_text, rows=table.rows))
        or _hint_at_text(column, table),
        # It is beside the point as soon as the kind is chosen.
        "hint_at_kind": _worded(hint_at_categories(column)),
    }


def _hint(column: Column, role: str, n_distinct: int, n_known: int) -> str | None:
    """What to think of before values that may be names are released; None if they are no names."""
    if column.kind != "category" or role == "drop" or n_distinct < FEWEST_NAMES:
        return None
    return (
        f"{n_distinct:,} values in {n_known:,} rows: if they name people, choose Unit or Drop, or "
        "names will be in the release."
    )


def _hint_at_text(column: Column, table: Table) -> str | None:
    """What the shell warns of, too: free text, and texts that are written differently."""
    if column.kind != "category":
        return None
    if free_texts(table, [column.name]):
        return "It seems to be free text, in which people may be named: drop it."
    return f"It has {SPELLINGS}" if are_similar(column.values) else None


def _worded(hint: Message | None) -> Any:
    return None if hint is None else hint.in_words(PAGE)


def _distribution(column: Column, rows: np.ndarray, hides_values: bool) -> Any:
    if column.kind == "empty":
        return {"type": "note", "text": column.how}
    values = texts_of(column.cells) if column.kind == "ordinal" else column.values
    frame = pd.DataFrame({column.name: values[rows]})
    hidden = [column.name] if hides_values else []
    (drawn,) = distributions(frame, frame, [column], hidden=hidden)
    drawn.pop("after", None)
    return drawn


def _recognized(table: Table, name: str) -> tuple:
    """The column, and why its kind is not clear, or None."""
    try:
        return table.columns([name], is_strict=True)[0], None
    except RequestError as error:
        return table.columns([name])[0], error.in_words(PAGE)


def _suggested_role(column: Column, problem: str | None, n_distinct: int, n_known: int) -> str:
    """Names and numbers of people are dropped; everything else may be known to an intruder."""
    if problem is not None or not is_identifier(n_distinct, n_known):
        return "quasi_identifier"
    names = column.kind == "category" or is_number_of_people(column)
    return "drop" if names else "quasi_identifier"


def distributions(
    before: pd.DataFrame,
    after: pd.DataFrame,
    columns: list,
    hidden: Collection[str] = (),
) -> list:
    names = [column.name for column in columns]
    shown, released = before[names], after[names]
    are_categories = [
        number for number, column in enumerate(columns) if column.kind in ("category", "ordinal")
    ]
    compared = compare_columns(shown, released, names, categorical=are_categories, round_ends=True)
    return [_as_json(one, one.name in hidden) for one in compared]


def _as_json(drawn: Any, is_hidden: bool) -> dict:
    if isinstance(drawn, Note):
        return {"type": "note", "text": drawn.text}
    if isinstance(drawn, Bars) and is_hidden:
        return {"type": "note", "text": "not drawn: its values may name people"}
    if not isinstance(drawn, Bars) and not np.isfinite(drawn.edges).all():
        return {"type": "note", "text": "the range is too large to be drawn"}
    shares = {"before": drawn.before.tolist(), "after": drawn.after.tolist()}
    if isinstance(drawn, Bars):
        return {"type": "bars", "categories": list(map(str, drawn.categories)), **shares}
    return {
        "type": "histogram",
        "positions": drawn.edges.tolist(),
        "edges": [_edge(edge, drawn) for edge in drawn.edges],
        **shares,
        "missing": list(drawn.missing),
    }


def _edge(edge: float, histogram: Any) -> Any:
    if histogram.unit_name == DATE:
        return text_of_day(min(max(float(edge), FIRST_DAY), LAST_DAY))[:10]
    return f"{edge:,.0f}" if 1000 <= abs(edge) < LARGEST_PLAIN else f"{edge:.4g}"


class OpenTable:
    """A table that was read, and its file; if the file changes, another one is made."""

    def __init__(self, options: Namespace):
        self.options = options
        self._read_state = state_of(options.input)
        table = read_table(options.input, Format.from_request(options))
        cells = table.cells
        names = cells.column_names
        table.format.check_names(names)
        # It is better to say what is wrong with them now.
        self._hierarchies = {*read_hierarchies(options.hierarchies, names, names)}
        description = describe_table(table, shows_rows=not options.no_preview)
        self._hidden = [c["name"] for c in description["columns"] if c["hides_values"]]
        self.source = Source(self.options, cells.column_names)
        self.sample = table.take(draw_records(cells.num_rows, N_SAMPLE))
        self.description = {
            "name": Path(self.options.input).name,
            "folder": str(Path(self.options.input).resolve().parent),
            **description,
            "version": self.source.version,
            "constraints": constraints_to_choose(),
            "settings": self._first_settings(description["columns"]),
        }

    def check_unchanged(self, settings: dict) -> None:
        """Raise RequestError if the file is no longer what was read for some settings."""
        if state_of(self.options.input) != self._read_state:
            text = "{path} has changed since it was read: read it again."
            raise RequestError("changed", text, path=self.options.input)
        # Another page may have read it again. Columns are named by their positions.
        if settings["version"] != self.source.version:
            text = "The columns of {path} have changed since this page read them: read them again."
            raise RequestError("changed", text, path=self.options.input)

    def arguments_of_job(self, what: str, settings: dict) -> tuple:
        """Return the arguments of a job, after what it sends to: see `_jobs`."""
        if what == "export":
            folder = self.source.beside(f".{uuid4().hex}")
            request = request_of(settings, self.source)
            return request, self.source.names, self._read_state, folder
        is_sample = self.description["n_sample"] < self.description["n_records"]
        # Previews do not wait for a long search.
        settings = {**settings, "time_limit": None}
        if is_sample:
            settings["columns"] = self._with_kinds(settings["columns"])
        request = request_of(settings, self.source)
        about = {
            "preview": (is_sample, self._hidden),
            "curve": (self.description["ks"],),
            "certificate": (is_sample, settings["certificate"] or 10.0),
        }[what]
        return self.sample, request, *about

    def _with_kinds(self, columns: list) -> list:
        """What was chosen for columns, with the kinds that the whole table has.

        Those of a sample might be others. A kind that is not clear remains so, and hierarchies make
        columns categorical.
        """
        return [
            column
            if about["problem"] is not None
            or (column["role"] == "quasi_identifier" and about["name"] in self._hierarchies)
            else {**column, "kind": column["kind"] or KINDS_TO_DECLARE.get(about["kind"])}
            for column, about in zip(columns, self.description["columns"], strict=True)
        ]

    def existing(self, settings: dict) -> list:
        names = [settings["release"], settings["report"], settings.get("card")]
        return [n for n in names if n is not None and os.path.lexists(self.source.beside(n))]

    def _first_settings(self, columns: list) -> dict:
        suffix = suffix_of_input(self.options.input)
        name = Path(self.options.input).name
        stem = name[: -len(suffix)] if name.lower().endswith(suffix) else name
        return {
            "version": self.source.version,
            "k": K,
            "method": "aggregate",
            "categories": "mode",
            "weight_release": "keep",
            "columns": [{"role": column["role"], "kind": None, "weight": 1} for column in columns],
            "constraints": dict.fromkeys(CONSTRAINTS),
            "time_limit": None,
            "certificate": None,
            "shuffle": False,
            "release": f"{stem}_release{suffix}",
            "report": f"{stem}_report.html",
            "card": None,
            "overwrite": False,
        }


def state_of(path: str) -> tuple:
    """Return what changes when a file does; raise RequestError if there is no such file."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise cannot_read(path, error) from error
    return state.st_mtime_ns, state.st_size, state.st_ino
