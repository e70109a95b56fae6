"""Tables for tests on Dask, and assertions about estimators that are fitted on them."""

import re
from itertools import product

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sk_microagg import TableAggregator
from sk_microagg.refiners import IteratedLocalSearch

NAMES = ["age", "income", "share"]
SEARCH = IteratedLocalSearch(max_iter=20)
INDEXES = {
    "range": pd.RangeIndex(10, 310),
    "named": pd.Index(2 * np.arange(300), name="id"),
    "text": [f"row {i:03d}" for i in range(300)],
    "dates": pd.date_range("2000-01-01", periods=300, freq=None),
    "duplicated": np.repeat(np.arange(30), 10),
    "unsorted": np.random.default_rng(0).permutation(300),
    "unsorted and duplicated": np.random.default_rng(0).integers(0, 5, size=300),
}
TEXT = pd.StringDtype("pyarrow")  # what Dask makes of all text
SHUFFLES = ["disk", "memory"]
every_shuffle = pytest.mark.parametrize("shuffle", SHUFFLES)


def by_turns(is_always_run=None, **options):
    """Parametrize by all combinations of options, with one way to shuffle each, by turns.

    Of two options or more, each value meets every way to shuffle. If only some combinations are
    always run, the others are before a release.
    """
    names = [*options, "shuffle"]
    cases = []
    for place in product(*(range(len(values)) for values in options.values())):
        values = [values[i] for values, i in zip(options.values(), place, strict=True)]
        is_run = is_always_run is None or is_always_run(*values)
        marks = () if is_run else pytest.mark.release
        cases.append(pytest.param(*values, SHUFFLES[sum(place) % len(SHUFFLES)], marks=marks))
    return pytest.mark.parametrize(names, cases, ids=lambda value: re.sub(r"\s+", " ", str(value)))


def draw(n=300, seed=0):
    """Quasi-identifiers that differ in location and spread, and columns of other kinds."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal([0, 4, -2], size=(n, 3)) * [1.0, 200.0, 0.05], columns=NAMES)
    towns = [f"town {i}" for i in rng.integers(0, 50, size=n)]
    table.insert(1, "town", pd.array(towns, dtype=TEXT))
    table.insert(0, "visits", rng.poisson(3, size=n))
    table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), unit="h")
    return table


def from_pandas(table, npartitions):
    """A Dask table whose text is Arrow's from the start: Dask converts other text in each step."""
    texts = table.select_dtypes(["object", "str"]).columns
    return dd.from_pandas(table.astype(dict.fromkeys(texts, TEXT)), npartitions=npartitions)


def numbers(values, npartitions=3):
    """A Dask table of quasi-identifiers only."""
    return dd.from_pandas(pd.DataFrame(values, columns=NAMES), npartitions=npartitions)


def from_parts(parts):
    """A Dask table of just these parts."""
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0][:0])


def assert_is_release(release, X, **parameters):
    """Every row is in its place, with the values that TableAggregator gives it."""
    expected = TableAggregator(quasi_identifiers=NAMES, **parameters).fit_transform(X.compute())
    pd.testing.assert_frame_equal(release.compute(), expected)


def rows_of(array):
    return set(map(tuple, np.asarray(array)))


def assert_unfitted(aggregator):
    with pytest.raises(NotFittedError):
        check_is_fitted(aggregator)
    assert not [name for name in vars(aggregator) if name.endswith("_") or name.startswith("_")]


def assert_fit_fails(aggregator, X, error, message):
    for fit in (aggregator.fit, aggregator.fit_transform):
        with pytest.raises(error, match=message):
            fit(X)
    assert_unfitted(aggregator)


class Fails:
    def build(self, X, k):
        raise RuntimeError("no groups today")
