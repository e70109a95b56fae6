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


def line(rng, n, d):
    """Records on a line: triangle inequalities hold with equality."""
    return rng.normal(size=(n, 1)) * np.linspace(1.0, 2.0, d) + 0.1


def tiny(rng, n, d):
    """Squares of such values are denormal or 0."""
    return 1e-149 * rng.normal(size=(n, d))


def huge(rng, n, d):
    return 1e130 * rng.normal(size=(n, d))


def heavy_tails(rng, n, d):
    return rng.standard_t(1.5, size=(n, d))


TABLES = {
    make.__name__: make
    for make in (
        normal,
        grid,
        duplicates,
        constant_column,
        constant,
        line,
        tiny,
        huge,
        heavy_tails,
    )
}


def in_units(n=400, d=3, seed=0):
    """Normal records whose columns, up to four, differ in location and spread."""
    units = np.array([1.0, 200.0, 0.05, 3.0])[:d]
    return np.random.default_rng(seed).normal([0, 4, -2, 1][:d], size=(n, d)) * units
