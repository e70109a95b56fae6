"""Reports on files: refused before the release if they cannot be made; all that they say of it."""

import hashlib
import json
import re

import jsonschema
import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.cli import main
from sk_microagg.metrics import joint_anonymity, population_risk
from sk_microagg.privacy import Dominance, LDiversity, PPercent
from sk_microagg.release import ReleaseRequest, release_file
from sk_microagg.release._release import Progress
from sk_microagg.report import make_report, report_schema

pytestmark = [
    pytest.mark.usefixtures("few_steps", "facts_only"),
    pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups"),
]

K = 4
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(80),
        "age": RNG.normal(50, 9, 80).round(2),
        "income": RNG.uniform(900, 1100, 80).round(),
        "town": RNG.choice(["Bonn", "Ulm"], 80),
        "illness": np.tile(["flu", "gout", "scurvy", "mumps"], 20),
        "salary": RNG.uniform(10, 20, 80).round(1),
        "w": RNG.uniform(20, 60, 80).round(1),
    }
)
COLUMNS = {
    "quasi_identifiers": ["age", "income"],
    "drop": ["id"],
    "sensitive": ["illness", "salary"],
    "refiner": "none",
}


@pytest.fixture(scope="module")
def years(tmp_path_factory):
    """The original and the release of a year, and the people who are left in the next one."""
    folder = tmp_path_factory.mktemp("years")
    old, released, new = (folder / f"{name}.csv" for name in ("old", "old release", "new"))
    PEOPLE[:60].to_csv(old, index=False)
    PEOPLE[20:].assign(age=PEOPLE["age"] + 1).to_csv(new, index=False)
    release_file(ReleaseRequest(old, released, k=K, **COLUMNS), progress=Progress())
    return old, released, new


@pytest.fixture
def documented(tmp_path, years, release):
    """Release the file of this year; return the figures of its report."""

    def documented(**settings):
        path = tmp_path / "report.json"
        settings = {**COLUMNS, "k": K, "report": path, **settings}
        release(years[2], tmp_path / "out.csv", **settings)
        found = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(found, report_schema())
        return found

    return documented


@in_one_case(
    ["settings", "code", "words"],
    [
        ({"scenario": {"reasons": {"aeg": "known"}}}, "unknown_column", "mean 'age'"),
        ({"scenario": {"threshold": 2}}, "bad_scenario", "threshold=2"),
        ({"analysis": ["income ~ aeg"]}, "bad_formula", "'aeg'"),
        ({"analysis": ["illness ~ age"]}, "bad_formula", "'illness', which must hold numbers"),
        ({"analysis": ["income ~ age"], "release": "generalized"}, "not_for_method", "analysis"),
        ({"earlier": [(PEOPLE[["age", "income"]], ["x"] * 80)]}, "bad_input", "nobody of unit"),
        ({"earlier": [(PEOPLE[["age", "income"]], [1] * 79)]}, "bad_input", "each row"),
        ({"earlier": [(PEOPLE[["age"]], [*range(80)])]}, "bad_input", "'income'"),
    ],
)
def test_a_report_that_cannot_be_made_is_refused_first(
    settings, code, words, refused, years, tmp_path
):
    settings = {**COLUMNS, "unit": "id", "report": tmp_path / "r.html", **settings}
    error = refused(years[2], tmp_path / "out.csv", **settings)
    assert error.code == code
    assert words in str(error)


