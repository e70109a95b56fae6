"""scikit-learn's callbacks, which are experimental, follow a fit and the steps of a search."""

import numpy as np
import pytest

from sk_microagg import MicroAggregator
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.refiners._base import N_STEPS

pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Recorder:
    """A callback that is handed on to the refiner, and may stop a search after some steps."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))
        return self.events.count(("end", "step")) == self.stop_after


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(80, 2))


def test_callback_follows_fit_search_and_steps(X):
    recorder = Recorder()
    aggregator = MicroAggregator(k=3, refiner=IteratedLocalSearch(max_iter=200), random_state=0)
    aggregator.set_callbacks(recorder).fit(X)
    step = [("begin", "step"), ("end", "step")]
    assert recorder.events == [
        ("setup", "fit"),
        ("begin", "fit"),
        ("begin", "refine"),
        *step * N_STEPS,
        ("end", "refine"),
        ("end", "fit"),
        ("teardown", "fit"),
    ]


def test_callback_of_a_fast_refiner_follows_fit(X):
    recorder = Recorder()
    MicroAggregator(k=3, refiner="exchange").set_callbacks(recorder).fit(X)
    assert recorder.events == [
        ("setup", "fit"),
        ("begin", "fit"),
        ("end", "fit"),
        ("teardown", "fit"),
    ]


def test_callback_stops_a_search(X):
    refiner = IteratedLocalSearch(max_iter=1000, n_init=2)
    aggregator = MicroAggregator(k=3, refiner=refiner, random_state=0)
    aggregator.set_callbacks(Recorder(stop_after=5)).fit(X)
    # 5% of the two thousand iterations of both searches.
    assert aggregator.n_iter_ == 100
    assert aggregator.exact_transform_


def test_callbacks_change_no_result(X):
    aggregator = MicroAggregator(
        k=3, refiner=IteratedLocalSearch(max_iter=50, n_init=2, n_jobs=2), random_state=0
    )
    labels = aggregator.fit_predict(X)
    assert np.array_equal(aggregator.set_callbacks(Recorder()).fit_predict(X), labels)
