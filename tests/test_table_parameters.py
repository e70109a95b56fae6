"""Wrong parameters and tables: what messages say, and that nothing half-fitted remains."""

import re

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg._table_roles import TableRoles, as_names
from sk_microagg.privacy import LDiversity
from sk_microagg.tables import Hierarchy

TABLE = pd.DataFrame(
    {
        "age": [30.0, 34.0, np.nan, 51.0, 58.0, 55.0],
        "ward": ["A", "A", "A", "B", "B", "C"],
        "stay": [3, 5, 2, 9, 1, 4],
    }
)
COLUMNS = "but the columns are ['age', 'ward', 'stay']"

WRONG = [
    ({"k": 0}, "k=0 must be at least 1."),
    ({"k": 7}, "k=7 must be at most the number of records, n_samples=6."),
    ({"k": 2.5}, "k=2.5 must be an integer, got float."),
    ({"quasi_identifiers": "name"}, f"quasi_identifiers names 'name', {COLUMNS}"),
    ({"quasi_identifiers": ["age", 3]}, f"quasi_identifiers names 3, {COLUMNS}"),
    ({"quasi_identifiers": []}, "quasi_identifiers=[] leaves no column to anonymize"),
    (
        {"sensitive": ["age", "ward"], "drop": "stay"},
        "quasi_identifiers='auto' leaves no column to anonymize",
    ),
    ({"sensitive": "name"}, f"sensitive names 'name', {COLUMNS}"),
    ({"unit": "name"}, f"unit names 'name', {COLUMNS}"),
    ({"unit": ["age", "ward"]}, "unit=['age', 'ward'] must be one column or None."),
    ({"strata": ["ward", "name"]}, f"strata names 'name', {COLUMNS}"),
    ({"drop": 0}, f"drop names 0, {COLUMNS}"),
    (
        {"sensitive": "stay", "drop": ["stay"]},
        "Column 'stay' is in both sensitive and drop: it must have one role.",
    ),
    (
        {"quasi_identifiers": ["age", "stay"], "unit": "stay"},
        "Column 'stay' is in both unit and quasi_identifiers: it must have one role.",
    ),
    ({"categorical": ["name"]}, f"categorical names 'name', {COLUMNS}"),
    ({"categorical": "auto"}, f"categorical names 'auto', {COLUMNS}"),
    ({"ordinal": "name"}, f"ordinal names 'name', {COLUMNS}"),
    ({"ordinal": {"name": ["a"]}}, f"ordinal names 'name', {COLUMNS}"),
    ({"ordinal": {"ward": ["A", "B"]}}, "ordinal['ward']: "),
    ({"ordinal": {"ward": ["A", "B", "A"]}}, "ordinal['ward']=['A', 'B', 'A'] must hold each"),
    (
        {"ordinal": {"ward": ["A", "B", "C"]}, "categorical": ["ward"]},
        "Column 'ward' is in both categorical and ordinal",
    ),
    (
        {"hierarchies": {"ward": ["A", "B", "C"]}, "ordinal": ["ward"]},
        "Column 'ward' is in both hierarchies and ordinal",
    ),
    ({"hierarchies": ["ward"]}, "hierarchies=['ward'] must be a dict from columns to hierarchies"),
    ({"hierarchies": {"name": {}}}, f"hierarchies names 'name', {COLUMNS}"),
    ({"hierarchies": {"ward": 3}}, "hierarchies['ward']=3: It must be a Hierarchy, a path or a"),
    ({"hierarchies": {"ward": ["A", "B"]}}, "Column 'ward': "),
    (
        {"hierarchies": {"age": Hierarchy.intervals()}},
        "hierarchies['age']=<hierarchy of intervals> must be a tree whose leaves are given",
    ),
    ({"column_weights": [1, 2]}, "column_weights=[1, 2] must be a dict from columns to numbers"),
    ({"column_weights": {"name": 1}}, f"column_weights names 'name', {COLUMNS}"),
    ({"column_weights": {"age": 0}}, "column_weights['age']=0 must be a number above 0"),
    ({"column_weights": {"age": -1.5}}, "column_weights['age']=-1.5 must be a number above 0"),
    ({"column_weights": {"age": np.nan}}, "column_weights['age']=nan must be a number above 0"),
    ({"column_weights": {"age": np.inf}}, "column_weights['age']=inf must be a number above 0"),
    ({"column_weights": {"age": "much"}}, "column_weights['age']='much' must be a number above 0"),
    ({"categories": "modes"}, "categories='modes' must be one of 'mode', 'shares', 'generalize'."),
    ({"numbers": "mode"}, "numbers='mode' must be one of 'mean', 'median', 'interval'."),
    ({"decimals": 1.5}, "decimals=1.5 for column 'age' must be an integer from -400 to 400, "),
    ({"decimals": {"age": "2"}}, "decimals='2' for column 'age' must be an integer from -400 to"),
    ({"decimals": {"age": True}}, "decimals=True for column 'age' must be an integer from -400 to"),
    ({"decimals": {"age": "day"}}, "decimals='day' for column 'age' is a unit of dates, but the"),
    ({"decimals": {"name": 1}}, f"decimals names 'name', {COLUMNS}"),
    ({"privacy": LDiversity(2)}, "sensitive"),
    ({"builder": "mdaf"}, "builder='mdaf' must be"),
    ({"refiner": "magic"}, "refiner='magic' must be"),
    ({"block_size": 0}, "block_size=0 must be"),
    ({"n_jobs": 0}, "n_jobs=0 must be None or an integer other than 0."),
    ({"verbose": -1}, "verbose=-1 must be True, False or an integer of at least 0."),
]


