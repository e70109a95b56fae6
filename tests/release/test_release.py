"""Releases of tables in memory: k-anonymous, otherwise unchanged, and what the estimators say."""

import csv
import gzip
import re
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import exact_means

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.privacy import LDiversity
from sk_microagg.release import RequestError, _release, release_file

pytestmark = pytest.mark.usefixtures("few_steps")

NUMERIC = ["age", "height"]
MIXED = ["age", "town", "height", "weight"]


def codes_of(summary):
    return [message.code for message in summary.warnings]


@pytest.mark.parametrize("columns", [NUMERIC, MIXED, ["town"], ["weight"]])
@pytest.mark.parametrize("k", [2, 5, 54])
def test_release_is_k_anonymous_and_other_columns_are_unchanged(
    release, patients, tmp_path, cells, level, columns, k
):
    output = tmp_path / "out.csv"
    summary = release(patients, output, k=k, quasi_identifiers=columns, drop=["id"])
    if k == 54 and "town" in columns:
        line = "Column 'town' has mostly values that fewer than 54 people"
        assert any(str(message).startswith(line) for message in summary.warnings)
    # Together with the anonymized columns, the note singles people out, unless all are in a group.
    assert ("singled_out" in codes_of(summary)) == (columns != MIXED or k < 54)
    before, after = cells(patients), cells(output)
    assert list(after) == [name for name in before if name != "id"]
    for name in set(after) - set(columns):
        assert after[name] == before[name]
    assert level(output, columns) >= k


def test_all_columns_by_default(release, patients, tmp_path, level):
    output = tmp_path / "out.csv"
    summary = release(patients, output, k=3, drop=["id", "note"])
    assert summary.to_dict()["anonymized"] == MIXED
    assert level(output, MIXED) >= 3


def test_summary(release, patients, tmp_path):
    output = tmp_path / "out.csv"
    facts = release(patients, output, quasi_identifiers=NUMERIC, drop=["id"]).to_dict()
    assert (facts["records"], facts["anonymized"]) == (54, NUMERIC)
    assert facts["unchanged"] == facts["singled_out"]["columns"] == ["note", "town", "weight"]
    assert facts["singled_out"]["unique_with_release"] == 50 / 54
    assert facts["method"] == "TableAggregator, builder mdav, refiner auto"
    assert (facts["groups"], facts["smallest_group"], facts["anonymity_level"]) == (10, 5, 5)
    assert 0 < facts["information_loss"] < 1
    assert facts["seconds"] > 0
    assert facts["written"] == str(output)


def test_summary_of_one_column(release, patients, tmp_path):
    settings = {"refiner": "annealing", "time_limit": 60, "quasi_identifiers": ["age"]}
    summary = release(patients, tmp_path / "out.csv", **settings)
    assert summary.facts["method"] == "TableAggregator, builder optimal_1d, refiner none"


def test_numbers_are_those_of_the_estimator(release, patients, tmp_path):
    output = tmp_path / "out.csv"
    release(patients, output, quasi_identifiers=NUMERIC, k=4)
    means = MicroAggregator(k=4).fit_transform(pd.read_csv(patients)[NUMERIC])
    written = pd.read_csv(output)
    np.testing.assert_array_equal(written["age"], means[:, 0].round())
    np.testing.assert_array_equal(written["height"], means[:, 1].round(2))


@exact_means
def test_groups_of_numbers_are_those_of_micro_aggregator(release, patients, tmp_path):
    output = tmp_path / "out.csv"
    release(patients, output, quasi_identifiers=NUMERIC, k=4, decimals=12)
    labels = MicroAggregator(k=4).fit(pd.read_csv(patients)[NUMERIC]).labels_
    written = pd.read_csv(output).groupby(NUMERIC).ngroup().to_numpy()
    np.testing.assert_array_equal(np.equal.outer(written, written), np.equal.outer(labels, labels))


def test_mixed_columns_are_those_of_the_estimator(release, patients, tmp_path):
    output = tmp_path / "out.csv"
    release(patients, output, quasi_identifiers=MIXED, k=4, random_state=3)
    X = pd.read_csv(patients, na_values="?")[MIXED]
    expected = TableAggregator(k=4, random_state=3).fit_transform(X)
    pd.testing.assert_frame_equal(pd.read_csv(output)[MIXED], expected, check_dtype=False)


