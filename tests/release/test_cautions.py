"""Columns that may identify people, alone or together: what to think of before publishing."""

import datetime
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg.files._table import Table
from sk_microagg.privacy import LDiversity
from sk_microagg.release._cautions import (
    free_texts,
    identifiers,
    is_identifier,
    several_rows,
    warn_of_free_text,
    warn_of_several_rows,
)

dd = pytest.importorskip("dask.dataframe")
from sk_microagg.release import _out_of_memory  # noqa: E402
from sk_microagg.release._out_of_memory import count_on_dask  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

N = 100
COLUMNS = {
    "text": [f"P{i}" for i in range(N)],
    "integers": range(N),
    "floats": [i + 0.25 for i in range(N)],
    "days": [datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in range(N)],
    "a blank": [None, *(f"P{i}" for i in range(N - 1))],
    "a duplicate": ["P0", *(f"P{i}" for i in range(N - 1))],
    "few known": [f"P{i}" if i < 10 else None for i in range(N)],
    "lists": [[i] for i in range(N)],
    "91 of 100": [min(i, 90) for i in range(N)],
    # The following are not identifiers.
    "90 of 100": [min(i, 89) for i in range(N)],
    "halves": [i // 2 for i in range(N)],
    "one known": ["P0", *[None] * (N - 1)],
    "none known": [None] * N,
}
IDENTIFIERS = list(COLUMNS)[: list(COLUMNS).index("90 of 100")]


def test_of_types():
    table = Table(pa.table({name: pa.array(list(c)) for name, c in COLUMNS.items()}), False)
    assert identifiers(table, list(COLUMNS)) == IDENTIFIERS
    assert identifiers(table, ["halves", "text"]) == ["text"]
    assert identifiers(table, []) == []


def test_of_text():
    cells = {n: ["NA" if cell is None else f" {cell}" for cell in c] for n, c in COLUMNS.items()}
    assert identifiers(Table(pa.table(cells), True), list(COLUMNS)) == IDENTIFIERS


def test_of_categories_and_nan():
    table = {
        "codes": pa.array(COLUMNS["text"]).dictionary_encode(),
        "nan": [float("nan")] * 40 + list(range(60)),
    }
    assert identifiers(Table(pa.table(table), False), list(table)) == list(table)


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("n_keys", [100_000, 40])
def test_on_dask(monkeypatch, n_parts, n_keys):
    monkeypatch.setattr(_out_of_memory, "N_KEYS", n_keys)
    frame = dd.from_pandas(pd.DataFrame(COLUMNS), npartitions=n_parts)
    counts = count_on_dask(frame, list(COLUMNS))
    names = [name for name in COLUMNS if is_identifier(*counts[name])]
    if n_keys < N:  # A sample is not exact between 89% and 91%.
        names = [name for name in names if name != "90 of 100"]
    assert set(IDENTIFIERS) - set(names) <= ({"91 of 100"} if n_keys < N else set())
    assert set(names) <= set(IDENTIFIERS)


@pytest.fixture(params=["memory", "dask"])
def table(request, release, tmp_path):
    """A release of a table with 17 identifiers, without what is done to its columns."""
    rows = {f"id{j}": [f"P{i}" for i in range(20)] for j in range(17)}
    pd.DataFrame({"x": range(20), **rows}).to_parquet(tmp_path / "t.parquet")
    settings = {"engine": request.param, "quasi_identifiers": ["x"]}
    return partial(release, tmp_path / "t.parquet", tmp_path / "o.parquet", **settings)


@pytest.mark.slow_but_first
def test_at_most_five_messages_and_a_count(table):
    *messages, last, together = table().warnings
    assert [(m.code, m.column) for m in messages] == [("identifier", f"id{j}") for j in range(5)]
    assert (last.code, last.facts) == ("more", {"n_more": 12})
    assert together.code == "singled_out"
    assert together.facts["names"].startswith("id0, id1, id2, id3, id4, id5, id6, id7")
    assert together.facts["names"].endswith(" and 9 more columns")


def test_columns_that_do_not_come_out_as_they_are(table):
    assert table(drop=[f"id{j}" for j in range(17)]).warnings == []


KNOWN = ["age", "exper", "year"]


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
    """The table in a file, where to write the release, and the settings that it needs."""
    if request.param in ("parquet", "dask"):
        wages.to_parquet(tmp_path / "wages.parquet")
        engine = "dask" if request.param == "dask" else "memory"
        return tmp_path / "wages.parquet", tmp_path / "release.parquet", {"engine": engine}
    marks = {} if request.param == "csv" else {"sep": ";", "decimal": ","}
    wages.to_csv(tmp_path / "wages.csv", index=False, **marks)
    return tmp_path / "wages.csv", tmp_path / "release.csv", marks


def lines_of(summary, code):
    return [message.facts["line"] for message in summary.warnings if message.code == code]


@pytest.mark.slow_but_first
def test_what_determines_anonymized_columns(release, file):
    path, output, settings = file
    lines = lines_of(release(path, output, quasi_identifiers=KNOWN, **settings), "determines")
    assert lines == [
        "expersq determines exper, or nearly so",
        "d1981, d1982, d1983 and d1984 determine year, or nearly so",
    ]


@pytest.mark.slow_but_first
def test_anonymized_columns_that_determine_each_other(release, file):
    path, output, settings = file
    names = ["age", "exper", "expersq"]
    summary = release(path, output, quasi_identifiers=names, drop=["year"], **settings)
    [warning] = [message for message in summary.warnings if message.code == "redundant"]
    assert str(warning).startswith(
        "anonymized, exper determines expersq, or nearly so: their means"
    )
    assert str(warning).endswith("pass drop='expersq'")


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_a_report_names_what_determines_others(release, wages, tmp_path):
    wages.to_csv(tmp_path / "wages.csv", index=False)
    settings = {"quasi_identifiers": KNOWN, "sensitive": ["expersq", "union"]}
    settings["drop"] = [f"d{year}" for year in range(1981, 1985)]
    report = tmp_path / "report.html"
    release(tmp_path / "wages.csv", tmp_path / "release.csv", **settings, report=report)
    page = report.read_text(encoding="utf-8")
    assert "Released unchanged, expersq determines exper, or nearly so." in page
    assert "✓" not in page


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_strata_determine_without_harm(release, wages, tmp_path):
    wages["decade"] = wages["year"] // 3
    wages[[*KNOWN, "decade"]].to_csv(tmp_path / "wages.csv", index=False)
    report = tmp_path / "report.html"
    paths = tmp_path / "wages.csv", tmp_path / "release.csv"
    summary = release(*paths, strata=["decade"], report=report)
    assert summary.warnings == []
    nobody = "no record is unique by decade together with the anonymized columns"
    assert summary.facts["singled out"].text[0] == nobody
    assert "✓" in report.read_text(encoding="utf-8")


def test_what_programs_get(release, wages, tmp_path):
    wages[["age", "exper", "union"]].to_csv(tmp_path / "wages.csv", index=False)
    paths = tmp_path / "wages.csv", tmp_path / "release.csv"
    summary = release(*paths, quasi_identifiers=["age", "exper"])
    found = summary.to_dict()["singled_out"]
    assert found["columns"] == ["union"]
    assert (found["unique"], found["unique_by"]) == (0, [0])
    assert 0.2 < found["expected_matches"] < 0.5
    assert found["unique_with_release"] == pytest.approx(16 / 300)
    [warning] = summary.warnings
    assert str(warning).startswith(
        "16 of 300 records (5.33%) are unique by what comes out unchanged"
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "dask"])
def test_people_are_counted(release, wages, tmp_path, engine):
    """Three rows of one person may be equal, and nobody else has them."""
    wages["measured"] = np.random.default_rng(1).normal(size=300).round(3)
    wages["person"] = range(300)
    columns = ["person", "age", "exper", "measured"]
    wages.loc[wages.index.repeat(3), columns].to_parquet(tmp_path / "wages.parquet", index=False)
    settings = {"unit": "person", "quasi_identifiers": ["age", "exper"], "engine": engine}
    summary = release(tmp_path / "wages.parquet", tmp_path / "release.parquet", **settings)
    # Rows of one person agree anyway, so that none of their columns determines another.
    assert lines_of(summary, "determines") == []
    if engine == "memory":
        [warning] = [message for message in summary.warnings if message.code == "singled_out"]
        assert "unique by what comes out unchanged, measured, and" in str(warning)
        assert "no record" not in summary.facts["singled out"].text[0]


