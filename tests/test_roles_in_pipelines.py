"""Sensitive values, units and strata in Pipeline, GridSearchCV and other parts of scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from marks import in_one_case
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator
from sk_microagg.metrics import closeness
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing

FAST = Annealing(max_iter=5000)
RNG = np.random.default_rng(0)
AGES = RNG.integers(20, 90, 400)
PATIENTS = np.array([f"patient {number}" for number in RNG.integers(0, 100, 400)])
REGIONS = np.array(["north", "south"])[np.arange(400) % 2]


@pytest.fixture(name="routing")
def metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def aggregator(**parameters):
    return MicroAggregator(4, refiner=FAST, random_state=0, **parameters)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_passes_sensitive_values_and_units_on(X):
    y = X[:, 0] + X[:, 2]
    step = aggregator(privacy=TCloseness(0.2)).set_fit_request(sensitive=True, unit=True)
    pipeline = make_pipeline(StandardScaler(), step, LinearRegression())
    pipeline.fit(X, y, sensitive=AGES, unit=PATIENTS)
    fitted = pipeline[1]
    assert closeness(fitted.labels_, AGES) <= 0.2
    alone = aggregator(privacy=TCloseness(0.2))
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(alone.fit_predict(scaled, sensitive=AGES, unit=PATIENTS), fitted.labels_)
    assert pipeline.predict(X[:5] + 1e-9).shape == (5,)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_passes_strata_on_to_fit_and_transform(X):
    step = aggregator().set_fit_request(strata=True).set_transform_request(strata=True)
    pipeline = make_pipeline(StandardScaler(), step)
    release = pipeline.fit_transform(X, strata=REGIONS)
    assert not {*map(tuple, release[::2])} & {*map(tuple, release[1::2])}
    assert_array_equal(pipeline.transform(X, strata=REGIONS), release)
    with pytest.raises(ValueError, match=r"^strata was not given"):
        pipeline.transform(X)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_asks_for_a_decision(X):
    # Values that nobody asked for could be ignored silently, and the release be no longer t-close.
    with pytest.raises(ValueError, match=r"sensitive.*not explicitly set as requested"):
        make_pipeline(StandardScaler(), aggregator(privacy=TCloseness(0.2))).fit(X, sensitive=AGES)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_a_grid_search_over_t_and_k_in_a_pipeline(X):
    y = X[:, 0] + X[:, 2]
    step = aggregator(privacy=TCloseness()).set_fit_request(sensitive=True)
    search = GridSearchCV(
        make_pipeline(step, LinearRegression()),
        {"microaggregator__privacy__t": [0.1, 0.3], "microaggregator__k": [3, 8]},
        cv=KFold(3, shuffle=True, random_state=0),
        error_score="raise",
    )
    search.fit(X, y, sensitive=AGES)
    best = search.best_estimator_[0]
    assert closeness(best.labels_, AGES) <= search.best_params_["microaggregator__privacy__t"]
    assert best.group_sizes_.min() >= search.best_params_["microaggregator__k"]
    assert len(set(search.cv_results_["mean_test_score"])) == 4


@pytest.mark.slow
def test_a_grid_search_over_t_and_k_without_routing(X):
    search = GridSearchCV(
        aggregator(privacy=TCloseness()),
        {"privacy__t": [0.1, 0.4], "k": [3, 10]},
        cv=KFold(3, shuffle=True, random_state=0),
        error_score="raise",
    )
    search.fit(X, sensitive=AGES)
    # `score` is the negative loss: the weakest constraint loses least.
    assert search.best_params_ == {"k": 3, "privacy__t": 0.4}
    assert closeness(search.best_estimator_.labels_, AGES) <= 0.4


@pytest.mark.slow
def test_constraints_themselves_are_candidates(X):
    candidates = [None, LDiversity(2), [LDiversity(3), TCloseness(0.02)]]
    search = GridSearchCV(aggregator(), {"privacy": candidates}, cv=3, error_score="raise")
    search.fit(X, sensitive=AGES)
    scores = search.cv_results_["mean_test_score"]
    assert scores[2] < min(scores[:2])


@pytest.mark.usefixtures("routing")
def test_scores_of_strata(X):
    requested = aggregator().set_fit_request(strata=True).set_score_request(strata=True)
    scores = cross_val_score(requested, X, cv=3, params={"strata": REGIONS}, error_score="raise")
    assert np.all((scores < 0) & (scores > -1))


@in_one_case(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_as_a_frame(X, output, frame):
    names = ["a", "b", "c"]
    step = aggregator(privacy=LDiversity(2)).set_output(transform=output)
    given = pd.DataFrame(X, columns=names, index=np.arange(400) + 7)
    release = step.fit_transform(given, sensitive=AGES, strata=REGIONS)
    assert isinstance(release, frame)
    assert list(release.columns) == names
    assert_array_equal(release.to_numpy(), step.centroids_[step.labels_])
    some = step.transform(given[:3] + 1e-9, strata=REGIONS[:3])
    assert isinstance(some, frame)
    if output == "pandas":
        assert_array_equal(release.index, given.index)
