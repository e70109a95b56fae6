"""KAIM and KMember with scikit-learn: estimator checks, pipelines, grid search, errors."""

import numpy as np
import pandas as pd
import pytest
from example_tables.mixed import HIERARCHIES, draw
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn_checks import A_FEW, with_checks

from sk_microagg import KAIM
from sk_microagg.generalization import KMember
from sk_microagg.refiners import Exchange
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps")

NOT_EXACT = (
    "transform assigns a training record to the tightest group that covers it, not to its own"
)
TEXT = "the check subtracts outputs, and these are text; test_new_records.py compares them"
FAILED_BY_MIDPOINTS = dict.fromkeys(
    ["check_transformer_general", "check_transformer_data_not_an_array"], NOT_EXACT
)
FAILED_BY_TEXT = dict.fromkeys(
    [
        "check_estimators_pickle",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_pipeline_consistency",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
    ],
    TEXT,
)


def expected_failed_checks(estimator):
    is_numeric = getattr(estimator, "output", None) == "midpoint"
    return FAILED_BY_MIDPOINTS if is_numeric else FAILED_BY_TEXT


knows_training_data = pytest.mark.filterwarnings("ignore:transform was given the training data")


@pytest.mark.slow_but_first
@knows_training_data
@with_checks([KAIM(output="midpoint")], expected_failed_checks=expected_failed_checks)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@knows_training_data
@with_checks([KMember()], expected_failed_checks=expected_failed_checks)
def test_scikit_learn_check_of_k_member(estimator, check):
    check(estimator)


@pytest.mark.slow_but_first
@knows_training_data
@with_checks(
    [KAIM(), KAIM(refiner=None, distance="entropy"), KMember(incomplete="keep")],
    only=A_FEW,
    expected_failed_checks=expected_failed_checks,
)
def test_one_of_a_few_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(name="X")
def table():
    return draw(150)


@pytest.fixture(name="y")
def target(X):
    return (X["age"].fillna(50) > 50).to_numpy()


def test_release_to_one_hot_columns_to_a_model(X, y):
    model = make_pipeline(
        KAIM(3, hierarchies=HIERARCHIES, random_state=0),
        OneHotEncoder(handle_unknown="ignore"),
        LogisticRegression(),
    )
    new = draw(400, seed=2)
    # Half of them would be right by chance.
    assert model.fit(X, y).score(new, new["age"].fillna(50) > 50) > 0.65


def test_in_a_column_transformer_next_to_other_columns(X):
    transformer = ColumnTransformer(
        [("anonymous", KAIM(3, random_state=0), ["age", "sex"])], remainder="passthrough"
    )
    release = transformer.set_output(transform="pandas").fit_transform(X)
    expected = KAIM(3, random_state=0).fit_transform(X[["age", "sex"]])
    assert_array_equal(release[["anonymous__age", "anonymous__sex"]], expected)
    pd.testing.assert_series_equal(release["remainder__income"], X["income"], check_names=False)


@pytest.mark.slow
def test_grid_search_over_k(X, y):
    pipeline = Pipeline(
        [
            ("anonymous", KAIM(hierarchies=HIERARCHIES, random_state=0)),
            ("columns", OneHotEncoder(handle_unknown="ignore")),
            ("model", LogisticRegression()),
        ]
    )
    search = GridSearchCV(pipeline, {"anonymous__k": [2, 50]}, cv=3).fit(X, y)
    assert search.best_params_ == {"anonymous__k": 2}


