"""Constraints beyond k, and units, on tables of Dask."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask  # noqa: E402
from example_tables.on_dask import (  # noqa: E402
    NAMES,
    assert_fit_fails,
    assert_unfitted,
    draw,
    every_shuffle,
    from_pandas,
    from_parts,
)

from sk_microagg._utils._tables import SIMILAR  # noqa: E402
from sk_microagg.metrics import closeness, diversity, unit_share, units_per_group  # noqa: E402
from sk_microagg.privacy import (  # noqa: E402
    Constraint,
    LDiversity,
    Rules,
    TCloseness,
    UnitShare,
)
from sk_microagg.scale import DaskTableAggregator  # noqa: E402
from sk_microagg.tables import Hierarchy, _values  # noqa: E402
from sk_microagg.tables._values import (  # noqa: E402
    Values,
    keys_of,
    merge_spellings,
    spellings_of,
)

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

ROLES = ["illness", "cost"]


def with_roles(table, seed=0):
    """The table with a sensitive column of text, one of numbers, and patients of several rows."""
    rng = np.random.default_rng(seed)
    n = len(table)
    patients = np.where(rng.random(n) < 0.4, 0, rng.integers(0, n // 3, n))
    return table.assign(
        illness=rng.choice(["flu", "gout", "cold", None], n, p=[0.6, 0.2, 0.1, 0.1]),
        cost=rng.integers(0, 50, n),
        patient=[f"patient {number}" for number in patients],
    )


@pytest.fixture(name="visits")
def table_with_roles(table):
    return with_roles(table)


@pytest.fixture(name="V")
def dask_table_with_roles(visits):
    return from_pandas(visits, npartitions=3)


@pytest.mark.slow
def test_a_sample_of_a_larger_table(small_bundles):
    visits = with_roles(draw(1500))
    aggregator = DaskTableAggregator(
        4,
        quasi_identifiers=NAMES,
        privacy=[LDiversity(3, column="illness"), TCloseness(0.25, column="cost")],
        sample_size=1000,
        block_size=250,
        refiner="local_search",
        sensitive=ROLES,
        unit="patient",
    )
    V = from_pandas(visits, npartitions=3)
    release = aggregator.fit_transform(V).compute()
    assert aggregator.n_blocks_ > 2
    assert units_per_group(release[NAMES], visits["patient"]) >= 4
    assert diversity(release[NAMES], visits["illness"]) >= 3
    # The distribution is that of the whole table, not of a block.
    assert 0.2 < closeness(release[NAMES], visits["cost"]) <= 0.25


@pytest.mark.slow
@every_shuffle
def test_blocks_that_cannot_satisfy_a_constraint_are_merged(
    monkeypatch, temporary, shuffle, small_bundles, capsys
):
    visits = draw(400)
    # Young people all have one value, which a sample need not show.
    is_young = visits["age"] < visits["age"].quantile(0.25)
    visits["side"] = np.where(is_young | (visits["visits"] % 2 == 0), "left", "right")
    monkeypatch.setattr(Rules, "suit_block", lambda rules, records: True)
    aggregator = DaskTableAggregator(
        3,
        quasi_identifiers=["age", "share"],
        privacy=LDiversity(2),
        block_size=50,
        shuffle=shuffle,
        verbose=1,
        sensitive="side",
    )
    V = from_pandas(visits, npartitions=3)
    release = aggregator.fit_transform(V).compute()
    assert diversity(release[["age", "share"]], visits["side"]) == 2
    assert "blocks are merged with others, to satisfy the constraints" in capsys.readouterr().out
    assert aggregator.n_blocks_ > 2
    assert aggregator.block_sizes_.sum() == aggregator.group_sizes_.sum() == 400
    assert len(list(temporary.glob("model-*"))) == 1


@pytest.mark.slow_but_first
@pytest.mark.parametrize("has_strata", [False, True])
@pytest.mark.parametrize("npartitions", [1, 5])
def test_a_unit_with_too_many_rows(npartitions, has_strata):
    table = draw(300)
    table["unit"] = np.r_[np.zeros(110, dtype=int), np.arange(190)]
    table["half"] = np.arange(300) % 2
    V = from_pandas(table, npartitions=npartitions)
    roles = {"unit": "unit", "strata": "half" if has_strata else None}
    # Nearly all rows of the first part are of one unit.
    for share, is_possible in ((0.36, False), (0.38, True)):
        aggregator = DaskTableAggregator(
            3, quasi_identifiers=NAMES, privacy=UnitShare(share), refiner="local_search", **roles
        )
        if is_possible:
            release = aggregator.fit_transform(V).compute()
            assert unit_share(release[NAMES], table["unit"]) <= share
            continue
        words = r"violates UnitShare\(at_most=0.36\) of the column 'unit' even as one group"
        if not has_strata:
            words = r"^at_most=0.36 must be at least .* in the unit column 'unit', about 0.37\.$"
        with pytest.raises(ValueError, match=words):
            aggregator.fit(V)
        assert_unfitted(aggregator)


@pytest.mark.slow
@pytest.mark.parametrize("make", [str, int, float, "category", "Int64"])
def test_units_of_any_type(table, make):
    numbers = np.random.default_rng(0).integers(0, 60, len(table))
    table["unit"] = pd.Series(numbers, index=table.index).astype(make)
    aggregator = DaskTableAggregator(6, quasi_identifiers=NAMES, unit="unit")
    release = aggregator.fit_transform(dd.from_pandas(table, npartitions=2))
    assert units_per_group(release[NAMES].compute(), numbers) >= 6


@pytest.mark.slow
def test_partitions_of_different_types():
    tables = [draw(60, seed=0), draw(60, seed=1)]
    numbers = np.arange(60) // 5
    for table, make in zip(tables, (int, float), strict=True):
        table["unit"] = table["value"] = numbers.astype(make)
    tables[1].loc[7, ["unit", "value"]] = np.nan
    X = from_parts(tables)
    aggregator = DaskTableAggregator(
        4, quasi_identifiers=NAMES, privacy=TCloseness(0.3), sensitive="value", unit="unit"
    )
    release = aggregator.fit_transform(X)[NAMES].compute()
    together = pd.concat(tables)
    assert units_per_group(release, together["unit"]) >= 4
    assert closeness(release, together["value"]) <= 0.3


def test_keys_of_units():
    text = pd.Series(["a", "b", "a", None, np.nan], dtype=object)
    keys = keys_of(text)
    assert keys[0] == keys[2] != keys[1]
    assert keys[3] == keys[4]
    assert_array_equal(keys_of(pd.Series([3, 4])), keys_of(pd.Series([3.0, 4.0])))
    assert_array_equal(keys_of(text.astype("category")), keys)
    assert not np.isin(keys_of(pd.Series([1, 2])), keys_of(pd.Series(["1", "2"]))).any()
    assert len(np.unique(keys_of(pd.Series(range(100_000))))) == 100_000


@pytest.mark.parametrize("column", [[3, 1, 3, 1, 1], ["x", None, "x", "y", None], [None, None]])
def test_values(column):
    column = pd.Series(column)
    whole = Values.of_part(column)
    parts = Values.merged([Values.of_part(column[:2]), Values.of_part(column[2:])])
    assert parts.known.tolist() == whole.known.tolist() == column.dropna().unique().tolist()
    assert_array_equal(parts.counts, whole.counts)
    assert_array_equal(
        np.bincount(whole.positions(column), minlength=len(whole.counts)), whole.counts
    )


def test_a_value_that_was_not_there_before():
    values = Values.of_part(pd.Series(["a", "b"], name="illness"))
    for column in (["a", "c"], ["a", None]):
        with pytest.raises(RuntimeError, match="X has values of 'illness'"):
            values.positions(pd.Series(column, name="illness"))


@pytest.mark.slow
def test_columns_with_roles_are_not_anonymized(visits):
    V = from_pandas(visits.drop(columns=["town", "day"]), npartitions=2)
    aggregator = DaskTableAggregator(3, sensitive=ROLES, unit="patient").fit(V)
    assert list(aggregator.kinds_) == ["visits", *NAMES]


@pytest.mark.slow
def test_new_rows(V):
    aggregator = DaskTableAggregator(
        3, quasi_identifiers=NAMES, privacy=LDiversity(2), sensitive="illness", unit="patient"
    )
    release = aggregator.fit_transform(V)
    new = with_roles(draw(40, seed=5))
    with_unit, without = (
        aggregator.transform(from_pandas(rows, npartitions=1)).compute()
        for rows in (new, new.drop(columns=[*ROLES, "patient"]))
    )
    assert "patient" not in with_unit
    assert_array_equal(with_unit[NAMES], without[NAMES])
    rows = set(release[NAMES].compute().itertuples(index=False, name=None))
    assert set(without[NAMES].itertuples(index=False, name=None)) <= rows


@pytest.mark.slow
def test_the_model_holds_no_value_of_a_role(V, tmp_path):
    aggregator = DaskTableAggregator(
        3,
        quasi_identifiers=NAMES,
        privacy=LDiversity(2),
        folder=tmp_path,
        sensitive="illness",
        unit="patient",
    )
    aggregator.fit(V)
    stored = pickle.dumps(aggregator)
    stored += b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(word in stored for word in (b"flu", b"gout", b"patient 0"))


def test_only_one_group_is_close_enough(V):
    aggregator = DaskTableAggregator(
        3, quasi_identifiers=NAMES, privacy=TCloseness(0.0), sensitive="cost"
    )
    with pytest.warns(UserWarning, match=r"^All records are in one group"):
        aggregator.fit(V)
    assert aggregator.n_groups_ == 1


class Spread(Constraint):
    def __init__(self, column=None):
        self.column = column

    def measure(self, values, table):
        return values.max() - values.min()

    def accepts(self, figure):
        return figure > 0


@pytest.mark.parametrize(
    ("parameters", "roles", "error", "message"),
    [
        ({"privacy": LDiversity()}, {}, ValueError, "^privacy=LDiversity.. needs sensitive values"),
        ({"privacy": "l"}, {"sensitive": "cost"}, TypeError, "^privacy='l' must be a Constraint"),
        ({"privacy": Spread()}, {"sensitive": "cost"}, TypeError, "needs all records together: on"),
        (
            {"privacy": TCloseness(distance=Hierarchy.from_nested({"all": ["flu", "cold"]}))},
            {"sensitive": "illness"},
            ValueError,
            "some cells of the sensitive column are none of its leaves",
        ),
        (
            {"privacy": LDiversity(column="x")},
            {"sensitive": "cost"},
            ValueError,
            r"^column='x' must be one of the columns of sensitive=\['cost'\]",
        ),
        ({}, {"sensitive": "x"}, ValueError, "^sensitive names 'x', but the columns are"),
        ({}, {"unit": "x"}, ValueError, "^unit names 'x', but the columns are"),
        ({}, {"unit": ROLES}, ValueError, "^unit=.'illness', 'cost'. must be one column or None"),
        ({}, {"unit": "age"}, ValueError, "^Column 'age' is in both unit and quasi_identifiers"),
        ({}, {"drop": "age"}, ValueError, "^Column 'age' is in both drop and quasi_identifiers"),
        ({}, {"sensitive": ROLES, "unit": "cost"}, ValueError, "'cost' is in both sensitive and"),
        ({"k": 40}, {"unit": "illness"}, ValueError, "'illness': 4 different units, k=40 needs"),
        (
            {"privacy": LDiversity(5)},
            {"sensitive": "illness"},
            ValueError,
            "^l=5 must be at most the number of different values in the sensitive column 'ill.*, 4",
        ),
        (
            {"privacy": LDiversity(3.9, "entropy")},
            {"sensitive": "illness"},
            ValueError,
            r"^l=3\.9 must be at most the exponential of the entropy",
        ),
        ({"refiner": "exchange"}, {"unit": "patient"}, ValueError, "does not support constraints"),
    ],
)
def test_bad_roles(V, parameters, roles, error, message):
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, **parameters, **roles)
    assert_fit_fails(aggregator, V, error, message)


@pytest.mark.parametrize("privacy", [LDiversity(2), TCloseness(0.2)])
def test_no_rows(visits, privacy):
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, privacy=privacy, sensitive="illness")
    with pytest.raises(ValueError, match=r"^k=5\b.*=0"):
        aggregator.fit(from_pandas(visits[:0], npartitions=1))


@pytest.mark.slow
def test_an_order_that_may_differ_by_partition(visits):
    visits["grade"] = pd.Categorical(["low", "high", "low"] * 100, ["low", "high"], ordered=True)
    V = from_pandas(visits, npartitions=2)
    aggregator = DaskTableAggregator(
        quasi_identifiers=NAMES, privacy=TCloseness(), sensitive="grade"
    )
    with pytest.raises(ValueError, match="'grade' has type category"):
        aggregator.fit(V)
    aggregator.set_params(privacy=LDiversity()).fit(V)


def similar_columns(model, table, **roles):
    with pytest.warns(UserWarning, match=SIMILAR) as caught:
        model.set_params(**roles).fit(from_parts([table[:150], table[150:]]))
    messages = [str(warning.message) for warning in caught]
    return [message.split(" has ")[0] for message in messages if "differ only in case" in message]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:k=1")
@pytest.mark.parametrize(
    "roles",
    [{"unit": "who"}, {"strata": "who"}, {"sensitive": "who"}, {}],
    ids=["unit", "strata", "sensitive", "category"],
)
def test_texts_that_are_written_differently_are_noticed_once(roles):
    table = draw().assign(who=pd.Series(["Xanadu", *"ABCD" * 74, *"AB", "xanadu"], dtype=object))
    privacy = LDiversity(2) if "sensitive" in roles else None
    columns = NAMES if roles else [*NAMES, "who"]
    k = 1 if "strata" in roles else 2
    model = DaskTableAggregator(k, quasi_identifiers=columns, privacy=privacy)
    assert similar_columns(model, table, **roles) == ["Column 'who'"]


def test_units_are_compared_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(_values, "TEXTS_COMPARED", 10)
    units = pd.Series([f"p{i}" for i in range(100)])
    parts = [spellings_of(units), spellings_of(units.str.upper()), spellings_of(units)]
    merged = merge_spellings(parts)
    assert [len(part) for part in parts] == [10, 10, 10]
    assert len(merged) == 10
    assert merged["folded"].duplicated().sum() == 5
    assert not merge_spellings(parts[::2])["folded"].duplicated().any()
    assert len(spellings_of(pd.Series([1, 2]))) == 0


@pytest.mark.parametrize("role", ["unit", "strata", "sensitive"])
def test_booleans_among_numbers(role):
    cells = pd.Series([1, 2, 3, 4, None] * 60, dtype=object)
    cells[299] = True
    table = draw().assign(x=cells)
    privacy = LDiversity(2) if role == "sensitive" else None
    model = DaskTableAggregator(2, quasi_identifiers=NAMES, privacy=privacy, **{role: "x"})
    with (
        dask.config.set({"dataframe.convert-string": False}),  # objects would become text
        pytest.raises(TypeError, match="Column 'x' of X holds booleans"),
    ):
        model.fit(from_parts([table[:150], table[150:]]))
