"""Messages quote no value of a single person: each is provoked with one that nobody else has."""

import json
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

from sk_microagg import KAIM, MicroAggregator, TableAggregator, microaggregate
from sk_microagg.cli import main
from sk_microagg.metrics import generalization_loss, record_linkage, sse
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.release import RequestError
from sk_microagg.tables import Hierarchy

N = 40
SECRET = "Xanadu-7431"
NUMBER = 8_675_309.25
HUGE = 9.88e200
IN_A_MESSAGE = [SECRET, "Xanadu", "7431", "8675309", "8.675", "8.68e", "8.7e", "9.88", "988"]


def table(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(20, 60, N), "town": list("AB") * (N // 2), **columns})


def with_one(values, value):
    """The values, and one that nobody else has."""
    cells = np.array([*values] * N, dtype=object)[:N]
    cells[17] = value
    return cells


TOWNS = with_one("AB", SECRET)
SIZES = with_one([1.0, 2.0, 3.5], HUGE)


def rows_of_numbers(value):
    return np.column_stack([np.arange(N), with_one([1.0, 2.0], value)])


def fit(X, **parameters):
    return TableAggregator(k=3, **parameters).fit_transform(X)


def transform_with(name, cell, **parameters):
    aggregator = TableAggregator(k=3, **parameters).fit(table())
    return aggregator.transform(table(**{name: with_one(table()[name], cell)}))


IN_PYTHON = {
    "a stratum of one": lambda: fit(table(town=TOWNS), strata="town"),
    "strata of an array": lambda: MicroAggregator(k=3).fit(rows_of_numbers(3.0), strata=TOWNS),
    "a stratum that violates l": lambda: fit(
        table(town=np.where(np.arange(N) < 5, SECRET, "A"), sick=np.arange(N) // 5),
        strata="town",
        sensitive="sick",
        privacy=LDiversity(2),
    ),
    "an unknown stratum": lambda: transform_with("town", SECRET, strata="town"),
    "no leaf": lambda: fit(table(town=TOWNS), hierarchies={"town": ["A", "B"]}),
    "no leaf for KAIM": lambda: KAIM(k=3, hierarchies={"town": ["A", "B"]}).fit(table(town=TOWNS)),
    "no leaf of a distance": lambda: fit(
        table(town=TOWNS),
        sensitive="town",
        privacy=TCloseness(0.9, distance=Hierarchy.from_nested(["A", "B"])),
    ),
    "not in a bin": lambda: KAIM(k=3, hierarchies={"age": Hierarchy.from_bins([[0, 99]])}).fit(
        table(age=with_one([20, 30], NUMBER))
    ),
    "no number": lambda: KAIM(k=3, hierarchies={"town": Hierarchy.intervals()}).fit(
        table(town=TOWNS)
    ),
    "no finite number": lambda: KAIM(k=3).fit(table(size=SIZES)),
    "not in the order": lambda: fit(table(town=TOWNS), ordinal={"town": ["A", "B"]}),
    "no order": lambda: fit(table(town=with_one(["A", 1], SECRET)), ordinal=["town"]),
    "a huge number": lambda: fit(table(size=SIZES.astype(float))),
    "a huge number in an array": lambda: MicroAggregator(k=3).fit(rows_of_numbers(HUGE)),
    "a huge number for a function": lambda: microaggregate(rows_of_numbers(HUGE), k=3),
    "a huge number for a metric": lambda: sse(rows_of_numbers(HUGE), np.zeros(N, dtype=int)),
    "text in an array": lambda: MicroAggregator(k=3).fit(rows_of_numbers(SECRET)),
    "text in a table": lambda: MicroAggregator(k=3).fit(table(town=TOWNS)),
    "text in a list": lambda: MicroAggregator(k=3).fit(rows_of_numbers(SECRET).tolist()),
    "text where numbers were": lambda: transform_with("age", SECRET),
    "one dimension": lambda: fit(TOWNS),
    "one dimension of numbers": lambda: MicroAggregator(k=3).fit(with_one([1.0], NUMBER)),
    "text for numbers in a release": lambda: record_linkage(
        table(), table(age=with_one([20, 30], SECRET))
    ),
    "a release of something else": lambda: generalization_loss(
        table(town=TOWNS), table(town=np.roll(TOWNS, 1))
    ),
    "a target that cannot be sorted": lambda: TableAggregator(k=3, column_weights="target").fit(
        table(), with_one(["A", 1], SECRET)
    ),
    "a collection": lambda: fit(table(town=with_one("AB", [SECRET]))),
}


@pytest.mark.parametrize("provoke", IN_PYTHON.values(), ids=IN_PYTHON)
def test_in_python(provoke, capfd):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises((TypeError, ValueError)) as error:
            provoke()
    # What Python prints, with the errors behind it; but not the lines of code.
    lines = traceback.TracebackException.from_exception(error.value)
    said = [str(warning.message) for warning in caught]
    while lines is not None:
        said += lines.format_exception_only()
        lines = lines.__cause__ or (None if lines.__suppress_context__ else lines.__context__)
    said += capfd.readouterr()
    assert quoted_in(said) == []


def quoted_in(said):
    return [(value, text) for text in map(str, said) for value in IN_A_MESSAGE if value in text]


def test_quotes_are_found():
    assert quoted_in(["all is well", f"it is {SECRET}"]) != []
    assert quoted_in(["k=5 of 40 records, at most 1e+150"]) == []


def test_on_dask():
    dask = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
    from sk_microagg.scale import DaskTableAggregator

    X = dask.from_pandas(table(town=TOWNS.astype(str), size=SIZES.astype(float)), npartitions=2)
    for columns, parameters, roles in [
        (["age"], {}, {"strata": "town"}),
        (["age", "town"], {"ordinal": {"town": ["A", "B"]}}, {}),
        (["age", "size"], {}, {}),
        (["age", "size"], {"column_weights": {"age": 2.0}}, {}),
    ]:
        with pytest.raises((TypeError, ValueError)) as error:
            DaskTableAggregator(k=3, quasi_identifiers=columns, **parameters, **roles).fit(X)
        assert quoted_in([error.value]) == []


TEXT = {
    "strata": (TOWNS, ["--strata", "x"]),
    "order": (TOWNS, ["--ordinal", "x=A<B"]),
    "hierarchy": (TOWNS, ["--hierarchies", "{folder}"]),
    "hierarchy for kaim": (TOWNS, ["--hierarchies", "{folder}", "--method", "kaim"]),
    "number": (with_one(["1", "2"], SECRET), []),
    "number that is declared": (with_one(["1", "2"], SECRET), ["--number", "x"]),
    "date": (with_one(["2001-02-03", "2004-05-06"], SECRET), []),
    "date of a pattern": (with_one(["1/2/03"], SECRET), ["--date", "x=%d/%m/%y"]),
    "date that is declared": (with_one(["1/2/03"], SECRET), ["--date", "x"]),
    "date without a zone": (with_one(["2001-02-03T12:00+01:00"], "1907-04-13T07:43:10"), []),
    "symbol": (with_one(["1 %", "2 %"], f"{NUMBER} €"), []),
    "huge": (with_one(["1", "2"], str(HUGE)), []),
    "huge for kaim": (with_one(["1", "2"], str(HUGE)), ["--method", "kaim"]),
    "thrice": (np.array(["1"] * (N - 3) + [SECRET] * 3), []),
    "thrice, declared": (np.array(["1"] * 9 + [SECRET] * 31), ["--number", "x"]),
}


def write(path, column):
    """Write a table with a column x, and a folder of hierarchies beside it."""
    frame = table(x=column).drop(columns="town")
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False)
    folder = path.with_name("hierarchies")
    folder.mkdir(exist_ok=True)
    (folder / "x.csv").write_text("A;*\nB;*\n")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize(("column", "options"), TEXT.values(), ids=TEXT)
def test_on_the_command_line(tmp_path, capfd, column, options, suffix):
    path, release = write(tmp_path / f"t{suffix}", column), tmp_path / "release.csv"
    options = [option.format(folder=tmp_path / "hierarchies") for option in options]
    assert main(["anonymize", str(path), str(release), "-k", "3", *options]) == 1
    assert quoted_in(capfd.readouterr()) == []


def test_what_an_encoding_lacks(tmp_path, capfd):
    path = write(tmp_path / "t.xlsx", with_one(["A", "B"], "łódź"))
    options = ["-q", "age", "--encoding", "latin-1", "-k", "3"]
    assert main(["anonymize", str(path), str(tmp_path / "release.csv"), *options]) == 1
    assert "ł" not in capfd.readouterr().err


@pytest.mark.parametrize(("column", "options"), TEXT.values(), ids=TEXT)
def test_on_the_page(tmp_path, capfd, column, options):
    """What the server would send, of the table and of a preview with the same choices."""
    pytest.importorskip("starlette", reason="the page is an extra")
    from sk_microagg._cli._parser import make_parser
    from sk_microagg._explore._page_request import PAGE
    from sk_microagg._explore._page_table import OpenTable
    from sk_microagg._explore._workers import JOBS

    path = write(tmp_path / "t.csv", column)
    folder = ["--hierarchies", str(tmp_path / "hierarchies")] if "--hierarchies" in options else []
    page = OpenTable(make_parser().parse_args(["explore", str(path), "--no-preview", *folder]))
    settings = page.description["settings"]
    chosen = settings["columns"][1]
    chosen["role"] = "quasi_identifier"
    for option, value in zip(options[::2], options[1::2], strict=True):
        if option == "--strata":
            chosen["role"] = "stratum"
        elif option == "--method":
            settings["method"] = value
        elif option in ("--ordinal", "--number", "--date"):
            chosen["kind"], chosen["detail"] = option[2:], value.partition("=")[2]
    sent = []
    with pytest.raises(RequestError) as error:
        JOBS["preview"](sent.append, *page.arguments_of_job("preview", settings))
    said = [json.dumps(page.description), json.dumps(sent), error.value.in_words(PAGE)]
    assert quoted_in([*said, *capfd.readouterr()]) == []
