"""No value that fewer than k rows share is in a pickled estimator, nor in its folder."""

import pickle

import numpy as np
import pandas as pd
import pytest

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")

from sk_microagg.scale import DaskMicroAggregator  # noqa: E402

# Dask's own, on a pandas that is newer.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

K = 5


def normal(rng):
    return rng.normal([0, 40, -2], size=(400, 3)) * [1.0, 20.0, 0.05]


def many_zeros(rng):
    values = rng.lognormal(3, 1, size=(400, 3))
    values[rng.random((400, 3)) < 0.6] = 0.0
    return values


def heavy_tails(rng):
    return rng.standard_t(1.5, size=(400, 3))


def twins(rng):
    """Some rows are there once or twice, others six times."""
    return np.repeat(rng.normal(size=(130, 3)), rng.choice([1, 2, 6], size=130), axis=0)


def cents(rng):
    return np.round(rng.lognormal(8, 1, size=(400, 3)), 2) + 10_000


TABLES = {make.__name__: make for make in (normal, many_zeros, heavy_tails, twins, cents)}


def rare_values(columns):
    """Values that fewer than k rows have, column by column."""
    for column in columns.T:
        values, n_rows = np.unique(column, return_counts=True)
        yield from values[n_rows < K]


def found_in(content, values):
    """Values that occur in some bytes: as floats of both sizes in both orders, or as text."""
    return [
        value
        for value in values
        if any(
            np.array(value, dtype).tobytes() in content for dtype in ("<f8", ">f8", "<f4", ">f4")
        )
        or repr(float(value)).encode() in content
    ]


@pytest.mark.parametrize("scaler", ["standard", None])
@pytest.mark.parametrize("table", TABLES)
def test_no_rare_value_is_found(table, scaler, tmp_path):
    values = TABLES[table](np.random.default_rng(0))
    X = dd.from_pandas(pd.DataFrame(values, columns=list("abc")), npartitions=2)
    aggregator = DaskMicroAggregator(k=K, block_size=80, scaler=scaler, folder=tmp_path).fit(X)
    assert aggregator.n_blocks_ > 2
    pickled = pickle.dumps(aggregator)
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    scaled = aggregator.scaler_.transform(values) if scaler else values
    secrets = [*rare_values(values), *rare_values(scaled)]
    assert len(secrets) > 100
    assert found_in(pickled + files, secrets) == []
    # They would be found: a model that remembers some of them is caught, whatever it does.
    for dtype in ("f4", "f8"):
        aggregator.remembered_ = np.array(secrets[::10], dtype)
        assert found_in(pickle.dumps(aggregator), secrets[::10]) == secrets[::10]
    text = "; ".join(map(repr, map(float, secrets[::10])))
    assert found_in(text.encode(), secrets[::10]) == secrets[::10]
