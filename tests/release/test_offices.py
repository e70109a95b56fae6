"""Files with sampling weights, and constraints on amounts."""

import re

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg.files._messages import RequestError
from sk_microagg.privacy import Dominance, LDiversity, PopulationSize, PPercent
from sk_microagg.release import release_file

pytestmark = pytest.mark.usefixtures("few_steps")

RNG = np.random.default_rng(0)
N = 120
SURVEY = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "income": np.round(RNG.lognormal(8, 0.6, N), 2),
        "change": RNG.integers(-5, 6, N),
        "region": np.where(np.arange(N) % 2, "north", "south"),
        "w": np.round(RNG.lognormal(3, 0.6, N), 1),
    }
)


@pytest.fixture(name="paths")
def paths_of_survey(tmp_path):
    SURVEY.to_csv(tmp_path / "survey.csv", index=False)
    return tmp_path / "survey.csv", tmp_path / "release.csv"


def release_of(paths, **parameters):
    summary = release_file(*map(str, paths), k=4, **parameters)
    return summary, pd.read_csv(paths[1])


def test_totals_of_a_file(paths):
    summary, release = release_of(paths, weight="w", strata=["region"])
    assert list(release) == list(SURVEY)
    for groups in (SURVEY["region"], np.zeros(N)):
        totals = [
            (table["w"] * table["income"]).groupby(groups).sum() for table in (SURVEY, release)
        ]
        weights = [table["w"].groupby(groups).sum() for table in (SURVEY, release)]
        assert (abs(totals[1] - totals[0]) <= 0.005 * weights[0] * (1 + 1e-9)).all()
        assert weights[1].to_numpy() == pytest.approx(weights[0].to_numpy(), rel=1e-12)
    assert release[["age", "income", "change", "region", "w"]].value_counts().min() >= 4
    assert "totals of it times a column" in str(summary)


def test_columns_with_missing_values_are_named(paths):
    with_gaps = SURVEY.astype({"age": float})
    with_gaps.loc[3:9, "age"] = np.nan
    with_gaps.to_csv(paths[0], index=False)
    summary, _ = release_of(paths, weight="w")
    assert "except for age, where values are missing" in " ".join(str(summary).split())


def test_constraints_on_amounts(paths):
    privacy = [Dominance(0.5), PPercent(20), PopulationSize(150)]
    _, release = release_of(paths, weight="w", privacy=privacy)
    labels = release.groupby(list(release)).ngroup()
    for name in ("age", "income"):  # "change" may be negative
        groups = SURVEY[name].groupby(labels)
        assert (groups.max() / groups.sum()).max() <= 0.5
    assert SURVEY["w"].groupby(labels).sum().min() >= 150


@pytest.mark.filterwarnings("ignore:column 'income' comes out unchanged")
def test_a_summary_does_not_tell_the_share_of_one_contributor(paths):
    summary, _ = release_of(paths, sensitive=["income"], privacy=[Dominance(0.5)])
    words = r"income: one contributor has at most 0\.\d of a sum; 0\.5 demanded"
    assert re.search(words, " ".join(str(summary).split()))


@in_one_case(
    ("parameters", "code"),
    [
        ({"privacy": [PopulationSize(50)]}, "needs"),
        ({"privacy": [Dominance(0.5)], "quasi_identifiers": ["region"]}, "no_amounts"),
        ({"privacy": [Dominance(0.5, column="Income")]}, "not_sensitive"),
        ({"weight": "w", "method": "kaim"}, "not_for_method"),
        ({"weight": "w", "sensitive": ["w"]}, "two_roles"),
        ({"weight": "weight"}, "unknown_column"),
    ],
)
def test_bad_requests(paths, parameters, code):
    with pytest.raises(RequestError) as raised:
        release_of(paths, **parameters)
    assert raised.value.code == code
    assert not paths[1].exists()


GENERALIZED = {"release": "generalized", "weight": "w", "strata": ["region"]}