def test_generalized_values_are_those_of_kaim(release, patients, tmp_path):
    output = tmp_path / "out.csv"
    settings = {"k": 4, "random_state": 3, "method": "kaim"}
    summary = release(patients, output, quasi_identifiers=MIXED, **settings)
    assert summary.facts["method"] == "KAIM, refiner local_search"
    X = pd.read_csv(patients, na_values="?")[MIXED]
    expected = KAIM(k=4, random_state=3).fit_transform(X)
    written = pd.read_csv(output, dtype=str)
    np.testing.assert_array_equal(written[MIXED], expected)


GENERALIZED = {"numbers": "interval", "categories": "generalize"}


def test_generalized_values_are_those_of_the_groups(release, patients, tmp_path):
    output = tmp_path / "out.csv"
    settings = {"k": 4, "random_state": 3, "release": "generalized"}
    summary = release(patients, output, quasi_identifiers=MIXED, **settings)
    X = pd.read_csv(patients, na_values="?")[MIXED]
    model = TableAggregator(k=4, random_state=3, **GENERALIZED)
    expected = model.fit_transform(X)
    written = pd.read_csv(output, dtype=str)
    np.testing.assert_array_equal(written[MIXED], expected)
    # The exact loss of variance would tell a last number that the intervals hide.
    assert summary.to_dict()["information_loss"] == model.generalization_loss_


@pytest.mark.slow
@pytest.mark.parametrize("method", [{"method": "kaim"}, {"release": "generalized"}])
def test_every_constraint_holds_for_generalized_values(release, write, tmp_path, cells, method):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 120),
            "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 900, 120), "D"),
            "size": rng.choice(["S", "M", "L"], 120),
            "person": rng.integers(0, 40, 120),
            "region": rng.choice(["n", "s"], 120),
        }
    )
    table["ill"] = np.where(table["age"] < 50, "flu", "gout")
    path = write("t.csv", table.to_csv(index=False, date_format="%d/%m/%Y"))
    output = tmp_path / "out.csv"
    roles = {"unit": "person", "strata": ["region"], "sensitive": ["ill"]}
    kinds = {"date": {"born": "%d/%m/%Y"}, "ordinal": {"size": ["S", "M", "L"]}}
    report = {"report": tmp_path / "r.html"}
    release(path, output, k=3, privacy=LDiversity(2), **roles, **kinds, **method, **report)
    released = pd.read_csv(output, dtype=str)
    names = ["age", "born", "size", "region"]
    classes = table.assign(**released[names]).groupby(names)
    assert classes["person"].nunique().min() >= 3
    assert classes["ill"].nunique().min() == 2
    for cell, day in zip(released["born"], table["born"], strict=True):
        ends = [pd.to_datetime(end, format="%d/%m/%Y") for end in cell.strip("[]").split(", ")]
        assert ends[0] <= day <= ends[-1]
    order = {"S": 0, "M": 1, "L": 2}
    for cell, size in zip(released["size"], table["size"], strict=True):
        ends = [order.get(end) for end in cell.strip("[]").split(", ")]
        assert cell == "*" or ends[0] <= order[size] <= ends[-1]


def test_a_file_of_equal_rows_is_released_byte_for_byte(release, write, tmp_path):
    content = "".join(f"{i},2.5,1.10,NA,\n" for i in range(6))
    path = write("t.csv", "id,x,y,z,\n" + content)
    release(path, tmp_path / "out.csv", quasi_identifiers=["x"])
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_same_seed_same_bytes(release, patients, tmp_path):
    for name in ("1.csv.gz", "2.csv.gz"):
        release(patients, tmp_path / name, drop=["id", "note"], random_state=1)
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()


def test_zip_codes_stay_text(release, write, tmp_path, cells):
    rows = [f"{zip_code},{i}" for i, zip_code in enumerate(["01234", "70174", "01067"] * 4)]
    path = write("t.csv", "\n".join(["zip,n", *rows]))
    release(path, tmp_path / "out.csv", k=2, quasi_identifiers=["zip"])
    assert cells(tmp_path / "out.csv")["zip"] == cells(path)["zip"]


@pytest.mark.slow
def test_formats(release, patients, tmp_path, cells):
    outputs = [tmp_path / f"out{s}" for s in (".csv", ".tsv", ".csv.gz", ".parquet")]
    for output in outputs:
        release(patients, output, quasi_identifiers=NUMERIC)
    plain, tabs, compressed, parquet = outputs
    assert gzip.decompress(compressed.read_bytes()) == plain.read_bytes()
    assert cells(tabs, "\t") == cells(plain)
    release(parquet, tmp_path / "again.csv", k=1, quasi_identifiers=NUMERIC)
    assert (tmp_path / "again.csv").read_bytes() == plain.read_bytes()