def test_clone_keeps_everything(X):
    kaim = KAIM(3, hierarchies=HIERARCHIES, weights=[1, 2, 3, 4], distance="entropy", c=0.1)
    kaim.set_params(random_state=0)
    assert_array_equal(clone(kaim).fit_transform(X), kaim.fit_transform(X))


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"k": 0}, ValueError, r"^k=0\b"),
        ({"k": 151}, ValueError, r"^k=151\b"),
        ({"k": 2.0}, TypeError, r"^k=2\.0\b"),
        ({"distance": "ncq"}, ValueError, "^distance='ncq'"),
        ({"output": "text"}, ValueError, "^output='text'"),
        ({"c": "one"}, ValueError, "^c='one'"),
        ({"c": -1.0}, ValueError, r"^c=-1\.0\b"),
        ({"c": None}, TypeError, r"^c=None\b"),
        ({"refiner": "exchange"}, ValueError, "^refiner='exchange'"),
        ({"refiner": Exchange()}, ValueError, r"^refiner=Exchange\(\) must be None, 'local_sea"),
        ({"refiner": "none"}, ValueError, "^refiner='none'"),
        (
            {"refiner": ["exchange", None]},
            ValueError,
            r"^refiner=\['exchange', None\]",
        ),
        ({"refiner": [None]}, ValueError, r"^refiner=\[None\]"),
        ({"n_jobs": 0}, ValueError, r"^n_jobs=0\b"),
        ({"n_jobs": "2"}, TypeError, r"^n_jobs='2'"),
        ({"verbose": "x"}, TypeError, r"^verbose='x'"),
        ({"verbose": -1}, ValueError, r"^verbose=-1\b"),
        ({"grid": 0}, ValueError, r"^grid=0\b"),
        ({"weights": [1, 2]}, ValueError, r"^weights=\[1, 2\]"),
        ({"weights": [1, 2, 3, -1]}, ValueError, r"^weights=\[1, 2, 3, -1\]"),
        ({"weights": [0, 0, 0, 0]}, ValueError, r"^weights=\[0, 0, 0, 0\]"),
        ({"hierarchies": {"town": {}}}, ValueError, r"^hierarchies names 'town'"),
        ({"hierarchies": ["a"]}, TypeError, r"^hierarchies=\['a'\]"),
        (
            {"hierarchies": {"sex": 3}},
            TypeError,
            r"^hierarchies\['sex'\]=3",
        ),
        (
            {"hierarchies": {"sex": ["F", "F"]}},
            ValueError,
            r"^hierarchies\['sex'\]=\['F', 'F'\]",
        ),
        (
            {"hierarchies": {"sex": ["F", "X"]}},
            ValueError,
            "^Column 'sex': .*position",
        ),
        (
            {"hierarchies": {"sex": Hierarchy.intervals()}},
            ValueError,
            "^Column 'sex': .*position",
        ),
        (
            {"hierarchies": {"age": Hierarchy.from_bins([0, 18])}},
            ValueError,
            "^Column 'age': .*position",
        ),
    ],
    ids=str,
)
def test_bad_parameters_leave_nothing_fitted(X, parameters, error, message):
    kaim = KAIM(**parameters)
    with pytest.raises(error, match=message):
        kaim.fit(X)
    assert not [name for name in vars(kaim) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        kaim.transform(X)


def test_a_group_below_k_is_an_error_and_never_a_release(X, monkeypatch):
    lone = np.append(1, np.zeros(len(X) - 1, dtype=np.intp))
    monkeypatch.setattr("sk_microagg.generalization._kaim.refine", lambda *arguments: lone)
    kaim = KAIM(3)
    with pytest.raises(ValueError, match=r"^KAIM .*group of 1 records"):
        kaim.fit_transform(X)
    assert not [name for name in vars(kaim) if name.endswith("_")]


def test_k_member_needs_k_complete_records():
    X = [["a", 1], ["a", None], ["b", None]]
    with pytest.raises(ValueError, match=r"^incomplete='drop' .*k=2\b"):
        KMember(2).fit(X)
    assert KMember(2, incomplete="keep", random_state=0).fit(X).n_groups_ == 1
    with pytest.raises(ValueError, match=r"^incomplete='none'"):
        KMember(2, incomplete="none").fit(X)


def test_other_columns_than_at_fit_are_refused(X):
    kaim = KAIM(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="feature names should match"):
        kaim.transform(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="3 features, but KAIM is expecting 4"):
        KAIM(3, random_state=0).fit(X.to_numpy()).transform(X.to_numpy()[:, :3])


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ([1, 2], "list"),
        ((1, 2), "tuple"),
        ({"a": 1}, "dict"),
        ({1}, "set"),
        (np.ones(2), "ndarray"),
    ],
)
@pytest.mark.parametrize("estimator", [KAIM(2), KMember(2)], ids=str)
def test_a_cell_with_several_values_is_refused(estimator, cell, kind):
    X = pd.DataFrame({"age": [30, 40, 50, 60], "towns": ["Bonn", "Ulm", cell, "Ulm"]})
    message = rf"^Column 'towns' of X has a {kind} at position 2\b"
    with pytest.raises(TypeError, match=message):
        estimator.fit(X)
    with pytest.raises(TypeError, match=r"^Column 1 of X has a"):
        estimator.fit(X.to_numpy())
    with pytest.raises(TypeError, match=message):
        estimator.fit(X.assign(towns="Ulm")).transform(X)


def test_infinite_numbers_are_refused():
    with pytest.raises(ValueError, match=r"^Column 0 of X: 1 of 2 cells is infinite"):
        KAIM(1).fit(np.array([[1.0], [np.inf]]))
    with pytest.raises(ValueError, match=r"^Column 0: 1 of 2 cells is no finite number"):
        KAIM(1).fit(np.array([[1.0, "a"], [np.inf, "b"]], dtype=object))
