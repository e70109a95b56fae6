import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import QuantileTransformer

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._utils._space import scale
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg.metrics import information_loss, loss_bound
from sk_microagg.plotting import CertificateDisplay
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination

BOUNDS = np.array([[0.1, 0.04], [0.5, 0.05], [2.0, 0.08]])
TRACE = np.array([[0, 0.0, 30.0], [3, 0.4, 15.0], [9, 1.0, 10.0]])
SEARCHES = [
    IteratedLocalSearch(max_iter=50),
    Annealing(max_iter=30_000),
    Recombination(n_init=2, max_iter=1, annealing_max_iter=5000),
    ["decompose", IteratedLocalSearch(max_iter=50), "exchange"],
]


@pytest.fixture(autouse=True)
def plt():
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module", name="X")
def records():
    return np.random.RandomState(0).gamma(2, size=(120, 3)) * [1, 10, 100]


def steps(line):
    return np.array(line.get_xdata()), np.array(line.get_ydata())


class TestFromData:
    def test_draws_the_bound_as_it_rose_and_holds_it(self):
        display = CertificateDisplay.from_data(0.1, BOUNDS, TRACE)
        times, bounds = steps(display.bound_)
        assert_array_equal(times[:-1], BOUNDS[:, 0])
        assert_array_equal(bounds, [0.04, 0.05, 0.08, 0.08])
        assert display.bound_.get_drawstyle() == "steps-post"
        # Both lines go on beyond the end of the longer one.
        assert times[-1] == display.loss_.get_xdata()[-1] > 2.0

    def test_draws_the_search_as_shares(self):
        display = CertificateDisplay.from_data(0.1, BOUNDS, TRACE)
        times, losses = steps(display.loss_)
        assert_array_equal(times[:-1], TRACE[:, 1])
        assert_allclose(losses, [0.3, 0.15, 0.1, 0.1])

    def test_total(self):
        # The search was not the last step: the partition is better than its last row.
        display = CertificateDisplay.from_data(0.1, BOUNDS, TRACE, total=60.0)
        assert_allclose(steps(display.loss_)[1], [0.5, 0.25, 0.1, 0.1])

    def test_losses_that_rise_are_not_drawn(self):
        hot = np.array([[0, 0.0, 20.0], [1, 0.1, 90.0], [2, 0.2, 9.0], [3, 0.3, 10.0]])
        display = CertificateDisplay.from_data(0.1, BOUNDS, hot)
        assert_allclose(steps(display.loss_)[1], [0.2, 0.2, 0.1, 0.1, 0.1])

    def test_without_a_search_the_loss_is_horizontal(self):
        display = CertificateDisplay.from_data(0.1, BOUNDS)
        times, losses = steps(display.loss_)
        assert_array_equal(losses, [0.1, 0.1])
        assert times[0] == 0
        assert times[-1] >= 2.0

    def test_what_is_said(self):
        display = CertificateDisplay.from_data(0.1, BOUNDS)
        assert display.gap == 0.1 / 0.08 - 1
        assert display.ax_.get_title(loc="left") == "at most 25% above the optimum"

    @pytest.mark.slow_but_first
    @pytest.mark.parametrize(
        ("loss", "bounds", "gap", "title"),
        [
            (0.0, np.empty((0, 2)), 0.0, "optimal"),
            (0.2, np.empty((0, 2)), math.inf, "nothing was proven"),
            (0.2, [[0.0, 0.2]], 0.0, "optimal"),
            (0.1 + 1e-12, [[0.0, 0.1]], 1e-11, "at most 0.0001% above the optimum"),
        ],
    )
    def test_special_cases(self, loss, bounds, gap, title):
        display = CertificateDisplay.from_data(loss, bounds)
        assert display.gap == pytest.approx(gap, abs=1e-11)
        assert display.ax_.get_title(loc="left") == title
        display.figure_.canvas.draw()

    @pytest.mark.parametrize("loss", [-0.1, 1.1, math.nan])
    def test_loss_must_be_a_share(self, loss):
        with pytest.raises(ValueError, match="loss="):
            CertificateDisplay.from_data(loss, BOUNDS)

    def test_traces_that_are_none(self):
        with pytest.raises(ValueError, match=r"bound_trace of shape \(3, 3\)"):
            CertificateDisplay.from_data(0.1, TRACE)
        with pytest.raises(ValueError, match=r"trace of shape \(3, 2\)"):
            CertificateDisplay.from_data(0.1, BOUNDS, BOUNDS)
        with pytest.raises(ValueError, match=r"total=0\b"):
            CertificateDisplay.from_data(0.1, BOUNDS, TRACE, total=0)