def test_other_separators(release, write, tmp_path, level):
    path = write("t.csv", "a;b\n" + "".join(f"{i};x,y\n" for i in range(10)))
    output = tmp_path / "out.csv"
    release(path, output, sep=";", quasi_identifiers=["a"])
    assert output.read_text().splitlines()[1].endswith(";x,y")
    assert level(output, ["a"], ";") >= 5


def test_columns_of_any_name(release, write, tmp_path, level):
    path = write("t.csv", 'self,,"a,b"\n' + "".join(f"{i},{i},{i}\n" for i in range(10)))
    release(path, tmp_path / "out.csv")
    assert level(tmp_path / "out.csv", ["self", "", "a,b"]) >= 5


@pytest.mark.parametrize(
    ("settings", "method", "released", "towns"),
    [
        ({}, "refiner auto", "most frequent value", ["Bari", "Rome", "Milan"]),
        (
            {"categories": "generalize"},
            "refiner auto",
            "lowest common node, or * for any value",
            ["south", "*"],
        ),
        (
            {"method": "kaim"},
            "KAIM, refiner local_search",
            "lowest common node, or * for any value",
            ["south", "*"],
        ),
    ],
)
def test_hierarchies(release, patients, tmp_path, cells, level, settings, method, released, towns):
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "town.csv").write_text("Bari;south;*\nRome;south;*\nMilan;north;*\n")
    output = tmp_path / "out.csv"
    settings = {"hierarchies": folder, "quasi_identifiers": ["age", "town"], "k": 20, **settings}
    facts = release(patients, output, **settings).to_dict()
    assert facts["method"].endswith(f"{method}, hierarchies of town")
    _, about = facts["columns"]
    assert (about["recognized"], about["released"]) == ("it has a hierarchy", released)
    assert {*cells(output)["town"]} <= {*towns}
    assert level(output, ["age", "town"]) >= 20


def test_a_value_that_its_hierarchy_lacks(refused, patients, tmp_path):
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "town.csv").write_text("Bari;*\nRome;*\n")
    settings = {"hierarchies": folder, "quasi_identifiers": ["town"], "drop": ["id"]}
    error = refused(patients, tmp_path / "out.csv", **settings)
    assert re.fullmatch(
        r"town: \d+ of 54 cells are no leaves of its hierarchy, first in lines .*\.", str(error)
    )


@pytest.mark.parametrize(
    ("content", "settings", "code", "message"),
    [
        (None, {}, "cannot_read", "No such file"),
        ("", {}, "empty_file", "is empty"),
        (b"\x00\xff\x00", {}, "no_csv", "binary data"),
        ("a,b\n1,2\n3\n", {}, "ragged_rows", "in line 3"),
        ("a,a\n1,2\n", {}, "same_names", "2 columns named 'a'"),
        ("a,b\n1,2\n", {"k": 2}, "bad_input", "k=2 must be at most the number of records"),
        ("a,b\n1,x\n", {"k": 2}, "bad_input", "k=2 must be at most the number of records"),
        (
            "a\n1e999\n1\n",
            {"k": 1},
            "bad_cells",
            "a: 1 of 2 cells is infinite or too large, in",
        ),
        ("a,b\n,\n,\n", {"k": 1}, "all_missing", "all values are missing"),
    ],
)
def test_bad_files(refused, write, tmp_path, content, settings, code, message):
    path = tmp_path / "t.csv" if content is None else write("t.csv", content)
    error = refused(path, tmp_path / "out.csv", **settings)
    assert error.code == code
    assert message in str(error)


def test_nothing_is_written_below_k(refused, numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(_release, "anonymity_level", lambda release: 4)
    error = refused(numbers, tmp_path / "out.csv", quasi_identifiers=["count", "size"])
    assert (error.code, error.facts) == ("not_anonymous", {"level": 4, "k": 5})


def test_an_interrupt_while_writing(release, numbers, tmp_path, monkeypatch):
    def interrupt(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        release(numbers, tmp_path / "out.csv", quasi_identifiers=["count"])
    assert list(tmp_path.iterdir()) == [numbers]


@pytest.mark.slow
def test_a_full_disk(write, tmp_path):
    pytest.importorskip("resource")
    rng = np.random.default_rng(0)
    path = write("t.csv", "x\n" + "".join(f"{x:.17f}\n" for x in rng.normal(size=2000)))
    # The limit begins after all imports, since these may write as well.
    code = """
import resource, sys
from sk_microagg.release import RequestError, release_file
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for output in sys.argv[2:]:
    try:
        release_file(sys.argv[1], output, refiner="none", k=2)
    except RequestError as error:
        print(error)
"""
    outputs = [tmp_path / name for name in ("out.csv", "out.csv.gz", "out.parquet")]
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, path, *outputs],
        capture_output=True,
        text=True,
        check=True,
    )
    for output, line in zip(outputs, done.stdout.splitlines(), strict=True):
        assert line.startswith(f"{output} cannot be written: ")
        assert "File too large" in line
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def fake_report(monkeypatch):
    """A stand-in for the module that writes reports, which records its arguments."""
    module = types.ModuleType("sk_microagg.report")
    module.calls = []

    def make_report(estimator, X, release, **about):
        module.calls.append((X, release, estimator, about))
        return types.SimpleNamespace(save=save)

    def save(path, readers_of):
        with open(path, "w") as file:
            file.write("<html>")

    module.make_report = make_report
    monkeypatch.setitem(sys.modules, "sk_microagg.report", module)
    return module


