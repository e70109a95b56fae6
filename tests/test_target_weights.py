"""Columns that count by what they tell of a target, and groups of one class."""

from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted
from sklearn_checks import A_FEW, with_checks

from sk_microagg import MicroAggregator, TableAggregator, TargetScaler
from sk_microagg._utils import _target_scaler, _targets
from sk_microagg._utils._targets import homogeneous_share
from sk_microagg.metrics import anonymity_level, diversity, homogeneity, record_linkage
from sk_microagg.privacy import LDiversity

pytestmark = pytest.mark.usefixtures("few_steps")

UNITS = [10.0, 2000.0, 0.05]
quietly = pytest.mark.filterwarnings("ignore:(scaler|column_weights)='target'")


class Told(BaseEstimator):
    """A model with any importances."""

    def __init__(self, importances):
        self.importances = importances

    def fit(self, X, y):
        self.feature_importances_ = np.array(self.importances)
        return self


@pytest.fixture(name="all_trees")
def with_all_trees():
    """The forests are those of users."""


@pytest.fixture(autouse=True)
def plant_few_trees(request, monkeypatch):
    """Forests are small, but where chance would be seen in their weights."""
    if "all_trees" not in request.fixturenames:
        monkeypatch.setattr(_target_scaler, "N_TREES", 8)


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(200, 3)) * UNITS


@pytest.fixture(name="classes")
def classes_by_the_second_column(X):
    return np.where(X[:, 1] > 0, "high", "low")


@pytest.mark.slow_but_first
@with_checks([TargetScaler(DecisionTreeRegressor(max_depth=3))])
def test_scikit_learn_check_of_the_scaler(estimator, check):
    check(estimator)


@pytest.mark.slow_but_first
@quietly
@with_checks([MicroAggregator(scaler="target", refiner="exchange")], only=A_FEW)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# Weights.


def test_a_column_counts_by_its_weight(X, classes):
    scaler = TargetScaler().fit(X, classes)
    assert np.argmax(scaler.weights_) == 1
    expected = StandardScaler().fit_transform(X) * np.sqrt(scaler.weights_)
    assert_allclose(scaler.transform(X), expected, rtol=1e-12)
    assert 0.7 < scaler.weights_.mean() < 1.4


@pytest.mark.slow
@in_one_case(
    "make_target",
    [
        lambda x: x > 0,
        lambda x: np.where(x > 0, "a", "b").astype(object),
        lambda x: pd.Series(np.where(x > 0, "a", "b")).astype("category"),
        lambda x: np.digitize(x, [-2000, 0, 2000]),
        lambda x: x * 0.3,
        lambda x: (30_000 + x).astype(int),
        lambda x: (x * 0.3)[:, None],
        lambda x: pd.to_datetime(1e5 * x, unit="s"),
        lambda x: np.column_stack([x, -x]),
        lambda x: x.astype(object),
        lambda x: np.array([Decimal(int(value)) for value in x]),
        lambda x: pd.to_datetime(1e5 * x, unit="s").astype(object),
        lambda x: (1000 * x).astype("m8[s]"),
        lambda x: (x > 0).astype(object),
    ],
)
def test_any_target(X, make_target):
    weights = TargetScaler().fit(X, make_target(X[:, 1])).weights_
    assert weights[1] > 2 * max(weights[0], weights[2])


def test_a_target_without_any_difference(X):
    assert_array_equal(TargetScaler().fit(X, np.ones(200, dtype=int)).weights_, 1.0)


@in_one_case("floor", [0.1, 0.5, 1.0])
def test_the_floor_is_the_weight_of_what_tells_nothing(X, classes, floor):
    many, y = np.tile(X, (200, 1)), np.tile(classes, 200)
    tree = DecisionTreeClassifier(max_depth=1)  # It uses the second column only.
    weights = TargetScaler(tree, floor=floor).fit(many, y).weights_
    step = 2**0.5  # Weights are rounded.
    assert floor / step <= weights[0] / weights[1] <= floor * step
    assert weights[0] == weights[2]


def test_less_is_known_of_fewer_records(X, classes):
    tree = DecisionTreeClassifier(max_depth=1)
    many, y = np.tile(X, (50, 1)), np.tile(classes, 50)
    ratios = [
        np.divide(*TargetScaler(tree).fit(many[:n], y[:n]).weights_[[1, 0]])
        for n in (10_000, 200, 20)
    ]
    assert ratios[0] > ratios[1] > ratios[2] == 1.0


