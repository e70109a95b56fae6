"""The level of anonymity of a Dask table, fitted attributes, and the package without Dask."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.blocks import Blocks
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.metrics import anonymity_level

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask  # noqa: E402
from example_tables.on_dask import NAMES, SEARCH, every_shuffle, numbers  # noqa: E402

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

# Level of anonymity of a Dask table


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(-1, 1),
            st.sampled_from([0.0, -0.0, 1e300, float("nan"), float("inf")]),
            st.sampled_from(["", "a", "ab", "nan", "None", None]),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
    columns=st.sampled_from([["n"], ["x"], ["text"], ["n", "x"], ["text", "yes"], [*"nx", "text"]]),
    npartitions=st.integers(1, 12),
)
def test_level_of_a_dask_table_is_that_of_its_rows(rows, columns, npartitions):
    table = pd.DataFrame(rows, columns=["n", "x", "text", "yes"])[columns]
    level = anonymity_level(dd.from_pandas(table, npartitions=npartitions))
    assert level == anonymity_level(table)
    assert type(level) is int


@pytest.mark.slow_but_first
@pytest.mark.parametrize("npartitions", [1, 8, 9, 40])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_rarest_row_is_found_in_any_part(npartitions, level):
    table = pd.DataFrame({"x": np.repeat(np.arange(100.0), 3), "text": "a"})
    table = table.drop(index=[210, 211, 212][level:])
    order = np.random.default_rng(0).permutation(len(table))
    X = dd.from_pandas(table.iloc[order], npartitions=npartitions, sort=False)
    assert anonymity_level(X) == level


def test_level_of_categories_that_differ_between_parts():
    parts = [pd.DataFrame({"c": pd.Categorical(list(text))}) for text in ("abab", "bbac")]
    X = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    assert anonymity_level(X) == 1
    assert anonymity_level(X[X["c"] != "c"]) == 3


@pytest.mark.parametrize("pair", [(1, "1"), (None, float("nan"))], ids=str)
def test_objects_that_differ_are_distinguished(pair):
    with dask.config.set({"dataframe.convert-string": False}):
        table = pd.DataFrame({"x": [*pair, 2, 2]}, dtype=object)
        assert anonymity_level(dd.from_pandas(table, npartitions=1)) == anonymity_level(table) == 1


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), (np.float64(1), 1.0)], ids=str)
def test_objects_that_are_equal_are_the_same(pair):
    with dask.config.set({"dataframe.convert-string": False}):
        table = pd.DataFrame({"x": [*pair, "a", "a"]}, dtype=object)
        assert anonymity_level(dd.from_pandas(table, npartitions=1)) == anonymity_level(table) == 2


def test_no_rows_have_no_level(table):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        anonymity_level(dd.from_pandas(table[:0], npartitions=1))


# Attributes of a fitted estimator


@pytest.mark.slow
@every_shuffle
def test_attributes(table, X, shuffle, small_bundles):
    parameters = {"k": 3, "block_size": 60, "random_state": 0}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    assert aggregator.fit(X) is aggregator
    expected = MicroAggregator(**parameters).fit(table[NAMES])
    for name in ("n_groups_", "n_blocks_", "exact_transform_", "n_iter_"):
        assert getattr(aggregator, name) == getattr(expected, name), name
    for name in ("sse_", "information_loss_"):
        assert_allclose(getattr(aggregator, name), getattr(expected, name), rtol=1e-12)
    scaler = aggregator._space._space._scaler
    assert_allclose(scaler.mean_, expected.scaler_.mean_, rtol=1e-12)
    assert_allclose(scaler.scale_, expected.scaler_.scale_, rtol=1e-12)
    assert aggregator.n_rows_ == 300
    assert_array_equal(aggregator.group_sizes_, expected.group_sizes_)
    assert list(aggregator.feature_names_in_) == list(table.columns)
    assert aggregator.n_features_in_ == table.shape[1]
    assert aggregator.kinds_ == dict.fromkeys(NAMES, "number")
    blocks = Blocks(StandardScaler().fit_transform(table[NAMES]), 60, 6, 3)
    assert_array_equal(aggregator.block_sizes_, [len(rows) for rows in blocks.rows])


def test_iterations_are_those_of_all_blocks(X, small_bundles):
    aggregator = DaskTableAggregator(
        k=3, quasi_identifiers=NAMES, block_size=60, refiner=SEARCH
    ).fit(X)
    assert aggregator.n_iter_ == 20 * aggregator.n_blocks_ == 160


def test_loss_of_equal_rows_is_0():
    aggregator = DaskTableAggregator(k=3).fit(numbers(np.full((50, 3), 0.1)))
    assert aggregator.information_loss_ == 0


@pytest.mark.parametrize("seed", [3, 10, 15])
def test_loss_of_one_group_is_1_and_no_more(seed):
    # With these, rounding has the sum of squares of the group above that of the table.
    values = np.random.default_rng(seed).normal(size=(23, 3)) * [1, 7, 0.3]
    aggregator = DaskTableAggregator(k=23, refiner=None).fit(numbers(values))
    assert aggregator.information_loss_ == 1


def test_split_twins_make_transform_inexact():
    X = dd.from_pandas(pd.DataFrame({"x": [0.0, 1.0, 1.0, 1.0, 2.0]}), npartitions=2)
    aggregator = DaskTableAggregator(k=2)
    release = aggregator.fit_transform(X).compute()
    assert anonymity_level(release) == 2
    assert not aggregator.exact_transform_
    assert not aggregator.transform(X).compute().equals(release)


def test_clone_and_parameters():
    aggregator = DaskTableAggregator(k=7, strata="age", shuffle="disk", sample_size=9)
    assert repr(aggregator) == (
        "DaskTableAggregator(k=7, sample_size=9, shuffle='disk', strata='age')"
    )
    assert clone(aggregator).get_params() == aggregator.get_params()
    assert aggregator.set_params(k=8).get_params()["k"] == 8


@pytest.mark.slow
def test_verbose_prints_a_line_for_each_step(X, capsys):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, block_size=60)
    aggregator.fit_transform(X)
    assert capsys.readouterr().out == ""
    aggregator.set_params(verbose=1).fit_transform(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 4
    assert all(line.startswith("DaskTableAggregator: ") for line in lines)
    assert "values of all columns" in lines[0]
    assert "300 rows" in lines[1]
    assert "8 blocks" in lines[2]
    assert "at least 3 times" in lines[-1]


@pytest.mark.slow
def test_a_notebook_shows_the_groups(X):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, block_size=60)
    assert "sk-microagg-groups" not in aggregator._repr_html_()
    shown = aggregator.fit(X)._repr_html_()
    least, most = aggregator.group_sizes_.min(), aggregator.group_sizes_.max()
    assert f"<dd>{aggregator.n_groups_}, of {least} to {most} records</dd>" in shown
    assert "<dd>300</dd>" in shown
    assert f"<dd>{percent(aggregator.information_loss_, digits=3)}</dd>" in shown
    assert f"<dd>{'exact' if aggregator.exact_transform_ else 'not exact'}" in shown


# Without Dask


@pytest.mark.slow
def test_without_dask_everything_else_works():
    script = """
        import sys

        sys.modules["dask"] = None
        import sk_microagg.scale
        from sk_microagg import MicroAggregator

        print(MicroAggregator(k=2).fit_transform([[0.0], [2.0], [7.0], [9.0]]).tolist())
        try:
            from sk_microagg.scale import DaskTableAggregator
        except ImportError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    release, message = done.stdout.splitlines()
    assert release == "[[1.0], [1.0], [8.0], [8.0]]"
    assert "install sk-microagg[dask]" in message


def test_no_other_name_in_scale():
    import sk_microagg.scale

    with pytest.raises(AttributeError, match="has no attribute 'SparkTableAggregator'"):
        _ = sk_microagg.scale.SparkTableAggregator
