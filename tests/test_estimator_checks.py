"""MicroAggregator among the tools of scikit-learn: its checks, frames, copies, grid search."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler
from sklearn.utils.validation import check_is_fitted
from sklearn_checks import A_FEW, with_checks

from sk_microagg import MicroAggregator
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Chain, Exchange, IteratedLocalSearch, LocalSearch

OTHERS = [
    MicroAggregator(builder="gsms", refiner=IteratedLocalSearch(max_iter=20)),
    MicroAggregator(k=4, block_size=12),
    *(MicroAggregator(builder=name) for name in ("cbfs", "tfrp", "gsms", "dbfs", "path_optimal")),
    *(MicroAggregator(k=k) for k in (1, 2, 3, 8, 10)),
]


@with_checks([MicroAggregator()])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow_but_first
@with_checks(OTHERS, only=A_FEW)
def test_scikit_learn_check_of_others(estimator, check):
    check(estimator)


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
every_frame = in_one_case("library", FRAMES)
COLUMNS = ["age", "income", "share"]
UNITS = [1.0, 200.0, 0.05]


def draw(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3)) * UNITS


def as_frame(records, library):
    return FRAMES[library](dict(zip(COLUMNS, records.T, strict=True)))


@pytest.fixture(name="X")
def records():
    return draw(60, seed=0)


@pytest.fixture(name="new")
def new_records():
    return draw(37, seed=1)


@every_frame
def test_frame_in_frame_out(X, new, library):
    aggregator = MicroAggregator().set_output(transform=library)
    release = aggregator.fit_transform(as_frame(X, library))
    moved = aggregator.transform(as_frame(new, library))
    assert isinstance(release, FRAMES[library])
    assert isinstance(moved, FRAMES[library])
    assert list(release.columns) == list(moved.columns) == COLUMNS
    assert list(aggregator.feature_names_in_) == COLUMNS
    assert list(aggregator.get_feature_names_out()) == COLUMNS
    plain = MicroAggregator()
    assert_array_equal(release.to_numpy(), plain.fit_transform(X))
    assert_array_equal(moved.to_numpy(), plain.transform(new))


def test_index_of_a_pandas_frame_is_kept(X):
    frame = pd.DataFrame(X, columns=COLUMNS, index=np.arange(60)[::-1] * 7)
    release = MicroAggregator().set_output(transform="pandas").fit_transform(frame)
    pd.testing.assert_index_equal(release.index, frame.index)


@pytest.mark.slow
@every_frame
@in_one_case("scaler", ["standard", RobustScaler(), None])
def test_frames_by_global_setting_change_no_value(X, new, library, scaler):
    plain = MicroAggregator(scaler=scaler)
    release, moved = plain.fit_transform(X), plain.transform(new)
    with config_context(transform_output=library):
        aggregator = MicroAggregator(scaler=scaler)
        assert_array_equal(aggregator.fit_transform(X), release)
        assert_array_equal(aggregator.transform(new), moved)
        assert isinstance(aggregator.transform(new), FRAMES[library])


def test_clone_has_the_parameters_but_not_the_fit(X):
    aggregator = MicroAggregator(k=3, builder=MDAV(growth="nc"), scaler=RobustScaler()).fit(X)
    copy = clone(aggregator)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    assert copy.builder is not aggregator.builder
    assert_array_equal(copy.fit_predict(X), aggregator.labels_)


def test_pickle_gives_the_same_transform(X, new):
    aggregator = MicroAggregator(builder=MDAV(growth="nc"), scaler=RobustScaler()).fit(X)
    loaded = pickle.loads(pickle.dumps(aggregator))
    assert_array_equal(loaded.transform(new), aggregator.transform(new))
    assert loaded.score(new) == aggregator.score(new)
    assert_array_equal(loaded.transform(X), aggregator.centroids_[aggregator.labels_])


@pytest.mark.slow
def test_grid_search_in_a_pipeline_anonymizes_and_then_trains():
    X = draw(90, seed=2)
    y = X / UNITS @ [1.0, -2.0, 0.5]
    steps = [("aggregator", MicroAggregator(builder=MDAV())), ("model", LinearRegression())]
    grid = {"aggregator__k": [3, 9], "aggregator__builder__growth": ["nn", "nc"]}
    results = GridSearchCV(Pipeline(steps), grid, cv=KFold(3)).fit(X, y).cv_results_

    def by_hand(k, growth):
        scores = []
        for train, test in KFold(3).split(X):
            aggregator = MicroAggregator(k=k, builder=MDAV(growth=growth))
            model = LinearRegression().fit(aggregator.fit_transform(X[train]), y[train])
            scores.append(model.score(aggregator.transform(X[test]), y[test]))
        return np.mean(scores)

    assert len(set(results["mean_test_score"])) == 4
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        expected = by_hand(params["aggregator__k"], params["aggregator__builder__growth"])
        assert_allclose(score, expected, rtol=1e-12)


def test_grid_search_reaches_the_steps_of_a_chain(X):
    chain = Chain([("local", LocalSearch()), ("exchange", Exchange())])
    grid = {"refiner__local__max_iter": [1, None], "refiner": [chain]}
    search = GridSearchCV(MicroAggregator(k=3, random_state=0), grid, cv=KFold(2)).fit(X)
    assert search.best_params_["refiner__local__max_iter"] in (1, None)
    assert search.best_estimator_.exact_transform_


def test_column_transformer_aggregates_some_columns_and_keeps_the_rows_in_order(X):
    frame = pd.DataFrame(X, columns=COLUMNS).assign(person=np.arange(60) * 3)
    columns = ["share", "age"]
    transformer = ColumnTransformer(
        [("aggregator", MicroAggregator(k=4), columns)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    released = transformer.fit_transform(frame)
    assert_array_equal(released[columns], MicroAggregator(k=4).fit_transform(frame[columns]))
    pd.testing.assert_frame_equal(released[["income", "person"]], frame[["income", "person"]])