@pytest.mark.slow
@in_one_case("intervals", ["overlapping", "disjoint"])
def test_generalized_values_with_weights(paths, intervals):
    privacy = PopulationSize(150)
    settings = {"intervals": intervals, "privacy": privacy, "overwrite": True}
    summary, release = release_of(paths, **GENERALIZED, **settings)
    names = ["age", "income", "change"]
    classes = release.groupby([*names, "region"])
    assert classes.size().min() >= 4
    assert SURVEY["w"].groupby(classes.ngroup()).sum().min() >= 150
    # The weight is the mean of its class.
    assert classes["w"].nunique().max() == 1 or intervals == "overlapping"
    totals = [table["w"].groupby(SURVEY["region"]).sum() for table in (SURVEY, release)]
    assert totals[1].to_numpy() == pytest.approx(totals[0].to_numpy(), rel=1e-12)
    assert "totals of it are those of the original)" in " ".join(str(summary).split())
    assert summary.to_dict()["weight"]["totals_not_kept"] == names
    if intervals == "disjoint":
        assert summary.to_dict()["method"] == "TableAggregator, global recoding"
        for name in names:  # What a value becomes depends on the value alone.
            assert release[name].groupby(SURVEY[name]).nunique().max() == 1


@in_one_case(
    ("parameters", "code"),
    [
        ({}, "needs"),
        ({"method": "kaim"}, "needs"),
        ({"release": "generalized", "refiner": "none"}, "not_for_method"),
        ({"release": "generalized", "time_limit": 3.0}, "not_for_method"),
        ({"release": "generalized", "column_weights": {"age": 2}}, "not_for_method"),
    ],
)
def test_what_disjoint_intervals_do_not_take(paths, parameters, code):
    with pytest.raises(RequestError) as raised:
        release_of(paths, intervals="disjoint", **parameters)
    assert raised.value.code == code


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame", "ignore:column 'ill'")
@in_one_case("release", ["averages", "generalized"])
def test_out_of_memory_facts_are_those_of_memory(tmp_path, release):
    pytest.importorskip("dask.dataframe")
    table = SURVEY.assign(ill=np.where(np.arange(N) % 3, "flu", "gout"), age=SURVEY["age"] + 0.0)
    table["town"] = np.array(["Bonn", "Ulm", "Aalen"])[np.arange(N) % 5 % 3]
    table.loc[3:9, "age"] = np.nan
    settings = {"weight": "w", "strata": ["region"], "sensitive": ["ill"], "refiner": "none"}
    settings["release"], tmp_path = release, tmp_path / release
    settings["hierarchies"] = str(tmp_path / "trees")
    (tmp_path / "trees").mkdir(parents=True)
    (tmp_path / "trees" / "town.csv").write_text("Bonn;west;*\nUlm;south;*\nAalen;south;*\n")
    settings["privacy"] = [LDiversity(2), Dominance(0.5), PopulationSize(150)]
    table.to_parquet(tmp_path / "survey.parquet", index=False)
    facts = {}
    for engine in ("memory", "dask"):
        paths = tmp_path / "survey.parquet", tmp_path / f"{engine}.parquet"
        summary = release_file(*map(str, paths), k=4, engine=engine, **settings)
        facts[engine] = summary.to_dict()
    for name in ("weight", "dominance", "population_size", "anonymity_level", "groups"):
        assert facts["dask"][name] == facts["memory"][name]
    towns = [facts[engine]["columns"][-1] for engine in facts]
    assert towns[0] == towns[1]
    assert towns[1]["recognized"] == "it has a hierarchy"
    if release == "generalized":
        released = [[each["released"] for each in facts[engine]["columns"]] for engine in facts]
        assert released[0] == released[1]
        assert facts["dask"]["information_loss"] is None  # In memory, it is that per cell.
    else:
        assert facts["dask"]["weight"]["totals_not_kept"] == ["age"]
    assert {one["column"] for one in facts["dask"]["dominance"]} == {"age", "income"}
    releases = [pd.read_parquet(tmp_path / f"{engine}.parquet") for engine in facts]
    pd.testing.assert_frame_equal(*releases, check_dtype=False)
