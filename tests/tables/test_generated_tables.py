"""Tables of all kinds of columns, in all libraries: what is released, and in which types."""

import csv
import io
import pickle
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from example_tables.any_kind import COLUMNS, NOT_OF_ARROW, draw_table
from oracles import encoding as oracle

from sk_microagg import TableAggregator
from sk_microagg._utils._rounding import Rounding
from sk_microagg._utils._tables import SIMILAR, is_null
from sk_microagg.metrics import anonymity_level
from sk_microagg.tables._encoder import LOST

pytestmark = pytest.mark.usefixtures("few_steps")

referee = pytest.importorskip("pycanon.anonymity", reason="pycanon is the referee")

LIBRARIES = ["pandas", "polars", "arrow", "numpy"]
every_library = pytest.mark.parametrize("library", LIBRARIES)

# Every kind of column is the first one of one of these tables, in one of the libraries.
EACH_FIRST = range(len(COLUMNS))
# Before a release, two libraries of the four make each table, in turn.
MORE = {
    library: [seed for seed in range(130) if (seed - place) % len(LIBRARIES) < 2]
    for place, library in enumerate(LIBRARIES)
}
FEW = {
    "pandas": EACH_FIRST[::3],
    "numpy": EACH_FIRST[1::3],
    "polars": EACH_FIRST[2::6],
    "arrow": EACH_FIRST[5::6],
}


def cells_by_column(table):
    """Names and cells of columns, as Python objects."""
    if isinstance(table, np.ndarray):
        return dict(enumerate(table.T.tolist()))
    if isinstance(table, pa.Table):
        return {name: table[name].to_pylist() for name in table.column_names}
    if isinstance(table, pl.DataFrame):
        return {name: table[name].to_list() for name in table.columns}
    return {name: table.iloc[:, j].tolist() for j, name in enumerate(table.columns)}


def text_rows_of_files(release):
    """Rows of a written file, as text: CSV, and Parquet where that has all types."""
    if isinstance(release, np.ndarray):
        release = pd.DataFrame(release)
    if isinstance(release, pd.DataFrame):
        yield rows_of_csv(release.to_csv(index=False))
        release = release.set_axis([str(name) for name in release.columns], axis=1)
        try:
            release = pa.Table.from_pandas(release, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return  # no type for mixed objects
    elif isinstance(release, pl.DataFrame):
        if not any(kind in (pl.Binary, pl.Duration) for kind in release.dtypes):
            yield rows_of_csv(release.write_csv())
        release = release.to_arrow()
    file = io.BytesIO()
    pq.write_table(release, file)
    columns = pq.read_table(file).to_pydict().values()
    yield [tuple(map(str, row)) for row in zip(*columns, strict=True)]


def rows_of_csv(text):
    return [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))][1:]


def assert_anonymous(release, k):
    plain = release.to_pandas() if isinstance(release, pa.Table) else release
    assert anonymity_level(plain) >= k
    for rows in text_rows_of_files(release):
        assert min(Counter(rows).values()) >= k
    cells = cells_by_column(release)
    text = pd.DataFrame({f"column {j}": list(map(repr, c)) for j, c in enumerate(cells.values())})
    text["all"] = "equal"  # pandas warns if the referee groups by a single column
    assert referee.k_anonymity(text, list(text.columns)) >= k


def assert_same_form(release, table, k):
    assert type(release) is type(table)
    if isinstance(table, pl.DataFrame | pa.Table):
        assert release.schema == table.schema
    elif isinstance(table, np.ndarray):
        assert (release.dtype, release.shape) == (table.dtype, table.shape)
    else:
        pd.testing.assert_index_equal(release.index, table.index)
        pd.testing.assert_index_equal(release.columns, table.columns)
        for j in range(table.shape[1]):
            assert_same_type(release.iloc[:, j], table.iloc[:, j], k)


def assert_same_type(released, column, k):
    if isinstance(column.dtype, pd.CategoricalDtype):
        assert_categories_are_kept_unless_rare(released, column, k)
    elif has_no_room(column) and released.isna().any():
        # All values are rare, but nothing is missing.
        assert column.value_counts().max() < k
        assert str(released.dtype).lower().replace("ean", "") == str(column.dtype)
    else:
        assert released.dtype == column.dtype


def has_no_room(column):
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biu"