def test_a_column_of_which_nothing_is_released(release, write, tmp_path):
    rows = [f"{age},person {age}" for age in range(20, 32)]
    path = write("t.csv", "\n".join(["age,name", *rows, ""]))
    [warning] = release(path, tmp_path / "out.csv", k=3).warnings
    assert str(warning).startswith("Column 'name' is released as missing almost everywhere: its va")
    assert "person 2" not in str(warning)
    assert release(path, tmp_path / "other.csv", drop=["name"]).warnings == []


@pytest.mark.parametrize(
    ("name", "numbers", "is_warned"),
    [
        ("seqn", range(0, 240, 3), True),
        ("index", range(7, 127), True),
        ("age", range(18, 80), False),
        ("income", range(0, 1000, 7), False),
        ("id", [i % 9 for i in range(99)], False),
    ],
)
def test_identifiers_that_are_averaged(release, write, tmp_path, name, numbers, is_warned):
    rows = [f"{number},{i % 3}.5" for i, number in enumerate(numbers)]
    summary = release(write("t.csv", "\n".join([f"{name},x", *rows, ""])), tmp_path / "o.csv")
    codes = [message.code for message in summary.warnings]
    assert ("averaged_identifier" in codes) == is_warned


AGES = [*range(18, 80)]
HINTS = ("codes_for_missing", "codes_of_categories")


