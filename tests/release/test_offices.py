"""Files with sampling weights, and constraints on amounts."""

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg.files._messages import RequestError
from sk_microagg.metrics import dominance, p_percent
from sk_microagg.privacy import Dominance, LDiversity, PopulationSize, PPercent
from sk_microagg.release import release_file
from sk_microagg.release._release import Progress

pytestmark = [
    pytest.mark.usefixtures("few_steps"),
    pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups"),
]

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
    summary, release = release_of(paths, weight="w", strata=["region"], sensitive=["change"])
    assert list(release) == list(SURVEY)
    assert release[["w", "change"]].equals(SURVEY[["w", "change"]])
    for groups in (SURVEY["region"], np.zeros(N)):
        totals = [(table["w"] * table["age"]).groupby(groups).sum() for table in (SURVEY, release)]
        weights = SURVEY["w"].groupby(groups).sum()
        assert (abs(totals[1] - totals[0]) <= 0.5 * weights * (1 + 1e-9)).all()
    assert release[["age", "income", "region"]].value_counts().min() >= 4
    facts = summary.to_dict()
    assert facts["unchanged"] == ["change", "region", "w"]
    assert facts["weight"] == {
        "column": "w",
        "release": "keep",
        "totals_not_kept": [],
        "changes": [],
    }
    words = " ".join(str(summary).split())
    assert "released unchanged; its total and those of unchanged columns are exact" in words


def crash_victims(n=1500):
    """A survey like nassCDS: crashes with deaths are drawn nearly all, and others rarely."""
    rng = np.random.default_rng(0)
    is_dead = rng.random(n) < 0.07
    return pd.DataFrame(
        {
            "age": rng.integers(16, 98, n),
            "speed": rng.choice(["below 25", "25 to 40", "40 to 55", "above 55"], n),
            "year": rng.integers(1997, 2003, n),
            "severity": np.where(is_dead, 4, rng.integers(0, 4, n)),
            "dead": np.where(is_dead, "yes", "no"),
            "weight": np.where(is_dead, rng.lognormal(3, 0.7, n), rng.lognormal(5.6, 1, n)).round(
                3
            ),
        }
    )


def totals_of_victims(table):
    dead = table["weight"][table["dead"] == "yes"].sum()
    return dead, (table["weight"] * table["severity"]).sum()


@pytest.mark.filterwarnings("ignore:mean weights change", "ignore:The inplace keyword")
@in_one_case("engine", ["memory", "dask"])
def test_what_mean_weights_do_to_totals_of_unchanged_columns(tmp_path, engine):
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
    victims, folder = crash_victims(), tmp_path / engine
    folder.mkdir()
    paths = folder / "in.parquet", folder / "out.parquet"
    victims.to_parquet(paths[0], index=False)
    roles = {"weight": "weight", "strata": ["year"], "sensitive": ["severity", "dead"]}
    settings = {**roles, "engine": engine, "refiner": "none", "overwrite": engine == "memory"}
    progress = Progress()
    changed = release_file(*map(str, paths), weight_release="mean", progress=progress, **settings)
    before, after = map(totals_of_victims, (victims, pd.read_parquet(paths[1])))
    assert after[0] > 5 * before[0]
    facts = {each["column"]: each for each in changed.to_dict()["weight"]["changes"]}
    assert set(facts) == {"year", "severity", "dead"}
    assert (facts["dead"]["value"], facts["severity"]["value"]) == ("yes", None)
    for name, *totals in zip(("dead", "severity"), before, after, strict=True):
        assert [facts[name][key] for key in ("before", "after")] == pytest.approx(totals)
        assert facts[name]["change"] == pytest.approx(totals[1] / totals[0] - 1)
    assert facts["year"]["change"] < 5e-4
    told = [message.in_words() for message in changed.warnings if message.code == "totals"]
    assert len(told) == 1
    assert "dead" in told[0]
    assert "year" not in told[0]
    assert told[0].endswith("pass weight_release='keep'")
    kept = release_file(paths[0], folder / "kept.parquet", progress=Progress(), **settings)
    assert totals_of_victims(pd.read_parquet(folder / "kept.parquet")) == before
    assert not any(message.code == "totals" for message in kept.warnings)


