import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg import TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.metrics import record_linkage, uniqueness


@pytest.fixture
def release(run, numbers, tmp_path):
    path = tmp_path / "release.csv"
    assert run("anonymize", numbers, path, "-q", "count,size").code == 0
    return path


def test_a_release_of_numbers(run, numbers, release, cells):
    outcome = run("risk", numbers, release, "-q", "count,size", "--jobs", 2)
    assert outcome.code == 0
    assert outcome.err == ""
    X, released = (
        [[float(a), float(b)] for a, b in zip(table["count"], table["size"], strict=True)]
        for table in (cells(numbers), cells(release))
    )
    linkage = record_linkage(X, released)
    printed = outcome.out
    assert "anonymity level   1 before, 5 after\n" in printed
    assert f"unique rows       {percent(uniqueness(X))} before, 0% after\n" in printed
    assert f"linked            {percent(linkage.linked)} " in printed
    expected, if_linked = map(percent, (linkage.expected_matches, linkage.expected_if_linked))
    line = f"re-identified {expected} of the records are expected to be, {if_linked} if all were "
    assert line in " ".join(printed.split())
    for name in ("count", "size"):
        line = rf"^{name} +\d+\.\d+% +\d+\.\d+% +-?0\.0\d+ +0\.\d+$"
        assert re.search(line, printed, re.MULTILINE)
    assert re.search(r"correlations +changed by 0\.\d+ on average, by 0\.\d+ at most", printed)


def test_columns_in_common_by_default(run, numbers, release):
    printed = run("risk", numbers, release).out
    assert "columns           count, size, class\n" in printed
    assert "are numbers or dates\ncolumns           count, size\n" in printed


def printed_share(printed, name):
    return float(re.search(rf"^{name} +([\d.]+)%", printed, re.MULTILINE)[1]) / 100


def test_text_dates_and_missing_values_are_known_to_the_intruder(run, write):
    rows = np.random.default_rng(0).integers(0, [50, 3, 28], size=(90, 3))
    original = pd.DataFrame(
        {
            "age": np.where(rows[:, 0] < 5, np.nan, rows[:, 0]),
            "town": np.array(["Rome", "Pisa", "Bari"])[rows[:, 1]],
            "visit": np.datetime64("2024-03-01") + rows[:, 2],
        }
    )
    release = TableAggregator(k=3).fit_transform(original)
    before, after = (
        write(name, table.to_csv(index=False))
        for name, table in (("before.csv", original), ("after.csv", release))
    )
    printed = run("risk", before, after).out
    expected = record_linkage(original, release)
    assert printed_share(printed, "linked") == pytest.approx(expected.linked, abs=0.02)
    share = printed_share(printed, "re-identified")
    assert share == pytest.approx(expected.expected_matches, abs=0.02)
    assert share > 2 * printed_share(run("risk", before, after, "-q", "town").out, "re-i.*")
    assert "are numbers or dates\ncolumns           visit\n" in printed


@pytest.mark.parametrize("columns", ["age,town", "age", "visit"])
def test_of_an_interval_the_intruder_takes_the_middle(run, write, columns):
    days = [f"2024-01-{day:02d}" for day in range(1, 21)]
    rows = [f"{20 + i},{'ab'[i // 10]},{day}\n" for i, day in enumerate(days)]
    released = [
        f'"[{20 + 5 * g}, {24 + 5 * g}]",{"ab"[g // 2]},"[{days[5 * g]}, {days[5 * g + 4]}]"\n'
        for g in range(4)
    ]
    before = write("before.csv", "age,town,visit\n" + "".join(rows))
    after = write("after.csv", "age,town,visit\n" + "".join(np.repeat(released, 5)))
    printed = run("risk", before, after, "-q", columns).out
    assert "anonymity level   1 before, 5 after" in printed
    assert printed_share(printed, "linked") == 1.0
    assert printed_share(printed, "re-identified") == 0.2


