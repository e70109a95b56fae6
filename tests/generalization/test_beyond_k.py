"""KAIM under constraints, with units and strata: every group satisfies them, by own count."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.mixed import HIERARCHIES, covers, draw
from marks import in_one_case

from sk_microagg import KAIM
from sk_microagg.privacy import Dominance, LDiversity, TCloseness, UnitShare
from sk_microagg.refiners import IteratedLocalSearch

COLUMNS = ["age", "country", "sex", "income"]
PEOPLE = {"unit": "person"}
REGIONS = {"strata": "region"}
DIVERSE = {"privacy": LDiversity(2)}


@pytest.fixture(name="X", scope="module")
def table():
    X = draw(150)
    rng = np.random.default_rng(0)
    X["person"] = rng.integers(0, 60, len(X))
    X["region"] = rng.choice(["north", "south"], len(X))
    # Those who are alike have the same illness.
    X["illness"] = np.where(X["age"].fillna(50) < 55, "flu", "gout")
    return X


def fitted(X, *, k=4, **parameters):
    roles = {"person": "unit", "region": "strata"}
    drop = [name for name, role in roles.items() if parameters.get(role) != name]
    model = KAIM(k, drop=drop, sensitive="illness", hierarchies=HIERARCHIES, random_state=0)
    model.set_params(**parameters)
    return model, model.fit_transform(X)


@in_one_case("parameters", [{}, PEOPLE, REGIONS, DIVERSE, {**PEOPLE, **REGIONS, **DIVERSE}])
def test_every_class_satisfies_what_is_demanded(X, parameters):
    model, release = fitted(X, **parameters)
    classes = X.assign(**release[COLUMNS]).groupby(
        [*COLUMNS, *([parameters["strata"]] if "strata" in parameters else [])]
    )
    assert classes.size().min() >= 4
    for name in COLUMNS:
        assert all(map(covers, release[name], X[name]))
    groups = X.groupby(model.labels_)
    if "unit" in parameters:
        assert classes["person"].nunique().min() >= 4
        assert groups["person"].nunique().min() >= 4
    if "strata" in parameters:
        assert groups["region"].nunique().max() == 1
    if "privacy" in parameters:
        assert classes["illness"].nunique().min() == 2
        assert groups["illness"].nunique().min() == 2


def test_without_demands_some_group_has_one_illness_and_few_people(X):
    """Otherwise the tests above would show nothing."""
    model, _ = fitted(X)
    groups = X.groupby(model.labels_)
    assert groups["illness"].nunique().min() == 1
    assert groups["person"].nunique().min() < 4
    assert groups["region"].nunique().max() == 2


@in_one_case("privacy", [TCloseness(0.3), [LDiversity(2), TCloseness(0.4)]])
def test_distances_from_the_whole_table(X, privacy):
    model, _ = fitted(X, privacy=privacy)
    share = (X["illness"] == "flu").mean()
    of_groups = (X["illness"] == "flu").groupby(model.labels_).mean()
    most = privacy.t if isinstance(privacy, TCloseness) else 0.4
    assert np.abs(of_groups - share).max() <= most + 1e-9


def test_a_group_that_satisfies_a_constraint_may_not_after_a_merger(X):
    """One person owns so much that many groups must be merged."""
    X = X.assign(wealth=np.where(np.arange(len(X)) == 7, 40.0, 1.0))
    model, _ = fitted(
        X, sensitive="wealth", drop=["person", "region", "illness"], privacy=Dominance(0.4)
    )
    of_groups = X["wealth"].groupby(model.labels_)
    assert (of_groups.max() / of_groups.sum()).max() <= 0.4
    assert model.group_sizes_.max() >= 61


def test_nobody_has_more_than_a_share_of_a_group(X):
    model, _ = fitted(X, unit="person", privacy=UnitShare(0.3))
    rows = X.groupby([model.labels_, "person"]).size()
    sizes = rows.groupby(level=0).transform("sum")
    assert (rows / sizes).max() <= 0.3


def test_new_records_join_groups_of_their_stratum(X):
    model, release = fitted(X, **REGIONS)
    new = X.iloc[::3].assign(person=0)
    joined = model.transform(new)
    rows = {*release[[*COLUMNS, "region"]].itertuples(index=False, name=None)}
    assert {*joined[[*COLUMNS, "region"]].itertuples(index=False, name=None)} <= rows
    again = pickle.loads(pickle.dumps(model)).transform(new)
    pd.testing.assert_frame_equal(again, joined)
    with pytest.raises(ValueError, match=r"^strata: .*, first at positions 0, 1 and 2"):
        model.transform(new.assign(region="west"))


@in_one_case("kind", ["array", "polars"])
def test_tables_of_other_types(X, kind):
    X = X[[*COLUMNS, "region"]]
    expected = KAIM(4, strata="region", random_state=0).fit(X)
    if kind == "polars":
        X, strata = pl.from_pandas(X), "region"
    else:
        X, strata = X.to_numpy(dtype=object), 4
    model = KAIM(4, strata=strata, random_state=0).fit(X)
    assert model.labels_.tolist() == expected.labels_.tolist()


def test_a_search_that_is_repeated_has_no_trace_of_strata(X):
    model, _ = fitted(X, refiner=IteratedLocalSearch(max_iter=5), **REGIONS)
    assert not hasattr(model.refiner_, "trace_")
    assert model.n_iter_ > 0


@in_one_case(
    ("parameters", "message"),
    [
        ({"privacy": LDiversity(3)}, r"^l=3\b"),
        ({"unit": "person", "k": 61}, "unit column 'person'"),
        ({"strata": "illness", "sensitive": None, "privacy": LDiversity(2)}, "^privacy=.*needs"),
        ({"privacy": UnitShare(0.3)}, "^privacy=.*needs units"),
    ],
)
def test_what_no_groups_can_satisfy_is_an_error_before_the_search(X, parameters, message):
    model = KAIM(hierarchies=HIERARCHIES)
    parameters = {"sensitive": "illness", **parameters}
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X)
    assert not [name for name in vars(model) if name.endswith("_")]
