"""Sensitive columns, units and strata: what is demanded of groups beyond k holds in the file."""

import re
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from sk_microagg._utils._formatting import in_records, percent
from sk_microagg.files._messages import Option
from sk_microagg.metrics import closeness, homogeneity, unit_share
from sk_microagg.privacy import Constraint, LDiversity, TCloseness, UnitShare
from sk_microagg.release import ReleaseRequest, RequestError
from sk_microagg.release._checks import check_request
from sk_microagg.release._demands import Demands, facts_on_demands

# Dask itself causes this warning with newer versions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
    pytest.mark.usefixtures("few_steps"),
]

KNOWN = ["age", "height"]
every_engine = pytest.mark.parametrize("engine", ["memory", "dask"])


@pytest.fixture(scope="module")
def visits():
    """Visits of 40 patients: one of them has half of the rows."""
    rng = np.random.default_rng(0)
    patients = np.where(np.arange(300) % 2, 0, rng.integers(0, 40, 300))
    return pd.DataFrame(
        {
            "patient": [f"P{number:02d}" for number in patients],
            "age": rng.integers(20, 90, 300),
            "height": rng.normal(170, 8, 300).round(1),
            "ward": rng.choice(["north", "south"], 300),
            "diagnosis": rng.choice(["flu", "gout", "cold", None], 300, p=[0.6, 0.2, 0.1, 0.1]),
            "cost": rng.integers(10, 500, 300),
        }
    )


@pytest.fixture(scope="module")
def source(visits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    visits.to_csv(folder / "visits.csv", index=False)
    visits.to_parquet(folder / "visits.parquet", index=False)
    return {"memory": folder / "visits.csv", "dask": folder / "visits.parquet"}


@pytest.fixture
def anonymize(release, source, tmp_path):
    """Anonymize the visits; return the summary and the release."""

    def anonymize(engine, **settings):
        output = tmp_path / "release.parquet"
        settings = {"quasi_identifiers": KNOWN, **settings}
        summary = release(source[engine], output, engine=engine, **settings)
        return summary, pd.read_parquet(output)

    return anonymize


def groups_of(release, values):
    """The values in each group, by the rows of the release."""
    groups = defaultdict(list)
    for row, value in zip(release[KNOWN].itertuples(index=False), values, strict=True):
        groups[row].append(value)
    return list(groups.values())


@pytest.mark.slow_but_first
@every_engine
def test_diversity(anonymize, visits, engine):
    sensitive = ["diagnosis", "cost"]
    summary, release = anonymize(
        engine, drop=["patient"], sensitive=sensitive, privacy=LDiversity(3)
    )
    assert list(release) == [name for name in visits if name != "patient"]
    # A missing diagnosis is a value of its own.
    values = visits["diagnosis"].fillna("missing")
    assert min(len(set(group)) for group in groups_of(release, values)) == 3
    found = summary.to_dict()
    assert found["sensitive"] == sensitive
    about, other = found["l_diversity"]
    assert about == {"column": "diagnosis", "figure": 3, "demanded": 3}
    assert (other["column"], other["figure"] >= 3) == ("cost", True)
    assert summary.facts["l-diversity"].text[0] == (
        "diagnosis: every group has at least 3 different values; 3 demanded"
    )
    assert found["homogeneity"][0] == "diagnosis: no records are in groups that share one value"


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("engine", "constraint", "line"),
    [
        ("memory", LDiversity(1.55, "entropy"), "the entropy of a group is at least that of "),
        ("dask", LDiversity(2, "recursive", 4), "the largest ratio r1 / (r2 + ...) of a group is "),
    ],
)
def test_kinds_of_diversity(anonymize, visits, engine, constraint, line):
    roles = {"drop": ["patient"], "sensitive": ["diagnosis"]}
    summary, release = anonymize(engine, **roles, privacy=constraint)
    assert summary.facts["l-diversity"].text[0].startswith(f"diagnosis: {line}")
    for group in groups_of(release, visits["diagnosis"].fillna("missing")):
        counts = np.sort(np.unique(group, return_counts=True)[1])[::-1]
        shares = counts / counts.sum()
        if constraint.kind == "entropy":
            assert np.exp(-shares @ np.log(shares)) >= 1.55 - 1e-9
        else:
            assert counts[0] < 4 * counts[1:].sum()