def hints_of(summary):
    return [(m.code, m.column) for m in summary.warnings if m.code in HINTS]


def test_numbers_that_may_be_codes(release, write, tmp_path):
    rows = [f"{age},{age % 4 + 1},{'a' * (age % 2)}" for age in [*AGES, 999]]
    path = write("t.csv", "\n".join(["age,state,note", *rows, ""]))
    settings = {"quasi_identifiers": ["age", "state"]}
    summary = release(path, tmp_path / "o.csv", **settings)
    assert hints_of(summary) == [*zip(HINTS, ["age", "state"], strict=True)]
    assert summary.warnings[0].facts["codes"] == "999"
    settings |= {"na": ["999"], "categorical": ["state"]}
    assert {each.code for each in release(path, tmp_path / "other.csv", **settings).warnings} <= {
        "disclosed"
    }
    assert "999" not in (tmp_path / "other.csv").read_text()


@pytest.mark.slow_but_first
@pytest.mark.parametrize("engine", ["memory", "dask"])
def test_numbers_and_dates_of_types_that_may_be_codes(release, tmp_path, engine):
    ages = [*AGES, 999]
    columns = {"age": ages, "sexe": [1 + age % 2 for age in ages], "note": ["a", *"b" * 62]}
    columns["born"] = [datetime.date(1950 + age % 40, 1, 2) for age in AGES]
    columns["born"].append(datetime.date(1900, 1, 1))
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    summary = release(tmp_path / "t.parquet", tmp_path / "o.parquet", engine=engine)
    assert hints_of(summary) == [
        ("codes_for_missing", "age"),
        ("codes_of_categories", "sexe"),
        ("codes_for_missing", "born"),
    ]
    # Files with types have nulls.
    assert all("replace it by null" in str(m) for m in summary.warnings if m.code == HINTS[0])
    settings = {"engine": engine, "categorical": ["sexe"]}
    summary = release(tmp_path / "t.parquet", tmp_path / "other.parquet", **settings)
    assert (HINTS[1], "sexe") not in hints_of(summary)


def may_name_people(**columns):
    """Columns of a table, all of them dropped, of which a warning asks whether they name people."""
    cells = pa.table({name: [*map(str, values)] for name, values in columns.items()})
    return [*several_rows(Table(cells, True), [*columns], [])]


