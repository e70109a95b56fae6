import pandas as pd
import pyarrow as pa
import pytest

from sk_microagg import KAIM, TableAggregator
from sk_microagg.files._columns import Column
from sk_microagg.files._format import Declared
from sk_microagg.files._messages import RequestError
from sk_microagg.files._notations import NumberNotation
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination
from sk_microagg.release import ReleaseRequest
from sk_microagg.release._demands import Demands
from sk_microagg.release._plan import check_method, make_estimator, make_refiner
from sk_microagg.tables import Hierarchy

NUMBER = Column("a", "number", "", pa.chunked_array([[1.0, None]]), NumberNotation(2))
TEXT = Column("b", "category", "", pa.chunked_array([["x", None]]))
NO_DEMANDS = Demands(None, pd.DataFrame(), None, pd.DataFrame(), None, pd.DataFrame())


def request_of(**settings):
    return ReleaseRequest("in.csv", "out.csv", **settings)


def make(*, trees=(), demands=NO_DEMANDS, **settings):
    request = request_of(**settings)
    declared = Declared.from_request(request)
    return make_estimator([NUMBER, TEXT], dict(trees), declared, demands, request, verbose=0)


def test_default():
    estimator = make()
    assert isinstance(estimator, TableAggregator)
    usual = TableAggregator(
        quasi_identifiers=["a", "b"], decimals={"a": "auto"}, random_state=0, n_jobs=-1
    )
    assert estimator.get_params() == usual.get_params()


def test_settings_of_the_user():
    settings = {"k": 3, "builder": "cbfs", "refiner": "none", "random_state": 7, "n_jobs": 2}
    estimator = make(**settings, column_weights={"b": 2}, categories="shares")
    assert (estimator.k, estimator.builder, estimator.refiner) == (3, "cbfs", None)
    assert (estimator.random_state, estimator.n_jobs) == (7, 2)
    assert (estimator.column_weights, estimator.categories) == ({"b": 2.0}, "shares")


def test_roles():
    unit = pd.Series([1, 2], name="person")
    sensitive, strata = pd.DataFrame({"ill": [0, 1]}), pd.DataFrame({"region": ["n", "s"]})
    estimator = make(demands=Demands(None, sensitive, unit, strata, None, pd.DataFrame()))
    assert (estimator.sensitive, estimator.strata) == (["ill"], ["region"])
    assert estimator.unit == "person"


TREE = Hierarchy.from_nested({"low": ["x"], "high": ["y"]})


def test_what_is_said_of_empty_columns_has_no_effect():
    settings = {"column_weights": {"b": 2, "empty": 3}, "categorical": ["b"]}
    estimator = make(**settings, trees={"b": TREE, "empty": TREE})
    assert estimator.hierarchies == {"b": TREE}
    assert estimator.column_weights == {"b": 2.0}


def test_kaim():
    estimator = make(method="kaim", trees={"b": TREE})
    assert isinstance(estimator, KAIM)
    assert (estimator.refiner, estimator.random_state) == ("local_search", 0)
    assert estimator.hierarchies == {"b": TREE}


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ({"builder": "mdav"}, "builder"),
        ({"refiner": "exchange"}, "refiner"),
        ({"certificate": 3.0}, "certificate"),
        ({"column_weights": {"a": 2}}, "column_weights"),
        ({"categories": "mode"}, "categories"),
        ({"decimals": 0}, "decimals"),
    ],
)
def test_parameters_that_kaim_does_not_know(settings, given):
    check_method(request_of(**settings))
    with pytest.raises(RequestError, match="is not for method='kaim'") as caught:
        check_method(request_of(method="kaim", **settings))
    assert caught.value.facts.get("given", caught.value.facts.get("refiner")).name == given
    if given in ("categories", "decimals"):
        with pytest.raises(RequestError, match="is not for release='generalized'"):
            check_method(request_of(release="generalized", **settings))
    else:
        check_method(request_of(release="generalized", **settings))


@pytest.mark.parametrize(
    "settings",
    [{"privacy": LDiversity(2)}, {"privacy": TCloseness(0)}, {"unit": "a"}, {"strata": ["a"]}],
)
def test_constraints_are_for_any_method(settings):
    for method in ({}, {"method": "kaim"}, {"release": "generalized"}):
        check_method(request_of(**settings, **method))


def test_groups_that_are_generalized():
    estimator = make(release="generalized", trees={"b": TREE}, column_weights={"b": 2})
    assert isinstance(estimator, TableAggregator)
    assert (estimator.numbers, estimator.categories) == ("interval", "generalize")
    assert (estimator.hierarchies, estimator.column_weights) == ({"b": TREE}, {"b": 2.0})


@pytest.mark.parametrize("name", ["local_search", "iterated_local_search", "none"])
def test_refiners_for_any_method(name):
    for method in ("aggregate", "kaim"):
        refiner = make(refiner=name, method=method).refiner
        assert refiner == (None if name == "none" else name)


@pytest.mark.parametrize(
    ("method", "name", "kind"),
    [
        ("aggregate", None, Recombination),
        ("aggregate", "iterated_local_search", IteratedLocalSearch),
        ("aggregate", "annealing", Annealing),
        ("aggregate", "recombination", Recombination),
        ("kaim", None, IteratedLocalSearch),
        ("kaim", "iterated_local_search", IteratedLocalSearch),
    ],
)
def test_time_limit(method, name, kind):
    refiner = make(time_limit=2.5, method=method, refiner=name).refiner
    assert isinstance(refiner, kind)
    assert refiner.time_limit == 2.5


@pytest.mark.parametrize("name", ["exchange", "local_search", "none"])
def test_refiners_without_a_time_limit(name):
    with pytest.raises(RequestError, match="iterated_local_search") as caught:
        make_refiner(name, 1.0)
    assert caught.value.facts["refiner"].value == name
