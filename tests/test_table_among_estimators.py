"""TableAggregator among the tools of scikit-learn: its checks, pipelines, grid search, frames."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.mixed import draw
from marks import exact_means, in_one_case
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted
from sklearn_checks import A_FEW, with_checks

from sk_microagg import TableAggregator
from sk_microagg.metrics import anonymity_level
from sk_microagg.refiners import LocalSearch

pytestmark = pytest.mark.usefixtures("few_steps")

TWINS = (
    "for estimators of categories, the check rounds records to a few integers; of identical "
    "records, some are in one group and some in another, and transform cannot tell them apart"
)
FAILED = dict.fromkeys(["check_transformer_general", "check_transformer_data_not_an_array"], TWINS)


def expected_failed_checks(_):
    return FAILED


knows_training_data = pytest.mark.filterwarnings("ignore:transform was given the training data")


@pytest.mark.slow_but_first
@knows_training_data
@with_checks([TableAggregator()], expected_failed_checks=expected_failed_checks)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@knows_training_data
@with_checks(
    [
        TableAggregator(2, categories="shares"),
        TableAggregator(builder="cbfs", decimals=-2),
        TableAggregator(refiner=None, numbers="median"),
    ],
    only=A_FEW,
)
def test_one_of_a_few_scikit_learn_checks(estimator, check):
    check(estimator)


class OfFloats(TableAggregator):
    """Of whose records the checks do not make twins."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@pytest.mark.slow
@with_checks([OfFloats()], only=list(FAILED))
def test_the_checks_that_fail_for_twins_pass_on_floats(estimator, check):
    check(estimator)


@pytest.fixture(name="X")
def table():
    return draw(120)


@pytest.fixture(name="y")
def target(X):
    return (X["age"].fillna(50) > 50).to_numpy()


def test_a_clone_has_the_parameters_but_not_the_fit(X):
    model = TableAggregator(3, column_weights={"age": 2.0}, refiner=LocalSearch(), random_state=0)
    copy = clone(model.fit(X))
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    assert copy.refiner is not model.refiner
    assert_array_equal(copy.fit_predict(X), model.labels_)


@in_one_case("method", ["transform", "score", "format", "get_feature_names_out"])
def test_not_fitted(X, method):
    with pytest.raises(NotFittedError):
        getattr(TableAggregator(), method)(X)


def test_pickle(X):
    model = TableAggregator(3).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    new = draw(50, seed=1)
    pd.testing.assert_frame_equal(copy.transform(new), model.transform(new))
    pd.testing.assert_frame_equal(copy.centroids_, model.centroids_)


@pytest.mark.slow
def test_in_a_pipeline_a_model_is_trained_on_the_release(X, y):
    encode = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown="ignore"), ["country", "sex"])], remainder="drop"
    )
    pipeline = make_pipeline(TableAggregator(4), encode, LogisticRegression()).fit(X, y)
    release = TableAggregator(4).fit_transform(X)
    by_hand = make_pipeline(encode, LogisticRegression()).fit(release, y)
    assert_array_equal(pipeline[-1].coef_, by_hand[-1].coef_)
    new = draw(30, seed=1)
    moved = pipeline[0].transform(new)
    assert_array_equal(pipeline.predict(new), by_hand.predict(moved))


@pytest.mark.slow
def test_shares_are_numbers_for_any_model(X, y):
    anonymizer = TableAggregator(4, categories="shares")
    X = X.fillna({"age": 50, "income": 1})
    pipeline = make_pipeline(anonymizer, LogisticRegression(max_iter=1000)).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    names = pipeline[0].get_feature_names_out()
    assert list(pipeline[-1].feature_names_in_) == list(names)


