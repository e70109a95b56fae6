"""The table on the page: read once, and again if the file has changed."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from sk_microagg._explore._description import K, describe_table, sampled_rows
from sk_microagg._explore._settings import Source, constraints_to_choose, request_of
from sk_microagg.files._format import Format, cannot_read, suffix_of_input
from sk_microagg.files._messages import RequestError
from sk_microagg.files._table import read_table
from sk_microagg.privacy._registry import CONSTRAINTS
from sk_microagg.release._plan import read_hierarchies

# By the kinds that are recognized, those that can be declared.
KINDS_TO_DECLARE = {
    "number": "number",
    "date": "date",
    "category": "category",
    "boolean": "category",
}


class OpenTable:
    """A table that was read, and the file that it was read from.

    It does not change: if the file has, another one is made.
    """

    def __init__(self, options: Namespace):
        self.options = options
        self._read_state = state_of(options.input)
        table = read_table(options.input, Format.from_request(options))
        cells = table.cells
        self._hierarchies: set[str] = set()
        if options.hierarchies is not None:  # It is better to say what is wrong with them now.
            names = cells.column_names
            self._hierarchies.update(read_hierarchies(options.hierarchies, names, names))
        description = describe_table(table, shows_rows=not options.no_preview)
        self._hidden = [c["name"] for c in description["columns"] if c["hides_values"]]
        self.source = Source(self.options, cells.column_names)
        self.sample = replace(table, cells=cells.take(sampled_rows(cells.num_rows)))
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
        """Return the names of files that would be overwritten."""
        names = [settings["release"], settings["report"]]
        return [n for n in names if n is not None and os.path.lexists(self.source.beside(n))]

    def _first_settings(self, columns: list) -> dict:
        suffix = suffix_of_input(self.options.input)
        stem = Path(self.options.input).name[: -len(suffix)]
        return {
            "version": self.source.version,
            "k": K,
            "method": "aggregate",
            "categories": "mode",
            "columns": [{"role": column["role"], "kind": None, "weight": 1} for column in columns],
            "constraints": dict.fromkeys(CONSTRAINTS),
            "time_limit": None,
            "certificate": None,
            "shuffle": False,
            "release": f"{stem}_release{suffix}",
            "report": f"{stem}_report.html",
            "overwrite": False,
        }


def state_of(path: str) -> tuple:
    """Return what changes when a file does; raise RequestError if there is no such file."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise cannot_read(path, error) from error
    return state.st_mtime_ns, state.st_size, state.st_ino
