"""Tables of all libraries: types that come in come out, and what cannot be is an error."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from example_tables.learned import release
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg import TableAggregator
from sk_microagg._utils._tables import kind_of
from sk_microagg.metrics import anonymity_level
from sk_microagg.tables._encoder import LOST
from sk_microagg.tables._frames import can_be_missing, with_room

pytestmark = pytest.mark.usefixtures("few_steps")

N = 30
RNG = np.random.default_rng(0)
LETTERS = RNG.choice(list("abcd"), N)
DIGITS = RNG.integers(0, 5, N)

ARRAYS = {
    "float": RNG.normal(size=(N, 2)),
    "float32": RNG.normal(size=(N, 2)).astype("f4"),
    "int": RNG.integers(0, 9, (N, 2)),
    "int8": RNG.integers(0, 9, (N, 2)).astype("i1"),
    "bool": RNG.random((N, 2)) < 0.5,
    "text": RNG.choice(["a", "bb"], (N, 2)),
    "bytes": RNG.choice([b"a", b"bb"], (N, 2)),
    "days": RNG.integers(0, 9999, (N, 2)).astype("M8[D]"),
    "seconds": RNG.integers(0, 9999, (N, 2)).astype("M8[s]"),
    "durations": RNG.integers(0, 9999, (N, 2)).astype("m8[s]"),
    "objects": np.column_stack([LETTERS.astype(object), DIGITS.astype(object)]),
}


@pytest.mark.slow
@in_one_case("kind", ARRAYS)
def test_arrays_keep_their_type(kind):
    X = ARRAYS[kind]
    release = TableAggregator(3).fit_transform(X)
    assert (release.dtype, release.shape) == (X.dtype, X.shape)
    assert anonymity_level(release) >= 3


@pytest.mark.filterwarnings(f"ignore:{LOST}")
def test_arrays_without_room_for_missing_values_become_objects():
    text = np.array([[f"code {j}"] for j in range(4)])
    assert TableAggregator(2).fit_transform(text).tolist() == [[None]] * 4
    codes = 2**60 + np.arange(4)[:, None]
    assert TableAggregator(2).fit_transform(codes).tolist() == [[None]] * 4


COLUMNS = {
    "enum": pl.Series(LETTERS, dtype=pl.Enum(list("abcde"))),
    "categorical": pl.Series(LETTERS, dtype=pl.Categorical),
    "text": pl.Series(LETTERS),
    "integers": pl.Series(DIGITS, dtype=pl.Int16),
    "unsigned": pl.Series(DIGITS, dtype=pl.UInt64),
    "float32": pl.Series(DIGITS / 10, dtype=pl.Float32),
    "decimal": pl.Series(DIGITS).cast(pl.Decimal(10, 2)),
    "boolean": pl.Series(DIGITS > 2),
    "dates": pl.Series([date(2024, 3, 1) + timedelta(days=int(d)) for d in DIGITS]),
    "times": pl.Series(DIGITS * 10**9, dtype=pl.Int64).cast(pl.Time),
    "durations": pl.Series(DIGITS).cast(pl.Duration("ms")),
    "instants": pl.Series(DIGITS * 10**6).cast(pl.Datetime("ms", "Europe/Berlin")),
    "nothing": pl.Series([None] * N, dtype=pl.Null),
}
every_column = in_one_case("column", COLUMNS)


@pytest.mark.slow
@every_column
@in_one_case("categories", ["mode", "generalize"])
def test_polars_and_arrow_keep_their_schema(column, categories):
    frame = pl.DataFrame({"a b": COLUMNS[column], "other": DIGITS})
    model = TableAggregator(3, categories=categories, quasi_identifiers="a b")
    release = model.fit_transform(frame)
    is_text = categories == "generalize" and model.kinds_["a b"] in ("category", "boolean")
    assert release.schema == (frame.schema | {"a b": pl.String} if is_text else frame.schema)
    table = frame.to_arrow()
    of_arrow = model.fit_transform(table)
    assert_array_equal(model.labels_, model.fit(frame).labels_)
    assert pl.DataFrame(of_arrow).equals(release)
    assert is_text or of_arrow.schema == table.schema


@in_one_case("leaves", [{"low": [0, 1], "high": [2, 3, 4]}, [0, 1, 2, 3, 4]])
def test_generalized_integers_are_text(leaves):
    frame = pl.DataFrame({"a": DIGITS, "b": RNG.normal(size=N)})
    model = TableAggregator(3, hierarchies={"a": leaves}, categories="generalize")
    for table in (frame, frame.to_arrow()):
        release = pl.DataFrame(model.fit_transform(table))
        assert release.schema == {"a": pl.String, "b": pl.Float64}


@in_one_case(("cell", "kind"), [(object(), pl.Object), (7, pl.Int128)])
def test_types_of_polars_that_arrow_lacks_are_an_error(cell, kind):
    frame = pl.DataFrame({"a": pl.Series([cell] * 5, dtype=kind)})
    with pytest.raises(TypeError, match=f"Column 'a' of X .*{kind}"):
        TableAggregator(2).fit(frame)


@in_one_case(
    ("rows", "kind"),
    [
        ([[1.5, 2.0], [3.0, 4.0]] * 3, np.float64),
        ([[1.5, np.nan], [3.0, 4.0]] * 3, np.float64),
        (((1, 2), (3, 4)) * 3, np.int64),
        ([[1.5, 2], [3.0, 4]] * 3, object),
        ([[2**63, 2], [-1, 4]] * 3, object),
        ([[True, 2], [False, 4]] * 3, object),
        ([[1.5, "a"], [3.0, "b"]] * 3, object),
    ],
)
def test_lists_of_numbers_give_arrays_of_numbers(rows, kind):
    assert TableAggregator(2).fit_transform(rows).dtype == kind


def test_booleans_among_numbers_are_an_error():
    """As values they would be equal: True is 1."""
    cells = np.array([1, True, 0, "a", None, 1] * 3, dtype=object)
    message = "holds booleans and numbers, of which True equals 1"
    with pytest.raises(TypeError, match=f"^Column 'a' of X {message}"):
        TableAggregator(2).fit(pd.DataFrame({"a": cells}))
    table = pd.DataFrame({"a": cells, "b": np.arange(18.0)})
    for role in ("strata", "unit"):
        with pytest.raises(TypeError, match=f"^{role} column 'a' {message}"):
            TableAggregator(2, **{role: "a"}).fit(table)
    released = TableAggregator(2).fit_transform(pd.DataFrame({"a": [True, False, None] * 6}))
    assert {*released["a"]} == {True, False, None}


@in_one_case("cells", [[[1, 2]] * 5, [{"x": 1}] * 5])
def test_nested_columns_are_an_error(cells):
    with pytest.raises(TypeError, match="Column 'a' of X holds "):
        TableAggregator(2).fit(pl.DataFrame({"a": cells}))


PANDAS = {
    "sparse": pd.Series(pd.arrays.SparseArray(RNG.choice([0.0, 1.0], N))),
    "intervals": pd.Series(pd.cut(RNG.normal(size=N), 3)).astype("interval"),
    "categories of dates": pd.Series(
        pd.date_range("2020", periods=3)[DIGITS % 3], dtype="category"
    ),
    "strings of Python": pd.Series(LETTERS, dtype="string[python]"),
    "strings of Arrow": pd.Series(LETTERS, dtype="string[pyarrow]"),
}


@in_one_case("column", PANDAS)
def test_other_types_of_pandas(column):
    frame = pd.DataFrame({"a": PANDAS[column], "b": DIGITS})
    frame.index = pd.MultiIndex.from_product([range(N // 2), ["x", "y"]])
    release = TableAggregator(3).fit_transform(frame)
    assert release.dtypes.tolist() == frame.dtypes.tolist()
    pd.testing.assert_index_equal(release.index, frame.index)


@in_one_case(
    ("cells", "kind"),
    [
        ([1, 2], "number"),
        ([1, None], "number"),
        ([Decimal(1), None], "number"),
        ([1, 2.5], "number"),
        ([2**53], "category"),
        ([-(2**53)], "category"),
        ([2**53 - 1], "number"),
        ([2**70, 1], "category"),
        ([Decimal(2**60)], "category"),
        ([True, None], "boolean"),
        ([True, 1], "category"),
        (["1", 1], "category"),
        ([date(2024, 1, 1), None], "date"),
        ([datetime(2024, 1, 1)], "date"),
        ([datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=h))) for h in (1, 2)], "category"),
        ([timedelta(1)], "date"),
        ([pd.Period("2024-01", "M")], "date"),
        ([b"x"], "category"),
        ([None, None], "category"),
    ],
)
def test_kinds_of_objects(cells, kind):
    assert kind_of(pd.Series(cells, dtype=object)) == kind


@in_one_case("dtype", ["bool", "int8", "uint32", "int64"])
def test_with_room(dtype):
    column = pd.Series([0, 1]).astype(dtype)
    assert not can_be_missing(column)
    roomy = with_room(column)
    assert can_be_missing(roomy)
    assert roomy.tolist() == column.tolist()
    assert with_room(roomy) is roomy


def test_tables_of_arrow_lose_their_metadata_and_nothing_else():
    frame = pd.DataFrame({"a": DIGITS}, index=[f"person {j}" for j in range(N)])
    table = pa.Table.from_pandas(frame)  # The index is a column, and metadata say so.
    release = TableAggregator(3, drop="__index_level_0__").fit_transform(table)
    assert release.column_names == ["a"]
    assert release.schema.metadata is None


def test_fields_of_arrow_lose_their_metadata():
    """A note on a field, or within a type, may be about rows or columns that are left out."""
    noted = {"note": "the largest is 97"}
    inner = pa.field("item", pa.int64(), metadata=noted)
    types = {
        "a": pa.int64(),
        "struct": pa.struct([inner]),
        "list": pa.list_(inner),
        "large": pa.large_list(inner),
        "fixed": pa.list_(inner, 1),
        "map": pa.map_(pa.string(), inner.with_name("value")),
        "nested": pa.list_(pa.struct([inner])),
    }
    cells = {
        "a": list(DIGITS),
        "struct": [{"item": 1}] * N,
        "map": [[("x", 1)]] * N,
        "nested": [[{"item": 1}]] * N,
    }
    arrays = [pa.array(cells.get(name, [[1]] * N), type=kind) for name, kind in types.items()]
    fields = [pa.field(name, kind, metadata=noted) for name, kind in types.items()]
    table = pa.table(arrays, schema=pa.schema(fields, metadata=noted))
    assert b"largest" in table.schema.serialize().to_pybytes()
    release = TableAggregator(3, quasi_identifiers="a").fit_transform(table)
    assert release.schema.equals(table.schema)  # The types are the same.
    assert b"largest" not in release.schema.serialize().to_pybytes()
    assert release.drop_columns("a").equals(table.drop_columns("a"))


@in_one_case("is_ordered", [False, True])
@in_one_case(
    ("units", "is_listed"),
    [([0, 1, 2, 3], False), ([0, 1, 2, 3, 4], True), ([0, 1, 2, 3, 3, 3], False)],
)
def test_a_type_lists_no_category_that_fewer_than_k_people_have(is_ordered, units, is_listed):
    """Five people are enough, but not if some of the rows belong to one of them."""
    kind = pd.CategoricalDtype(["common", "rare"], ordered=is_ordered)
    column = pd.Series(["common"] * 20 + ["rare"] * len(units), dtype=kind)
    people, labels = np.array([*range(10, 30), *units]), np.zeros(len(column), dtype=np.intp)

    def categories(k, people=None):
        shown = release(column.to_frame("x"), k, labels, units=people)["x"]["x"]
        assert shown.tolist() == ["common"]
        return [*shown.cat.categories]

    assert ("rare" in categories(5, people)) == is_listed
    assert categories(len(units) + 1) == ["common"]
    assert categories(len(units)) == ["common", "rare"]