@pytest.mark.slow
def test_grid_search_over_k_and_weights(X):
    grid = {"k": [2, 6], "column_weights": [None, {"country": 5.0}]}
    plain = TableAggregator(refiner=None)
    search = GridSearchCV(plain, grid, cv=KFold(3), error_score="raise")
    results = search.fit(X).cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        scores = [
            clone(plain).set_params(**params).fit(X.iloc[train]).score(X.iloc[test])
            for train, test in KFold(3).split(X)
        ]
        assert score == pytest.approx(np.mean(scores), rel=1e-12)
    assert len({*results["mean_test_score"]}) == 4


def test_column_transformer(X):
    columns = ["country", "age"]
    transformer = ColumnTransformer(
        [("table", TableAggregator(4), columns)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    release = transformer.fit_transform(X)
    pd.testing.assert_frame_equal(release[columns], TableAggregator(4).fit_transform(X[columns]))
    pd.testing.assert_frame_equal(release[["sex", "income"]], X[["sex", "income"]])


LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.slow
@in_one_case("library", ["polars", "arrow", "pandas of arrow"])
@in_one_case("categories", ["mode", "shares", "generalize"])
def test_transform_of_a_table_of_another_library(X, library, categories):
    new = draw(30, seed=1)
    make = partial(TableAggregator, 4, categories=categories, refiner="exchange")
    model = make().fit(X)
    expected = pl.from_pandas(model.transform(new))
    other = {
        "polars": pl.from_pandas(new),
        "arrow": pl.from_pandas(new).to_arrow(),
        "pandas of arrow": new.convert_dtypes(dtype_backend="pyarrow"),
    }[library]
    moved = model.transform(other)
    assert type(moved) is type(other)
    moved = pl.from_pandas(moved) if isinstance(moved, pd.DataFrame) else pl.DataFrame(moved)
    assert_frame_equal(moved, expected, check_dtypes=False, check_exact=True)
    back = make().fit(other).transform(new)
    assert type(back) is type(new)
    assert back.shape == (30, expected.shape[1])


@pytest.mark.slow
@in_one_case("library", LIBRARIES)
@in_one_case("given", ["array", *LIBRARIES])
@in_one_case("categories", ["mode", "shares"])
def test_set_output(X, library, given, categories):
    table = {
        "array": X.to_numpy(dtype=object, na_value=None),
        "pandas": X,
        "polars": pl.from_pandas(X),
    }[given]
    make = partial(TableAggregator, 4, categories=categories, refiner="exchange")
    model = make().set_output(transform=library)
    release = model.fit_transform(table)
    assert isinstance(release, LIBRARIES[library])
    assert list(release.columns) == list(model.get_feature_names_out())
    assert anonymity_level(release) >= 4
    assert isinstance(model.transform(table[:10]), LIBRARIES[library])
    if given == "pandas" == library:
        plain = make().fit_transform(X)
        pd.testing.assert_frame_equal(release, plain)


@pytest.mark.slow
def test_names_of_columns_that_are_no_text(X):
    array = X.to_numpy(dtype=object, na_value=None)
    model = TableAggregator(4).fit(array)
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert not hasattr(model, "feature_names_in_")
    tuples = X.set_axis(pd.Index([("a", j) for j in range(4)], tupleize_cols=False), axis=1)
    names = TableAggregator(4).fit(tuples).get_feature_names_out()
    assert names.tolist() == ["('a', 0)", "('a', 1)", "('a', 2)", "('a', 3)"]
    levels = X.set_axis(pd.MultiIndex.from_tuples([("a", j) for j in range(4)]), axis=1)
    release = TableAggregator(4).fit_transform(levels)
    pd.testing.assert_index_equal(release.columns, levels.columns)


@exact_means
def test_masked_cells_are_missing(X):
    numbers = np.ma.masked_greater(np.random.default_rng(0).normal(size=(40, 2)), 1.0)
    release = TableAggregator(3, decimals=None).fit_transform(numbers)
    frame = TableAggregator(3, decimals=None).fit_transform(pd.DataFrame(numbers.filled(np.nan)))
    assert_array_equal(release.astype(float), frame.to_numpy())
