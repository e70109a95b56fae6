"""Tables on which kernels and oracles are compared: plain ones, and ones full of ties."""

import numpy as np


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def grid(rng, n, d):
    """Few distinct integers: equal distances everywhere, and duplicates."""
    return rng.integers(0, 4, size=(n, d)).astype(float)


def duplicates(rng, n, d):
    return rng.normal(size=(max(n // 4, 1), d))[rng.integers(0, max(n // 4, 1), size=n)]


def constant_column(rng, n, d):
    X = rng.normal(size=(n, d))
    X[:, -1] = 7.1
    return X


def constant(rng, n, d):
    return np.full((n, d), -0.3)


def heavy_tails(rng, n, d):
    return rng.standard_t(1.5, size=(n, d))


TABLES = {
    make.__name__: make
    for make in (normal, grid, duplicates, constant_column, constant, heavy_tails)
}