@in_one_case(
    ["pair", "words"],
    [
        (["nowhere.csv", "{release}"], "nowhere.csv"),
        (["{old}", "{broken}"], "broken.csv"),
        (["{others}", "{release}"], "nobody of unit"),
        (["{new}", "{release}"], "they are compared row by row"),
    ],
)
def test_earlier_files_that_cannot_be_used(pair, words, years, tmp_path, capsys):
    old, released, new = years
    (tmp_path / "broken.csv").write_bytes(b'age,income\n"1,2\n3')
    others = tmp_path / "others.csv"
    pd.read_csv(old).assign(id=lambda table: "x" + table["id"].astype(str)).to_csv(others)
    places = {"old": old, "release": released, "new": PEOPLE.to_csv(tmp_path / "new.csv")}
    places |= {"new": tmp_path / "new.csv", "broken": tmp_path / "broken.csv", "others": others}
    before = sorted(tmp_path.iterdir())
    arguments = ["anonymize", new, tmp_path / "out.csv", "-k", K, "--unit", "id"]
    arguments += ["--quasi-identifiers", "age,income", "--report", tmp_path / "r.html"]
    arguments += ["--earlier", *(each.format(**places) for each in pair)]
    assert main([*map(str, arguments)]) == 1
    printed = capsys.readouterr()
    assert words in printed.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_earlier_releases_of_the_command_line(years, tmp_path, capsys):
    old, released, new = years
    output, report = tmp_path / "out.csv", tmp_path / "report.json"
    arguments = ["anonymize", new, output, "-k", K, "--unit", "id", "--refiner", "none"]
    arguments += ["--quasi-identifiers", "age,income", "--sensitive", "illness,salary,town,w"]
    arguments += ["--report", report, "--earlier", old, released]
    assert main([*map(str, arguments)]) == 0
    capsys.readouterr()
    found = json.loads(report.read_text(encoding="utf-8"))
    tables = [pd.read_csv(path)[["age", "income"]] for path in (output, released)]
    level = joint_anonymity(tables, [pd.read_csv(path)["id"] for path in (new, old)])
    assert level < K
    assert found["protection"]["joint_anonymity"] == {"releases": 2, "people": level}
    [verdict] = [each for each in found["verdicts"] if "earlier releases" in each["text"]]
    assert verdict["state"] == "broken"
    assert "--earlier old.csv 'old release.csv'" in found["reproduction"]["code"]
    # The same rows twice, in another order, say nothing new.
    again = ["--earlier", new, output]
    arguments[2] = tmp_path / "again.csv"
    assert main([*map(str, [*arguments[:-3], *again, "--force"])]) == 0
    found = json.loads(report.read_text(encoding="utf-8"))
    people = found["protection"]["joint_anonymity"]["people"]
    assert people == found["protection"]["units_per_group"] >= K
    states = {each["text"]: each["state"] for each in found["verdicts"]}
    text = f"Every combination of rows of all 2 releases is shared by at least {people} people."
    assert states[text] in ("holds", "open")


@pytest.mark.slow
def test_the_checksum_and_the_order_of_rows(documented, tmp_path):
    for shuffle in (False, True):
        found = documented(shuffle=shuffle, overwrite=True)
        checksum = hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest()
        assert found["release"] == {"file": "out.csv", "sha256": checksum, "shuffled": shuffle}
        assert found["method"]["Release file"] == f"out.csv, SHA-256 {checksum}"
        assert found["method"]["Order of rows"].startswith("random" if shuffle else "that of the")


@pytest.mark.slow
def test_weights_and_amounts(documented, years, tmp_path):
    privacy = [Dominance(0.5, column="income"), PPercent(2, column="salary")]
    found = documented(weight="w", privacy=privacy, scenario={"threshold": 0.3})
    released, weights = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(years[2])["w"]
    # An intruder may know the town, which is released unchanged.
    known = released[["age", "income", "town"]]
    for name in ("prosecutor", "journalist", "marketer"):
        risk = getattr(population_risk(known, weights), name)
        for figure in ("largest", "mean"):
            told = found["risk"]["after"][name][figure]["value"]
            assert told == pytest.approx(getattr(risk, figure))
    after = found["risk"]["after"]
    assert after["journalist"]["largest"]["value"] < after["prosecutor"]["largest"]["value"]
    roles = {column["name"]: (column["role"], column["technique"]) for column in found["columns"]}
    assert roles["w"] == ("weight", "released unchanged")
    assert roles["age"] == ("quasi-identifier", "weighted mean of the group")
    assert found["method"]["Weights"].startswith("Sampling weights are released unchanged. ")
    assert "sums of weight × value stay as they are" in found["method"]["Weights"]
    texts = [verdict["text"] for verdict in found["verdicts"]]
    assert any(
        re.fullmatch(r"Column 'income': .* at most 0\.\d\d+ of .*; 0\.5 demanded\.", t)
        for t in texts
    )
    assert any(
        re.match(r"Sensitive column 'salary': .* at least [\d.]+%; 2% demanded\.", t) for t in texts
    )
    assert not any("Dominance" in text or "PPercent" in text for text in texts)
    held = {one["name"]: one["holds"] for one in found["protection"]["constraints"]}
    assert held == {
        "dominance (at most 0.5) of the column 'income'": True,
        "p percent (off by at least 2%) of the sensitive column 'salary'": True,
    }


@pytest.mark.slow
def test_mean_weights_in_a_report(documented):
    found = documented(weight="w", weight_release="mean")
    roles = {column["name"]: (column["role"], column["technique"]) for column in found["columns"]}
    assert roles["w"] == ("weight", "mean of the group")
    assert found["method"]["Weights"].endswith("released unchanged, these sums change.")


