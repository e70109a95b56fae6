"""Unchanged columns in which whole groups share one value are named."""

import numpy as np
import pandas as pd
import pytest

from sk_microagg._utils._formatting import in_records, percent
from sk_microagg.metrics import homogeneity

# Dask itself causes this warning with newer versions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
    pytest.mark.usefixtures("few_steps"),
]


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    ages = np.sort(rng.integers(20, 90, 60))
    table = pd.DataFrame({"age": ages, "size": rng.normal(170, 1, 60), "id": range(60)})
    table["ward"] = np.where(ages < 50, "east", "west")
    for j in range(6):
        table[f"same{j}"] = "x"
    return table


@pytest.fixture(params=["memory", "dask"])
def anonymize(request, release, visits, tmp_path):
    """Anonymize a table of visits; return the lines about homogeneity, and the release."""

    def anonymize(**settings):
        visits.to_parquet(tmp_path / "visits.parquet")
        output = tmp_path / "release.parquet"
        settings = {"quasi_identifiers": ["age", "size"], **settings}
        summary = release(tmp_path / "visits.parquet", output, engine=request.param, **settings)
        return summary.to_dict().get("homogeneity", []), pd.read_parquet(output)

    return anonymize


SAME = [f"same{j}" for j in range(6)]


@pytest.mark.slow_but_first
def test_share_of_the_records(anonymize):
    told, release = anonymize(drop=SAME)
    share = homogeneity(release[["age", "size"]], release["ward"])
    assert 0.5 < share < 1
    assert told == [f"ward: {in_records(share, 60)} are in groups that share one value"]


@pytest.mark.slow_but_first
def test_five_columns_and_a_count(anonymize):
    told, _ = anonymize()
    assert told == [
        *(f"same{j}: 60 of 60 records (100%) are in groups that share one value" for j in range(5)),
        "and 2 more columns",
    ]


@pytest.mark.slow_but_first
def test_no_homogeneous_groups(anonymize):
    assert anonymize(drop=[*SAME, "ward"])[0] == []


def test_all_columns_are_anonymized(anonymize):
    assert anonymize(quasi_identifiers=None, drop=[*SAME, "ward"])[0] == []


@pytest.mark.slow
def test_adult(release, data_folder, tmp_path):
    path = tmp_path / "some.csv"
    lines = (data_folder / "adult.csv").read_text().splitlines()[:3001]
    path.write_text("\n".join(lines) + "\n")
    known = lines[0].split(",")[:-1]
    summary = release(path, tmp_path / "release.csv", k=10, quasi_identifiers=known)
    table = pd.read_csv(tmp_path / "release.csv")
    share = homogeneity(table.drop(columns="salary-class"), table["salary-class"])
    assert 0.2 < share < 0.6
    line = f"salary-class: {in_records(share, 3000)} are in groups that share one value"
    assert summary.to_dict()["homogeneity"] == [line]


def test_missing_values_are_one_value_however_they_are_written(release, tmp_path):
    table = pd.DataFrame(
        {"age": [30, 31, 32, 60, 61, 62], "ward": ["", "NA", " ? ", "a", "b", "c"]}
    )
    table.to_csv(tmp_path / "visits.csv", index=False)
    paths = tmp_path / "visits.csv", tmp_path / "out.csv"
    told = release(*paths, k=3, quasi_identifiers=["age"]).to_dict()["homogeneity"]
    assert told == ["ward: 3 of 6 records (50.0%) are in groups that share one value"]


@pytest.mark.slow_but_first
def test_one_known_value_apart_from_missing_ones(anonymize, visits):
    visits["ill"] = np.where(np.arange(60) % 2, "yes", None)
    visits["same0"] = np.where(visits["age"] < 50, "x", visits["ill"])
    told, release = anonymize(drop=[*SAME[1:], "id", "ward"])
    classes = release[["age", "size"]]
    share, known = (homogeneity(classes, release["same0"], missing=m) for m in ("value", "ignored"))
    assert 0 < share < known
    assert homogeneity(classes, release["ill"]) == 0
    one_known = "in groups with a single known value, apart from missing"
    assert told[1].startswith(
        f"same0: {in_records(share, 60)} are in groups that share one value, "
        f"{in_records(known, 60)} {one_known}"
    )
    assert told[0].startswith(
        f"ill: no records are in groups that share one value, 60 of 60 records (100%) {one_known}"
    )


def test_gaps_before_and_after(release, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": np.arange(60) // 2 + 20, "size": rng.normal(170, 9, 60).round()})
    table.loc[table.index % 6 == 0, "size"] = np.nan  # a gap in every group
    table.to_csv(tmp_path / "t.csv", index=False)
    summary = release(tmp_path / "t.csv", tmp_path / "o.csv", k=5, column_weights={"size": 0.1})
    after = pd.read_csv(tmp_path / "o.csv")["size"].isna().mean()
    age, size = (column["released"] for column in summary.to_dict()["columns"])
    assert "missing" not in age
    assert size.endswith(f"missing: 16.7% before, {percent(after)} after")
