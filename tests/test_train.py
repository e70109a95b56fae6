"""TrainOnRelease: a model of the release, used on rows as they are."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from attacks.byte_search import found_in, rare_numbers, recognizable
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted
from sklearn_checks import A_FEW, with_checks

from sk_microagg import MicroAggregator, TableAggregator, TrainOnRelease
from sk_microagg.metrics import diversity
from sk_microagg.privacy import LDiversity

COLUMNS = ["age", "income", "share"]
UNITS = [10.0, 2000.0, 0.05]
pytestmark = pytest.mark.usefixtures("few_steps")


def draw(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3)) * UNITS


def label(X):
    return np.where(X / UNITS @ [1.0, -2.0, 0.5] > 0, "yes", "no")


@pytest.fixture(name="X")
def records():
    return draw(120, seed=0)


@pytest.fixture(name="y")
def target(X):
    return label(X)


@pytest.fixture(name="new")
def new_records():
    return draw(37, seed=1)


@pytest.mark.slow_but_first
@with_checks([TrainOnRelease(LogisticRegression(), MicroAggregator(refiner="exchange"))])
def test_scikit_learn_check_of_a_classifier(estimator, check):
    check(estimator)


@pytest.mark.slow
@with_checks([TrainOnRelease(Ridge())])
def test_scikit_learn_check_of_a_regressor(estimator, check):
    check(estimator)


@pytest.mark.slow_but_first
@with_checks([TrainOnRelease(Ridge(), TableAggregator(k=2))], only=A_FEW)
def test_scikit_learn_check_of_a_table(estimator, check):
    check(estimator)


def test_the_model_is_that_of_the_release_used_on_rows_as_they_are(X, y, new):
    model = TrainOnRelease(LogisticRegression(), MicroAggregator(k=4)).fit(X, y)
    by_hand = LogisticRegression().fit(MicroAggregator(k=4).fit_transform(X), y)
    assert_array_equal(model.predict(new), by_hand.predict(new))
    assert_array_equal(model.predict_proba(new), by_hand.predict_proba(new))
    assert_array_equal(model.predict_log_proba(new), by_hand.predict_log_proba(new))
    assert_array_equal(model.decision_function(new), by_hand.decision_function(new))
    assert model.score(new, label(new)) == by_hand.score(new, label(new))
    assert list(model.classes_) == ["no", "yes"]


def test_without_an_anonymizer_it_is_the_default_one(X, y, new):
    model = TrainOnRelease(Ridge()).fit(X, X[:, 0])
    by_hand = Ridge().fit(MicroAggregator().fit_transform(X), X[:, 0])
    assert isinstance(model.anonymizer_, MicroAggregator)
    assert model.anonymizer is None
    assert_array_equal(model.predict(new), by_hand.predict(new))


def test_it_is_what_its_estimator_is():
    assert is_classifier(TrainOnRelease(LinearSVC()))
    assert is_regressor(TrainOnRelease(make_pipeline(StandardScaler(), Ridge())))
    assert hasattr(TrainOnRelease(LinearSVC()), "decision_function")
    assert not hasattr(TrainOnRelease(LinearSVC()), "predict_proba")
    assert not hasattr(TrainOnRelease(Ridge()), "decision_function")


def test_a_regressor_has_no_classes_of_an_earlier_fit(X, y):
    model = TrainOnRelease(LogisticRegression()).fit(X, y)
    model.set_params(estimator=Ridge()).fit(X, X[:, 0])
    assert not hasattr(model, "classes_")


@pytest.mark.slow
def test_a_grid_search_over_k(X, y):
    model = TrainOnRelease(LogisticRegression(), MicroAggregator(refiner=None))
    grid = {"anonymizer__k": [3, 30], "estimator__C": [0.01, 1.0]}
    results = GridSearchCV(model, grid, cv=KFold(3)).fit(X, y).cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        scores = []
        for train, test in KFold(3).split(X):
            anonymizer = MicroAggregator(params["anonymizer__k"], refiner=None)
            release = anonymizer.fit_transform(X[train])
            by_hand = LogisticRegression(C=params["estimator__C"]).fit(release, y[train])
            scores.append(by_hand.score(X[test], y[test]))
        assert_allclose(score, np.mean(scores), rtol=1e-12)


def test_a_failing_fit_leaves_nothing_behind(X, y):
    for model in (
        TrainOnRelease(LogisticRegression(), MicroAggregator(k=0)),
        TrainOnRelease(LogisticRegression(C=-1.0)),
    ):
        with pytest.raises(ValueError, match=r"=0|'C'"):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        with pytest.raises(NotFittedError):
            model.predict(X)


@pytest.mark.slow
def test_y_reaches_the_anonymizer(X):
    y = X[:, 1]
    model = TrainOnRelease(Ridge(), MicroAggregator(scaler="target")).fit(X, y)
    expected = MicroAggregator(scaler="target").fit(X, y)
    assert_array_equal(model.anonymizer_.centroids_, expected.centroids_)
    assert np.argmax(expected.scaler_.weights_) == 1


# Metadata.


@pytest.fixture(name="routing")
def metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def assert_all_were_used(model, X, y, new, weights):
    """The groups are diverse, and the estimator knows of the weights."""
    release = clone(model.anonymizer).fit_transform(X, sensitive=y)
    assert_array_equal(np.unique(release, axis=0), np.unique(model.anonymizer_.centroids_, axis=0))
    assert diversity(release, y) == 2
    weighted = LogisticRegression().fit(release, y, sample_weight=weights)
    assert_array_equal(model.predict_proba(new), weighted.predict_proba(new))


@pytest.mark.slow
def test_metadata_without_routing(X, y, new):
    weights = np.where(X[:, 0] > 0, 5.0, 1.0)
    model = TrainOnRelease(LogisticRegression(), MicroAggregator(k=3, privacy=LDiversity(2)))
    model.fit(X, y, sensitive=y, sample_weight=weights)
    assert_all_were_used(model, X, y, new, weights)
    by_weight = model.score(new, label(new), sample_weight=np.arange(37))
    expected = model.estimator_.score(new, label(new), sample_weight=np.arange(37))
    assert by_weight == expected != model.score(new, label(new))


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_metadata_with_routing(X, y, new):
    weights = np.where(X[:, 0] > 0, 5.0, 1.0)
    anonymizer = MicroAggregator(k=3, privacy=LDiversity(2), refiner=None)
    anonymizer.set_fit_request(sensitive=True)
    estimator = LogisticRegression().set_fit_request(sample_weight=True)
    model = TrainOnRelease(estimator.set_score_request(sample_weight=True), anonymizer)
    model.fit(X, y, sensitive=y, sample_weight=weights)
    assert_all_were_used(model, X, y, new, weights)
    params = {"sensitive": y, "sample_weight": weights}
    scores = cross_val_score(model, X, y, params=params, cv=3, error_score="raise")
    assert scores.min() > 0.5


@pytest.mark.usefixtures("routing")
def test_with_routing_a_decision_is_needed(X, y):
    model = TrainOnRelease(LogisticRegression(), MicroAggregator(privacy=LDiversity(2)))
    with pytest.raises(ValueError, match=r"sensitive.*not explicitly set as requested"):
        model.fit(X, y, sensitive=y)


@pytest.mark.slow
def test_units_and_strata_without_routing(X, y, new):
    units, strata = np.arange(120) // 2, np.arange(120) % 3
    model = TrainOnRelease(LogisticRegression(), MicroAggregator(k=3))
    model.fit(X, y, unit=units, strata=strata)
    expected = MicroAggregator(k=3).fit(X, unit=units, strata=strata)
    assert_array_equal(model.anonymizer_.centroids_, expected.centroids_)
    assert model.predict(new).shape == (37,)  # without strata: rows are used as they are


# Tables.

FAST = MicroAggregator(refiner=None)


@in_one_case("make", [pd.DataFrame, pl.DataFrame])
def test_frames(X, y, new, make):
    frame, other = (make(dict(zip(COLUMNS, rows.T, strict=True))) for rows in (X, new))
    model = TrainOnRelease(LogisticRegression(), FAST).fit(frame, y)
    assert list(model.feature_names_in_) == COLUMNS
    assert model.n_features_in_ == 3
    expected = TrainOnRelease(LogisticRegression(), FAST).fit(X, y).predict_proba(new)
    assert_array_equal(model.predict_proba(other), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(other[COLUMNS[::-1]])


@in_one_case("library", ["pandas", "polars"])
def test_a_release_with_names_goes_to_an_estimator_that_uses_them(X, y, new, library):
    frame, other = (pd.DataFrame(rows, columns=COLUMNS) for rows in (X, new))
    scaled = make_column_transformer((StandardScaler(), ["income"]), remainder="passthrough")
    anonymizer = clone(FAST).set_output(transform=library)
    model = TrainOnRelease(make_pipeline(scaled, LogisticRegression()), anonymizer).fit(frame, y)
    assert np.mean(model.predict(other) == label(new)) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        model.predict(other.drop(columns="age"))
    with pytest.raises(TypeError, match=r"^X of type ndarray\b"):
        model.predict(new)


def test_arrays_while_releases_are_frames_by_a_global_setting(X, y, new):
    expected = TrainOnRelease(LogisticRegression(), FAST).fit(X, y).predict_proba(new)
    with sklearn.config_context(transform_output="pandas"):
        model = TrainOnRelease(LogisticRegression(), FAST).fit(X, y)
        assert_array_equal(model.predict_proba(new), expected)


def test_a_column_transformer_may_change_the_order_only_with_names(X, y, new):
    frame, other = (pd.DataFrame(rows, columns=COLUMNS) for rows in (X, new))
    some = make_column_transformer(
        (FAST, ["share", "age"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    with pytest.raises(ValueError, match="other columns"):
        TrainOnRelease(LogisticRegression(), some).fit(frame, y)
    named = some.set_output(transform="pandas")
    numbered = clone(named).set_params(transformers=[("some", FAST, [2, 0])])
    with pytest.raises(ValueError, match="other columns"):
        TrainOnRelease(LogisticRegression(), numbered).fit(X, y)
    model = TrainOnRelease(LogisticRegression(), named).fit(frame, y)
    by_hand = LogisticRegression().fit(named.fit_transform(frame), y)
    expected = by_hand.predict_proba(other[["share", "age", "income"]])
    assert_array_equal(model.predict_proba(other), expected)


class OneMore(TransformerMixin, BaseEstimator):
    """Adds a column."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return pd.DataFrame(X).assign(more=1.0)


