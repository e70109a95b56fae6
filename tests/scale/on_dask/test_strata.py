"""Strata of tables on Dask: no group crosses them, and columns of any type name them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask
from example_tables.on_dask import (
    NAMES,
    assert_fit_fails,
    assert_unfitted,
    draw,
    every_shuffle,
    from_pandas,
    from_parts,
)

from sk_microagg import TableAggregator
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.privacy._strata import Strata
from sk_microagg.scale import DaskTableAggregator
from sk_microagg.scale._bundles import Aggregate
from sk_microagg.scale._stratum_columns import distinct_keys

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

ROLES = {"sensitive": ["illness", "cost"], "unit": "patient"}


def in_strata(n=300, seed=0):
    """A table with strata of text and numbers, both with missing values, and other roles."""
    rng = np.random.default_rng(seed)
    return draw(n, seed).assign(
        region=rng.choice(["north", "south", None, "west"], n, p=[0.6, 0.2, 0.1, 0.1]),
        band=rng.choice([1.0, 2.5, np.nan], n, p=[0.5, 0.3, 0.2]),
        illness=rng.choice(["flu", "gout", "cold"], n, p=[0.5, 0.3, 0.2]),
        cost=rng.integers(0, 50, n),
        patient=rng.integers(0, n // 2, n),
    )


@pytest.fixture(name="table")
def table_in_strata():
    return in_strata()


@pytest.fixture(name="X")
def dask_table_in_strata(table):
    return from_pandas(table, npartitions=3)


def check_groups(release, strata, k):
    """By plain pandas: no released row occurs in two strata, and each occurs k times or more."""
    groups = release.groupby(NAMES, sort=False).ngroup()
    shown = strata.astype(object).where(strata.notna(), "missing").astype(str)
    stratum = shown.agg(" ".join, axis=1)
    assert stratum.groupby(groups).nunique().max() == 1
    assert groups.value_counts().min() >= k
    return groups


def with_sizes(sizes, seed=0):
    """A table with strata of these sizes, in random order."""
    rng = np.random.default_rng(seed)
    names = np.repeat([f"stratum {number}" for number in range(len(sizes))], sizes)
    return draw(sum(sizes), seed).assign(stratum=rng.permutation(names))


@pytest.mark.slow
def test_strata_of_very_different_sizes_in_a_sample(small_bundles):
    # The sample has few rows of the small strata, or none.
    table = with_sizes([1100, 300, 90, 4, 6])
    X = from_pandas(table, npartitions=4)
    releases = []
    for shuffle in ("disk", "memory"):
        aggregator = DaskTableAggregator(
            4,
            quasi_identifiers=NAMES,
            sample_size=1000,
            block_size=150,
            refiner="exchange",
            shuffle=shuffle,
            strata="stratum",
        )
        releases.append(aggregator.fit_transform(X).compute())
        assert aggregator.block_sizes_.sum() == aggregator.group_sizes_.sum() == 1500
        assert aggregator.n_blocks_ > 10
    pd.testing.assert_frame_equal(*releases)
    check_groups(releases[0], table[["stratum"]], 4)
    assert (releases[0]["stratum"] == table["stratum"]).all()
    assert aggregator.exact_transform_
    assert_array_equal(aggregator.transform(X)[NAMES].compute(), releases[0][NAMES])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.release)])
def test_everything_together_in_a_sample(seed, small_bundles):
    table = in_strata(2000, seed)
    strata = ["region", "band"]
    aggregator = DaskTableAggregator(
        4,
        quasi_identifiers=NAMES,
        privacy=[LDiversity(2, column="illness"), TCloseness(0.3, column="illness")],
        sample_size=1000,
        block_size=150,
        refiner="local_search",
        strata=strata,
        **ROLES,
    )
    X = from_pandas(table, npartitions=3)
    release = aggregator.fit_transform(X).compute()
    assert aggregator.n_blocks_ > 12
    groups = check_groups(release, table[strata], 4)
    assert table["patient"].groupby(groups).nunique().min() >= 4
    assert table["illness"].groupby(groups).nunique().min() >= 2
    # The distribution is that of the whole table, not of the stratum.
    shares = table["illness"].value_counts(normalize=True)
    by_group = pd.crosstab(groups, table["illness"], normalize="index")
    assert ((by_group - shares).abs().sum(axis=1) / 2).max() <= 0.3 + 1e-12


@pytest.mark.slow
def test_a_stratum_of_which_the_sample_has_no_row():
    table = with_sizes([1496, 4])
    # Its rows are the last ones that the sample would take.
    keys = np.concatenate([np.random.default_rng([0, part]).random(500) for part in range(3)])
    table["stratum"] = np.where(np.argsort(np.argsort(keys)) < 1496, "large", "small")
    X = from_pandas(table, npartitions=3)
    aggregator = DaskTableAggregator(
        4, quasi_identifiers=NAMES, sample_size=1000, refiner="exchange", strata="stratum"
    )
    assert X.map_partitions(len).compute().tolist() == [500] * 3
    release = aggregator.fit_transform(X).compute()
    check_groups(release, table[["stratum"]], 4)
    assert 4 in aggregator.block_sizes_


KINDS = {
    "categories": pd.Categorical(["low", "high", None] * 30),
    "integers": [1, 2, 3] * 30,
    "nullable integers": pd.array([1, 2, None] * 30, dtype="Int64"),
    "booleans": [True, False, False] * 30,
    "dates": pd.to_datetime(["2020-01-01", "2021-01-01", None] * 30),
    "objects": np.array([1, "1", None] * 30, dtype=object),
    "kinds of missing values": np.array([np.nan, None, "a"] * 30, dtype=object),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_strata_of_any_type(kind):
    table = draw(90).assign(stratum=KINDS[kind])
    aggregator = DaskTableAggregator(
        5, quasi_identifiers=NAMES, refiner="exchange", strata="stratum"
    )
    with dask.config.set({"dataframe.convert-string": False}):  # objects would become text
        X = from_parts([table[:40], table[40:]])
    release = aggregator.fit_transform(X).compute()
    memory = TableAggregator(5, quasi_identifiers=NAMES, refiner="exchange", strata="stratum")
    expected = memory.fit_transform(table)[NAMES]
    assert_array_equal(release[NAMES], expected)
    assert_array_equal(aggregator.transform(X)[NAMES].compute(), expected)


@pytest.mark.slow
def test_partitions_of_different_types():
    tables = [draw(60, seed=seed) for seed in (0, 1)]
    for table, make in zip(tables, (int, float), strict=True):
        table["stratum"] = (np.arange(60) % 2).astype(make)
    together = pd.concat(tables, ignore_index=True)
    aggregator = DaskTableAggregator(40, quasi_identifiers=NAMES, strata="stratum")
    release = aggregator.fit_transform(from_parts(tables))[NAMES].compute()
    together["stratum"] = together["stratum"].astype(int)
    memory = TableAggregator(40, quasi_identifiers=NAMES, strata="stratum")
    assert_array_equal(release, memory.fit_transform(together)[NAMES])


@pytest.mark.parametrize("columns", [["region"], ["band"], ["band", "region", "patient"]])
def test_keys_of_a_part_are_those_in_memory(table, columns):
    keys, codes = distinct_keys(table[columns])
    strata = Strata(table[columns], len(table))
    assert_array_equal(codes, strata.numbers)
    assert_array_equal(strata.names.numbers_of_keys(keys), np.arange(len(strata)))
    assert distinct_keys(table[columns][:0])[0] == []


@pytest.mark.slow
def test_an_empty_partition(table):
    X = from_parts([table[:0], table[:100], table[100:100], table[100:]])
    release = DaskTableAggregator(
        3, quasi_identifiers=NAMES, refiner="local_search", strata="region", **ROLES
    ).fit_transform(X)
    check_groups(release.compute(), table[["region"]], 3)


@pytest.mark.slow
def test_strata_are_not_anonymized(table):
    X = from_pandas(table.drop(columns=["town", "day", "illness"]), npartitions=2)
    aggregator = DaskTableAggregator(
        2, refiner=None, strata=["region", "band"], unit="patient"
    ).fit(X)
    assert list(aggregator.kinds_) == ["visits", *NAMES, "cost"]


# New rows


@pytest.mark.slow
@every_shuffle
def test_new_rows_join_groups_of_their_stratum(table, X, shuffle, tmp_path):
    parameters = {"k": 3, "quasi_identifiers": NAMES, "block_size": 40, "refiner": "exchange"}
    parameters["strata"] = ["region", "band"]
    aggregator = DaskTableAggregator(shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(X).compute()
    assert aggregator.exact_transform_
    assert_array_equal(aggregator.transform(X)[NAMES].compute(), release[NAMES])
    new = in_strata(80, seed=5)
    # Columns in another order, among fewer others.
    rows = new[["band", *NAMES[::-1], "region"]]
    joined = aggregator.transform(from_pandas(rows, npartitions=2), path=tmp_path / "new")
    joined = joined.compute()
    memory = TableAggregator(**parameters).fit(table)
    assert_array_equal(joined[NAMES], memory.transform(new)[NAMES])
    assert_array_equal(joined["region"].fillna("missing"), new["region"].fillna("missing"))
    both = pd.concat([release, joined], ignore_index=True)
    check_groups(both, both[["region", "band"]], 3)


@pytest.mark.slow
@every_shuffle
def test_an_unknown_stratum(table, X, shuffle, tmp_path):
    aggregator = DaskTableAggregator(
        3, quasi_identifiers=NAMES, refiner="exchange", shuffle=shuffle, strata="region"
    ).fit(X)
    table.loc[250, "region"] = "east"
    with pytest.raises(ValueError, match=r"^strata: some records are in strata that fit"):
        aggregator.transform(from_pandas(table, npartitions=3), path=tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_new_rows_without_strata(table, X):
    aggregator = DaskTableAggregator(
        3, quasi_identifiers=NAMES, refiner="exchange", strata="region"
    ).fit(X)
    new = from_pandas(table.drop(columns="region"), npartitions=1)
    with pytest.raises(ValueError, match=r"^X has no column 'region'"):
        aggregator.transform(new)


@pytest.mark.slow
def test_the_model_holds_the_names_of_strata_and_nothing_else(X, tmp_path):
    aggregator = DaskTableAggregator(
        3,
        quasi_identifiers=NAMES,
        privacy=LDiversity(2, column="illness"),
        folder=tmp_path,
        strata="region",
        **ROLES,
    )
    aggregator.fit(X)
    stored = pickle.dumps(aggregator)
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"north" in stored
    assert stored.count(b"north") == 1
    assert not any(word in stored + files for word in (b"flu", b"gout"))
    assert b"north" not in files
    copy = pickle.loads(stored)
    assert_array_equal(copy.transform(X)[NAMES].compute(), aggregator.transform(X)[NAMES].compute())


# Errors and warnings


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("parameters", "roles", "message"),
    [
        (
            {"k": 4},
            {"strata": "few"},
            r"^strata: some records are in strata of fewer than k=4 records\. Merge smaller strata "
            r"with others\.$",
        ),
        (
            {"k": 4},
            {"strata": ["few", "none"]},
            r"^strata: .*k=4\b",
        ),
        (
            {"k": 8},
            {"strata": "half", "unit": "seven"},
            r"^unit column 'seven': 7 different units, k=8\b",
        ),
        (
            {"k": 8},
            {"strata": "half", "unit": "half or patient"},
            r"^strata: a stratum violates k=8 different units \(column 'half or patient'\) even "
            r"as one "
            r"group\. Merge it with another one\.$",
        ),
        (
            {"privacy": LDiversity(2)},
            {"strata": "half", "sensitive": "half twice"},
            r"^strata: a stratum violates LDiversity\(l=2\) of the sensitive column 'half twice' "
            r"even "
            r"as one group\.",
        ),
        (
            {"privacy": TCloseness(0.1)},
            {"strata": "half", "sensitive": "visits"},
            r"^strata: a stratum violates TCloseness\(t=0\.1\) of the sensitive column 'visits' "
            r"even "
            r"as one group\.",
        ),
        ({}, {"strata": "x"}, "^strata names 'x'"),
        ({}, {"strata": "age"}, "^Column 'age' is in both strata and quasi_identifiers"),
        ({}, {"strata": ["half"], "unit": "half"}, "^Column 'half' is in both unit and strata"),
        ({}, {"strata": "half", "sensitive": "half"}, "'half' is in both sensitive and strata"),
    ],
)
def test_what_cannot_be_satisfied_is_an_error(table, tmp_path, parameters, roles, message):
    half = np.argsort(np.argsort(table["visits"], kind="stable"), kind="stable") // 150
    table = table.assign(
        few=["west"] * 3 + ["north"] * 297,
        none=None,
        half=half.to_numpy(),
        seven=np.arange(300) % 7,
    )
    table["half twice"] = table["half"]
    table["half or patient"] = np.where(table["half"] == 1, -1, table["patient"])
    X = from_pandas(table, npartitions=3)
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, **parameters, **roles)
    assert_fit_fails(aggregator, X, ValueError, message)
    with pytest.raises(ValueError, match=message):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_the_error_is_that_in_memory(table, X):
    parameters = {"privacy": [TCloseness(0.01, column="cost")], "sensitive": "cost"}
    messages = []
    for make, rows in ((TableAggregator, table), (DaskTableAggregator, X)):
        aggregator = make(3, quasi_identifiers=NAMES, strata="region", **parameters)
        with pytest.raises(ValueError, match=r"^strata: a stratum violates TCloseness") as caught:
            aggregator.fit(rows)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.slow
def test_values_that_change_on_the_way(X, monkeypatch, temporary):
    monkeypatch.setattr(Aggregate, "_suits", lambda work, rows: False)
    aggregator = DaskTableAggregator(
        3, quasi_identifiers=NAMES, block_size=40, strata="region", unit="patient"
    )
    with pytest.raises(RuntimeError, match="X changed"):
        aggregator.fit(X)
    assert_unfitted(aggregator)
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_refiners_without_constraints_know_strata(X):
    aggregator = DaskTableAggregator(
        3, quasi_identifiers=NAMES, refiner="decompose", strata="region"
    )
    assert aggregator.fit(X).n_groups_ > 4


@pytest.mark.slow
def test_a_stratum_that_is_a_single_group_gets_a_warning(table):
    is_small = np.arange(300) >= 250
    table["side"] = np.where(is_small, np.arange(300) == 299, table["cost"] > 25)
    table["small"] = is_small
    aggregator = DaskTableAggregator(
        4, quasi_identifiers=NAMES, privacy=LDiversity(2), sensitive="side", strata="small"
    )
    with pytest.warns(UserWarning, match=r"^All records of a stratum are in one group"):
        aggregator.fit(from_pandas(table, npartitions=3))
    assert aggregator.group_sizes_[-1] == 50
