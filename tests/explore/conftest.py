import csv
import json
import os

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the page is an extra")
pytest.importorskip("uvicorn", reason="the page is an extra")

from servers import PATIENT, ends_by_a_signal, serve

from sk_microagg._cli._command_line import arguments_of
from sk_microagg._cli._parser import make_parser
from sk_microagg._explore._page_request import request_of
from sk_microagg._explore._page_table import OpenTable
from sk_microagg._explore._workers import JOBS
from sk_microagg.cli import main


@pytest.fixture(scope="session")
def visits(tmp_path_factory):
    """The made-up table of patients, in a folder of its own."""
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    assert main(["demo", "--write", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def visits_server(visits):
    """A server of that table, which tests leave as it is, in its folder.

    It is killed at the end, in the midst of work, of which nothing stays.
    """
    with serve(visits.name, code=PATIENT, cwd=visits.parent) as server:
        yield server
        if os.name != "nt":
            files = sorted(visits.parent.iterdir())
            ends_by_a_signal(server, "SIGKILL", -9, overwrite=True)
            assert sorted(visits.parent.iterdir()) == files


@pytest.fixture
def write_rows():
    """Write rows to a CSV file; return its path."""

    def write_rows(path, *rows):
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        return path

    return write_rows


@pytest.fixture
def numbers(tmp_path, write_rows):
    """A CSV file of 60 rows: a number of a person, two columns of numbers, and a class."""
    rng = np.random.default_rng(0)
    rows = [[i, rng.integers(0, 100), f"{rng.normal():.3f}", "ab"[i % 2]] for i in range(60)]
    return write_rows(tmp_path / "numbers.csv", ["id", "count", "size", "class"], *rows)


class Explored:
    """A table as it is explored, with jobs that run in this process.

    Parameters
    ----------
    path : path
        The file.

    *options : str
        Options of `explore`.
    """

    def __init__(self, path, *options):
        options = make_parser().parse_args(["explore", str(path), *map(str, options)])
        self.table = OpenTable(options)
        self.description = self.table.description
        self.names = self.table.source.names
        self.messages = []

    def settings(self, roles=None, kinds=None, **changes):
        """The settings to begin with, with other roles and kinds by names, and other changes."""
        columns = [dict(column) for column in self.description["settings"]["columns"]]
        for key, chosen in (("role", roles), ("kind", kinds)):
            for name, value in (chosen or {}).items():
                columns[self.names.index(name)][key] = value
        constraints = {
            name: changes.pop(name, None) for name in self.description["settings"]["constraints"]
        }
        settings = {**self.description["settings"], "columns": columns}
        return {**settings, "constraints": constraints, **changes}

    def run(self, what, *given, **changes):
        """Do a job with settings; return its result."""
        settings = self.settings(*given, **changes)
        result = JOBS[what](self.messages.append, *self.table.arguments_of_job(what, settings))
        return json.loads(json.dumps(result, allow_nan=False))

    def command(self, *given, **changes):
        """The arguments of the command line that does the same."""
        request = request_of(self.settings(*given, **changes), self.table.source)
        return arguments_of(request, self.names)


@pytest.fixture
def explored():
    return Explored
