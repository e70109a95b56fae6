"""Ctrl-C ends a search or a proof, and the release is written; a second one ends the command."""

import itertools
import os
import signal
import subprocess
import sys

import pytest
from marks import in_one_case

from sk_microagg import _table_aggregator
from sk_microagg._bound import bound_of
from sk_microagg._utils._deadline import is_interrupted
from sk_microagg.builders import MDAV
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.refiners._exchange import FinalExchange

COLUMNS = ["count", "size"]
ROLES = ["-q", ",".join(COLUMNS), "--sensitive", "class"]
SEARCH = "interrupted       Ctrl-C ended the search early: the groups are the best found by then\n"
PROOF = (
    "interrupted       Ctrl-C ended the proof early: the certificate is what was proven by then\n"
)


@pytest.fixture
def press_before(monkeypatch):
    """Press Ctrl-C before the first call of a function."""

    def press_before(owner, name):
        function, numbers = getattr(owner, name), itertools.count()

        def pressed(*arguments, **settings):
            if next(numbers) == 0:
                signal.raise_signal(signal.SIGINT)
            return function(*arguments, **settings)

        monkeypatch.setattr(owner, name, pressed)

    return press_before


@pytest.fixture
def search(numbers, tmp_path):
    """Arguments of a command that searches."""
    arguments = ["--refiner", "iterated_local_search"]
    return ["anonymize", numbers, tmp_path / "out.csv", *ROLES, *arguments, "-k", 4, "--jobs", 1]


@pytest.fixture
def certify(numbers, tmp_path):
    """Arguments of a command that proves for longer than a test may take."""
    arguments = ["--refiner", "exchange", "--certificate", 3600]
    return ["anonymize", numbers, tmp_path / "out.csv", *ROLES, *arguments, "-k", 4]


@pytest.fixture(autouse=True)
def a_moment_that_lasts(set_clock):
    """Give exchanges all the time that they need in the moment after Ctrl-C."""
    set_clock(1e-9)


def test_an_interrupted_search_is_released(run, search, press_before, level, tmp_path):
    press_before(IteratedLocalSearch, "_perturb")
    outcome = run(*search)
    assert (outcome.code, outcome.err) == (0, "")
    assert SEARCH in outcome.out
    assert level(tmp_path / "out.csv", COLUMNS) >= 4


def test_an_interrupted_search_for_generalized_groups(run, patients, press_before, level, tmp_path):
    press_before(IteratedLocalSearch, "_perturb")
    output = tmp_path / "out.csv"
    arguments = ["-q", "age,town", "--drop", "id", "--time-limit", 3600, "--method", "kaim"]
    outcome = run("anonymize", patients, output, *arguments)
    assert outcome.code == 0
    assert SEARCH in outcome.out
    assert level(output, ["age", "town"]) >= 5


def test_a_search_to_its_end_is_not_called_interrupted(run, search):
    assert "interrupted" not in run(*search).out


def test_quiet_commands_warn(run, search, press_before):
    press_before(IteratedLocalSearch, "_perturb")
    outcome = run(*search, "--quiet")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == (
        "sk-microagg: warning: Ctrl-C ended the search early: the groups are the best found by "
        "then\n"
    )


@pytest.mark.parametrize(
    ("owner", "name"), [(FinalExchange, "run"), (os, "replace")], ids=["searching", "writing"]
)
def test_a_second_interrupt_leaves_nothing(
    run, search, numbers, press_before, tmp_path, owner, name
):
    press_before(IteratedLocalSearch, "_perturb")
    press_before(owner, name)
    assert run(*search) == (130, "", "sk-microagg: interrupted\n")
    assert list(tmp_path.iterdir()) == [numbers]


def test_an_interrupt_while_building_leaves_nothing(run, search, numbers, press_before, tmp_path):
    press_before(MDAV, "_build")
    assert run(*search) == (130, "", "sk-microagg: interrupted\n")
    assert list(tmp_path.iterdir()) == [numbers]


def test_what_an_interrupted_proof_has_proven_is_kept(run, certify, press_before, level, tmp_path):
    press_before(_table_aggregator, "bound_of")
    outcome = run(*certify)
    assert outcome.code == 0
    assert "error" not in outcome.err
    assert "\ncertificate       " in outcome.out
    assert PROOF in outcome.out
    assert level(tmp_path / "out.csv", COLUMNS) >= 4


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_the_certificate_and_the_report_of_an_interrupted_proof(
    run, certify, monkeypatch, tmp_path
):
    def prove(X, k, time_limit, **settings):
        proven = bound_of(X, k, float("inf"), max_iter=2, **settings)
        signal.raise_signal(signal.SIGINT)
        assert is_interrupted()
        return proven

    monkeypatch.setattr(_table_aggregator, "bound_of", prove)
    outcome = run(*certify, "--report", tmp_path / "report.html")
    assert outcome.code == 0
    assert "above the optimum" in outcome.out
    assert PROOF in outcome.out
    assert "above the optimum" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_second_interrupt_during_the_proof_keeps_the_release(
    run, certify, monkeypatch, numbers, tmp_path
):
    def prove(X, k, time_limit, **settings):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_table_aggregator, "bound_of", prove)
    outcome = run(*certify)
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.endswith("sk-microagg: interrupted\n")
    assert sorted(tmp_path.iterdir()) == sorted([numbers, tmp_path / "out.csv"])


INTERRUPTED_WHEN_IMPORTED = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
sys.meta_path.insert(0, Interrupt())
sys.argv = ["sk-microagg", "demo"]
from sk_microagg.__main__ import main
sys.exit(main())
"""


@pytest.mark.slow
@in_one_case("module", ["sk_microagg.cli", "numpy", "pandas", "pyarrow", "sklearn.base"])
def test_while_the_command_starts(module):
    code = INTERRUPTED_WHEN_IMPORTED.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "sk-microagg: interrupted\n")
