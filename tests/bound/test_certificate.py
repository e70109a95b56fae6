from math import inf

import numpy as np
import pytest
from marks import in_one_case

from sk_microagg import MicroAggregator
from sk_microagg._utils._space import scale
from sk_microagg.metrics import loss_bound
from sk_microagg.metrics._loss import Certificate, certificate_of, certify

X = np.random.RandomState(0).gamma(2, size=(60, 2))


@in_one_case(
    ("loss", "bound", "gap", "verdict", "reason"),
    [
        (0.0, 0.0, 0.0, "optimal", "nothing is lost"),
        (0.2, 0.0, inf, "nothing was proven", "the bound on the loss is 0"),
        (0.2, 0.2, 0.0, "optimal", "loses less than 20%"),
        (0.2, 0.16, 0.25, "at most 25% above the optimum", "loses less than 16%"),
        # The loss of one group, summed up in another order.
        (0.2, 0.2 + 1e-16, 0.0, "optimal", "loses less than 20%"),
    ],
)
def test_words(loss, bound, gap, verdict, reason):
    certificate = Certificate(loss, bound, np.empty((0, 2)), k=5)
    assert certificate.gap == pytest.approx(gap)
    assert certificate.verdict() == verdict
    assert certificate.reason().endswith(reason)


def test_repr_is_a_line_with_the_verdict():
    certificate = Certificate(0.2, 0.16, np.zeros((1000, 2)), k=5)
    words = "<Certificate: at most 25% above the optimum, loss=0.2, bound=0.16, k=5>"
    assert repr(certificate) == words


def test_a_single_group_is_optimal():
    aggregator = MicroAggregator(k=31).fit(X)
    assert certify(aggregator, X, 0.1).verdict() == "optimal"


def test_a_bound_for_another_k_is_refused():
    aggregator = MicroAggregator(k=4).fit(X)
    scaled = scale(aggregator.scaler_, X)
    bound, trace = loss_bound(scaled, 4, max_iter=2, return_trace=True, time_limit=inf)
    certificate = certificate_of(aggregator, X, bound, trace)
    assert certificate.bound == bound
    assert certificate.loss == pytest.approx(aggregator.information_loss_)
    bound, trace = loss_bound(scaled, 40, return_trace=True)
    with pytest.raises(ValueError, match="bound="):
        certificate_of(aggregator, X, bound, trace)


def test_a_bound_above_the_loss_is_refused():
    with pytest.raises(ValueError, match=r"bound=0\.3\b"):
        Certificate(0.2, 0.3, np.empty((0, 2)), k=5)
    # The same loss, summed in another order.
    assert Certificate(0.2, 0.2 * (1 + 1e-12), np.empty((0, 2)), k=5).verdict() == "optimal"


def test_other_records_are_refused():
    records = X.copy()
    records[::7, 0] = np.nan
    for own in (X, records):
        aggregator = MicroAggregator(k=4).fit(own)
        certificate = certify(aggregator, own, 0.1)
        assert certificate.loss == pytest.approx(aggregator.information_loss_, rel=1e-12)
        for other in (1.5 * own, own[::-1], np.where(own == own[3, 1], own + 1, own)):
            with pytest.raises(ValueError, match=r"^X "):
                certify(aggregator, other, 0.1)
            with pytest.raises(ValueError, match=r"^X "):
                certificate_of(aggregator, other, 0.0, certificate.trace)