def test_a_kept_weight_is_no_identifier_of_its_own(paths):
    """One warning says that weights may be known; they single nobody out besides."""
    summary, _ = release_of(paths, weight="w", sensitive=["income", "change"], strata=["region"])
    assert sum("weight" in message.in_words() for message in summary.warnings) == 2
    assert "w" not in summary.to_dict()["singled_out"]["columns"]
    assert summary.to_dict()["singled_out"]["unique_with_release"] == 0


def test_columns_with_missing_values_are_named(paths):
    with_gaps = SURVEY.astype({"age": float})
    with_gaps.loc[3:9, "age"] = np.nan
    with_gaps.to_csv(paths[0], index=False)
    summary, _ = release_of(paths, weight="w")
    assert "except for rounding and for age, where values are missing" in " ".join(
        str(summary).split()
    )


def test_constraints_on_amounts(paths):
    privacy = [Dominance(0.5), PPercent(20), PopulationSize(150)]
    _, release = release_of(paths, weight="w", privacy=privacy)
    labels = release.drop(columns="w").groupby(["age", "income", "change", "region"]).ngroup()
    for name in ("age", "income"):  # "change" may be negative
        groups = (SURVEY["w"] * SURVEY[name]).groupby(labels)
        assert (groups.max() / groups.sum()).max() <= 0.5
        assert p_percent(labels, SURVEY[name], weight=SURVEY["w"]) >= 20 * (1 - 1e-9)
    assert SURVEY["w"].groupby(labels).sum().min() >= 150


@pytest.mark.filterwarnings("ignore:column 'income' comes out unchanged")
def test_a_summary_tells_the_largest_share_of_one_contributor(paths):
    summary, release = release_of(paths, sensitive=["income"], privacy=[Dominance(0.5)])
    figure = dominance(release.drop(columns="income"), release["income"])
    assert summary.to_dict()["dominance"][0]["figure"] == pytest.approx(figure)
    words = f"income: one contributor has at most {figure:.3g} of a sum; 0.5 demanded"
    assert words in " ".join(str(summary).split())


@in_one_case(
    ("parameters", "code"),
    [
        ({"privacy": [PopulationSize(50)]}, "needs"),
        ({"privacy": [Dominance(0.5)], "quasi_identifiers": ["region"]}, "no_amounts"),
        ({"privacy": [Dominance(0.5, column="Income")]}, "not_sensitive"),
        ({"weight": "w", "method": "kaim"}, "not_for_method"),
        ({"weight": "w", "sensitive": ["w"]}, "two_roles"),
        ({"weight": "weight"}, "unknown_column"),
        ({"weight": "w", "categories": "shares"}, "shares_with_weight"),
        ({"weight_release": "mean"}, "needs"),
        ({"weight": "w", "weight_release": "drop"}, "bad_value"),
    ],
)
def test_bad_requests(paths, parameters, code):
    with pytest.raises(RequestError) as raised:
        release_of(paths, **parameters)
    assert raised.value.code == code
    assert not paths[1].exists()


GENERALIZED = {"release": "generalized", "weight": "w", "strata": ["region"]}
GENERALIZED["weight_release"] = "mean"


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
    assert totals[1].to_numpy() == pytest.approx(totals[0].to_numpy(), rel=5e-4)
    assert "released as the mean of its group)" in " ".join(str(summary).split())
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
    settings["weight_release"] = "keep" if release == "averages" else "mean"
    table.to_parquet(tmp_path / "survey.parquet", index=False)
    facts = {}
    for engine in ("memory", "dask"):
        paths = tmp_path / "survey.parquet", tmp_path / f"{engine}.parquet"
        summary = release_file(*map(str, paths), k=4, engine=engine, **settings)
        facts[engine] = summary.to_dict()
    for name in ("weight", "anonymity_level", "groups"):
        assert facts["dask"][name] == facts["memory"][name]
    # On Dask, figures of groups travel with the model, which is coarse.
    for name, is_above in (("dominance", True), ("population_size", False)):
        for coarse, exact in zip(facts["dask"][name], facts["memory"][name], strict=True):
            figures = exact["figure"], coarse["figure"]
            assert figures == tuple(sorted(figures, reverse=not is_above))
            assert coarse | {"figure": None} == exact | {"figure": None}
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
