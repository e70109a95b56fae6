import re

import pytest

from sk_microagg.metrics import record_linkage, uniqueness


@pytest.fixture
def release(run, numbers, tmp_path):
    path = tmp_path / "release.csv"
    assert run("anonymize", numbers, path, "--columns", "count,size").code == 0
    return path


def test_a_release_of_numbers(run, numbers, release, cells):
    outcome = run("risk", numbers, release, "--columns", "count,size", "--jobs", 2)
    assert outcome.code == 0
    assert outcome.err == ""
    X, released = (
        [[float(a), float(b)] for a, b in zip(table["count"], table["size"], strict=True)]
        for table in (cells(numbers), cells(release))
    )
    linkage = record_linkage(X, released)
    printed = outcome.out
    assert "anonymity level   1 before, 5 after\n" in printed
    assert f"unique rows       {uniqueness(X):.1%} before, 0.0% after\n" in printed
    assert f"linked            {linkage.linked:.1%} " in printed
    assert f"expected matches  {linkage.expected_matches:.1%} of the records, 20.0% " in printed
    for name in ("count", "size"):
        assert re.search(rf"^{name} +\d+\.\d% +\d+\.\d% +-?0\.0\d+ +0\.\d+$", printed, re.MULTILINE)
    assert re.search(r"correlations +by 0\.\d+ in the mean, by 0\.\d+ at most", printed)


def test_columns_in_common_by_default(run, numbers, release):
    printed = run("risk", numbers, release).out
    assert "columns           count, size, class\n" in printed
    assert "compared numbers  count, size\n" in printed


def test_generalised_columns_have_a_level_only(run, patients, tmp_path):
    output = tmp_path / "out.csv"
    run("anonymize", patients, output, "--columns", "age,town", "--drop", "id")
    outcome = run("risk", patients, output, "--columns", "age,town")
    assert outcome.code == 0
    assert "anonymity level   1 before, 5 after" in outcome.out
    assert "compared numbers  none" in outcome.out
    assert "linked" not in outcome.out


def test_formats_may_differ(run, numbers, tmp_path):
    output = tmp_path / "out.parquet"
    run("anonymize", numbers, output, "--columns", "count,size")
    assert "1 before, 5 after" in run("risk", numbers, output, "--columns", "count,size").out


def test_the_original_itself(run, numbers):
    printed = run("risk", numbers, numbers).out
    assert "linked            100.0%" in printed
    assert re.search(r"^count +100.0% +100.0% +0.0000 +1.0000$", printed, re.MULTILINE)


def test_a_constant_column(run, write):
    path = write("t.csv", "a,b\n" + "".join(f"3,{i}\n" for i in range(6)))
    assert run("risk", path, path).code == 0


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("count,size\n1,2\n", [], "has 40 rows, but .* has 1"),
        ("x,y\n1,2\n", [], "have no column in common"),
        ("x,y\n1,2\n", ["--columns", "count"], "but the columns are 'x', 'y'"),
        ("x,y\n1,2\n", ["--columns", "x"], "but the columns are 'count', 'size', 'class'"),
        ("", [], "is empty"),
        ("count\n" + "1e999\n" * 40, [], "infinity"),
    ],
)
def test_bad_files(fails, numbers, write, content, arguments, message):
    line = fails("risk", numbers, write("release.csv", content), *arguments)
    assert re.search(message, line)