def test_formats_may_differ(run, numbers, tmp_path):
    output = tmp_path / "out.parquet"
    run("anonymize", numbers, output, "-q", "count,size")
    assert "1 before, 5 after" in run("risk", numbers, output, "-q", "count,size").out


def test_the_original_itself(run, numbers):
    printed = run("risk", numbers, numbers).out
    assert "linked            100%" in printed
    assert re.search(r"^count +100% +100% +0.0000 +1.0000$", printed, re.MULTILINE)


def test_a_constant_column(run, write):
    path = write("t.csv", "a,b\n" + "".join(f"3,{i}\n" for i in range(6)))
    assert run("risk", path, path).code == 0


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("count,size\n1,2\n", [], "has 40 rows, but .* has 1"),
        ("x,y\n1,2\n", [], "have no column in common"),
        ("x,y\n1,2\n", ["-q", "count"], "but the columns are 'x', 'y'"),
        ("x,y\n1,2\n", ["-q", "x"], "but the columns are 'count', 'size', 'class'"),
        ("", [], "is empty"),
        (
            "count\n" + "1e999\n" * 40,
            [],
            "all 40 cells are infinite or too large, first in lines 2, 3 and",
        ),
    ],
)
def test_bad_files(fails, numbers, write, content, arguments, message):
    line = fails("risk", numbers, write("release.csv", content), *arguments)
    assert re.search(message, line)


@pytest.fixture
def shuffled(release, tmp_path):
    head, *rows = release.read_text().splitlines()
    path = tmp_path / "shuffled.csv"
    rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    path.write_text("\n".join([head, *rows, ""]))
    return path


@pytest.mark.slow_but_first
@pytest.mark.parametrize("columns", [[], ["-q", "count,size"], ["-q", "count"]])
def test_rows_in_another_order(run, numbers, release, shuffled, columns):
    in_order = run("risk", numbers, release, *columns).out
    outcome = run("risk", numbers, shuffled, *columns)
    assert outcome.code == 0
    assert outcome.err == ""
    words = " ".join(outcome.out.split())
    assert "linked unknown: columns agree as a whole, but not row by row." in words
    assert "need the release in the order of the original." in words
    for measure in ("re-identified  ", "nearest", "within", "interval  "):
        assert measure in in_order
        assert measure not in outcome.out

    def kept(printed):
        """Lines that do not need the order of the rows, without shares by row."""
        names = "anonymity|unique|singled|correlations|count|size"
        lines = re.findall(rf"^(?:{names}) .*$", printed, re.M)
        return [re.sub(r"( +[\d.]+%){2} (?= +-?\d+\.\d{4} )", "", line) for line in lines]

    assert [line.split() for line in kept(outcome.out)] == [line.split() for line in kept(in_order)]
    # Without another column, there are no correlations; one line is about unchanged columns.
    assert len(kept(in_order)) == (3 if "count" in columns else 5) + bool(columns)


def test_few_rows_in_another_order(run, write):
    before = write("before.csv", "a,b\n1,x\n2,y\n3,z\n")
    after = write("after.csv", "a,b\n2,y\n2,x\n2,z\n")
    assert "not row by row" in " ".join(run("risk", before, after, "-q", "a").out.split())


def test_other_columns_may_hold_anything(run, tmp_path):
    table = pa.table({"a": [1.0, 2.0, 3.0], "b": [[1], [2], [3]], "c": [float("inf")] * 3})
    pq.write_table(table, tmp_path / "t.parquet")
    outcome = run("risk", tmp_path / "t.parquet", tmp_path / "t.parquet", "-q", "a")
    assert outcome.code == 0
    assert "linked            100%" in outcome.out


def test_columns_that_are_no_numbers_are_named_with_the_reason(run, write):
    rows = [f"{i},{'ab'[i % 2]},{'' if i == 3 else i}" for i in range(20)]
    path = write("t.csv", "\n".join(["age,town,size", *rows, ""]))
    printed = run("risk", path, path).out
    assert "left out          town (category), size (missing values)\n" in printed