@pytest.mark.slow
def test_every_field_of_the_document(documented, years):
    scenario = {
        "recipient": "University of Bonn",
        "justification": "as agreed",
        "reasons": {"age": "known to neighbors", "id": "names people"},
        "reviewed_by": "A. Person",
        "review_date": "2027-06-30",
    }
    old, released, _ = years
    earlier = [(pd.read_csv(released)[["age", "income"]], pd.read_csv(old)["id"].astype(str))]
    found = documented(
        unit="id",
        weight="w",
        privacy=[LDiversity(2, column="illness")],
        scenario=scenario,
        analysis=["income ~ age", "salary ~ age + town"],
        earlier=earlier,
        certificate=0.1,
        shuffle=True,
    )
    missing = {name for name, value in found.items() if value is None}
    assert missing == set()
    for part in ("release", "scenario", "certificate"):
        assert None not in found[part].values()
    assert found["protection"]["joint_anonymity"]["releases"] == 2
    assert [each["why_not"] for each in found["analyses"]] == [None, None]
    reasons = {column["name"]: column["reason"] for column in found["columns"]}
    assert (reasons["age"], reasons["id"]) == ("known to neighbors", "names people")


@pytest.mark.slow
def test_risks_in_the_population_are_on_the_page_without_a_scenario():
    settings = {"k": K, "refiner": None, "drop": ["id"], "sensitive": ["illness", "salary"]}
    weighted, plain = TableAggregator(**settings, weight="w"), TableAggregator(**settings)
    risk = population_risk(weighted.fit_transform(PEOPLE)[["age", "income", "town"]], PEOPLE["w"])
    page = Reader(make_report(weighted, PEOPLE, weighted.fit_transform(PEOPLE)).to_html())
    shown, about = page.row("Journalist")
    assert shown == percent(risk.journalist.largest)
    assert f"In the mean: {percent(risk.journalist.mean)}." in about
    page = Reader(make_report(plain, PEOPLE, plain.fit_transform(PEOPLE)).to_html())
    assert not any(row[:1] == ["Journalist"] for row in page.rows)


@pytest.mark.slow
def test_earlier_releases_in_python():
    aggregator = TableAggregator(k=K, refiner=None, unit="id", quasi_identifiers=["age", "income"])
    release = aggregator.fit_transform(PEOPLE)
    others = release[["income", "age"]].sample(frac=1.0, random_state=0)
    for earlier, people in (
        ([(others, PEOPLE["id"][others.index])], K),
        ([(PEOPLE, PEOPLE["id"])], 1),
        ([(release[["age", "income"]].to_numpy(), PEOPLE["id"].astype(str))], K),
    ):
        found = make_report(aggregator, PEOPLE, release, earlier=earlier).to_dict()
        assert found["protection"]["joint_anonymity"] == {"releases": 2, "people": people}
        [told] = [each for each in found["verdicts"] if "all 2 releases" in each["text"]]
        assert (told["state"] == "broken") is told["text"].startswith("Not 4-anonymous")
        assert (told["state"] == "broken") is (people < K)
    without = TableAggregator(k=K, refiner=None, drop=["id"]).fit(PEOPLE)
    release = without.fit_transform(PEOPLE)
    with pytest.raises(ValueError, match=r"^earlier needs unit"):
        make_report(without, PEOPLE, release, earlier=[(PEOPLE, PEOPLE["id"])])


@pytest.mark.slow
def test_columns_without_a_value_are_listed(write, tmp_path, release):
    table = PEOPLE[["age", "town"]].assign(room=np.nan)
    aggregator = TableAggregator(k=K, refiner=None)
    write("in.csv", table.to_csv(index=False))
    settings = {"k": K, "refiner": "none", "report": tmp_path / "report.json"}
    release(tmp_path / "in.csv", tmp_path / "out.csv", **settings)
    in_python = make_report(aggregator, table, aggregator.fit_transform(table)).to_dict()
    for found in (json.loads((tmp_path / "report.json").read_text(encoding="utf-8")), in_python):
        columns = {column["name"]: column for column in found["columns"]}
        assert [*columns] == ["age", "town", "room"]
        assert columns["room"]["role"] == columns["age"]["role"]
        assert columns["room"]["technique"] == "none: all cells are missing"


@pytest.mark.parametrize("name", ["self", "other", "*", "a b", ""])
def test_a_column_of_any_name_in_an_analysis(tmp_path, name):
    """A name is text, and no keyword of a function."""
    path, report = tmp_path / "in.csv", tmp_path / "report.json"
    PEOPLE.rename(columns={"salary": name}).to_csv(path, index=False)
    settings = {**COLUMNS, "sensitive": ["illness", name], "k": K, "analysis": ["income ~ age"]}
    release_file(path, tmp_path / "out.csv", report=report, progress=Progress(), **settings)
    assert "income ~ age" in report.read_text()


