import sys
from collections import namedtuple

import pytest

from sk_microagg.cli import main

Outcome = namedtuple("Outcome", "code out err")


@pytest.fixture
def run(capsys):
    """Run the command line in this process; return its exit code and output."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def fails(run, tmp_path):
    """Run a command that must fail with one line and leave no file; return the line."""

    def fails(*arguments):
        before = sorted(tmp_path.rglob("*"))
        outcome = run(*arguments)
        assert outcome.code == 1
        assert outcome.out == ""
        assert outcome.err.startswith("sk-microagg: error: ")
        assert outcome.err.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return outcome.err.removeprefix("sk-microagg: error: ").rstrip("\n")

    return fails


@pytest.fixture
def command():
    """The arguments that start the command line as a process."""
    return [sys.executable, "-P", "-m", "sk_microagg"]
