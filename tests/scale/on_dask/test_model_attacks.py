"""Records cannot be computed from the weights in the folder of a model."""

import pandas as pd
import pytest
from attacks.lattice import TABLES, diagrams_in, precisions

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")

from sk_microagg._model import _power  # noqa: E402
from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

K = 5


def attack(X, folder):
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    aggregator = DaskTableAggregator(K, block_size=300, folder=folder, random_state=0)
    aggregator.fit(dd.from_pandas(table, npartitions=2))
    return precisions(diagrams_in(folder, aggregator._space._space._scaler), X)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_weights_do_not_disclose_records(table, tmp_path):
    of_equal_slacks, of_best_slab = attack(TABLES[table], tmp_path)
    assert of_equal_slacks <= 1 / K
    assert of_best_slab <= 1 / K


@pytest.mark.slow
def test_the_attacks_find_records_where_weights_are_tight(tmp_path, monkeypatch):
    monkeypatch.setattr(_power, "_centered", lambda walls, weights: weights)
    of_equal_slacks, of_best_slab = attack(TABLES["age and income, unique"], tmp_path)
    assert of_equal_slacks > 0.7
    assert of_best_slab > 0.4
