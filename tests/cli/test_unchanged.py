import json

import numpy as np
import pandas as pd
import pytest

KNOWN = "age,exper,year"


@pytest.fixture
def wages():
    """Wages with squares and dummies of columns to anonymize."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 65, 300), "exper": rng.integers(0, 30, 300)})
    table["year"] = rng.integers(1980, 1985, 300)
    table["expersq"] = table["exper"] ** 2
    for year in range(1981, 1985):
        table[f"d{year}"] = (table["year"] == year).astype(int)
    table["union"] = rng.choice(["yes", "no"], 300)
    return table


@pytest.fixture(params=["csv", "decimal commas", "parquet", "dask"])
def file(request, wages, tmp_path):
    """The table in a file, and the options that it needs."""
    if request.param in ("parquet", "dask"):
        wages.to_parquet(tmp_path / "wages.parquet")
        engine = ["--engine", "dask"] if request.param == "dask" else []
        return [tmp_path / "wages.parquet", tmp_path / "release.parquet", *engine]
    decimal = {} if request.param == "csv" else {"sep": ";", "decimal": ","}
    wages.to_csv(tmp_path / "wages.csv", index=False, **decimal)
    options = ["--sep", ";", "--decimal", ","] if decimal else []
    return [tmp_path / "wages.csv", tmp_path / "release.csv", *options]


# Dask itself causes this warning with newer versions of pandas.
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")
def test_what_determines_anonymized_columns(run, file):
    outcome = run("anonymize", *file, "-q", KNOWN)
    assert outcome.code == 0
    assert "warning: unchanged, expersq determines exper, or nearly so; use --drop" in outcome.err
    assert "d1981, d1982, d1983 and d1984 determine year, or nearly so" in outcome.err
    assert "union" not in outcome.err.partition("unique by")[0]


def test_a_report_names_what_determines_others(run, wages, tmp_path):
    wages.to_csv(tmp_path / "wages.csv", index=False)
    files = [tmp_path / "wages.csv", tmp_path / "release.csv"]
    options = ["-q", KNOWN, "--drop", "d1981,d1982,d1983,d1984", "--sensitive"]
    run("anonymize", *files, *options, "expersq,union", "--report", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Released unchanged, expersq determines exper, or nearly so." in page
    assert "✓" not in page
    outcome = run("risk", *files, "-q", KNOWN)
    assert "determined        expersq determines exper, or nearly so\n" in outcome.out


def test_strata_determine_without_harm(run, wages, tmp_path):
    wages["decade"] = wages["year"] // 3
    wages[["age", "exper", "year", "decade"]].to_csv(tmp_path / "wages.csv", index=False)
    options = ["--strata", "decade", "--report", tmp_path / "report.html"]
    outcome = run("anonymize", tmp_path / "wages.csv", tmp_path / "release.csv", *options)
    assert outcome.err == ""
    nobody = "nobody is unique by decade together with the anonymized columns"
    assert f"singled out       {nobody}\n" in outcome.out
    assert "✓" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_as_json(run, wages, tmp_path):
    wages[["age", "exper", "union"]].to_csv(tmp_path / "wages.csv", index=False)
    files = [tmp_path / "wages.csv", tmp_path / "release.csv"]
    outcome = run("anonymize", *files, "-q", "age,exper", "--json")
    found = json.loads(outcome.out.splitlines()[-1])["singled_out"]
    assert found["columns"] == ["union"]
    assert found["unique"] == 0
    assert found["unique_by"] == [0]
    assert 0.2 < found["expected_matches"] < 0.5
    assert found["unique_with_release"] == 0.05
    assert "5% of the records are unique by what comes out unchanged, union, tog" in outcome.err


def test_people_are_counted(run, wages, tmp_path):
    """Three rows of one person may be equal, and nobody else has them."""
    wages["measured"] = np.random.default_rng(1).normal(size=300).round(3)
    wages["person"] = range(300)
    columns = ["person", "age", "exper", "measured"]
    wages.loc[wages.index.repeat(3), columns].to_csv(tmp_path / "wages.csv", index=False)
    files = [tmp_path / "wages.csv", tmp_path / "release.csv"]
    options = ["--unit", "person", "-q", "age,exper"]
    outcome = run("anonymize", *files, *options)
    assert " of the records are unique by what comes out unchanged, measured, and" in outcome.err
    assert "determines" not in outcome.err
    assert "singled out       nobody" not in outcome.out


# Dask itself causes this warning with newer versions of pandas.
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")
def test_people_are_counted_on_dask(run, wages, tmp_path):
    """Rows of one person agree anyway, so that none of their columns determines another."""
    wages["measured"] = np.random.default_rng(1).normal(size=300).round(3)
    wages["person"] = range(300)
    columns = ["person", "age", "exper", "measured"]
    wages.loc[wages.index.repeat(3), columns].to_parquet(tmp_path / "wages.parquet", index=False)
    files = [tmp_path / "wages.parquet", tmp_path / "release.parquet", "--engine", "dask"]
    outcome = run("anonymize", *files, "--unit", "person", "-q", "age,exper")
    assert outcome.code == 0
    assert "determines" not in outcome.err
