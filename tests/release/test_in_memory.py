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

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.release import _in_memory

NUMERIC = ["age", "height"]
MIXED = ["age", "town", "height", "weight"]


def names(columns):
    return "-q", ",".join(columns)


@pytest.mark.parametrize("columns", [NUMERIC, MIXED, ["town"], ["weight"]])
@pytest.mark.parametrize("k", [2, 5, 54])
def test_release_is_k_anonymous_and_other_columns_are_unchanged(
    run, patients, tmp_path, cells, level, columns, k
):
    output = tmp_path / "out.csv"
    outcome = run("anonymize", patients, output, "-k", k, *names(columns), "--drop", "id")
    assert outcome.code == 0
    if k == 54 and "town" in columns:
        assert "warning: Column 'town' has mostly values that fewer than 54 people" in outcome.err
    is_warned = " are unique by what comes out unchanged" in outcome.err
    # Together with the anonymized columns, the note singles people out, unless all are in a group.
    assert is_warned == (columns != MIXED or k < 54)
    before, after = cells(patients), cells(output)
    assert list(after) == [name for name in before if name != "id"]
    for name in set(after) - set(columns):
        assert after[name] == before[name]
    assert level(output, columns) >= k


def test_all_columns_by_default(run, patients, tmp_path, level):
    output = tmp_path / "out.csv"
    assert run("anonymize", patients, output, "-k", 3, "--drop", "id,note").code == 0
    assert level(output, MIXED) >= 3


def test_summary(run, patients, tmp_path):
    output = tmp_path / "out.csv"
    printed = run("anonymize", patients, output, *names(NUMERIC), "--drop", "id").out
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in printed.splitlines())
    assert facts["records"] == "54"
    together = "all but fewer than 5 records are unique by note, town and weight together with the"
    assert facts["singled out"] == together
    assert facts["anonymized"] == "age, height"
    assert facts["unchanged"] == "note, town, weight"
    assert facts["method"] == "TableAggregator, builder mdav, refiner auto"
    assert facts["groups"] == "10"
    assert facts["smallest group"] == "5"
    assert facts["anonymity level"].startswith("5  ")
    assert re.fullmatch(r"\d\.\d+%", facts["information loss"])
    assert re.fullmatch(r"\d+\.\d", facts["seconds"])
    assert "".join(facts["written"].split()) == "".join(str(output).split())


def test_summary_of_one_column(run, patients, tmp_path):
    options = ["--refiner", "annealing", "--time-limit", "60"]
    printed = run("anonymize", patients, tmp_path / "out.csv", *names(["age"]), *options).out
    assert "TableAggregator, builder optimal_1d, refiner none\n" in printed


def test_quiet(run, patients, tmp_path):
    drop = ["--drop", "id", "--sensitive", "note"]
    outcome = run("anonymize", patients, tmp_path / "out.csv", *names(MIXED), *drop, "--quiet")
    assert outcome == (0, "", "")


def test_numbers_are_those_of_the_estimator(run, patients, tmp_path):
    output = tmp_path / "out.csv"
    run("anonymize", patients, output, *names(NUMERIC), "-k", 4)
    X = pd.read_csv(patients)[NUMERIC]
    release = MicroAggregator(k=4).fit_transform(X)
    written = pd.read_csv(output)
    np.testing.assert_array_equal(written["age"], release[:, 0].round())
    np.testing.assert_array_equal(written["height"], release[:, 1].round(2))


def test_groups_of_numbers_are_those_of_micro_aggregator(run, patients, tmp_path):
    output = tmp_path / "out.csv"
    run("anonymize", patients, output, *names(NUMERIC), "-k", 4, "--round", 12)
    X = pd.read_csv(patients)[NUMERIC]
    aggregator = MicroAggregator(k=4).fit(X)
    written = pd.read_csv(output).groupby(NUMERIC).ngroup().to_numpy()
    np.testing.assert_array_equal(
        np.equal.outer(written, written), np.equal.outer(aggregator.labels_, aggregator.labels_)
    )


def test_mixed_columns_are_those_of_the_estimator(run, patients, tmp_path):
    output = tmp_path / "out.csv"
    run("anonymize", patients, output, *names(MIXED), "-k", 4, "--seed", 3)
    X = pd.read_csv(patients, na_values="?")[MIXED]
    release = TableAggregator(k=4, random_state=3).fit_transform(X)
    pd.testing.assert_frame_equal(pd.read_csv(output)[MIXED], release, check_dtype=False)