@in_one_case("estimator", [LogisticRegression(), DecisionTreeClassifier(), Ridge()])
def test_other_models(X, estimator):
    y = X[:, 1] > 0
    assert np.argmax(TargetScaler(estimator).fit(X, y).weights_) == 1
    assert not hasattr(estimator, "n_features_in_")


def test_that_a_value_is_missing_can_tell_of_the_target(X, classes):
    X[classes == "low", 2] = np.nan
    weights = TargetScaler().fit(X, classes).weights_
    assert weights[2] > 2 * weights[0]


@pytest.mark.slow
@pytest.mark.usefixtures("all_trees")
@in_one_case("unit", [2.0**-1000, 2.0**1000])
def test_units_of_a_target_do_not_matter(X, unit):
    y = X[:, 1] + 500 * X[:, 0]
    weights = TargetScaler().fit(X, y).weights_
    assert_array_equal(TargetScaler().fit(X, unit * y).weights_, weights)
    both = np.column_stack([X[:, 1], X[:, 0]])
    weights = TargetScaler().fit(X, both).weights_
    assert_array_equal(TargetScaler().fit(X, [1.0, unit] * both).weights_, weights)
    assert weights[0] == weights[1] > weights[2]


def test_rare_classes_count_as_one(X, monkeypatch):
    monkeypatch.setattr(_targets, "MOST_CLASSES_TOLD_APART", 3)
    names = np.repeat(list("badcefg"), [2, 30, 3, 40, 50, 1, 1])
    indicators = _targets._indicators(names)
    expected = np.column_stack(
        [names == "e", names == "c", names == "a", np.isin(names, list("bdfg"))]
    )
    assert_array_equal(indicators, expected)
    quartile = np.digitize(X[:, 1], np.quantile(X[:, 1], [0.25, 0.5, 0.75]))
    assert np.argmax(TargetScaler().fit(X, quartile).weights_) == 1


@pytest.mark.slow
@in_one_case("n", [1, 2, 5, 12])
def test_few_records_tell_nothing(X, n):
    assert_array_equal(TargetScaler().fit(X[:n], X[:n, 1]).weights_, 1.0)


@pytest.mark.slow
def test_categories_of_many_values():
    names = np.random.default_rng(1).integers(300, size=1500).astype(str)
    x = np.random.default_rng(2).normal(size=1500)
    table = pd.DataFrame({"name": names, "x": x})
    aggregator = TableAggregator(3, column_weights="target", categories="shares")
    plain = TableAggregator(3, categories="shares").fit_transform(table)
    release = aggregator.fit_transform(table, x)
    assert anonymity_level(release) >= 3
    assert np.mean((release["x"] - x) ** 2) < np.mean((plain["x"] - x) ** 2)


@pytest.mark.slow
def test_names_of_any_kind(X):
    names = [("a", 1), np.nan, 3]
    table = pd.DataFrame(X)
    table.columns = pd.Index(names, tupleize_cols=False)
    aggregator = TableAggregator(column_weights="target").fit(table, X[:, 1])
    assert_array_equal(aggregator.labels_, MicroAggregator(scaler="target").fit_predict(X, X[:, 1]))


def test_bad_parameters(X, classes):
    for scaler in (TargetScaler(random_state="x"), TargetScaler(Ridge(), random_state=-1)):
        with pytest.raises(ValueError, match=r"^random_state="):
            scaler.fit(X, classes)
    with pytest.raises(ValueError, match=r"^floor=0\b"):
        TargetScaler(floor=0).fit(X, classes)
    with pytest.raises(TypeError, match=r"^estimator=DummyClassifier\(.*\)"):
        TargetScaler(DummyClassifier()).fit(X, classes)
    with pytest.raises(ValueError, match=r"^y of shape \(199,\)"):
        TargetScaler().fit(X, classes[1:])
    for y in (np.array(["a", 1] * 100, dtype=object), np.array([b"a", b"b"] * 100), 1j * X[:, 0]):
        with pytest.raises(ValueError, match=r"^y of type "):
            TargetScaler().fit(X, y)
    for shape in ((200, 0), (200, 1, 1)):
        with pytest.raises(ValueError, match=r"^y of shape \(200, .*\)"):
            TargetScaler().fit(X, np.zeros(shape))
    for importances in ([1.0, 2.0], [1.0, np.nan, 1.0], [1.0, -1.0, 1.0]):
        with pytest.raises(ValueError, match=r"importances of shape .* 3 numbers"):
            TargetScaler(Told(importances)).fit(X, classes)
    for missing in (np.nan, None):
        y = np.where(X[:, 0] > 0, 1.0, missing)
        with pytest.raises(ValueError, match=r"^y contains NaN or None: TargetScaler"):
            TargetScaler().fit(X, y)


