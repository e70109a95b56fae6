"""Reports on files: refused before the release if they cannot be made; all that they say of it."""

import hashlib
import json
import re
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from tables.pages import Reader

from sk_microagg import TableAggregator
from sk_microagg.cli import main
from sk_microagg.metrics import joint_anonymity, population_risk
from sk_microagg.privacy import Dominance, LDiversity, PPercent
from sk_microagg.release import ReleaseRequest, release_file
from sk_microagg.release._release import Progress
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps", "facts_only")

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
        schema = files("sk_microagg.report") / "schema.json"
        jsonschema.validate(found, json.loads(schema.read_text(encoding="utf-8")))
        return found

    return documented


@in_one_case(
    ["settings", "code", "words"],
    [
        ({"scenario": {"reasons": {"aeg": "known"}}}, "unknown_column", "mean 'age'"),
        ({"scenario": {"threshold": 2}}, "bad_scenario", "threshold=2"),
        ({"analysis": ["income ~ aeg"]}, "unknown_column", "'aeg'"),
        ({"analysis": ["illness ~ age"]}, "no_number", "'illness', which must hold numbers"),
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
    found = json.loads(report.read_text(encoding="utf-8"))
    tables = [pd.read_csv(path)[["age", "income"]] for path in (output, released)]
    level = joint_anonymity(tables, [pd.read_csv(path)["id"] for path in (new, old)])
    assert level < K
    assert found["protection"]["joint_anonymity"] == {"releases": 2, "people": None}
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
            told = found["risk"]["after"][name][figure]
            assert 0 <= told - getattr(risk, figure) < 0.01 + 1e-9
    after = found["risk"]["after"]
    assert after["journalist"]["largest"] < after["prosecutor"]["largest"]
    roles = {column["name"]: (column["role"], column["technique"]) for column in found["columns"]}
    assert roles["w"] == ("weight", "mean of the group")
    assert roles["age"] == ("quasi-identifier", "weighted mean of the group")
    assert "sums of weight × value stay as they are" in found["method"]["Weights"]
    texts = [verdict["text"] for verdict in found["verdicts"]]
    assert any(
        re.fullmatch(r"Column 'income': .* at most 0\.\d+ of .*; 0\.5 demanded\.", t) for t in texts
    )
    assert any(
        re.match(r"Sensitive column 'salary': .* at least \d+%; 2% demanded\.", t) for t in texts
    )
    assert not any("Dominance" in text or "PPercent" in text for text in texts)
    held = {one["name"]: one["holds"] for one in found["protection"]["constraints"]}
    assert held == {
        "dominance (at most 0.5) of the column 'income'": True,
        "p percent (off by at least 2%) of the sensitive column 'salary'": True,
    }


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
    percents = float(shown.removeprefix("at most ").removesuffix("%"))
    assert 0 <= percents / 100 - risk.journalist.largest < 0.01 + 1e-9
    assert "In the mean: at most " in about
    page = Reader(make_report(plain, PEOPLE, plain.fit_transform(PEOPLE)).to_html())
    assert not any(row[:1] == ["Journalist"] for row in page.rows)


@pytest.mark.slow
def test_earlier_releases_in_python():
    aggregator = TableAggregator(k=K, refiner=None, unit="id", quasi_identifiers=["age", "income"])
    release = aggregator.fit_transform(PEOPLE)
    others = release[["income", "age"]].sample(frac=1.0, random_state=0)
    for earlier, people in (
        ([(others, PEOPLE["id"][others.index])], K),
        ([(PEOPLE, PEOPLE["id"])], None),
        ([(release[["age", "income"]].to_numpy(), PEOPLE["id"].astype(str))], K),
    ):
        found = make_report(aggregator, PEOPLE, release, earlier=earlier).to_dict()
        assert found["protection"]["joint_anonymity"] == {"releases": 2, "people": people}
        [told] = [each for each in found["verdicts"] if "all 2 releases" in each["text"]]
        assert (told["state"] == "broken") is told["text"].startswith("Not 4-anonymous")
        assert (told["state"] == "broken") is (people is None)
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