@pytest.mark.slow
@every_engine
def test_closeness_of_text_and_numbers(anonymize, visits, engine):
    roles = {"drop": ["patient"], "sensitive": ["diagnosis", "cost"]}
    summary, release = anonymize(engine, **roles, privacy=TCloseness(0.3))
    shares = visits["diagnosis"].fillna("missing").value_counts(normalize=True)
    for group in groups_of(release, visits["diagnosis"].fillna("missing")):
        there = pd.Series(group).value_counts(normalize=True).reindex(shares.index, fill_value=0)
        assert (there - shares).abs().sum() / 2 <= 0.3 + 1e-12
    worst = closeness(release[KNOWN], visits["cost"], "ordered")
    assert worst <= 0.3
    _, line = summary.facts["t-closeness"].text
    most = float(re.search("is at most (.*); 0.3 demanded", line)[1])
    assert line.startswith("cost: the distance of a group from the table ")
    assert most == pytest.approx(worst, rel=0.005)


@pytest.mark.parametrize(
    ("constraint", "figure", "words"),
    [
        (TCloseness(0.5), 0.43333, "is at most 0.433; 0.5 demanded"),
        (TCloseness(0.3), 0.1 + 0.2, "is at most 0.3; 0.3 demanded"),
        (LDiversity(2, "entropy"), 2.7777, "that of 2.78 equally frequent values; 2 demanded"),
    ],
)
def test_figures_have_three_digits(constraint, figure, words):
    (fact,) = facts_on_demands(None, [constraint], [figure], None, 5).values()
    assert words in fact.text[0]


@pytest.mark.slow_but_first
@every_engine
def test_units(anonymize, visits, engine):
    settings = {"unit": "patient", "k": 4, "sensitive": ["diagnosis", "cost", "ward"]}
    summary, release = anonymize(engine, **settings)
    assert "patient" not in release
    assert min(len(set(group)) for group in groups_of(release, visits["patient"])) == 4
    assert summary.facts["units per group"].text == "4  (different values of patient; 4 demanded)"
    share = percent(unit_share(release[KNOWN], visits["patient"]))
    line = f"at most {share} of the rows of a group belong to one of them"
    assert summary.facts["unit share"].text == line
    [warning] = summary.warnings
    assert (warning.code, warning.column) == ("large_unit", "patient")
    assert (warning.facts["share"], warning.facts["k"]) == (share, 4)
    # The first has a little more than half of all rows, which is not known on Dask.
    (proposed,) = warning.facts["advice"]
    assert (proposed.name, proposed.value) == ("unit_share", 0.55 if engine == "memory" else 0.25)
    assert bool(warning.facts["unless"]) == (engine == "dask")


@pytest.mark.slow_but_first
@every_engine
def test_a_bound_on_the_share_of_one_unit(release, visits, tmp_path, engine):
    people = visits.assign(patient=np.arange(300) % 60).drop(columns=["cost", "ward"])
    people.to_parquet(tmp_path / "people.parquet")
    summary = release(
        tmp_path / "people.parquet",
        tmp_path / "out.parquet",
        quasi_identifiers=KNOWN,
        unit="patient",
        sensitive=["diagnosis"],
        k=4,
        privacy=[UnitShare(0.25), TCloseness(0.5)],
        engine=engine,
    )
    assert [each for each in summary.warnings if each.code != "disclosed"] == []
    written = pd.read_parquet(tmp_path / "out.parquet")
    assert unit_share(written[KNOWN], people["patient"]) == summary.to_dict()["unit_share"] <= 0.25
    line = "at most 25.0% of the rows of a group belong to one of them; 0.25 demanded"
    assert summary.facts["unit share"].text == line
    assert summary.facts["t-closeness"].text[0].endswith("; 0.5 demanded; counted in rows")


@pytest.mark.slow_but_first
@every_engine
def test_a_unit_may_also_be_dropped(anonymize, engine):
    _, release = anonymize(engine, unit="patient", drop=["patient", "ward"])
    assert list(release) == ["age", "height", "diagnosis", "cost"]


@pytest.mark.slow
@every_engine
def test_everything_that_has_no_role_is_anonymized(anonymize, engine):
    roles = {"drop": ["ward"], "unit": "patient", "sensitive": ["diagnosis"]}
    summary, _ = anonymize(engine, **roles, quasi_identifiers=None, privacy=LDiversity(2))
    found = summary.to_dict()
    assert found["anonymized"] == ["age", "height", "cost"]
    assert found["unchanged"] == ["diagnosis"]


@pytest.mark.slow_but_first
@every_engine
def test_strata(anonymize, visits, engine):
    summary, release = anonymize(engine, drop=["patient"], strata=["ward"], k=6)
    assert release["ward"].tolist() == visits["ward"].tolist()
    assert release.groupby([*KNOWN, "ward"]).size().min() == 6
    assert summary.to_dict()["strata"] == ["ward"]
    assert summary.facts["anonymity level"].text == (
        "6  (every combination of the anonymized columns occurs at least this often together with "
        "its stratum)"
    )
    assert not any(line.startswith("ward:") for line in summary.to_dict().get("homogeneity", []))


