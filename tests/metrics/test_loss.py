import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose

from sk_microagg.metrics import information_loss, sse

LABELS = {
    "numbered": np.random.default_rng(0).integers(0, 5, size=40),
    "gaps": np.random.default_rng(1).choice([-70, 3, 10**12], size=40),
    "text": np.random.default_rng(2).choice(["north", "south", "", "0"], size=40),
    "fractions": np.random.default_rng(3).choice([0.25, 0.5], size=40),
    "list": np.random.default_rng(4).choice(["a", "b", "c"], size=40).tolist(),
}
every_labeling = in_one_case("labels", LABELS.values())


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(5).normal(size=(40, 3)) * [1.0, 20.0, 0.3]


def naive_sse(X, labels):
    total = 0.0
    for group in set(labels):
        members = [row for row, label in zip(X, labels, strict=True) if label == group]
        center = [sum(column) / len(members) for column in zip(*members, strict=True)]
        for row in members:
            total += sum((x - c) ** 2 for x, c in zip(row, center, strict=True))
    return total


@every_labeling
def test_sse_is_that_of_a_plain_loop(X, labels):
    assert_allclose(sse(X, labels), naive_sse(X, labels), rtol=1e-12)


@every_labeling
def test_information_loss_is_the_share_of_a_plain_loop(X, labels):
    expected = naive_sse(X, labels) / naive_sse(X, [0] * len(X))
    assert_allclose(information_loss(X, labels), expected, rtol=1e-12)


@every_labeling
def test_a_large_offset_costs_no_accuracy(labels):
    # Integers and halves: the shifted records are exact, so that only the metric can lose digits.
    X = np.random.default_rng(6).integers(-50, 50, size=(40, 3)) / 2
    assert_allclose(sse(X + 1e9, labels), sse(X, labels), rtol=1e-13)
    assert_allclose(information_loss(X + 1e9, labels), information_loss(X, labels), rtol=1e-13)


def test_one_group_loses_everything(X):
    assert information_loss(X, np.zeros(len(X))) == 1


def test_singletons_lose_nothing(X):
    assert sse(X, np.arange(len(X))) == 0
    assert information_loss(X, np.arange(len(X))) == 0


# 0.1 is not a binary fraction: the sum of seven, divided by seven, is not 0.1.
@in_one_case("labels", [[0] * 7, [0, 1, 0, 1, 0, 1, 0]])
def test_constant_records_lose_nothing(labels):
    X = np.full((7, 2), 0.1)
    assert sse(X, labels) == 0
    assert information_loss(X, labels) == 0


def test_groups_of_equal_records_lose_nothing(X):
    labels = np.repeat(np.arange(40), 3)
    assert information_loss(X[labels], labels) == 0


@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_lists_of_records_are_accepted(X, frame):
    table = frame(dict(zip("abc", X.T, strict=True)))
    labels = LABELS["numbered"]
    assert sse(table, labels) == sse(X.tolist(), labels) == sse(X, labels)
    assert information_loss(table, labels) == information_loss(X, labels)


def test_loss_is_a_plain_float(X):
    assert type(sse(X, LABELS["gaps"])) is float
    assert type(information_loss(X, LABELS["gaps"])) is float


@in_one_case("metric", [sse, information_loss])
@in_one_case(
    ("X", "labels", "message"),
    [
        ([[1.0], [2.0], [3.0]], [0, 0], r"inconsistent numbers of samples: \[3, 2\]"),
        ([[1.0], [2.0]], [[0, 1], [0, 1]], "should be a 1d array"),
        ([[1.0], [np.nan]], [0, 0], "X contains NaN"),
        ([[1.0], [1e200]], [0, 0], "1 of 2 cells is infinite or too large, at position 1"),
    ],
)
def test_bad_input_raises(metric, X, labels, message):
    with pytest.raises(ValueError, match=message):
        metric(X, labels)