def test_generalized_values_are_those_of_kaim(run, patients, tmp_path):
    output = tmp_path / "out.csv"
    arguments = ["-k", 4, "--seed", 3, "--method", "kaim"]
    outcome = run("anonymize", patients, output, *names(MIXED), *arguments)
    assert "KAIM, refiner local_search\n" in outcome.out
    X = pd.read_csv(patients, na_values="?")[MIXED]
    release = KAIM(k=4, random_state=3).fit_transform(X)
    written = pd.read_csv(output, dtype=str)
    np.testing.assert_array_equal(written[MIXED], release)


def test_a_file_of_equal_rows_is_released_byte_for_byte(run, write, tmp_path):
    content = "".join(f"{i},2.5,1.10,NA,\n" for i in range(6))
    path = write("t.csv", "id,x,y,z,\n" + content)
    run("anonymize", path, tmp_path / "out.csv", "-q", "x")
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_same_seed_same_bytes(run, patients, tmp_path):
    for name in ("1.csv.gz", "2.csv.gz"):
        run("anonymize", patients, tmp_path / name, "--drop", "id,note", "--seed", 1)
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()


def test_zip_codes_stay_text(run, write, tmp_path, cells):
    rows = [f"{zip_code},{i}" for i, zip_code in enumerate(["01234", "70174", "01067"] * 4)]
    path = write("t.csv", "\n".join(["zip,n", *rows]))
    run("anonymize", path, tmp_path / "out.csv", "-k", 2, "-q", "zip")
    assert cells(tmp_path / "out.csv")["zip"] == cells(path)["zip"]


@pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz", "out.parquet"])
def test_formats(run, patients, tmp_path, cells, name):
    output = tmp_path / name
    assert run("anonymize", patients, output, *names(NUMERIC)).code == 0
    assert run("anonymize", patients, tmp_path / "out.csv", *names(NUMERIC)).code == 0
    if name.endswith(".gz"):
        assert gzip.decompress(output.read_bytes()) == (tmp_path / "out.csv").read_bytes()
    elif name == "out.tsv":
        assert cells(output, "\t") == cells(tmp_path / "out.csv")
    else:
        again = tmp_path / "again.csv"
        assert run("anonymize", output, again, "-k", 1, *names(NUMERIC)).code == 0
        assert again.read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_other_separators(run, write, tmp_path, level):
    path = write("t.csv", "a;b\n" + "".join(f"{i};x,y\n" for i in range(10)))
    output = tmp_path / "out.csv"
    assert run("anonymize", path, output, "--sep", ";", "-q", "a").code == 0
    assert output.read_text().splitlines()[1].endswith(";x,y")
    assert level(output, ["a"], ";") >= 5


def test_names_with_commas(run, write, tmp_path, level):
    path = write("t.csv", '"a,b",c\n' + "".join(f"{i},x\n" for i in range(10)))
    output = tmp_path / "out.csv"
    assert run("anonymize", path, output, "-q", '"a,b"').code == 0
    assert level(output, ["a,b"]) >= 5


def test_a_column_of_any_name(run, write, tmp_path, level):
    path = write("t.csv", "self,\n" + "".join(f"{i},{i}\n" for i in range(10)))
    assert run("anonymize", path, tmp_path / "out.csv").code == 0
    assert level(tmp_path / "out.csv", ["self", ""]) >= 5


@pytest.mark.parametrize(
    ("arguments", "method", "released", "towns"),
    [
        ([], "refiner auto", "most frequent value\n", ["Bari", "Rome", "Milan"]),
        (["--categories", "generalize"], "refiner auto", "lowest common node", ["south", "*"]),
        (["--method", "kaim"], "KAIM, refiner local_search", "lowest common node", ["south", "*"]),
    ],
)
def test_hierarchies(run, patients, tmp_path, cells, level, arguments, method, released, towns):
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "town.csv").write_text("Bari;south;*\nRome;south;*\nMilan;north;*\n")
    output = tmp_path / "out.csv"
    arguments = ["--hierarchies", folder, "-q", "age,town", "-k", 20, *arguments]
    outcome = run("anonymize", patients, output, *arguments)
    assert outcome.code == 0
    assert f"{method}, hierarchies of town\n" in outcome.out
    assert f"town: category (it has a hierarchy); released: {released}" in outcome.out
    assert {*cells(output)["town"]} <= {*towns}
    assert level(output, ["age", "town"]) >= 20


