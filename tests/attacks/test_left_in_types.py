"""What a release carries beside its cells: types that list categories, and formats of Excel."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.cli import main

SECRET = "Xanadu"


@pytest.fixture(name="table")
def without_one_person():
    """A table from which the only person in Xanadu was filtered out."""
    towns = pd.Categorical([*"AB" * 20, SECRET])
    table = pd.DataFrame({"age": np.arange(41.0), "town": towns, "home": towns, "part": towns})
    return table[table["town"] != SECRET]


@in_one_case("categories", ["mode", "shares", "generalize"])
def test_categories_of_people_who_were_filtered_out(table, categories):
    model = TableAggregator(3, sensitive="home", strata="part", categories=categories)
    assert SECRET in table["town"].cat.categories
    assert SECRET.encode() in pickle.dumps(table)
    for released in (model.fit_transform(table), model.transform(table)):
        assert SECRET.encode() not in pickle.dumps(released)
    assert SECRET.encode() not in pickle.dumps(model)


def test_dictionaries_of_arrow(table):
    released = TableAggregator(3, sensitive="home").fit_transform(pa.Table.from_pandas(table))
    for name in ("town", "home"):
        assert SECRET not in released[name].combine_chunks().dictionary.to_pylist()


@pytest.mark.parametrize("place", [0, 7])
def test_texts_in_the_formats_of_excel(tmp_path, place):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files are an extra")
    book = openpyxl.Workbook()
    book.active.append(["age", "cost", "fee"])
    for i in range(20):
        book.active.append([i, i + 0.5, i + 0.25])
    for cells in book.active.iter_rows(min_row=2):
        cells[1].number_format, cells[2].number_format = "0.0", '0.00 "EUR"'
    book.active.cell(place + 2, 2).number_format = f'0.0 "{SECRET}"'
    book.save(tmp_path / "t.xlsx")
    files = [str(tmp_path / name) for name in ("t.xlsx", "o.xlsx")]
    assert main(["anonymize", *files, "-k", "3", "--quiet"]) == 0
    _, _, *cells = openpyxl.load_workbook(files[1]).active["B"]
    assert {cell.number_format for cell in cells} == {"0.0"}
    _, *cells = openpyxl.load_workbook(files[1]).active["C"]
    assert {cell.number_format for cell in cells} == {'0.00 "EUR"'}


@pytest.mark.parametrize(("n_known", "k"), [(1, 1), (2, 2), (4, 5)])
def test_texts_in_the_format_of_the_only_known_cells(tmp_path, n_known, k):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files are an extra")
    book = openpyxl.Workbook()
    book.active.append(["age", "cost"])
    for i in range(20):
        book.active.append([i, i + 0.5 if i < n_known else None])
        book.active.cell(i + 2, 2).number_format = f'0.0 "{SECRET}"'
    book.save(tmp_path / "t.xlsx")
    files = [str(tmp_path / name) for name in ("t.xlsx", "o.xlsx")]
    assert main(["anonymize", *files, "-q", "age", "-k", str(k), "--quiet"]) == 0
    released = [*openpyxl.load_workbook(files[1]).active["B"]][1:]
    assert {cell.number_format for cell in released} == {"General"}