def test_an_anonymizer_that_adds_columns_is_rejected(X, y):
    with pytest.raises(ValueError, match=r"^anonymizer=OneMore\(\)"):
        TrainOnRelease(LogisticRegression(), OneMore()).fit(pd.DataFrame(X, columns=COLUMNS), y)


@in_one_case("make", [np.asarray, lambda X: pd.DataFrame(X, columns=COLUMNS)])
def test_an_anonymizer_that_changes_units_is_rejected(X, y, make):
    scaled = make_pipeline(StandardScaler(), FAST)
    with pytest.raises(ValueError, match="outside the range"):
        TrainOnRelease(LogisticRegression(), scaled).fit(make(X), y)


@pytest.fixture(name="table")
def table_of_people():
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, 300)
    table = pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(300)],
            "age": age,
            "job": np.where(age + rng.normal(0, 8, 300) > 50, "clerk", "nurse"),
            "town": rng.choice(["A", "B", "C"], 300),
        }
    )
    return table, np.where(table["job"] == "clerk", age > 40, age > 60)


@pytest.mark.slow
@in_one_case("categories", ["mode", "shares"])
def test_a_table_with_categories(table, categories):
    X, y = table
    anonymizer = TableAggregator(5, unit="person", categories=categories, refiner=None)
    if categories == "mode":
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["job", "town"]), remainder="passthrough"
        )
        estimator = make_pipeline(encode, StandardScaler(), LogisticRegression())
    else:
        estimator = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    model = TrainOnRelease(estimator, anonymizer).fit(X[:200], y[:200])
    by_hand = estimator.fit(anonymizer.fit_transform(X[:200]), y[:200])
    rows = anonymizer.format(X[200:])
    assert_array_equal(model.predict_proba(X[200:]), by_hand.predict_proba(rows))
    assert model.score(X[200:], y[200:]) > 0.8


