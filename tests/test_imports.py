"""What is imported before it is needed: nothing that takes long."""

import os
import subprocess
import sys

import pytest

import sk_microagg
from sk_microagg import KAIM, TableAggregator
from sk_microagg._choices import BUILDERS, FRONTS, REFINERS
from sk_microagg._cli._parser import make_parser
from sk_microagg.builders import BUILDERS as BUILDER_CLASSES
from sk_microagg.privacy._registry import known_constraints
from sk_microagg.refiners import REFINERS as REFINER_CLASSES

HEAVY = {"joblib", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}

RUN = """
import atexit, sys
atexit.register(lambda: print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr))
from sk_microagg.cli import main
sys.exit(main(sys.argv[1:]))
"""


def imported_by(code, *arguments):
    """Exit code, and top-level modules as a new process names them in the last line of stderr."""
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    return done.returncode, {*done.stderr.splitlines()[-1].split()}


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["methods"], 0),
        (["anonymize", "--help"], 0),
        ([], 2),
        (["anonymize", "in.csv", "out.csv", "--t", "3"], 2),
        (["risk", "in.csv", "out.csv", "--quasi", "a"], 2),
    ],
)
def test_the_command_line_answers_without_heavy_packages(arguments, code):
    exit_code, modules = imported_by(RUN, *arguments)
    assert exit_code == code
    assert "argparse" in modules
    assert not modules & HEAVY


def test_the_package_alone_imports_no_other():
    _, modules = imported_by(RUN.split("from")[0] + "import sk_microagg")
    assert "sk_microagg" in modules
    assert not modules & HEAVY


@pytest.mark.slow
def test_public_names_are_there_at_first_use():
    code = """
import sys, sk_microagg
assert {*sk_microagg.__all__, "builders"} <= {*dir(sk_microagg)}
assert sk_microagg.builders.MDAV and "sk_microagg.metrics" not in sys.modules
import sk_microagg.metrics
assert sk_microagg.metrics.sse
import sk_microagg.plotting, sk_microagg.report
assert not {"jinja2", "matplotlib"} & {*sys.modules}
from sk_microagg import *
assert MicroAggregator is sk_microagg.MicroAggregator and sk_microagg.__version__ == __version__
print("done", file=sys.stderr)
"""
    assert imported_by(code) == (0, {"done"})


def test_other_names_are_missing():
    with pytest.raises(AttributeError, match=r"^module 'sk_microagg' has no attribute 'MDAV'$"):
        sk_microagg.MDAV  # noqa: B018


def test_choices_are_those_of_the_classes():
    assert [*BUILDERS] == [*BUILDER_CLASSES]
    assert [*REFINERS] == [*REFINER_CLASSES, "none"]
    assert {name: kind.front for name, kind in known_constraints().items()} == FRONTS


def test_the_help_names_the_defaults_of_the_classes():
    [commands] = (action for action in make_parser()._actions if isinstance(action.choices, dict))
    helps = {action.dest: action.help for action in commands.choices["anonymize"]._actions}
    table = TableAggregator()
    assert helps["builder"].endswith(f"default: {table.builder}")
    assert f"default: {table.refiner}, or {KAIM().refiner} with" in helps["refiner"]
