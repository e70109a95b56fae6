import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from marks import in_one_case

from sk_microagg import KAIM, MicroAggregator, TableAggregator, microaggregate
from sk_microagg._utils._tables import SIMILAR, warn_of_similar_values
from sk_microagg.cli import main
from sk_microagg.metrics import homogeneity
from sk_microagg.privacy import LDiversity

pytestmark = pytest.mark.usefixtures("few_steps")

ALIKE = [
    ["yes", "YES"],
    ["P7", "p7"],
    ["P7", "P7\N{NO-BREAK SPACE}"],
    ["Straße", "STRASSE"],
    ["Ren\N{LATIN SMALL LETTER E WITH ACUTE}", "Rene\N{COMBINING ACUTE ACCENT}"],
    ["a  b", "a b"],
]


@in_one_case("texts", ALIKE)
def test_texts_that_are_written_differently(texts):
    with pytest.warns(UserWarning, match=SIMILAR):
        warn_of_similar_values("Column 'x'", [*texts, 1, None])


@in_one_case("texts", [["yes", "no"], ["a b", "ab"], ["e", "é"], [1, "1"], []])
def test_texts_that_differ(texts):
    with warnings.catch_warnings(record=True) as caught:
        warn_of_similar_values("Column 'x'", texts)
    assert caught == []


def table():
    who = np.array(["Xanadu", *"AB" * 10, "xanadu", *"AB"])
    return pd.DataFrame({"age": np.arange(24), "who": who})


def similar_in(caught):
    messages = [str(warning.message) for warning in caught]
    assert not any("xanadu" in message.lower() for message in messages)
    return [message.split(" has values")[0] for message in messages if "only in case" in message]


FORMS = {
    "objects": lambda frame: frame.astype({"who": object}),
    "categories": lambda frame: frame.astype({"who": "category"}),
    "Arrow type": lambda frame: frame.astype({"who": pd.ArrowDtype(pa.string())}),
    "Arrow table": pa.Table.from_pandas,
    "polars": pl.from_pandas,
}
DIVERSE = LDiversity(2)
QI = ["age"]


@pytest.mark.slow_but_first
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "model",
    [
        TableAggregator(2),
        TableAggregator(2, unit="who"),
        TableAggregator(1, strata="who"),
        TableAggregator(2, quasi_identifiers=QI, sensitive="who"),
        TableAggregator(2, quasi_identifiers=QI, sensitive="who", privacy=DIVERSE),
        KAIM(2),
    ],
    ids=["category", "unit", "strata", "sensitive", "diverse", "KAIM"],
)
@pytest.mark.filterwarnings("ignore:k=1")
def test_estimators_warn_once_and_quote_nothing(model, form):
    with pytest.warns(UserWarning, match=SIMILAR) as caught:
        model.fit(form(table()))
    assert similar_in(caught) == ["Column 'who'"]


VALUES = {
    "list": list,
    "text array": np.asarray,
    "Series": lambda who: pd.Series(who, dtype=object),
    "Arrow type": lambda who: pd.Series(who, dtype=pd.ArrowDtype(pa.string())),
    "polars": lambda who: pl.Series(list(who)),
}


@pytest.mark.slow_but_first
@pytest.mark.parametrize("form", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("role", ["unit", "strata", "sensitive"])
@pytest.mark.filterwarnings("ignore:k=1")
def test_roles_of_arrays(role, form):
    X, values = table()[["age"]], form(table()["who"].to_numpy())
    k, privacy = 1 if role == "strata" else 2, DIVERSE if role == "sensitive" else None
    with pytest.warns(UserWarning, match=SIMILAR) as caught:
        MicroAggregator(k, privacy=privacy).fit(X, **{role: values})
    assert similar_in(caught) == [f"The {role} column"]
    with pytest.warns(UserWarning, match=SIMILAR) as caught:
        microaggregate(X, k, privacy=privacy, **{role: values})
    assert similar_in(caught) == [f"The {role} column"]


@pytest.mark.filterwarnings("ignore:k=1")
def test_a_name_or_a_number_tells_which_column():
    who = table()["who"]
    with pytest.warns(UserWarning, match=SIMILAR) as caught:
        MicroAggregator(2).fit(table()[["age"]], unit=who)
    assert similar_in(caught) == ["Column 'who'"]
    with pytest.warns(UserWarning, match=SIMILAR) as caught:
        MicroAggregator(2).fit(table()[["age"]], sensitive=np.column_stack([who.str.upper(), who]))
    assert similar_in(caught) == ["The sensitive column 1"]


def test_transform_is_silent():
    X, who = table()[["age"]], table()["who"]
    with pytest.warns(UserWarning, match=SIMILAR):
        aggregator = MicroAggregator(1).fit(X, strata=who)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aggregator.transform(X, strata=who)


@in_one_case("cells", [[1, True], [0.0, False], [1, np.True_], [True, 1, None]])
@in_one_case("form", [list, lambda cells: np.array(cells, dtype=object), pd.Series])
def test_booleans_among_numbers(cells, form):
    cells = form(cells * 12)
    X = np.arange(float(len(cells))).reshape(-1, 1)
    with pytest.raises(TypeError, match="holds booleans and numbers"):
        homogeneity(np.zeros(len(cells), dtype=int), cells)
    for role in ("unit", "strata", "sensitive"):
        with pytest.raises(TypeError, match=f"{role} column holds booleans and numbers"):
            MicroAggregator(2).fit(X, **{role: cells})


@in_one_case("cells", [[True, False], [True, None], [True, float("nan")], ["1", True]])
def test_booleans_among_others(cells):
    assert homogeneity([0, 0, 1, 1], cells * 2) == 0.0


@pytest.mark.parametrize("options", [[], ["--unit", "who"], ["--method", "kaim"]])
def test_the_command_line_warns(tmp_path, capsys, options):
    table().to_csv(tmp_path / "t.csv", index=False)
    files = [str(tmp_path / name) for name in ("t.csv", "o.csv")]
    assert main(["anonymize", *files, "-k", "2", *options]) == 0
    assert "warning: Column 'who' has values that differ only in case" in capsys.readouterr().err
