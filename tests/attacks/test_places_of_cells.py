"""Messages about cells say the column, how many cells and in which rows, and never what they hold.

The walk through the messages for files is in CSV files with a cell that has a line break and with
an empty line before the bad cells, and in Excel and Parquet files.
"""

import numpy as np
import pandas as pd
import pytest

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._cli._voice import SHELL
from sk_microagg._explore._page_request import PAGE
from sk_microagg.cli import main
from sk_microagg.files._messages import PYTHON
from sk_microagg.metrics import dominance
from sk_microagg.privacy import TCloseness
from sk_microagg.release import RequestError, release_file

N = 40
SECRET = "Xanadu-7431"
BAD = [17, 23, 24, 31]


def with_bad(values, bad=SECRET, places=BAD):
    """The values again and again, with others in some places."""
    cells = np.array([*values] * N, dtype=object)[:N]
    cells[places] = bad
    return cells


def table(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(20, 60, N), "town": list("AB") * (N // 2), **columns})


def transform(name, cell, **parameters):
    aggregator = TableAggregator(k=3, **parameters).fit(table())
    return aggregator.transform(table(**{"age": range(N), name: with_bad(table()[name], cell)}))


TOWNS = with_bad("AB")
WEIGHTS = with_bad([1.0, 2.0], -1.0).astype(float)
HUGE = with_bad([1.0, 2.0], 1e200).astype(float)
INFINITE = with_bad([1.0, 2.0], np.inf).astype(float)

DAY = "2001-02-03"
TREE = {"hierarchies": "tree"}

# What messages say before "first at positions 17, 23 and 24".
IN_PYTHON = {
    "Column 'town': 4 of 40 cells are no leaves of its hierarchy": lambda: TableAggregator(
        k=3, hierarchies={"town": ["A", "B"]}
    ).fit(table(town=TOWNS)),
    "Column 'town': 4 of 40 cells are no leaves of its hierarchy ": lambda: KAIM(
        k=3, hierarchies={"town": ["A", "B"]}
    ).fit(table(town=TOWNS)),
    "4 of 40 cells of the sensitive column are none of its leaves": lambda: TCloseness(
        distance=hierarchy()
    ).prepare(TOWNS),
    "strata: 4 of 40 records are in strata that fit did not have": lambda: transform(
        "town", SECRET, strata="town"
    ),
    "Column 'age' of X: 4 of 40 cells are no numbers": lambda: transform("age", SECRET),
    "Column 'town' of X: 4 of 40 cells are no numbers": lambda: MicroAggregator(k=3).fit(
        table(town=with_bad([1, 2]))
    ),
    "Column 'x' of X: 4 of 40 cells are infinite or too large": lambda: TableAggregator(k=3).fit(
        table(x=HUGE)
    ),
    "Column 1 of X: 4 of 40 cells are infinite or too large": lambda: MicroAggregator(k=3).fit(
        np.column_stack([np.arange(N), INFINITE])
    ),
    "ordinal['town']: 4 of 40 cells have values that it lacks": lambda: TableAggregator(
        k=3, ordinal={"town": ["A", "B"]}
    ).fit(table(town=TOWNS)),
    "weight='w': 4 of 40 cells are no numbers above 0": lambda: TableAggregator(
        k=5, weight="w"
    ).fit(table(w=WEIGHTS)),
    "amounts: 4 of 40 cells are negative or infinite": lambda: dominance([0] * N, WEIGHTS),
    "amounts: 4 of 40 cells are no numbers": lambda: dominance([0] * N, with_bad([1, 2])),
}


def hierarchy():
    from sk_microagg.tables import Hierarchy

    return Hierarchy.from_nested(["A", "B"])


@pytest.mark.parametrize("words", IN_PYTHON)
def test_in_python(words):
    with pytest.raises(ValueError, match="first at positions 17, 23 and 24") as error:
        IN_PYTHON[words]()
    assert f"{words.strip()}, first at positions" in str(error.value)
    assert "Xanadu" not in str(error.value)


def test_a_message_survives_pickling():
    import pickle

    with pytest.raises(ValueError, match="positions") as error:
        transform("age", SECRET)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_places_in_a_table_with_missing_values():
    """Positions count all rows, and the number of cells those that are known."""
    towns = with_bad("AB", None, [0, 1, 2])
    towns[[5, 30]] = SECRET
    for estimator in (TableAggregator, KAIM):
        with pytest.raises(ValueError, match=r"2 of 37 cells .*, at positions 5 and 30"):
            estimator(k=3, hierarchies={"town": ["A", "B"]}).fit(table(town=towns))


# What is said before the rows: the column x, and settings. A missing cell is not counted.
IN_FILES = [
    ("4 of 39 cells are no numbers", with_bad(["1", "2"]), {}),
    ("4 of 39 cells are no numbers", with_bad(["1", "2"]), {"number": ["x"]}),
    ("4 of 39 cells are no numbers", with_bad(["1", "2"]), {"ordinal": ["x"]}),
    ("4 of 39 cells are no dates as in ISO", with_bad(["2001-02-03", "2004-05-06"]), {}),
    ("4 of 39 cells are no dates as %d/%m/%y", with_bad(["1/2/03"]), {"date": {"x": "%d/%m/%y"}}),
    ("4 of 39 cells are no dates as %d.%m.%Y", with_bad(["31.1.2003"]), {"date": ["x"]}),
    ("35 of 39 cells seem to be dates as %d.%m.%Y, but not 4,", with_bad(["31.1.2003"]), {}),
    ("35 of 39 cells are numbers with other marks, but not 4,", with_bad(["1,5"]), {}),
    ("4 of 39 cells have other symbols than most, or none", with_bad(["1 %"], "3"), {}),
    ("4 of 39 cells have no time zone", with_bad([f"{DAY}T12:00Z"], f"{DAY}T07:43"), {}),
    ("4 of 39 cells are no values of its order", TOWNS, {"ordinal": {"x": ["A", "B"]}}),
    ("4 of 39 cells are no leaves of its hierarchy", TOWNS, TREE),
    ("4 of 39 cells are no leaves of its hierarchy", TOWNS, TREE | {"method": "kaim"}),
    ("4 of 39 cells are infinite or too large", with_bad(["1"], "9.88e200"), {}),
    ("4 of 39 cells are no finite numbers", with_bad(["1"], "9.88e200"), {"method": "kaim"}),
]
TYPED = [case for case in IN_FILES if {"number", "date", "ordinal", "hierarchies"} & {*case[2]}]


def write(path, column):
    """Write a table with a line break in a cell and an empty line; return the names of its rows."""
    cells = np.array(column, dtype=object)
    cells[3] = ""
    frame = pd.DataFrame(
        {"x": cells, "age": range(20, 20 + N), "note": ["two\nlines"] + ["a"] * 39}
    )
    (path.parent / "tree").mkdir()
    (path.parent / "tree" / "x.csv").write_text("A;*\nB;*\n")
    if path.suffix == ".csv":
        rows = frame.to_csv(index=False).splitlines(keepends=True)
        path.write_text("".join([*rows[:12], "\n", *rows[12:]]))
        return "in lines", [
            row + 4 for row in BAD
        ]  # The header, the line break and the blank line.
    if path.suffix == ".xlsx":
        frame.reindex([*range(10), -1, *range(10, N)]).to_excel(path, index=False)
        return "in rows", [row + 3 for row in BAD]
    frame.assign(x=frame["x"].replace("", None)).to_parquet(path)
    return "in rows", [row + 1 for row in BAD]


def refusal(path, **settings):
    settings = {
        name: path.parent / value if name == "hierarchies" else value
        for name, value in settings.items()
    }
    with pytest.raises(RequestError) as error:
        release_file(path, path.with_name("out.csv"), k=3, drop=["note"], **settings)
    return error.value


@pytest.mark.parametrize(
    ("suffix", "case"),
    [(".csv", case) for case in IN_FILES]
    + [(".xlsx", case) for case in IN_FILES]
    + [(".parquet", case) for case in TYPED],
)
def test_in_files(tmp_path, suffix, case):
    words, column, settings = case
    where, rows = write(tmp_path / f"t{suffix}", column)
    error = refusal(tmp_path / f"t{suffix}", **settings)
    first, second, third, _ = rows
    for voice in (PYTHON, SHELL, PAGE):
        said = error.in_words(voice)
        assert said.startswith(f"x: {words}")
        assert f"first {where} {first}, {second} and {third}" in said
        assert not [quoted for quoted in ("Xanadu", "7431", "9.88", "07:43") if quoted in said]


def test_weights_and_people_in_files(tmp_path):
    where, (first, second, third, _) = write(tmp_path / "t.csv", with_bad(["1", "2"], "-3"))
    places = f"first {where} {first}, {second} and {third}."
    rows = (tmp_path / "t.csv").read_text().replace('\n"",', "\n1,").replace("\n,", "\n1,")
    (tmp_path / "t.csv").write_text(rows)
    error = refusal(tmp_path / "t.csv", weight="x")
    assert str(error) == f"x: 4 of 40 cells are no numbers above 0, {places}"
    (tmp_path / "t.csv").write_text(rows.replace("\n-3,", "\nNA,"))
    settings = {"unit": "x", "series": tmp_path / "state", "series_begin": True}
    error = refusal(tmp_path / "t.csv", quasi_identifiers=["age"], **settings)
    assert str(error) == f"unit: 4 of 40 rows do not say who they belong to, {places}"


def test_rows_with_other_numbers_of_cells(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1,"x\ny"\n\n1,2,3\n1\n1,2\n')
    assert str(refusal(tmp_path / "t.csv")).endswith(
        "t.csv: 2 of 4 rows have more or fewer cells than the first row, which has 2, in lines 5 "
        "and 6."
    )


def test_all_columns_at_once(tmp_path, capsys):
    """One run says what is wrong with all columns, in the order of the table and of the roles."""
    frame = table(
        x=with_bad([1, 2]), y=with_bad(["1,5"], "2,5"), z=with_bad(["3.1.2003"], "4.1.2003")
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert main(["anonymize", str(path), str(tmp_path / "o.csv"), "--sensitive", "y"]) == 1
    assert capsys.readouterr().err == (
        "sk-microagg: error: 3 columns are not clear:\n"
        "  x: 4 of 40 cells are no numbers, first in lines 19, 25 and 26: name texts that mean "
        "missing by --na x=TEXT, or use --categorical x.\n"
        "  z: all 40 cells seem to be dates as %d.%m.%Y: use --date z=%d.%m.%Y, or --categorical "
        "z.\n"
        "  y: all 40 cells are numbers with other marks: use --decimal ',', or --categorical y.\n"
    )
    arguments = ["--na", f"x={SECRET}", "--date", "z=%d.%m.%Y", "--categorical", "y", "--quiet"]
    assert main(["anonymize", str(path), str(tmp_path / "o.csv"), *arguments]) == 0


def test_texts_that_mean_missing_in_one_column(tmp_path):
    """999 is no weight of a person, but an income."""
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    frame = pd.DataFrame(
        {"weight": [60 + i % 9 for i in range(N)], "pay": [900 + i for i in range(N)]}
    )
    frame.loc[:9, "weight"] = 999
    frame.loc[10:19, "pay"] = 999
    frame.to_csv(path, index=False)
    with pytest.warns(UserWarning, match=r"na=\['weight=999'\]"):
        release_file(path, out, k=5)
    release_file(path, out, k=5, overwrite=True, na=["weight=999"])
    released = pd.read_csv(out)
    assert released["weight"].dropna().max() < 70
    assert released["pay"].notna().all()
    with pytest.raises(RequestError, match=r"na names 'weights', but .* Did you mean 'weight'"):
        release_file(path, out, k=5, overwrite=True, na=["weights=999"])
    excel = path.with_suffix(".xlsx")
    frame.to_excel(excel, index=False)
    release_file(excel, out, k=5, overwrite=True, na=["weight=999"])
    assert pd.read_csv(out)["weight"].dropna().max() < 70
