"""Tables, columns, parameters and values that DaskTableAggregator refuses."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
from example_tables.on_dask import NAMES, assert_fit_fails, assert_unfitted  # noqa: E402

from sk_microagg.builders import BUILDERS  # noqa: E402
from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

BUILDER_NAMES = ", ".join(map(repr, BUILDERS))


@pytest.mark.parametrize(
    "make", [pd.DataFrame, np.asarray, lambda table: table.to_numpy().tolist()]
)
def test_a_table_that_is_not_on_dask(table, make):
    X = make(table[NAMES])
    message = f"^X of type {type(X).__name__}"
    assert_fit_fails(DaskTableAggregator(), X, TypeError, message)
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES).fit(
        dd.from_pandas(table, npartitions=1)
    )
    with pytest.raises(TypeError, match=message):
        aggregator.transform(X)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "height"], r"^quasi_identifiers names 'height', but the columns are .*'visits'"),
        ("height", r"^quasi_identifiers names 'height', but the columns are .*'visits'"),
        ([], r"^quasi_identifiers=\[\] leaves no column to anonymize"),
    ],
)
def test_bad_columns(X, columns, message):
    assert_fit_fails(DaskTableAggregator(quasi_identifiers=columns), X, ValueError, message)


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"k": 0}, ValueError, r"^k=0 must be at least 1\.$"),
        ({"k": 301}, ValueError, r"^k=301 must be at most the number of records, n_samples=300\.$"),
        ({"k": 2.5}, TypeError, r"^k=2\.5 must be an integer, got float\.$"),
        ({"block_size": 0}, ValueError, r"^block_size=0\b"),
        ({"block_size": "x"}, ValueError, "^block_size='x'"),
        ({"sample_size": 0}, ValueError, r"^sample_size=0\b"),
        ({"sample_size": 999}, ValueError, "^sample_size=999 must be at least 1000, the larger"),
        ({"sample_size": 1199, "k": 60}, ValueError, "^sample_size=1199 must be at least 1200, "),
        ({"sample_size": None}, TypeError, "^sample_size=None"),
        ({"verbose": "x"}, TypeError, "^verbose='x' must be True, False or an integer .* got str"),
        ({"verbose": None}, TypeError, "^verbose=None must be True, False or an integer"),
        (
            {"verbose": -1},
            ValueError,
            r"^verbose=-1 must be True, False or an integer of at",
        ),
        ({"shuffle": "fast"}, ValueError, "^shuffle='fast' must be one of 'auto', 'disk', 'mem"),
        ({"shuffle": None}, ValueError, "^shuffle=None must be one of 'auto', 'disk', 'memory'"),
        ({"builder": "mdv"}, ValueError, rf"^builder='mdv' must be one of {BUILDER_NAMES}\.$"),
        ({"builder": 7}, TypeError, f"^builder=7 must be one of {BUILDER_NAMES} or an object with"),
        ({"refiner": "none"}, ValueError, "^refiner='none' must be one of 'auto', 'decompose'"),
        ({"random_state": "x"}, ValueError, "random_state='x' must be None"),
    ],
    ids=str,
)
def test_bad_parameters(X, parameters, error, message):
    assert_fit_fails(DaskTableAggregator(quasi_identifiers=NAMES, **parameters), X, error, message)


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("npartitions", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError)]
)
def test_bad_npartitions(X, npartitions, error):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    message = f"^npartitions={npartitions}"
    with pytest.raises(error, match=message):
        aggregator.fit_transform(X, npartitions=npartitions)
    assert_unfitted(aggregator)
    aggregator.fit(X)
    with pytest.raises(error, match=message):
        aggregator.transform(X, npartitions=npartitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.inf, "^Column 'income' of X: some cells are infinite"), (1e200, "infinite")],
)
def test_bad_values_in_some_partition(table, X, value, message):
    table = table.copy()
    table.loc[250, "income"] = value
    bad = dd.from_pandas(table, npartitions=3)
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES)
    assert_fit_fails(aggregator, bad, ValueError, message)
    aggregator.fit(X)
    with pytest.raises(ValueError, match=message):
        aggregator.transform(bad)
    # What is not anonymized may have any value.
    release = DaskTableAggregator(k=3, quasi_identifiers=["age"]).fit_transform(bad)
    assert_array_equal(release["income"].compute(), table["income"])


def test_no_rows(table):
    X = dd.from_pandas(table[:0], npartitions=1)
    message = "^k=5 must be at most the number of records, n_samples=0"
    assert_fit_fails(DaskTableAggregator(quasi_identifiers=NAMES), X, ValueError, message)


def test_unfitted(X):
    with pytest.raises(NotFittedError, match=r"^This DaskTableAggregator"):
        DaskTableAggregator().transform(X)


@pytest.mark.slow
def test_new_rows_that_lack_a_column(X, new):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES).fit(X)
    lacking = dd.from_pandas(new.drop(columns="income"), npartitions=1)
    with pytest.raises(ValueError, match=r"^X has no column 'income'"):
        aggregator.transform(lacking)