def assert_categories_are_kept_unless_rare(released, column, k):
    counts = column.value_counts()
    shown = {*released.dropna()}
    stay = [
        category
        for category in column.cat.categories
        if counts[category] >= k
        or category in shown
        or (counts[category] == 0 and column.cat.ordered)
    ]
    assert released.cat.categories.tolist() == stay
    assert released.cat.ordered == column.cat.ordered


def assert_right_cells(name, released, cells, kind, groups, k, rounding):
    """Each group is released as one value: the one that the oracle names."""
    counts = Counter(oracle.known(cells))
    for group in groups:
        members = [cells[record] for record in group]
        value = released[group[0]]
        assert all(is_same(released[record], value) for record in group)
        if kind in ("category", "boolean"):
            assert_right_mode(value, members, cells, counts, k)
        elif kind == "number":
            assert_right_mean(value, members, cells, rounding)
        elif not is_null(value):
            assert kind == "date" or counts[value] >= k or counts[value] == 0
            assert_within(value, oracle.known(members), kind, rounding)


def is_same(a, b):
    return (is_null(a) and is_null(b)) or (type(a) is type(b) and a == b)


def assert_right_mode(value, members, cells, counts, k):
    value = None if is_null(value) else value
    right = oracle.modes(members, cells, k)
    if right == [None] and value is not None:
        # There is no room for a missing value: the most frequent one of the table.
        assert counts[value] == max(counts.values()) >= k
        assert len(oracle.known(cells)) == len(cells)
    else:
        assert value in right
    assert value is None or counts[value] >= k or oracle.known(members).count(value) >= 2


def assert_right_mean(value, members, cells, rounding):
    right = oracle.mean(members)
    if right is None:
        assert is_null(value)
        return
    decimals = rounding.decimals
    own = max(map(n_decimals, oracle.known(cells)))
    unit = Fraction(10) ** -(own if decimals is None else min(decimals, own))
    largest = max(abs(cell) for cell in oracle.known(members))
    assert abs(float(value) - float(right)) <= unit / 2 + 2.0**-23 * float(largest)


def n_decimals(number):
    text = f"{number:.4f}".rstrip("0")  # All tables with few decimals have fewer than 4.
    return len(text) - 1 - text.index(".")


def assert_within(value, members, kind, rounding):
    if kind != "date":
        return
    if getattr(value, "tzinfo", None) is not None:
        value, *members = (cell.replace(tzinfo=None) for cell in (value, *members))
    if not min(members) <= value <= max(members):
        # The mean was rounded beyond all of them, by half of a step at most.
        nearest = min(members) if value < min(members) else max(members)
        number, _, unit = rounding.decimals.rpartition(" ")
        if isinstance(value, pd.Period):
            assert 2 * abs(value.ordinal - nearest.ordinal) <= int(number or 1)
        else:
            step = int(number or 1) * pd.Timedelta(1, unit if unit != "days" else "day")
            # At the ends of the calendar, in years 1 and 9999, only one multiple is near.
            is_at_an_end = not 50 < getattr(value, "year", 2000) < 9950
            assert (1 if is_at_an_end else 2) * abs(pd.Timedelta(value - nearest)) <= step


def check_table(seed, library):
    table, k = draw_table(seed, library)
    model = TableAggregator(k)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=f"k=1: nothing is anonymized|{LOST}|{SIMILAR}")
        release = model.fit_transform(table)
    assert model.group_sizes_.min() >= k
    assert_anonymous(release, k)
    assert_same_form(release, table, k)
    groups = [np.flatnonzero(model.labels_ == label) for label in range(model.n_groups_)]
    released = cells_by_column(release)
    for name, cells in cells_by_column(table).items():
        rounding = model.rounding_.get(name, Rounding())
        assert_right_cells(name, released[name], cells, model.kinds_[name], groups, k, rounding)
    assert_transform_is_the_release(model, table, released)


def assert_transform_is_the_release(model, table, released):
    if not model.exact_transform_:
        return
    moved = cells_by_column(pickle.loads(pickle.dumps(model)).transform(table))
    for name, cells in released.items():
        assert all(map(is_same, moved[name], cells))


@pytest.mark.slow
@every_library
def test_tables(library):
    for seed in FEW[library]:
        check_table(seed, library)


@pytest.mark.release
@every_library
def test_more_tables(library):
    for seed in MORE[library]:
        check_table(seed, library)


def test_every_kind_of_column_is_drawn():
    assert COLUMNS.keys() > NOT_OF_ARROW
    assert len(EACH_FIRST) == len(COLUMNS)