@pytest.mark.slow
def test_a_diverse_target_of_a_table(table):
    X, y = table
    anonymizer = TableAggregator(4, drop="person", categories="shares", privacy=LDiversity(2))
    model = TrainOnRelease(LogisticRegression(max_iter=10_000), anonymizer)
    model.fit(X, y, sensitive=y)
    assert diversity(clone(anonymizer).fit_transform(X, sensitive=y), y) == 2
    assert model.anonymizer_.group_sizes_.sum() == len(X)


@pytest.mark.slow
def test_rows_with_missing_values(X, y, new):
    X[::7, 1] = np.nan
    new[3, 0] = np.nan
    model = TrainOnRelease(HistGradientBoostingClassifier(max_iter=10), MicroAggregator(k=3))
    masked = np.ma.masked_invalid(new)
    assert_array_equal(model.fit(X, y).predict(new), model.predict(masked))
    strict = LogisticRegression()
    with pytest.raises(ValueError, match=r"^Input X contains NaN\.\nLogisticRegression does"):
        TrainOnRelease(strict).fit(X, y)
    imputed = TrainOnRelease(make_pipeline(SimpleImputer(), strict)).fit(X, y)
    assert imputed.score(draw(50, seed=5), label(draw(50, seed=5))) > 0.7


def test_columns_that_are_numbered(X, y, new):
    expected = TrainOnRelease(LogisticRegression(), FAST).fit(X, y).predict_proba(new)
    for anonymizer in (FAST, clone(FAST).set_output(transform="pandas")):
        model = TrainOnRelease(LogisticRegression(), anonymizer).fit(pd.DataFrame(X), y)
        assert_array_equal(model.predict_proba(pd.DataFrame(new)), expected)