@pytest.mark.parametrize("columns", [NUMERIC, MIXED])
def test_report(release, patients, tmp_path, fake_report, columns):
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    summary = release(patients, output, quasi_identifiers=columns, drop=["id"], report=report)
    assert summary.to_dict()["report"] == str(report)
    assert "confidential" in str(summary)
    assert report.read_text() == "<html>"
    [(X, released, estimator, about)] = fake_report.calls
    assert about["source"] == "patients.csv"
    assert about["dropped"] == ["id"]
    others = {"id", "age", "note", "town", "height", "weight"} - {"id", *columns}
    assert set(about["unchanged"].columns) == others
    assert list(X.columns) == list(released.columns) == columns
    assert X["age"].tolist() == pd.read_csv(patients)["age"].tolist()
    assert released["age"].tolist() == pd.read_csv(output)["age"].tolist()
    assert estimator.n_groups_ == 10


@pytest.mark.slow
@pytest.mark.usefixtures("small_attacks")
def test_report_as_it_is_written(release, patients, tmp_path):
    pytest.importorskip("sk_microagg.report")
    report = tmp_path / "report.html"
    release(patients, tmp_path / "out.csv", quasi_identifiers=MIXED, report=report)
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_a_report_that_has_no_room_comes_after_the_release(release, numbers, tmp_path, fake_report):
    def fail(path, readers_of):
        raise OSError(28, "No space left on device")

    made = types.SimpleNamespace(save=fail)
    fake_report.make_report = lambda *arguments, **settings: made
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    with pytest.raises(RequestError, match=r"report\.html .*No space left"):
        release(numbers, output, quasi_identifiers=["count"], report=report)
    assert output.exists()