def test_cells_that_are_written_differently_are_different_strata(refused, write, tmp_path):
    rows = [f"{i},{2 * i},{'a' if i else ' a'}" for i in range(9)]
    path = write("t.csv", "\n".join(["x,y,part", *rows, ""]))
    error = refused(path, tmp_path / "o.csv", strata=["part"], k=2)
    assert "in line 2" in str(error)
    assert "is in a stratum of fewer than k=2" in str(error)


@pytest.mark.slow
@every_engine
def test_all_together(anonymize, visits, engine):
    roles = {"unit": "patient", "strata": ["ward"], "sensitive": ["diagnosis"]}
    summary, release = anonymize(engine, **roles, privacy=[LDiversity(2), TCloseness(0.4)], k=3)
    classes = release[[*KNOWN, "ward"]]
    assert homogeneity(classes, visits["diagnosis"]) == 0
    assert closeness(classes, visits["diagnosis"]) <= 0.4
    assert visits.groupby([release[name] for name in classes])["patient"].nunique().min() >= 3
    assert {"units per group", "l-diversity", "t-closeness"} < summary.facts.keys()


@pytest.mark.slow_but_first
@every_engine
def test_sensitive_columns_without_a_constraint(anonymize, visits, engine):
    summary, release = anonymize(engine, drop=["patient"], sensitive=["diagnosis"], k=3)
    share = homogeneity(release[KNOWN], visits["diagnosis"])
    assert share > 0
    line = f"diagnosis: {in_records(share, 300)} are in groups that share one value"
    assert summary.to_dict()["homogeneity"][0].startswith(line)


@pytest.mark.slow_but_first
@every_engine
def test_only_one_group_is_close_enough(anonymize, engine):
    roles = {"drop": ["patient"], "sensitive": ["cost"]}
    summary, release = anonymize(engine, **roles, privacy=TCloseness(0))
    assert len(release[KNOWN].drop_duplicates()) == 1
    assert str(summary.warnings[-1]).startswith("All records are in one group: no smaller groups")


@every_engine
def test_people_with_several_rows(anonymize, engine):
    dropped = ["patient", "cost", "height"]
    summary, _ = anonymize(engine, drop=dropped, quasi_identifiers=["age"])
    warning, *others = summary.warnings
    assert (warning.code, warning.column) == ("several_rows", "patient")
    assert str(warning) == (
        "patient has 39 different values in 300 rows: if it names people, k counts their rows, not "
        "the people. Pass unit='patient'"
    )
    # Decimals are no names of people.
    assert not any("height" in str(other) for other in others)


@pytest.mark.slow
@every_engine
def test_a_dropped_column_that_names_nobody(anonymize, engine):
    summary, _ = anonymize(engine, drop=["ward", "diagnosis"], unit="patient")
    said = " ".join(map(str, summary.warnings))
    assert "ward" not in said
    assert "diagnosis" not in said


def test_people_with_several_rows_in_mixed_tables(anonymize):
    settings = {"drop": ["patient", "cost", "height", "diagnosis"], "quasi_identifiers": None}
    for method in ("aggregate", "kaim"):
        summary, _ = anonymize("memory", **settings, method=method, overwrite=True)
        words = str(summary.warnings[0])
        assert words.startswith("patient has 39 different values in 300 rows: if it names people")
        assert words.endswith("Pass unit='patient'")


@every_engine
@pytest.mark.parametrize(
    ("settings", "code", "options"),
    [
        ({"privacy": LDiversity(2)}, "needs", {"constraint": "l", "needed": "sensitive"}),
        ({"privacy": TCloseness(0.1)}, "needs", {"constraint": "t", "needed": "sensitive"}),
        ({"privacy": UnitShare(0.1)}, "needs", {"constraint": "unit_share", "needed": "unit"}),
        (
            {"sensitive": ["diagnosis"], "privacy": LDiversity(2), "refiner": "exchange"},
            "refiner",
            {"refiner": "refiner", "constraint": "l"},
        ),
        (
            {"unit": "patient", "refiner": "decompose"},
            "refiner",
            {"refiner": "refiner", "constraint": "unit"},
        ),
    ],
)
def test_refused_before_reading(write, tmp_path, engine, settings, code, options):
    broken = write("broken.parquet", "not Parquet")
    request = ReleaseRequest(broken, tmp_path / "o.parquet", engine=engine, **settings)
    with pytest.raises(RequestError) as caught:
        check_request(request)
    named = {key: o.name for key, o in caught.value.facts.items() if isinstance(o, Option)}
    assert (caught.value.code, named) == (code, options)


