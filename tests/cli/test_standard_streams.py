"""Standard input and output, and the summary as JSON."""

import io
import json
import sys

import pytest

TABLE = b"age,height\r\n" + b"".join(b"%d,1.%d0\r\n" % (20 + i // 4, i // 4) for i in range(8))


@pytest.fixture
def stdin(monkeypatch):
    """Let bytes be on standard input."""

    def stdin(content):
        text = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr(sys, "stdin", text)

    return stdin


def test_the_table_is_alone_on_standard_output(run, stdin):
    stdin(TABLE)
    outcome = run("anonymize", "-", "-", "-k", 4)
    assert outcome.code == 0
    assert outcome.out.encode() == TABLE
    assert "\nrow order         that of standard input; --shuffle" in outcome.err
    assert outcome.err.endswith("\nwritten           standard output\n")


def test_quiet(run, stdin):
    stdin(TABLE)
    outcome = run("anonymize", "-", "-", "-k", 4, "--quiet")
    assert (outcome.code, outcome.out.encode(), outcome.err) == (0, TABLE, "")


def test_a_file_on_one_side(run, stdin, write, tmp_path):
    assert run("anonymize", write("t.csv", TABLE), "-", "-k", 4).out.encode() == TABLE
    stdin(TABLE)
    assert run("anonymize", "-", tmp_path / "out.csv", "-k", 4).code == 0
    assert (tmp_path / "out.csv").read_bytes() == TABLE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty."),
        (b"a,b\n1\n", "standard input: the only row has more"),
    ],
)
def test_messages_name_standard_input(fails, stdin, content, message):
    stdin(content)
    assert fails("anonymize", "-", "-").startswith(message)


def test_nothing_is_printed_of_a_release_that_fails(fails, stdin):
    stdin(b"age\n1\nnil\n2\n")
    assert fails("anonymize", "-", "-", "-k", 2).startswith("age: 1 of 3 cells is no number")


def test_a_report_is_a_file(fails, stdin):
    stdin(TABLE)
    assert fails("anonymize", "-", "-", "--report", "-") == "--report - must be a file."


def test_risk_reads_standard_input(run, stdin, write):
    stdin(TABLE)
    outcome = run("risk", "-", write("t.csv", TABLE))
    assert outcome.code == 0
    assert outcome.out.startswith("records           8\n")


def test_json(run, write, tmp_path):
    table = write("t.csv", TABLE)
    outcome = run("anonymize", table, tmp_path / "out.csv", "-k", 4, "--json", "-q", "age")
    *columns, release = map(json.loads, outcome.out.splitlines())
    assert [json.loads(line)["code"] for line in outcome.err.splitlines()] == ["disclosed"]
    assert columns == [
        {
            "type": "column",
            "name": "age",
            "kind": "number",
            "recognized": "all 8 cells are integers",
            "released": "mean, rounded to integers",
        }
    ]
    assert release.pop("seconds") > 0
    assert release.pop("homogeneity") == [
        "height: 8 of 8 records (100%) are in groups that share one value"
    ]
    assert release == {
        "type": "release",
        "records": 8,
        "anonymized": ["age"],
        "unchanged": ["height"],
        "method": "TableAggregator, builder optimal_1d, refiner none",
        "groups": 2,
        "smallest_group": 4,
        "anonymity_level": 4,
        "singled_out": {
            "columns": ["height"],
            "unique_with_release": 0.0,
            "unique": 0.0,
            "unique_by": [0.0],
            "expected_matches": 0.25,
        },
        "information_loss": 0.0,
        "row_order": "original",
        "written": str(tmp_path / "out.csv"),
    }


def test_json_beside_the_table(run, stdin):
    stdin(b"id," + TABLE.replace(b"\r\n2", b"\r\n%d,2") % (*range(8),))
    outcome = run("anonymize", "-", "-", "-k", 4, "--json", "-q", "age,height")
    assert outcome.out.startswith("id,age,height\r\n")
    warning, *columns, release = map(json.loads, outcome.err.splitlines())
    assert warning["type"] == "warning"
    assert warning["text"].startswith("column 'id' comes out unchanged")
    assert [column["name"] for column in columns] == ["age", "height"]
    assert release["written"] == "-"


def test_json_of_constraints_has_numbers(run, write, tmp_path):
    rows = "".join(f"{i // 4},{i % 4},{'ab'[i % 2]}\n" for i in range(16))
    table = write("t.csv", "age,who,ill\n" + rows)
    options = ["-k", 2, "--unit", "who", "--sensitive", "ill", "--l", 2, "--t", 0.5, "--json"]
    outcome = run("anonymize", table, tmp_path / "out.csv", *options)
    release = json.loads(outcome.out.splitlines()[-1])
    assert release["units_per_group"] >= 2
    assert release["l_diversity"] == [{"column": "ill", "figure": 2, "demanded": 2}]
    assert release["t_closeness"][0]["figure"] <= 0.5


def test_json_is_not_quiet(run, write, tmp_path):
    with pytest.raises(SystemExit):
        run("anonymize", write("t.csv", TABLE), tmp_path / "out.csv", "--json", "--quiet")