def test_a_value_that_its_hierarchy_lacks(fails, patients, tmp_path):
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "town.csv").write_text("Bari;*\nRome;*\n")
    arguments = ["--hierarchies", folder, "-q", "town", "--drop", "id"]
    line = fails("anonymize", patients, tmp_path / "out.csv", *arguments)
    assert line == "Column 'town' has a value that is not a leaf of its hierarchy."


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "No such file"),
        ("", [], "is empty"),
        (b"\x00\xff\x00", [], "binary data"),
        ("a,b\n1,2\n3\n", [], "line 3"),
        ("a,a\n1,2\n", [], "2 columns named 'a'"),
        ("a,b\n1,2\n", ["-q", "c"], "the columns are 'a', 'b'"),
        ("a,b\n1,2\n", ["--drop", "a,b"], "no column left"),
        ("a,b\n1,2\n", ["-k", 2], "k=2 must be at most the number of records, n_samples=1"),
        ("a,b\n1,x\n", ["-k", 2], "k=2 must be at most the number of records, n_samples=1"),
        ("a\n1e999\n1\n", ["-k", 1], "numbers must be finite"),
        ("a\n1\n", ["--method", "kaim", "--builder", "mdav"], "--builder is not for --method"),
        ("a,b\n1,x\n", ["-k", 1, "--hierarchies", "nowhere"], "nowhere cannot be read"),
        ("a\n1\n", ["-k", 1, "--report", "nowhere/r.html"], "nowhere is not a folder"),
    ],
)
def test_bad_files(fails, write, tmp_path, content, arguments, message):
    path = tmp_path / "t.csv" if content is None else write("t.csv", content)
    assert message in fails("anonymize", path, tmp_path / "out.csv", *arguments)