@every_engine
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"privacy": LDiversity(5)}, "l=5 must be at most the number of different values in the s"),
        (
            {"unit": "patient", "privacy": UnitShare(0.4)},
            "at_most=0.4 must be at least the largest ",
        ),
        ({"unit": "ward"}, "unit column 'ward': 2 different units, k=5 needs at least 5"),
        (
            {"privacy": LDiversity(2, "recursive", 0.5)},
            "c=0.5 must be above the ratio r1 / (r_2 + ...) of the sensitive column",
        ),
        ({"strata": ["ward"], "k": 200}, "are in strata of fewer than k=200"),
        ({"strata": ["ward"], "unit": "patient", "k": 35}, "as one group. Merge"),
    ],
)
def test_what_a_table_cannot_satisfy(refused, source, tmp_path, engine, settings, message):
    settings = {"quasi_identifiers": KNOWN, "sensitive": ["diagnosis"], **settings}
    error = refused(source[engine], tmp_path / "o.parquet", engine=engine, **settings)
    assert error.code in ("bad_input", "bad_cells")
    assert message in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("strata", [[], ["ward", "floor"]])
def test_same_release_and_summary_on_both_engines(release, visits, tmp_path, strata):
    visits.assign(floor=[1.5, None, 2.5] * 100).to_parquet(tmp_path / "t.parquet")
    roles = {"unit": "patient", "sensitive": ["diagnosis", "cost"], "strata": strata}
    settings = {"quasi_identifiers": KNOWN, "privacy": [LDiversity(2), TCloseness(0.4)], **roles}
    releases, summaries = [], []
    for engine in ("memory", "dask"):
        output = tmp_path / f"{engine}.parquet"
        summary = release(tmp_path / "t.parquet", output, engine=engine, **settings)
        releases.append(pd.read_parquet(output))
        summaries.append(summary.to_dict())
    memory, dask = releases
    pd.testing.assert_frame_equal(memory[KNOWN], dask[KNOWN])
    assert memory["floor"].equals(dask["floor"])
    assert len(summaries[1]["columns"]) == len(KNOWN)
    loss = [summary.pop("information_loss") for summary in summaries]
    assert loss[0] == pytest.approx(loss[1])
    differ = {name for name in summaries[0] if summaries[0][name] != summaries[1][name]}
    # With units, Dask does not measure what unchanged columns single out, and says so.
    assert differ <= {"method", "seconds", "singled_out", "written"}
    assert summaries[0].keys() == summaries[1].keys()


class Concentration(Constraint):
    """At most a share of a group has one value; nothing says that larger figures are worse."""

    def __init__(self, most=0.8, column=None):
        self.most = most
        self.column = column

    def measure(self, values, table):
        return max(np.mean(values == value) for value in values)

    def accepts(self, figure):
        return figure <= self.most


@every_engine
def test_a_constraint_of_a_column_that_is_not_sensitive_is_no_silent_wish(
    refused, visits, tmp_path, engine
):
    """It would be demanded, and nobody would look at it."""
    visits.to_parquet(tmp_path / "t.parquet")
    settings = {"drop": ["patient"], "sensitive": ["diagnosis"], "engine": engine}
    privacy = [LDiversity(2), LDiversity(2, column="ward")]
    output = tmp_path / ("out" if engine == "dask" else "out.csv")
    error = refused(tmp_path / "t.parquet", output, **settings, privacy=privacy)
    assert (error.code, error.column) == ("not_sensitive", "ward")


@pytest.mark.slow
def test_a_constraint_that_has_no_option(release, visits, tmp_path):
    visits.to_csv(tmp_path / "t.csv", index=False)
    settings = {"k": 3, "drop": ["patient"], "sensitive": ["diagnosis"]}
    paths = tmp_path / "t.csv", tmp_path / "out.csv"
    summary = release(*paths, **settings, privacy=Concentration())
    [about] = summary.to_dict()["concentration"]
    assert (about["column"], about["demanded"]) == ("diagnosis", None)
    written = pd.read_csv(paths[1])
    groups = written.fillna("").groupby(["age", "height", "ward", "cost"])["diagnosis"]
    assert groups.agg(lambda values: values.value_counts(normalize=True).iloc[0]).max() <= 0.8


def test_every_group_is_checked_whichever_figure_is_the_worst():
    labels, values = np.array([0, 0, 1, 1]), pd.DataFrame({"ill": ["flu", "gout", "flu", "flu"]})
    nothing = pd.DataFrame(index=range(4))
    demands = Demands([Concentration(column="ill")], values, None, nothing, None, nothing)
    with pytest.raises(RequestError) as caught:
        demands.check(labels, 2)
    assert caught.value.code == "violated"