@in_one_case(("parameters", "message"), WRONG)
def test_a_wrong_parameter_is_named_with_its_value_and_what_is_allowed(parameters, message):
    model = TableAggregator(**{"k": 3, **parameters})
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        model.fit_transform(TABLE)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]


@pytest.mark.slow
@in_one_case(("parameters", "message"), WRONG[:3] + WRONG[-9:])
def test_a_failed_fit_leaves_the_fitted_model_as_it_was(parameters, message):
    model = TableAggregator(3).fit(TABLE)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)):
        model.set_params(**parameters).fit(TABLE)
    changed = {name for name in before if vars(model)[name] is not before[name]}
    assert changed <= {*parameters}
    assert vars(model).keys() == before.keys()


TABLES = {
    "infinite": (
        pd.DataFrame({"a": [1.0, np.inf]}),
        "Column 'a' of X: 1 of 2 cells is infinite or too large, at position 1",
    ),
    "too large": (
        pd.DataFrame({"a": [1.0, -1e200]}),
        "Column 'a' of X: 1 of 2 cells is infinite or too large, at position 1",
    ),
    "complex": (pd.DataFrame({"a": [1j, 2j]}), "Column 'a' of X holds complex numbers"),
    "twice a name": (
        pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
        "X has several columns named 'a': names must differ.",
    ),
    "no record": (pd.DataFrame({"a": []}), "X of shape (0, 1) must have at least 1 record"),
    "no column": (pd.DataFrame(index=range(3)), "X of shape (3, 0) must have at least 1 record"),
    "one dimension": (np.arange(3.0), "Reshape your data"),
    "lists": (
        pd.DataFrame({"a": [[1], [2]]}),
        "Column 'a' of X holds list, which cannot be compared: it must hold numbers, text, dates",
    ),
    "dicts": (pd.DataFrame({"a": [{}, None]}), "Column 'a' of X holds dict, which cannot"),
}


@in_one_case("table", TABLES)
def test_a_wrong_table(table):
    X, message = TABLES[table]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        TableAggregator(1).fit(X)


def test_ordinal_values_that_cannot_be_sorted():
    table = pd.DataFrame({"a": [1, "x", 2]}, dtype=object)
    message = "ordinal names column 'a', whose values cannot be sorted: it must be a dict"
    with pytest.raises(TypeError, match=message):
        TableAggregator(1, ordinal="a").fit(table)


CHANGED = [
    (
        {"age": ["x"] * 6},
        "Column 'age' of X: all 6 cells are no numbers, first at positions 0, 1 and 2.",
    ),
    ({"visit": ["x"] * 6}, "Column 'visit' of X must hold dates"),
    ({"visit": np.arange(6.0)}, "Column 'visit' of X must hold dates"),
]


@in_one_case(("cells", "message"), CHANGED)
def test_columns_of_another_kind_in_transform(cells, message):
    table = TABLE.assign(visit=pd.to_datetime(["2024-03-01", "2024-03-05", "2024-03-03"] * 2))
    model = TableAggregator(3).fit(table)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        model.transform(table.assign(**cells))


@pytest.mark.slow
@in_one_case("cells", [[None] * 6, [np.nan] * 6, [pd.NaT] * 6])
@in_one_case("name", ["age", "ward", "visit"])
@in_one_case("dtype", [None, object])
def test_columns_without_any_value_in_transform(cells, name, dtype):
    table = TABLE.assign(visit=pd.to_datetime(["2024-03-01", "2024-03-05", "2024-03-03"] * 2))
    model = TableAggregator(3).fit(table)
    moved = model.transform(table.assign(**{name: pd.Series(cells, dtype=dtype)}))
    assert moved.dtypes.tolist() == table.dtypes.tolist()


def test_roles_by_tuples_and_sets_and_arrays():
    names = [("a", 1), ("b", 2), "c"]
    assert as_names(("a", 1), "drop", names) == [("a", 1)]
    assert as_names([("b", 2), ("a", 1)], "drop", names) == [("a", 1), ("b", 2)]
    assert as_names({"c"}, "drop", names) == ["c"]
    assert as_names(np.array(["y", "x"]), "drop", ["x", "y", "z"]) == ["x", "y"]
    assert as_names(pd.Index(["z"]), "drop", ["x", "y", "z"]) == ["z"]
    assert as_names(None, "drop", names) == []
    assert as_names(0, "drop", [0, 1]) == [0]


def test_a_column_named_auto():
    assert TableRoles.from_estimator(TableAggregator(), ["auto", "b"]).quasi_identifiers == ["auto"]
    assert TableRoles.from_estimator(TableAggregator(), ["a", "b"]).quasi_identifiers == ["a", "b"]
