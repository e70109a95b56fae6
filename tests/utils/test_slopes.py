"""How fast predictions change along columns."""

import numpy as np
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles import slopes as oracle
from scipy.sparse import csr_array

from sk_microagg._utils import _target_scaler
from sk_microagg._utils._target_scaler import slopes


def seeded():
    return np.random.RandomState(0)


def bend(X):
    """Two predictions, which change at different places."""
    return np.column_stack([np.tanh(X @ np.arange(X.shape[1])), X[:, 0] * X[:, -1] > 0])


def bend_elsewhere(X):
    return np.column_stack([np.tanh(X @ np.arange(X.shape[1]) - 0.3), X[:, 1] > 0])


MODELS = bend, bend_elsewhere


TABLES = {
    "random": lambda rng: rng.normal(size=(60, 4)),
    "ties": lambda rng: rng.integers(3, size=(60, 4)).astype(float),
    "duplicates": lambda rng: np.tile(rng.normal(size=(20, 4)), (3, 1)),
    "constant columns": lambda rng: rng.normal(size=(60, 4)) * [1, 0, 1, 0],
    "one record": lambda rng: rng.normal(size=(1, 4)),
    "two records": lambda rng: rng.normal(size=(2, 4)),
}


@pytest.mark.slow
@in_one_case("table", TABLES)
@in_one_case("column_of", [[0, 1, 2, 3], [0, 1, 0, 2], [0, 0, 0, 0]])
def test_slopes_are_those_of_the_oracle(table, column_of, monkeypatch):
    monkeypatch.setattr(_target_scaler, "EXCHANGES", (30, 30))
    points, column_of = TABLES[table](np.random.default_rng(0)), np.array(column_of)
    expected = oracle.slopes(MODELS, points, column_of, seeded())
    assert_allclose(slopes(MODELS, points, column_of, seeded()), expected, rtol=1e-9)
    with monkeypatch.context() as patch:  # However little fits into memory.
        patch.setattr(_target_scaler, "MOST_NUMBERS", 1)
        assert_allclose(slopes(MODELS, points, column_of, seeded()), expected, rtol=1e-9)
        sparse = csr_array(points)
        assert_allclose(slopes(MODELS, sparse, column_of, seeded()), expected, rtol=1e-9)


def test_one_column():
    points = np.random.default_rng(0).normal(size=(50, 1))
    models = [lambda X: 5 * X[:, 0]] * 2
    assert_allclose(slopes(models, points, np.array([0]), seeded()), [5.0])


@pytest.mark.slow
def test_what_models_take_for_a_change_by_chance_cancels_out():
    points = np.random.default_rng(0).normal(size=(2000, 2))

    def model(seed):
        """Sees the first column, and waves of chance along the second one."""
        phases = np.random.default_rng(seed).uniform(0, 6, 10)
        return lambda X: X[:, 0] + np.sin(50 * X[:, [1]] + phases * np.arange(10)).sum(axis=1)

    def found(*seeds):
        return slopes([model(seed) for seed in seeds], points, np.array([0, 1]), seeded())

    assert found(0, 0)[1] > 10 * found(0, 0)[0]
    waves = [found(seed, 1000 + seed)[1] for seed in range(30)]
    assert min(waves) == 0.0  # of models that disagree
    assert_allclose(found(0, 1)[0], 1.0)


def test_slopes_are_those_between_near_records():
    points = np.random.default_rng(0).uniform(size=(2000, 2))

    def wave(X):
        """Both columns tell as much of far records, but the first one far more of near ones."""
        return np.sin(40 * X[:, 0]) + np.sqrt(6) * X[:, 1]

    steep, flat = slopes([wave, wave], points, np.array([0, 1]), seeded())
    assert flat == pytest.approx(np.sqrt(6))
    assert steep > 5 * flat


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("n_columns", "n_coordinates"), [(1, 1), (8, 8), (200, 200), (700, 700), (2, 2000)]
)
def test_the_number_of_predictions_is_limited(n_columns, n_coordinates, monkeypatch):
    monkeypatch.setattr(_target_scaler, "MOST_NUMBERS", 2_000_000)  # fewer, and thus quicker
    given = []

    def predict(X):
        given.append(len(X))
        return X[:, 0]

    points = np.random.default_rng(0).normal(size=(300, n_coordinates))
    column_of = np.minimum(np.arange(n_coordinates), n_columns - 1)
    found = slopes([predict, lambda X: X[:, 0]], points, column_of, seeded())
    fewest, most = _target_scaler.EXCHANGES
    assert sum(given[1:]) <= max(_target_scaler.IN_ALL_COLUMNS, fewest * n_columns)
    assert fewest * n_columns <= sum(given[1:]) <= most * n_columns
    assert max(given) * n_coordinates <= _target_scaler.MOST_NUMBERS
    assert_array_equal(found > 0, np.arange(n_columns) == 0)
