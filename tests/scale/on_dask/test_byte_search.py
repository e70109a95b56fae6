"""No value that fewer than k rows share is in a pickled estimator, nor in its folder."""

import pickle

import numpy as np
import pandas as pd
import pytest
from attacks.byte_search import TABLES, found_in, rare_numbers

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

K = 5


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_no_rare_value_is_found(table, tmp_path):
    values = TABLES[table](np.random.default_rng(0))
    X = dd.from_pandas(pd.DataFrame(values, columns=list("abc")), npartitions=2)
    aggregator = DaskTableAggregator(k=K, block_size=80, folder=tmp_path).fit(X)
    assert aggregator.n_blocks_ > 1
    pickled = pickle.dumps(aggregator)
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    scaled = aggregator._space._space._scaler.transform(values)
    secrets = rare_numbers([*values.T, *scaled.T], K)
    assert len(secrets) > 100
    assert not found_in(pickled + files, secrets)
    # They would be found.
    aggregator.remembered_ = np.array(sorted(secrets))
    assert found_in(pickle.dumps(aggregator), secrets) == secrets