def test_report_without_its_dependencies(refused, numbers, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sk_microagg.report", None)
    report = tmp_path / "report.html"
    error = refused(numbers, tmp_path / "out.csv", quasi_identifiers=["count"], report=report)
    assert (error.code, error.facts["report"].name) == ("missing_extra", "report")


def test_dates_and_booleans_of_parquet(release, tmp_path, level):
    days = pd.date_range("2020-01-01", periods=3).date
    table = pd.DataFrame({"day": [*days] * 4, "ill": [True, False] * 6, "n": range(12)})
    table.to_parquet(tmp_path / "t.parquet")
    output = tmp_path / "out.csv"
    release(tmp_path / "t.parquet", output, quasi_identifiers=["day", "ill"])
    assert level(output, ["day", "ill"]) >= 5
    with open(output, newline="") as file:
        assert [row["n"] for row in csv.DictReader(file)] == [str(n) for n in range(12)]


def test_other_columns_may_hold_anything(release, tmp_path):
    table = pd.DataFrame({"x": range(10), "parts": [[1, 2], [3]] * 5, "raw": [b"a", None] * 5})
    table.to_parquet(tmp_path / "t.parquet")
    output = tmp_path / "out.parquet"
    release(tmp_path / "t.parquet", output, quasi_identifiers=["x"])
    before, after = (pq.read_table(path) for path in (tmp_path / "t.parquet", output))
    assert after.drop_columns("x").equals(before.drop_columns("x"))


def test_the_cell_of_a_single_column_may_be_missing(release, write, tmp_path):
    path = write("t.csv", 'a\n1\n2\n""\n3\n4\n\n')
    release(path, tmp_path / "out.csv", k=2)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 6


def test_metadata_of_a_parquet_file_is_removed(release, tmp_path):
    table = pa.table({"id": ["P1", "P2", "P3", "P4"], "x": [1.0, 2.0, 3.0, 4.0]})
    table = table.replace_schema_metadata({"note": "P1 was dropped"})
    pq.write_table(table, tmp_path / "in.parquet")
    release(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2, drop=["id"])
    assert not pq.read_schema(tmp_path / "out.parquet").metadata


RARE = "a,g\n" + "1,10\n1,40\n" * 2 + "9,70\n" * 4 + "9,20\n"


@pytest.mark.parametrize(
    ("settings", "first", "last"),
    [
        ({"k": 4}, "70", "70"),
        ({"k": 5}, "", ""),
        ({"k": 4, "ordinal": {"g": ["10", "20", "40", "70"]}}, "20", "70"),
        ({"k": 4, "method": "kaim"}, "*", "*"),
    ],
)
def test_ordinals_that_few_records_have_are_not_released(
    release, write, tmp_path, cells, settings, first, last
):
    output = tmp_path / "out.csv"
    release(write("t.csv", RARE), output, **{"ordinal": ["g"], **settings})
    released = cells(output)["g"]
    assert (released[0], released[-1]) == (first, last)


def test_ordinals_that_few_people_have_are_not_released(release, write, tmp_path, cells):
    rows = [f"{g},{person}\n" for g, person in zip("11112222", "aaaabcde", strict=True)]
    path = write("t.csv", "g,person\n" + "".join(rows))
    release(path, tmp_path / "out.csv", k=4, ordinal=["g"], unit="person")
    assert cells(tmp_path / "out.csv")["g"] == ["2"] * 8


def test_ordinals_are_released_as_values(release, write, tmp_path, cells):
    sizes = ["small", "medium", "large"]
    path = write("t.csv", "age,size\n" + "".join(f"{i // 4},{sizes[i // 4]}\n" for i in range(12)))
    release(path, tmp_path / "out.csv", k=12, ordinal={"size": sizes})
    assert cells(tmp_path / "out.csv")["size"] == ["medium"] * 12


@pytest.mark.parametrize(("decimals", "ages"), [(None, "22"), (1, "21.5"), ({"age": -1}, "20")])
@exact_means
def test_rounding(release, write, tmp_path, cells, decimals, ages):
    path = write("t.csv", "age,size\n" + "".join(f"{20 + i},{i}.25\n" for i in range(4)))
    release(path, tmp_path / "out.csv", k=4, decimals=decimals)
    assert cells(tmp_path / "out.csv")["age"] == [ages] * 4


def test_means_are_as_coarse_as_the_gaps_between_values(release, write, tmp_path):
    rows = [f"{i},{i}.25,{i}.5e-7,{1000 + i}" for i in (1, 2, 4)]
    path, output = write("t.csv", "\n".join(["a,b,c,d", *rows, ""])), tmp_path / "out.csv"
    columns = release(path, output, k=3).to_dict()["columns"]
    assert columns[2]["released"] == "mean, rounded to 7 decimals, the gap between its values"
    assert output.read_text() == "a,b,c,d\n" + "2,3.00,3e-07,1002\n" * 3


def test_a_hierarchy_makes_categories(release, refused, write, tmp_path, cells):
    path = write("t.csv", "born\n" + "".join(f"2020-01-0{i // 2 + 1}\n" for i in range(6)))
    (tmp_path / "h").mkdir()
    write("h/born.csv", "".join(f"2020-01-0{day};January;*\n" for day in (1, 2, 3)))
    settings = {"k": 6, "hierarchies": tmp_path / "h"}
    output = tmp_path / "out.csv"
    assert refused(path, output, **settings, date=["born"]).code == "has_hierarchy"
    release(path, output, **settings, categories="generalize")
    assert cells(output)["born"] == ["January"] * 6


def test_a_folder_in_memory(release, refused, tmp_path, level):
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        rows = pd.DataFrame({"age": range(20 + part, 30 + part), "sex": ["f", "m"] * 5})
        rows.to_parquet(folder / f"{part}.parquet")
    release(folder, tmp_path / "out.csv", k=5)
    assert level(tmp_path / "out.csv", ["age", "sex"]) >= 5
    assert len(pd.read_csv(tmp_path / "out.csv")) == 30
    # The release would be a part of the table.
    assert refused(folder, folder / "out.parquet", k=5).code == "inside"


def test_a_card_that_fails_leaves_no_release(write, tmp_path, monkeypatch):
    path = write("t.csv", "\n".join(["x,y", *(f"{i},{i % 3}" for i in range(30)), ""]))

    def fail(*arguments, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sk_microagg.report._card.make_card", fail)
    with pytest.raises(RequestError, match="No space left"):
        release_file(path, tmp_path / "o.csv", k=3, card=tmp_path / "c.html")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.csv"]
