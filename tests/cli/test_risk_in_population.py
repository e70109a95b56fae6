"""`risk --weight` prints risks in the population, and `risk --amounts` what large ones reveal."""

import pandas as pd
import pytest

from sk_microagg.cli import main


@pytest.fixture(name="paths")
def paths_of_pair(tmp_path):
    table = pd.DataFrame({"age": [30, 32, 34, 60, 62, 64], "w": [10, 20, 30, 5, 5, 5]})
    table["who"] = ["Ann", "Bob", "Bob", "Cid", "Dan", "Eve"]
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for path, one in zip(paths, (table, table.assign(age=[32] * 3 + [62] * 3)), strict=True):
        one.to_csv(path, index=False)
    return paths


def printed_by(run, *arguments):
    outcome = run("risk", *arguments)
    assert outcome.code == 0
    return " ".join(outcome.out.split())


def test_risks_in_the_population(run, paths):
    printed = printed_by(run, *paths, "-q", "age", "--weight", "w")
    assert "knows who is in the sample re-identifies" in printed
    assert "33.3% in the mean, and at most 33.3%" in printed
    assert "at most 6.67%" in printed  # 1 in 15 people


def test_large_amounts(run, paths):
    printed = printed_by(run, *paths, "-q", "age", "--amounts", "w,age")
    # 30 of 60, and 10 in addition to 20 and 30.
    assert "w: one contributor has at most 0.5 of a sum" in printed
    assert "w: estimates of the largest value of a class are off by at least 33.3%" in printed
    # 34 of 96 before, not 32 of 96 as released; 30 of 34 is 88%, and 60 of 64 is 94%.
    assert "age: one contributor has at most 0.354 of a sum" in printed
    assert "age: estimates of the largest value of a class are off by at least 88.2%" in printed
    weighted = printed_by(run, *paths, "-q", "age", "--amounts", "w,age", "--weight", "w")
    assert "w: one contributor has at most 0.5 of a sum" in weighted
    # 30 * 34 of 10 * 30 + 20 * 32 + 30 * 34; 300 of 1020 is 29%.
    assert "age: one contributor has at most 0.52 of a weighted sum" in weighted
    assert "age: estimates of the largest value of a class are off by at least 29.4%" in weighted
    of_people = printed_by(run, *paths, "-q", "age", "--amounts", "w", "--unit", "who")
    assert "w: one contributor has at most 0.833 of a sum" in of_people  # 50 of 60
    assert "off by at least 0%" in of_people


def test_bad_columns(fails, paths):
    for name in ("weight", "amounts"):
        message = f"--{name} who: all 6 cells are no numbers, first in lines 2, 3 and 4."
        assert fails("risk", *paths, "-q", "age", f"--{name}", "who") == message
    pd.read_csv(paths[1])[["age", "w"]][::-1].to_csv(paths[1], index=False)
    line = fails("risk", *paths, "-q", "age", "--amounts", "w")
    assert line.startswith(f"Column 'w' is needed from {paths[0]}, whose rows are in another order")
    assert fails("risk", *paths, "-q", "age", "--amounts", "x").startswith("--amounts names 'x'")


def test_an_option_of_another_command_is_not_suggested(paths, capsys):
    with pytest.raises(SystemExit):
        main(["risk", *paths, "--dominance", "0.5"])
    assert "unrecognized arguments: --dominance 0.5\n" in capsys.readouterr().err
