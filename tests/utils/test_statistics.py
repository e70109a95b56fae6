from fractions import Fraction

import numpy as np
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg._utils._statistics import group_means, group_sizes, squared_error


@pytest.fixture
def labels():
    return np.random.default_rng(0).permutation(np.repeat(np.arange(6), [1, 2, 3, 5, 8, 13]))


def exact_means(X, labels):
    """The means in rational arithmetic, rounded once at the end."""
    groups = [X[labels == group] for group in range(labels.max() + 1)]
    return np.array(
        [[float(sum(map(Fraction, c.tolist())) / len(c)) for c in group.T] for group in groups]
    )


def test_group_sizes_count_the_records(labels):
    assert_array_equal(group_sizes(labels), [1, 2, 3, 5, 8, 13])


def test_group_means_keep_constants_exactly(labels):
    values = np.random.default_rng(1).normal(size=(6, 4)) * [1e-300, 1.0, 1e12, 1e150]
    assert_array_equal(group_means(values[labels], labels), values)


@in_one_case("offset", [0.0, 1e6, -1e12, 1e15])
def test_group_means_are_exact_to_rounding_at_any_offset(labels, offset):
    X = np.random.default_rng(2).normal(size=(len(labels), 3)) + offset
    assert_allclose(group_means(X, labels), exact_means(X, labels), rtol=1e-15, atol=1e-15)


@in_one_case("dtype", [np.float32, np.int64])
def test_group_means_are_float64_whatever_the_type(labels, dtype):
    X = (np.random.default_rng(3).normal(size=(len(labels), 3)) * 100).astype(dtype)
    means = group_means(X, labels)
    assert means.dtype == np.float64
    assert_allclose(means, exact_means(X.astype(np.float64), labels), rtol=1e-13)


@in_one_case("offset", [0.0, 1e9])
def test_squared_error_is_the_sum_of_squared_distances(labels, offset):
    rng = np.random.default_rng(4)
    X, centers = rng.normal(size=(len(labels), 3)) + offset, rng.normal(size=(6, 3)) + offset
    naive = sum(
        (float(x) - float(c)) ** 2
        for row, group in zip(X, labels, strict=True)
        for x, c in zip(row, centers[group], strict=True)
    )
    assert_allclose(squared_error(X, centers, labels), naive, rtol=1e-13)
