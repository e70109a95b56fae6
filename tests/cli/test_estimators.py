import pandas as pd
import pytest

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._estimators import make_estimator, make_refiner
from sk_microagg._cli._parser import make_parser
from sk_microagg.generalization import Hierarchy
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination

NUMBERS = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
MIXED = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
INCOMPLETE = pd.DataFrame({"a": [1, 2], "b": [0.5, None]})


def make(values, *arguments, hierarchies=()):
    options = make_parser().parse_args(["anonymize", "in.csv", "out.csv", *arguments])
    return make_estimator(values, dict(hierarchies), options, verbose=0)


def test_numbers_without_missing_values_are_averaged():
    estimator = make(NUMBERS)
    assert isinstance(estimator, MicroAggregator)
    usual = MicroAggregator()
    assert (estimator.k, estimator.builder, estimator.refiner) == (5, usual.builder, usual.refiner)
    assert (estimator.random_state, estimator.n_jobs) == (0, -1)


def test_settings_of_the_user():
    arguments = ["-k", "3", "--builder", "cbfs", "--refiner", "none", "--seed", "7", "--jobs", "2"]
    estimator = make(NUMBERS, *arguments)
    assert (estimator.k, estimator.builder, estimator.refiner) == (3, "cbfs", None)
    assert (estimator.random_state, estimator.n_jobs) == (7, 2)


@pytest.mark.parametrize("values", [MIXED, INCOMPLETE])
def test_others_are_generalized(values):
    estimator = make(values)
    assert isinstance(estimator, KAIM)
    assert (estimator.refiner, estimator.random_state) == ("local_search", 0)


def test_numbers_with_a_hierarchy_are_generalized():
    hierarchy = Hierarchy.from_nested({"low": [1], "high": [2]})
    estimator = make(NUMBERS, hierarchies={"a": hierarchy})
    assert isinstance(estimator, KAIM)
    assert estimator.hierarchies == {"a": hierarchy}


@pytest.mark.parametrize(
    ("values", "why"),
    [(MIXED, "column 'b' holds categories"), (INCOMPLETE, "column 'b' has missing values")],
)
@pytest.mark.parametrize("arguments", [["--builder", "mdav"], ["--refiner", "exchange"]])
def test_options_for_numbers_only(values, why, arguments):
    with pytest.raises(CommandError, match=f"{arguments[0]} .*is for columns of numbers.* {why}"):
        make(values, *arguments)


@pytest.mark.parametrize("name", ["local_search", "iterated_local_search", "none"])
def test_refiners_for_any_table(name):
    for values in (NUMBERS, MIXED):
        refiner = make(values, "--refiner", name).refiner
        assert refiner == (None if name == "none" else name)


@pytest.mark.parametrize(
    ("values", "name", "kind"),
    [
        (NUMBERS, None, Recombination),
        (NUMBERS, "iterated_local_search", IteratedLocalSearch),
        (MIXED, None, IteratedLocalSearch),
        (MIXED, "iterated_local_search", IteratedLocalSearch),
    ],
)
def test_time_limit(values, name, kind):
    named = [] if name is None else ["--refiner", name]
    refiner = make(values, "--time-limit", "2.5", *named).refiner
    assert isinstance(refiner, kind)
    assert refiner.time_limit == 2.5


@pytest.mark.parametrize(
    ("name", "kind"), [("annealing", Annealing), ("recombination", Recombination)]
)
def test_time_limit_of_other_searches(name, kind):
    refiner = make(NUMBERS, "--time-limit", "2.5", "--refiner", name).refiner
    assert isinstance(refiner, kind)
    assert refiner.time_limit == 2.5


@pytest.mark.parametrize("name", ["exchange", "local_search", "none"])
def test_refiners_without_a_time_limit(name):
    with pytest.raises(CommandError, match=f"{name} has no time limit.*iterated_local_search"):
        make_refiner(name, 1.0)