def test_which_dropped_columns_may_name_people():
    rng = np.random.default_rng(0)
    uneven = rng.integers(0, 100, 400)
    for name in ("patient", "visit_id", "ID", "customer no", "SubjectKey"):
        assert may_name_people(**{name: uneven}) == [name]
    # By their values: as codes are written, and as often as years of a survey.
    assert may_name_people(who=[f"P{value:03}" for value in uneven]) == ["who"]
    assert may_name_people(who=np.repeat(np.arange(50), 8)) == ["who"]
    # Days of a month, addresses and last names.
    words = ["2009 W. 6th St.", "12 Main St.", "1 Elm St.", "77 Oak Ave."]
    assert may_name_people(day=rng.integers(1, 32, 322)) == []
    assert may_name_people(address=rng.choice(words, 30)) == []
    assert may_name_people(last_name=["Lee", *"abcdefghi", "Lee"]) == []


def test_columns_of_people_that_are_anonymized():
    cells = {"nr": np.repeat(np.arange(50), 8), "num": np.arange(400) % 90, "age": [7, 8] * 200}
    assert [*several_rows(Table(pa.table(cells), False), [], [*cells])] == ["nr"]


class Warned(list):
    """What was said of a table."""

    warn = list.append


def test_one_question_for_all_columns():
    lines, messages = {"code": "9 rows", "patient": "8 rows", "who": "7 rows"}, Warned()
    warn_of_several_rows(lines, messages)
    [message] = messages
    assert message.column == "patient"
    assert str(message).endswith("Pass unit='patient'. The same holds for code and who")


def test_free_text():
    messages = Warned()
    note = [f"came with her sister, and was told to come back in {i % 20} weeks" for i in range(40)]
    cells = {"note": note, "town": ["a rather long name of a town in the north"] * 40}
    warn_of_free_text(free_texts(Table(pa.table(cells), False), [*cells]), messages)
    assert [(message.code, message.column) for message in messages] == [("free_text", "note")]


@pytest.mark.parametrize("engine", ["memory", "dask"])
def test_values_that_groups_share_are_warned_of(release, tmp_path, engine):
    """In groups by age, most people are dead, or most alive: the release says so of each."""
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    age = np.arange(20, 80).repeat(5)
    dead = np.where(rng.random(300) < (age > 60) * 0.9, "yes", "no")
    table = pd.DataFrame({"age": age, "dead": dead, "land": "AT", "coin": rng.choice([0, 1], 300)})
    table.to_parquet(tmp_path / "t.parquet")
    settings = {"quasi_identifiers": ["age"], "k": 5, "engine": engine}
    summary = release(tmp_path / "t.parquet", tmp_path / "o.parquet", **settings)
    found = pd.read_parquet(tmp_path / "o.parquet")
    is_shared = found.groupby("age")["dead"].transform("nunique") == 1
    [message] = [each for each in summary.warnings if each.code == "disclosed"]
    assert message.column == "dead"
    advice = "pass sensitive=['dead'] and privacy=LDiversity(2) for different values in each group"
    assert str(message) == (
        f"dead: {is_shared.mean():.1%} of the records are in groups that share one value, "
        f"which the release discloses of them; {advice}"
    )
    assert advice in " ".join(str(summary).split())
    assert not [line for line in summary.to_dict()["homogeneity"] if advice in line]
    settings |= {"sensitive": ["dead"], "privacy": LDiversity(2)}
    diverse = release(tmp_path / "t.parquet", tmp_path / "diverse.parquet", **settings)
    assert "disclosed" not in {each.code for each in diverse.warnings}


@pytest.mark.parametrize("engine", ["memory", "dask"])
def test_free_text_is_warned_of_by_every_engine(release, tmp_path, engine):
    rng = np.random.default_rng(0)
    words = np.array(["alpha", "beta", "gamma", "delta", "omega", "sigma", "lambda", "theta"])
    notes = [" ".join(row) for row in words[rng.integers(0, 8, (140, 7))]]
    table = pd.DataFrame({"age": rng.integers(20, 90, 200), "note": [*notes, *notes[:60]]})
    table.assign(town=["Graz", "Wien"] * 100).to_parquet(tmp_path / "t.parquet")
    settings = {"quasi_identifiers": ["age"], "sensitive": ["note", "town"], "engine": engine}
    summary = release(tmp_path / "t.parquet", tmp_path / "o.parquet", **settings)
    [message] = [each for each in summary.warnings if each.code == "free_text"]
    assert message.column == "note"
