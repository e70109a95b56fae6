import numpy as np
import pandas as pd
import pytest

from sk_microagg import KAIM, TableAggregator
from sk_microagg._cli._arguments import named_columns
from sk_microagg._cli._parser import make_parser
from sk_microagg.files._column_kinds import Column
from sk_microagg.files._declared import Declared
from sk_microagg.files._errors import CommandError
from sk_microagg.files._number_notation import NumberNotation
from sk_microagg.generalization import Hierarchy
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination
from sk_microagg.release._demands import Roles
from sk_microagg.release._estimators import check_method, make_estimator, make_refiner

NUMBER = Column("a", "number", "", np.array([1.0, np.nan]), NumberNotation(2))
TEXT = Column("b", "category", "", np.array(["x", None], dtype=object))
NO_ROLES = Roles(None, pd.DataFrame(), None, pd.DataFrame())


def options_of(*arguments):
    return make_parser().parse_args(["anonymize", "in.csv", "out.csv", *arguments])


def make(*arguments, hierarchies=(), roles=NO_ROLES):
    options = options_of(*arguments)
    declared = Declared.of(named_columns(options, ["a", "b", "empty"]))
    return make_estimator([NUMBER, TEXT], dict(hierarchies), declared, roles, options, verbose=0)


def test_default():
    estimator = make()
    assert isinstance(estimator, TableAggregator)
    usual = TableAggregator(
        quasi_identifiers=["a", "b"], decimals={"a": 2}, random_state=0, n_jobs=-1
    )
    assert estimator.get_params() == usual.get_params()


def test_settings_of_the_user():
    arguments = ["-k", "3", "--builder", "cbfs", "--refiner", "none", "--seed", "7", "--jobs", "2"]
    estimator = make(*arguments, "--weights", "b=2", "--categories", "shares")
    assert (estimator.k, estimator.builder, estimator.refiner) == (3, "cbfs", None)
    assert (estimator.random_state, estimator.n_jobs) == (7, 2)
    assert (estimator.column_weights, estimator.categories) == ({"b": 2.0}, "shares")


def test_roles():
    unit = pd.Series([1, 2], name="person")
    roles = Roles(None, pd.DataFrame({"ill": [0, 1]}), unit, pd.DataFrame({"region": ["n", "s"]}))
    estimator = make(roles=roles)
    assert (estimator.sensitive, estimator.strata) == (["ill"], ["region"])
    assert estimator.unit == "person"


def test_what_is_said_of_empty_columns_has_no_effect():
    tree = Hierarchy.from_nested({"low": ["x"], "high": ["y"]})
    arguments = ["--weights", "b=2,empty=3", "--categorical", "b"]
    estimator = make(*arguments, hierarchies={"b": tree, "empty": tree})
    assert estimator.hierarchies == {"b": tree}
    assert estimator.column_weights == {"b": 2.0}


def test_kaim():
    tree = Hierarchy.from_nested({"low": ["x"], "high": ["y"]})
    estimator = make("--method", "kaim", hierarchies={"b": tree})
    assert isinstance(estimator, KAIM)
    assert (estimator.refiner, estimator.random_state) == ("local_search", 0)
    assert estimator.hierarchies == {"b": tree}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--builder", "mdav"],
        ["--refiner", "exchange"],
        ["--certificate", "3"],
        ["--weights", "a=2"],
        ["--categories", "mode"],
        ["--round", "0"],
        ["--l", "2"],
        ["--t", "0"],
        ["--unit", "a"],
        ["--strata", "a"],
    ],
)
def test_options_that_kaim_does_not_know(arguments):
    check_method(options_of(*arguments))
    with pytest.raises(CommandError, match=rf"^{arguments[0]} .*is not for --method kaim"):
        check_method(options_of("--method", "kaim", *arguments))


@pytest.mark.parametrize("name", ["local_search", "iterated_local_search", "none"])
def test_refiners_for_any_method(name):
    for method in ("aggregate", "kaim"):
        refiner = make("--refiner", name, "--method", method).refiner
        assert refiner == (None if name == "none" else name)


@pytest.mark.parametrize(
    ("method", "name", "kind"),
    [
        ("aggregate", None, Recombination),
        ("aggregate", "iterated_local_search", IteratedLocalSearch),
        ("kaim", None, IteratedLocalSearch),
        ("kaim", "iterated_local_search", IteratedLocalSearch),
    ],
)
def test_time_limit(method, name, kind):
    named = [] if name is None else ["--refiner", name]
    refiner = make("--time-limit", "2.5", "--method", method, *named).refiner
    assert isinstance(refiner, kind)
    assert refiner.time_limit == 2.5


@pytest.mark.parametrize(
    ("name", "kind"), [("annealing", Annealing), ("recombination", Recombination)]
)
def test_time_limit_of_other_searches(name, kind):
    refiner = make("--time-limit", "2.5", "--refiner", name).refiner
    assert isinstance(refiner, kind)
    assert refiner.time_limit == 2.5


@pytest.mark.parametrize("name", ["exchange", "local_search", "none"])
def test_refiners_without_a_time_limit(name):
    with pytest.raises(CommandError, match=f"{name} has no time limit.*iterated_local_search"):
        make_refiner(name, 1.0)