@pytest.mark.parametrize("output", ["out.csv", "-"])
def test_a_report_that_fails_leaves_no_release(tmp_path, years, monkeypatch, capsys, output):
    def fail(*arguments, **about):
        raise RuntimeError("a bug")

    monkeypatch.setattr("sk_microagg.report.make_report", fail)
    output = output if output == "-" else tmp_path / output
    report = tmp_path / "report.json"
    with pytest.raises(RuntimeError, match="a bug"):
        release_file(years[2], output, k=K, report=report, progress=Progress(), **COLUMNS)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


def test_a_report_that_fails_leaves_no_release_of_a_series(tmp_path, years, monkeypatch):
    def fail(*arguments, **about):
        raise RuntimeError("a bug")

    monkeypatch.setattr("sk_microagg.report.make_report", fail)
    columns = {"quasi_identifiers": ["age", "income"], "unit": "id", "k": K}
    files = {"series": tmp_path / "state", "report": tmp_path / "report.json"}
    files |= {"series_begin": True, "progress": Progress()}
    with pytest.raises(RuntimeError, match="a bug"):
        release_file(years[2], tmp_path / "out.csv", **files, **columns)
    assert list(tmp_path.iterdir()) == []


def test_people_who_are_alone_in_all_releases_are_warned_of(years, tmp_path, capsys):
    """Each of the releases is 4-anonymous; the summary, its JSON and warnings say what both are."""
    old, released, new = years
    arguments = ["anonymize", new, tmp_path / "out.csv", "-k", K, "--unit", "id", "--force"]
    arguments += ["-q", "age,income", "--sensitive", "illness,salary,town,w", "--refiner", "none"]
    arguments += ["--earlier", old, released]
    warning = "sk-microagg: warning: together with the earlier releases, only "

    def run(*more):
        assert main([*map(str, (*arguments, *more))]) == 0
        return capsys.readouterr()

    printed = run()
    level = int(re.search(r"joint anonymity   (\d)  \(people who share their", printed.out)[1])
    assert level < K <= int(re.search(r"anonymity level   (\d+)", printed.out)[1])
    assert warning + f"{level} " in printed.err
    assert "Use --series from the first release on" in printed.err
    quiet = run("--quiet")
    assert warning in quiet.err
    assert quiet.out == ""
    in_json = run("--json")
    assert json.loads(in_json.out.splitlines()[-1])["joint_anonymity"] == level
    assert "joint_anonymity" in {json.loads(line)["code"] for line in in_json.err.splitlines()}
    # The same release once more tells nothing new.
    same = [*arguments[:-2], new, tmp_path / "same.csv"]
    assert main([*map(str, ["anonymize", new, tmp_path / "same.csv", *arguments[3:-3]])]) == 0
    capsys.readouterr()
    assert main([*map(str, same)]) == 0
    assert warning not in capsys.readouterr().err


def test_a_reason_for_a_column_without_values(tmp_path):
    """The column is there, and has nothing that a reason could be for."""
    path = tmp_path / "in.csv"
    PEOPLE.assign(note="").to_csv(path, index=False)
    settings = {**COLUMNS, "quasi_identifiers": ["age", "note"], "progress": Progress()}
    settings |= {"report": tmp_path / "r.html", "scenario": {"reasons": {"note": "for later"}}}
    with pytest.raises(ValueError, match="has a reason for 'note', whose values are all missing"):
        release_file(path, tmp_path / "out.csv", k=K, **settings)


def test_who_knows_only_the_population_finds_one_of_it(tmp_path):
    """Who has many rows of a group is found by those who know who is in the sample, not by others.

    With weights, people of a register are many times those of the sample, with and without units.
    """
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), rng.integers(1, 4, 60))
    frame = pd.DataFrame({"id": people, "age": rng.normal(50, 9, 60).round()[people]})
    frame.assign(w=40.0).to_csv(tmp_path / "in.csv", index=False)
    settings = {"quasi_identifiers": ["age"], "weight": "w", "k": K, "unit": "id"}
    settings |= {"scenario": {}, "report": tmp_path / "r.json", "progress": Progress()}
    release_file(tmp_path / "in.csv", tmp_path / "out.csv", **settings)
    after = json.loads((tmp_path / "r.json").read_text())["risk"]["after"]
    assert after["prosecutor"]["largest"]["value"] > 0.25
    for name in ("journalist", "marketer"):
        assert after[name]["largest"]["value"] < 0.05
        assert after[name]["mean"]["value"] < 0.05