# Groups.


@pytest.mark.slow
def test_groups_by_what_tells_of_the_target(X):
    y = X[:, 1]
    plain, weighted = MicroAggregator(), MicroAggregator(scaler="target")
    errors = [
        np.mean((aggregator.fit_transform(X, y)[:, 1] - y) ** 2) for aggregator in (plain, weighted)
    ]
    assert errors[1] < errors[0] / 2
    assert weighted.exact_transform_
    assert_array_equal(weighted.transform(X), weighted.fit_transform(X, y))
    assert_array_equal(weighted.fit_predict(X, y), weighted.labels_)
    by_object = MicroAggregator(scaler=TargetScaler()).fit_predict(X, y)
    assert_array_equal(by_object, weighted.labels_)


@pytest.mark.slow
@in_one_case("n_missing", [0, 50])
def test_tables_of_numbers_have_the_same_groups(X, n_missing):
    y = X[:, 1].copy()
    X[:n_missing, [0, 1]] = np.nan
    table = pd.DataFrame(X, columns=list("abc"))
    numbers = MicroAggregator(scaler="target").fit(X, y)
    assert np.ptp(numbers.scaler_.weights_) > 0
    assert_array_equal(
        TableAggregator(column_weights="target").fit_predict(table, y), numbers.labels_
    )


@pytest.mark.slow
def test_missing_values_and_units(X):
    y = X[:, 1].copy()
    X[::5, 0] = np.nan
    units = np.arange(200) // 2
    aggregator = MicroAggregator(4, scaler="target")
    release = aggregator.fit_transform(X, y, unit=units)
    assert anonymity_level(release) >= 4
    # Both coordinates of a column together have about the variance of its weight: it is coarse.
    points = aggregator._space.points(X)
    weight = points[:, [0, 3]].var(axis=0).sum()
    assert_allclose(weight, aggregator.scaler_.weights_[0], rtol=0.1)


@pytest.mark.slow
def test_a_scaler_of_several_steps_gets_the_target(X):
    scaler = make_pipeline(TargetScaler(), PCA(2))
    aggregator = MicroAggregator(scaler=scaler).fit(X, X[:, 1])
    assert aggregator.scaler_[0].weights_[1] > 1


def test_other_scalers_ignore_the_target(X):
    for scaler in ("standard", RobustScaler(), None):
        aggregator = MicroAggregator(scaler=scaler, refiner="exchange")
        assert_array_equal(aggregator.fit_predict(X, "nothing"), aggregator.fit_predict(X))


@in_one_case("scaler", ["target", TargetScaler()])
def test_a_target_is_needed(X, scaler):
    aggregator = MicroAggregator(scaler=scaler)
    for fit in (aggregator.fit, aggregator.fit_transform, aggregator.fit_predict):
        with pytest.raises(ValueError, match=r"^TargetScaler \(scaler='target'\) needs y"):
            fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(aggregator)


def test_where_there_is_no_target(X):
    with pytest.raises(ValueError, match=r"^scaler='target'"):
        record_linkage(X, X, scaler="target")
    with pytest.raises(ValueError, match=r"^scaler=TargetScaler\(\)"):
        record_linkage(X, X, scaler=TargetScaler())


# What weights tell of single records.


def agree_with_truth(X, y, record, n_guesses):
    """Which guesses at a record, by somebody who knows all others, give the published weights."""
    rng = np.random.default_rng(1)
    guesses = []
    for guess in range(n_guesses):
        other, label = X.copy(), y.copy()
        label[record] = y[rng.integers(len(y))] if y.dtype.kind == "f" else guess % 2 == 0
        other[record] = X[rng.integers(len(X))]
        guesses.append(TargetScaler().fit(other, label).weights_)
    return (guesses == TargetScaler().fit(X, y).weights_).all(axis=1)


RECORDS = {
    "normal": lambda rng: rng.normal(size=(200, 8)),
    "ties": lambda rng: rng.integers(-2, 3, size=(200, 8)).astype(float),
    "missing": lambda rng: np.where(rng.random((200, 8)) < 0.3, np.nan, rng.normal(size=(200, 8))),
}


GUESSED = [("normal", 0.0, True), ("ties", 1.0, False), ("missing", 1.0, True)]