@pytest.mark.usefixtures("fake_clock")
class TestFromEstimator:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "refiner", SEARCHES, ids=["iterated", "annealing", "recombine", "list"]
    )
    def test_search_and_proof(self, X, refiner):
        aggregator = MicroAggregator(k=4, refiner=refiner, random_state=0).fit(X)
        display = CertificateDisplay.from_estimator(aggregator, X, time_limit=0.2)
        losses, bounds = display.loss_.get_ydata(), display.bound_.get_ydata()
        assert np.all(np.diff(losses) <= 0)
        assert np.all(np.diff(bounds) >= 0)
        assert len(losses) > 2
        assert_allclose(losses[-1], aggregator.information_loss_)
        assert 0 < bounds[-1] <= losses[-1]
        assert display.gap == losses[-1] / bounds[-1] - 1

    def test_the_search_begins_with_what_was_built(self, X):
        refiner = IteratedLocalSearch(max_iter=50)
        aggregator = MicroAggregator(k=4, refiner=refiner, random_state=0).fit(X)
        display = CertificateDisplay.from_estimator(aggregator, X, time_limit=0.1)
        total = total_sum_of_squares(scale(aggregator.scaler_, X))
        first = aggregator.refiner_.trace_[0, 2] / total
        assert_allclose(display.loss_.get_ydata()[0], first)

    @pytest.mark.parametrize("scaler", ["standard", None, QuantileTransformer(n_quantiles=50)])
    def test_records_are_scaled_as_the_estimator_did(self, X, scaler):
        aggregator = MicroAggregator(k=4, scaler=scaler).fit(X)
        display = CertificateDisplay.from_estimator(aggregator, X, time_limit=0.2)
        assert_allclose(display.loss_.get_ydata(), aggregator.information_loss_)
        scaled = scale(aggregator.scaler_, X)
        assert display.loss_.get_ydata()[0] == information_loss(scaled, aggregator.labels_)
        first = loss_bound(scaled, 4, time_limit=0.2, return_trace=True)[1][0, 1]
        assert display.bound_.get_ydata()[0] == first

    @pytest.mark.slow
    def test_blocks(self, X):
        aggregator = MicroAggregator(k=4, block_size=40).fit(X)
        assert aggregator.n_blocks_ > 1
        display = CertificateDisplay.from_estimator(aggregator, X, time_limit=0.1)
        whole = MicroAggregator(k=4, refiner="iterated_local_search", random_state=0).fit(X)
        assert display.bound_.get_ydata()[-1] <= whole.information_loss_

    def test_others_have_no_certificate(self, X):
        with pytest.raises(TypeError, match=r"estimator=KAIM\(.*\)"):
            CertificateDisplay.from_estimator(KAIM(k=4).fit(X), X)
        with pytest.raises(NotFittedError):
            CertificateDisplay.from_estimator(MicroAggregator(), X)

    def test_other_records(self, X):
        aggregator = MicroAggregator(k=4).fit(X)
        with pytest.raises(ValueError, match=r"X of shape \(100, 3\)"):
            CertificateDisplay.from_estimator(aggregator, X[:100])

    @pytest.mark.parametrize("time_limit", [0, -1])
    def test_time_limit(self, X, time_limit):
        aggregator = MicroAggregator(k=4).fit(X)
        with pytest.raises(ValueError, match=f"time_limit={time_limit}"):
            CertificateDisplay.from_estimator(aggregator, X, time_limit=time_limit)


def test_a_bound_above_the_loss_is_refused():
    with pytest.raises(ValueError, match="at most the loss"):
        CertificateDisplay.from_data(0.1, [[1.0, 0.2]])
