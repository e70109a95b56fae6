"""What a type checker tells users of the package."""

import importlib.util
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import sk_microagg

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None,
    reason="mypy is not installed: it is one of the linters, which the extra `tests` does not have",
)

RIGHT = """\
from typing import assert_type

import numpy as np
import numpy.typing as npt

from sk_microagg import KAIM, MicroAggregator, TableAggregator, microaggregate
from sk_microagg.builders import MDAV, Builder, Pool
from sk_microagg.datasets import fetch_census
from sk_microagg.tables import Hierarchy
from sk_microagg.metrics import (
    anonymity_level,
    generalization_loss,
    information_loss,
    loss_bound,
    record_linkage,
)
from sk_microagg.plotting import ConvergenceDisplay
from sk_microagg.privacy import LDiversity
from sk_microagg.refiners import Exchange, IteratedLocalSearch, make_chain
from sk_microagg.report import make_report
from sk_microagg.scale import DaskTableAggregator

X = np.random.RandomState(0).normal(size=(20, 3))
diseases = ["flu", "gout", None, "flu"] * 5

aggregator = MicroAggregator(k=5, privacy=LDiversity(l=2), refiner=["decompose", Exchange()])
assert_type(aggregator.fit(X, sensitive=diseases), MicroAggregator)
assert_type(aggregator.labels_, npt.NDArray[np.intp])
assert_type(aggregator.information_loss_, float)
assert_type(aggregator.fit_predict(X), npt.NDArray[np.intp])
assert_type(aggregator.score(X), float)
release = MicroAggregator(scaler=None, builder=MDAV(growth="nc")).set_output(transform="pandas")
print(release.fit_transform(X).columns)  # not of an array

labels = microaggregate(X.tolist(), 5, random_state=np.random.RandomState(0))
assert_type(labels, npt.NDArray[np.intp])
assert_type(information_loss(X, labels), float)
assert_type(anonymity_level(X), int)
assert_type(record_linkage(X, X).linked, float)
assert_type(loss_bound(X, 5, time_limit=1.0), float)
bound, trace = loss_bound(X, 5, return_trace=True)
assert_type(trace, npt.NDArray[np.float64])
assert_type(generalization_loss(X, X, level="cell"), npt.NDArray[np.float64])
assert_type(make_chain(Exchange(), IteratedLocalSearch(time_limit=1)).n_iter_, int)
assert_type(Pool(X).nearest(X[0], 3), npt.NDArray[np.intp])

tree = Hierarchy.from_nested({"A": ["a", "b"], "B": ["c"]})
table = TableAggregator(5, sensitive="stay", decimals={"age": 0}, hierarchies={"ward": tree})
assert_type(table.certificate(X).gap, float)
assert_type(KAIM(k=5, refiner=None).fit(X).n_groups_, int)
assert_type(DaskTableAggregator(k=5).n_blocks_, int)
ConvergenceDisplay.from_estimator(aggregator).ax_.set_title("course of the search")
assert_type(make_report(aggregator, X, X).to_html(), str)
print(fetch_census().feature_names)


class InRowOrder(Builder):
    def _build(self, X: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.intp]:
        return np.minimum(np.arange(len(X)) // k, len(X) // k - 1)


class AnyObject:
    def build(self, X: npt.NDArray[np.float64], k: int) -> list[int]:
        return [0] * len(X)


MicroAggregator(builder=InRowOrder())
MicroAggregator(builder=AnyObject())
"""

# Each line is refused: the parameter that it is about, and the line.
WRONG = {
    "k": 'MicroAggregator(k="five")',
    "builder": "MicroAggregator(builder=5)",
    "block_size": 'MicroAggregator(block_size="large")',
    "privacy": 'MicroAggregator(privacy="l-diversity")',
    "categories": 'TableAggregator(categories="median")',
    "growth": 'MDAV(growth="fast")',
    "labels": "information_loss(X, labels=None)",
    "title": "make_report(None, X, X, title=5)",
}
IMPORTS = """\
from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss
from sk_microagg.report import make_report

X = [[1.0], [2.0]]
"""

PROGRAMS = ["right.py", "wrong.py"]
# Libraries whose types no line of the programs is about: reading them takes half of the time.
CONFIGURATION = """\
[mypy]
[mypy-dask.*,distributed.*,joblib.*]
follow_imports = skip
"""
# What is found is used once.
OPTIONS = ["--strict", "--follow-imports=silent", f"--cache-dir={os.devnull}"]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Messages of mypy --strict about both programs, which are outside the source tree."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "right.py").write_text(RIGHT, encoding="utf-8")
    (folder / "wrong.py").write_text(IMPORTS + "\n".join(WRONG.values()), encoding="utf-8")
    (folder / "mypy.ini").write_text(CONFIGURATION, encoding="utf-8")
    place = str(Path(sk_microagg.__file__).parents[1])
    is_found = place in map(str, map(Path, sys.path))  # not if an import hook builds it
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *OPTIONS, *PROGRAMS],
        cwd=folder,
        env=os.environ | ({} if is_found else {"MYPYPATH": place}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return [line for line in run.stdout.splitlines() if ": error:" in line]


def test_package_says_that_it_has_types():
    assert (files("sk_microagg") / "py.typed").is_file()


@needs_mypy
@pytest.mark.slow
def test_correct_program_passes(errors):
    assert [line for line in errors if not line.startswith("wrong.py:")] == []


@needs_mypy
@pytest.mark.slow
def test_wrong_arguments_are_refused(errors):
    errors = [line for line in errors if line.startswith("wrong.py:")]
    first = IMPORTS.count("\n") + 1
    for number, name in enumerate(WRONG, start=first):
        (error,) = [line for line in errors if line.startswith(f"wrong.py:{number}:")]
        assert f'"{name}"' in error
    assert len(errors) == len(WRONG)