# Each kind, signal and type of target once; all combinations before a release.
@pytest.mark.slow
@pytest.mark.usefixtures("all_trees")
@pytest.mark.parametrize(
    ("kind", "signal", "has_classes"),
    [
        pytest.param(*case, marks=[] if case in GUESSED else pytest.mark.release)
        for case in product(RECORDS, [0.0, 1.0], [True, False])
    ],
)
def test_weights_do_not_tell_guesses_apart(kind, signal, has_classes, monkeypatch):
    same = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = RECORDS[kind](rng)
        y = signal * np.nan_to_num(X[:, 0] + X[:, 1] / 2) + rng.normal(size=200)
        y = y > 0 if has_classes else y
        same += agree_with_truth(X, y, record=17, n_guesses=3).tolist()
    assert np.mean(same) >= 0.75
    # With all digits, every guess but the right one would be excluded.
    monkeypatch.setattr(_target_scaler, "STEP", 1.0 + 1e-9)
    monkeypatch.setattr(_target_scaler, "STANDARD_ERRORS", 0.0)
    assert not agree_with_truth(X, y, record=17, n_guesses=1).any()


# Groups of one class.


@pytest.mark.slow
def test_share_of_homogeneous_groups_and_what_it_is_by_chance():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), rng.integers(2, 6, 60))
    classes = rng.choice(3, len(labels), p=[0.6, 0.3, 0.1])
    share, chance, error = homogeneous_share(labels, classes)
    assert share == pytest.approx(homogeneity(labels, classes))
    drawn = rng.choice(classes, (2000, len(classes)))
    shares = [homogeneity(labels, row) for row in drawn]
    assert chance == pytest.approx(np.mean(shares), abs=0.005)
    assert error == pytest.approx(np.std(shares), rel=0.1)


WARNING = r"^{}='target': \d+% of the records are in groups of a single class of y \(\d+% would"


@pytest.mark.slow
def test_a_warning_of_groups_of_one_class_and_how_to_prevent_them(X, classes):
    aggregator = MicroAggregator(scaler="target")
    with pytest.warns(UserWarning, match=WARNING.format("scaler")) as caught:
        aggregator.fit(X, classes)
    assert caught[0].filename == __file__
    share = homogeneity(aggregator.labels_, classes)
    assert f": {share:.0%} of the records" in str(caught[0].message)
    with pytest.warns(UserWarning, match=WARNING.format("scaler")):
        MicroAggregator(scaler=make_pipeline(TargetScaler()), refiner=None).fit(X, classes)
    aggregator.set_params(privacy=LDiversity(2)).fit(X, classes, sensitive=classes)
    assert diversity(aggregator.labels_, classes) == 2


@pytest.mark.slow
def test_the_same_of_tables(X, classes):
    table = pd.DataFrame(X, columns=list("abc"))
    aggregator = TableAggregator(column_weights="target")
    with pytest.warns(UserWarning, match=WARNING.format("column_weights")):
        aggregator.fit(table, classes)
    aggregator.set_params(privacy=LDiversity(2))
    release = aggregator.fit_transform(table, classes, sensitive=classes)
    assert diversity(release, classes) == 2
    assert_array_equal(
        aggregator.fit_predict(table, classes, sensitive=classes), aggregator.labels_
    )
    with pytest.raises(ValueError, match=r"^sensitive='a'"):
        aggregator.set_params(sensitive="a").fit(table, classes, sensitive=classes)


def test_no_warning_of_what_chance_would_do(X):
    rare = np.random.default_rng(3).random(200) < 0.05
    aggregator = MicroAggregator(3, scaler="target").fit(X, rare)
    assert homogeneity(aggregator.labels_, rare) > 0.6


@pytest.mark.slow
def test_no_warning_without_classes_or_groups(X, classes, recwarn):
    MicroAggregator(scaler="target").fit(X, X[:, 1])
    MicroAggregator(scaler="target").fit(X, np.column_stack([X[:, 1] > 0, X[:, 1] < 0]))
    MicroAggregator().fit(X, classes)
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"k=1\b") as warned:
        MicroAggregator(1, scaler="target").fit(X, classes)
    assert len(warned) == 1


def test_masked_values_are_missing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y, mask = X[:, 0] > 0, np.zeros_like(X, dtype=bool)
    mask[::7, 1] = True
    hidden = np.ma.array(np.where(mask, 1e6, X), mask=mask)
    masked, missing = (
        TargetScaler().fit(hidden, y),
        TargetScaler().fit(np.where(mask, np.nan, X), y),
    )
    np.testing.assert_array_equal(masked.mean_, missing.mean_)
    assert np.isnan(masked.transform(hidden)[0, 1])
