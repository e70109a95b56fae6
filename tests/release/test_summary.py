"""Unchanged columns in which whole groups share one value are named."""

import numpy as np
import pandas as pd
import pytest

from sk_microagg.metrics import homogeneity

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

ENGINES = {"memory": [], "dask": ["--engine", "dask"]}


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    ages = np.sort(rng.integers(20, 90, 60))
    table = pd.DataFrame({"age": ages, "size": rng.normal(170, 1, 60), "id": range(60)})
    table["ward"] = np.where(ages < 50, "east", "west")
    for j in range(6):
        table[f"same{j}"] = "x"
    return table


@pytest.fixture(params=ENGINES)
def anonymize(request, run, visits, tmp_path):
    """Anonymize a table of visits; return the lines about homogeneity, and the release."""

    def anonymize(*arguments):
        visits.to_parquet(tmp_path / "visits.parquet")
        output = tmp_path / "release.parquet"
        arguments = [*arguments, *ENGINES[request.param]]
        outcome = run("anonymize", tmp_path / "visits.parquet", output, *arguments)
        assert outcome.code == 0
        lines = outcome.out.splitlines()
        told, fact = [], None
        for line in lines:
            fact = fact if line.startswith(" ") else line.split()[0]
            if fact == "homogeneity":
                told.append(line[18:])
        return told, pd.read_parquet(output)

    return anonymize


DROPPED = ["--drop", ",".join(f"same{j}" for j in range(6))]


def test_share_of_the_records(anonymize):
    told, release = anonymize("-q", "age,size", *DROPPED, "-k", 5)
    share = homogeneity(release[["age", "size"]], release["ward"])
    assert 0.5 < share < 1
    assert told == [f"ward: {share:.0%} of the records are in groups that share one value"]


def test_five_columns_and_a_count(anonymize):
    told, _ = anonymize("-q", "age,size", "-k", 5)
    assert told == [
        *(f"same{j}: 100% of the records are in groups that share one value" for j in range(5)),
        "and 2 more columns",
    ]


def test_no_homogeneous_groups(anonymize):
    assert anonymize("-q", "age,size", "--drop", f"{DROPPED[1]},ward", "-k", 5)[0] == []


def test_all_columns_are_anonymized(anonymize):
    told, _ = anonymize("--drop", f"{DROPPED[1]},ward", "-k", 5)
    assert told == []


def test_adult(run, data_folder, tmp_path):
    path = tmp_path / "some.csv"
    lines = (data_folder / "adult.csv").read_text().splitlines()[:3001]
    path.write_text("\n".join(lines) + "\n")
    outcome = run(
        *("anonymize", path, tmp_path / "release.csv", "-k", 10),
        *("-q", ",".join(lines[0].split(",")[:-1])),
    )
    table = pd.read_csv(tmp_path / "release.csv")
    share = homogeneity(table.drop(columns="salary-class"), table["salary-class"])
    assert 0.2 < share < 0.6
    line = f"salary-class: {share:.0%} of the records are in groups that share one value"
    assert f"homogeneity       {line}\n" in outcome.out


def test_missing_values_are_one_value_however_they_are_written(run, tmp_path):
    table = pd.DataFrame(
        {"age": [30, 31, 32, 60, 61, 62], "ward": ["", "NA", " ? ", "a", "b", "c"]}
    )
    table.to_csv(tmp_path / "visits.csv", index=False)
    outcome = run("anonymize", tmp_path / "visits.csv", tmp_path / "out.csv", "-k3", "-qage")
    assert "ward: 50% of the records are in groups that share one value" in outcome.out


def test_one_known_value_apart_from_missing_ones(anonymize, visits):
    visits["ill"] = np.where(np.arange(60) % 2, "yes", None)
    visits["same0"] = np.where(visits["age"] < 50, "x", visits["ill"])
    dropped = "same1,same2,same3,same4,same5,id,ward"
    told, release = anonymize("-q", "age,size", "--drop", dropped)
    classes = release[["age", "size"]]
    share, known = (homogeneity(classes, release["same0"], missing=m) for m in ("value", "ignored"))
    assert 0 < share < known
    told = " ".join(told)
    line = f"same0: {share:.0%} of the records are in groups that share one value, {known:.0%} of"
    assert f"{line} the records in groups with a single known value, apart from missing" in told
    assert homogeneity(classes, release["ill"]) == 0
    assert "ill: no records are in groups that share one value, 100% of the records in" in told
