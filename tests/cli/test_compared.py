"""A release is recognized as shuffled if and only if its rows are in another order."""

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._cli._compared import rows_correspond

rng = np.random.default_rng(0)
SYNTHETIC = {
    "one column": rng.normal(size=(100, 1)),
    "many columns": rng.normal(size=(60, 10)),
    "heavy tails": rng.lognormal(0, 3, size=(300, 3)),
    "counts": rng.poisson(2, size=(200, 3)).astype(float),
    "clusters": np.repeat(rng.normal(size=(20, 2)), 10, axis=0) + 0.01 * rng.normal(size=(200, 2)),
    "one giant": np.vstack([rng.normal(size=(149, 3)), [[0, 0, 1e6]]]),
    "with a constant": np.column_stack([rng.normal(size=(80, 2)), np.ones(80)]),
    "wine": load_wine().data,
    "diabetes": load_diabetes(scaled=False).data,
    "breast cancer": load_breast_cancer().data,
}


def frame(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(np.shape(X)[1])])


def correspond(X, release):
    before, after = frame(X), frame(release)
    return rows_correspond(before, after, list(before))


def shuffles(release, n=25):
    return (np.random.default_rng(seed).permutation(release) for seed in range(n))


def assert_shuffles_are_noticed(X, ks):
    for k in ks:
        release = MicroAggregator(k, refiner="exchange").fit_transform(X).round(2)
        assert correspond(X, release)
        assert not any(correspond(X, shuffled) for shuffled in shuffles(release))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
def test_reference_tables(data_folder, name):
    table = pd.read_csv(data_folder / f"{name}.csv").select_dtypes("number").dropna(axis=1)
    assert_shuffles_are_noticed(table.to_numpy(dtype=float), (3, 10, 50))


@pytest.mark.slow
@pytest.mark.parametrize("name", SYNTHETIC)
def test_other_tables(name):
    assert_shuffles_are_noticed(SYNTHETIC[name], (1, 3, 5, 10))


@pytest.mark.slow_but_first
@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("builder", ["mdav", "in row order"])
def test_no_loss_is_too_large(name, builder):
    X = SYNTHETIC[name]
    for k in (len(X), len(X) // 2, len(X) // 3, len(X) // 10):
        if builder == "mdav":
            release = MicroAggregator(k, refiner=None).fit_transform(X)
        else:  # Groups that have nothing in common lose nearly all.
            labels = np.minimum(np.arange(len(X)) // k, len(X) // k - 1)
            means = pd.DataFrame(X).groupby(labels).mean().to_numpy()
            release = means[labels]
        assert correspond(X, release)
        assert correspond(X, release.round(2))


@pytest.mark.slow
@in_one_case("seed", range(4))
@in_one_case("n", [4, 7, 12, 20])
def test_small_tables(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    for k in (1, 2, 3, n // 2, n):
        assert correspond(X, MicroAggregator(k).fit_transform(X).round(2))


@pytest.mark.parametrize("k", [2, 5, 20, 40])
def test_midpoints(k):
    X = SYNTHETIC["diabetes"][:, :4]
    release = KAIM(k, output="midpoint", random_state=0).fit_transform(X)
    varies = ~np.isnan(release).any(axis=0)
    assert correspond(X[:, varies], release[:, varies])


@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0])
def test_noise(noise):
    X = SYNTHETIC["diabetes"]
    release = X + noise * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape)
    assert correspond(X, release)
    assert not any(correspond(X, shuffled) for shuffled in shuffles(release))


def test_another_table_is_not_a_shuffled_one():
    X = SYNTHETIC["many columns"]
    assert correspond(X, 5 + np.random.default_rng(1).normal(size=X.shape))


def test_values_that_are_released_unchanged():
    before = pd.DataFrame({"age": [3, 5, 7, 9], "ward": ["a", "b", None, "b"]})
    after = before.assign(age=6.0)
    assert rows_correspond(before, after, ["age"])
    shuffled = after.iloc[[1, 0, 2, 3]].reset_index(drop=True)
    assert not rows_correspond(before, shuffled, ["age"])
    generalized = after.assign(ward=["*", "b", "*", "b"])
    assert rows_correspond(before, generalized, ["age"])


def test_swapped_categories_next_to_numbers_in_order():
    X = SYNTHETIC["diabetes"]
    before = frame(X).assign(ward=np.arange(len(X)) % 3)
    after = frame(MicroAggregator(5).fit_transform(X)).assign(ward=before["ward"].to_numpy()[::-1])
    assert rows_correspond(before, after, list(frame(X)))