@pytest.mark.parametrize("name", ["out.xls", "nowhere/out.csv", "t.csv/out.csv", "t.csv"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_bad_targets(fails, write, tmp_path, name, force):
    path = write("t.csv", "a\n1\n")
    fails("anonymize", path, tmp_path / name, "-k", 1, *force)
    assert path.read_text() == "a\n1\n"


def test_a_target_that_exists(fails, run, numbers, write, tmp_path):
    output = write("out.csv", "before")
    assert "--force" in fails("anonymize", numbers, output, "-q", "count")
    assert output.read_text() == "before"
    assert run("anonymize", numbers, output, "-q", "count", "--force").code == 0
    assert output.read_text().startswith("count,size,class\n")


def test_nothing_is_written_below_k(fails, numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(_in_memory, "anonymity_level", lambda release: 4)
    line = fails("anonymize", numbers, tmp_path / "out.csv", "-q", "count,size")
    assert line.startswith("A row of the release occurs 4 times, fewer than k=5: nothing was")


def test_ctrl_c_while_writing(run, numbers, tmp_path, monkeypatch):
    def interrupt(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    assert run("anonymize", numbers, tmp_path / "out.csv", "-q", "count").code == 130
    assert list(tmp_path.iterdir()) == [numbers]


@pytest.mark.slow
def test_a_full_disk(write, tmp_path):
    pytest.importorskip("resource")
    rng = np.random.default_rng(0)
    path = write("t.csv", "x\n" + "".join(f"{x:.17f}\n" for x in rng.normal(size=2000)))
    # The limit begins after all imports, since these may write as well.
    code = """
import resource, sys
import sk_microagg.release
from sk_microagg.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for output in sys.argv[2:]:
    print(main(["anonymize", sys.argv[1], output, "--refiner", "none", "-k", "2"]))
"""
    outputs = [tmp_path / name for name in ("out.csv", "out.csv.gz", "out.parquet")]
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, path, *outputs],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n1\n1\n"
    for output, line in zip(outputs, done.stderr.splitlines(), strict=True):
        assert line.startswith(f"sk-microagg: error: {output} cannot be written: ")
        assert "File too large" in line
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def fake_report(monkeypatch):
    """A stand-in for the module that writes reports, which records its arguments."""
    module = types.ModuleType("sk_microagg.report")
    module.calls = []

    def make_report(X, release, estimator, path, **about):
        module.calls.append((X, release, estimator, about))
        with open(path, "w") as file:
            file.write("<html>")

    module.make_report = make_report
    monkeypatch.setitem(sys.modules, "sk_microagg.report", module)
    return module


@pytest.mark.parametrize("columns", [NUMERIC, MIXED])
def test_report(run, patients, tmp_path, fake_report, columns):
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    choice = [*names(columns), "--drop", "id"]
    outcome = run("anonymize", patients, output, *choice, "--report", report)
    assert outcome.code == 0
    assert "\nreport " in outcome.out
    assert report.read_text() == "<html>"
    [(X, release, estimator, about)] = fake_report.calls
    assert about["source"] == "patients.csv"
    assert about["dropped"] == ["id"]
    others = {"id", "age", "note", "town", "height", "weight"} - {"id", *columns}
    assert set(about["passed"].columns) == others
    assert list(X.columns) == list(release.columns) == columns
    assert X["age"].tolist() == pd.read_csv(patients)["age"].tolist()
    assert release["age"].tolist() == pd.read_csv(output)["age"].tolist()
    assert estimator.n_groups_ == 10


@pytest.mark.parametrize("columns", [NUMERIC, MIXED])
def test_report_as_it_is_written(run, patients, tmp_path, columns):
    pytest.importorskip("sk_microagg.report")
    report = tmp_path / "report.html"
    outcome = run("anonymize", patients, tmp_path / "out.csv", *names(columns), "--report", report)
    assert outcome.code == 0
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_report_comes_after_the_release(run, numbers, tmp_path, fake_report):
    def fail(*arguments, **settings):
        raise OSError(28, "No space left on device")

    fake_report.make_report = fail
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    outcome = run("anonymize", numbers, output, "-q", "count", "--report", report)
    assert outcome.code == 1
    assert outcome.err.endswith("report.html cannot be written: No space left on device.\n")
    assert output.exists()


@pytest.mark.parametrize("name", ["numbers.csv", "out.csv"])
def test_report_at_the_path_of_a_table(fails, numbers, tmp_path, fake_report, name):
    arguments = ["-q", "count", "--report", tmp_path / name, "--force"]
    assert "is the same file" in fails("anonymize", numbers, tmp_path / "out.csv", *arguments)


def test_report_that_would_replace_the_release(fails, numbers, tmp_path, fake_report):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.html").symlink_to("out.csv")
    for name in ("sub/../out.csv", "link.html"):
        arguments = ["-q", "count", "--report", tmp_path / name]
        assert "is the same file" in fails("anonymize", numbers, tmp_path / "out.csv", *arguments)


def test_report_without_its_dependencies(fails, numbers, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sk_microagg.report", None)
    arguments = ["-q", "count", "--report", tmp_path / "report.html"]
    assert fails("anonymize", numbers, tmp_path / "out.csv", *arguments).startswith("--report: ")


def test_dates_and_booleans_of_parquet(run, tmp_path, level):
    days = pd.date_range("2020-01-01", periods=3).date
    table = pd.DataFrame({"day": [*days] * 4, "ill": [True, False] * 6, "n": range(12)})
    table.to_parquet(tmp_path / "t.parquet")
    output = tmp_path / "out.csv"
    assert run("anonymize", tmp_path / "t.parquet", output, "-q", "day,ill").code == 0
    assert level(output, ["day", "ill"]) >= 5
    with open(output, newline="") as file:
        assert [row["n"] for row in csv.DictReader(file)] == [str(n) for n in range(12)]


def test_other_columns_may_hold_anything(run, tmp_path):
    table = pd.DataFrame({"x": range(10), "parts": [[1, 2], [3]] * 5, "raw": [b"a", None] * 5})
    table.to_parquet(tmp_path / "t.parquet")
    output = tmp_path / "out.parquet"
    assert run("anonymize", tmp_path / "t.parquet", output, "-q", "x").code == 0
    before, after = (pq.read_table(path) for path in (tmp_path / "t.parquet", output))
    assert after.drop_columns("x").equals(before.drop_columns("x"))


def test_the_cell_of_a_single_column_may_be_missing(run, write, tmp_path):
    path = write("t.csv", 'a\n1\n2\n""\n3\n4\n\n')
    assert run("anonymize", path, tmp_path / "out.csv", "-k", 2, "--quiet").code == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 6


def test_metadata_of_a_parquet_file_is_removed(run, tmp_path):
    table = pa.table({"id": ["P1", "P2", "P3", "P4"], "x": [1.0, 2.0, 3.0, 4.0]})
    table = table.replace_schema_metadata({"note": "P1 was dropped"})
    pq.write_table(table, tmp_path / "in.parquet")
    run("anonymize", tmp_path / "in.parquet", tmp_path / "out.parquet", "-k", 2, "--drop", "id")
    assert not pq.read_schema(tmp_path / "out.parquet").metadata
