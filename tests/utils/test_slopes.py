"""How fast predictions change along columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import slopes as oracle
from scipy.sparse import csr_array

from sk_microagg._utils import _slopes
from sk_microagg._utils._slopes import slopes


def seeded():
    return np.random.RandomState(0)


def bend(X):
    """Two predictions, which change at different places."""
    X = np.atleast_2d(X)
    return np.column_stack([np.tanh(X @ np.arange(X.shape[1])), X[:, 0] * X[:, -1] > 0])


TABLES = {
    "random": lambda rng: rng.normal(size=(60, 4)),
    "ties": lambda rng: rng.integers(3, size=(60, 4)).astype(float),
    "duplicates": lambda rng: np.tile(rng.normal(size=(20, 4)), (3, 1)),
    "constant columns": lambda rng: rng.normal(size=(60, 4)) * [1, 0, 1, 0],
    "one record": lambda rng: rng.normal(size=(1, 4)),
    "two records": lambda rng: rng.normal(size=(2, 4)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("column_of", [[0, 1, 2, 3], [0, 1, 0, 2], [0, 0, 0, 0]])
def test_slopes_are_those_of_the_oracle(table, column_of, monkeypatch):
    monkeypatch.setattr(_slopes, "MOST_EXCHANGES", 150)
    points, column_of = TABLES[table](np.random.default_rng(0)), np.array(column_of)
    expected = oracle.slopes(bend, points, column_of, seeded())
    assert_allclose(slopes(bend, points, column_of, seeded()), expected, rtol=1e-9)
    # However little fits into memory.
    monkeypatch.setattr(_slopes, "MOST_NUMBERS", 1)
    assert_allclose(slopes(bend, points, column_of, seeded()), expected, rtol=1e-9)
    sparse = csr_array(points)
    assert_allclose(slopes(bend, sparse, column_of, seeded()), expected, rtol=1e-9)


def test_one_column():
    points = np.random.default_rng(0).normal(size=(50, 1))
    assert_allclose(slopes(lambda X: 5 * X[:, 0], points, np.array([0]), seeded()), [5.0])


def test_slopes_are_those_between_near_records():
    points = np.random.default_rng(0).uniform(size=(2000, 2))

    def wave(X):
        """Both columns tell as much of far records, but the first one far more of near ones."""
        return np.sin(40 * X[:, 0]) + np.sqrt(6) * X[:, 1]

    steep, flat = slopes(wave, points, np.array([0, 1]), seeded())
    assert flat == pytest.approx(np.sqrt(6))
    assert steep > 5 * flat


@pytest.mark.parametrize("n_columns", [1, 8, 200, 1000])
def test_the_number_of_predictions_is_limited(n_columns):
    given = []

    def predict(X):
        given.append(len(X))
        return X[:, 0]

    points = np.random.default_rng(0).normal(size=(3000, n_columns))
    found = slopes(predict, points, np.arange(n_columns), seeded())
    assert given[0] == _slopes.MOST_RECORDS
    in_all = max(_slopes.MOST_IN_ALL, n_columns * _slopes.FEWEST_EXCHANGES)
    assert sum(given[1:]) <= min(in_all, n_columns * _slopes.MOST_EXCHANGES)
    assert max(given[1:]) * n_columns <= _slopes.MOST_NUMBERS
    assert_array_equal(found > 0, np.arange(n_columns) == 0)