# Attacks.


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(3),
        RandomForestClassifier(10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("scaler", ["standard", "target"])
@pytest.mark.filterwarnings("ignore:scaler='target'")
def test_no_training_value_is_in_a_model(estimator, scaler, X, y):
    X = recognizable(X)
    rare = rare_numbers(X.T, 5)
    model = TrainOnRelease(estimator, MicroAggregator(5, scaler=scaler)).fit(X, y)
    assert found_in(pickle.dumps(model), rare) == set()
    # The search finds what is there.
    assert len(found_in(pickle.dumps(KNeighborsClassifier().fit(X, y)), rare)) == len(rare)


def test_no_training_value_is_in_a_model_of_a_table(X, y):
    table = pd.DataFrame(recognizable(X), columns=COLUMNS)
    model = TrainOnRelease(KNeighborsClassifier(3), TableAggregator(5)).fit(table, y)
    assert found_in(pickle.dumps(model), rare_numbers(recognizable(X).T, 5)) == set()


def test_a_model_remembers_rows_that_k_people_share_only(X, y):
    model = TrainOnRelease(KNeighborsClassifier(3), MicroAggregator(5)).fit(X, y)
    remembered = model.estimator_._fit_X
    _, counts = np.unique(remembered, axis=0, return_counts=True)
    assert counts.min() >= 5


@in_one_case("anonymizer", [FAST, make_pipeline(FAST), TableAggregator(refiner=None)])
def test_the_release_does_not_follow_from_the_model(X, y, new, anonymizer):
    """Groups of records and centroids would be the release, row by row."""
    model = TrainOnRelease(LogisticRegression(), anonymizer).fit(X, y)
    parts = [model.anonymizer_, *model.anonymizer_.get_params().values()]
    assert not any(hasattr(part, "labels_") for part in parts)
    # Nor do exact means and losses: it has no cells, and no space to compute them in.
    kept = {name for part in parts for name in getattr(part, "__dict__", {})}
    assert not {"_cells", "_space", "scaler_", "sse_", "column_losses_", "weights_"} & kept
    assert model.predict(new).shape == y[: len(new)].shape


def test_a_pickled_model_predicts_the_same(X, y, new):
    model = TrainOnRelease(LogisticRegression()).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


@in_one_case("roles", [{"unit": "case"}, {"drop": "case"}, {"drop": ["case", "name"]}])
def test_new_rows_need_no_columns_that_are_not_released(roles):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"case": range(80), "name": [f"n{i}" for i in range(80)]})
    X["age"], X["sex"] = rng.integers(18, 90, 80), rng.choice(["f", "m"], 80)
    X["name"] = X["name"].where(np.arange(80) % 2 == 0, "x")
    y = X["age"] > 50
    table = X if roles == {"drop": ["case", "name"]} else X.drop(columns="name")
    anonymizer = TableAggregator(5, categories="shares", **roles)
    model = TrainOnRelease(LogisticRegression(), anonymizer).fit(table, y)
    new = table[["age", "sex"]]
    np.testing.assert_array_equal(model.predict(new), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new.assign(other=1))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[["age"]])


def test_rounded_means_are_in_the_units_of_the_table():
    """A mean that is rounded to tens may lie beyond all values."""
    X = 5.0 * np.random.default_rng(0).integers(1, 9, (60, 2))
    model = TrainOnRelease(LogisticRegression(), MicroAggregator(5, decimals="auto"))
    assert model.fit(X, X[:, 0] > 20).score(X, X[:, 0] > 20) > 0.5


def test_formats_hold_no_coordinates(X, y):
    """Those of two values tell how many records had each of them."""
    table = pd.DataFrame({"sex": np.where(X[:, 0] > 0, "f", "m"), "age": X[:, 1]})
    model = TrainOnRelease(LogisticRegression(), TableAggregator(5, categories="shares"))
    model.fit(table, y)
    [sex, _] = model.anonymizer_._encoder.columns
    assert sex.rows.shape[1] == 0
    assert model.predict(table[:4]).shape == (4,)
