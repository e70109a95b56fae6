from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_microagg import MicroAggregator
from sk_microagg._certificate import Certificate, certificate_of, certify, percentage
from sk_microagg._utils._scaling import scale
from sk_microagg.metrics import loss_bound

X = np.random.RandomState(0).gamma(2, size=(60, 2))


@pytest.mark.parametrize(
    ("share", "up", "down"),
    [
        (0.05, "5%", "5%"),
        (0.123456, "12.4%", "12.3%"),
        (0.0300001, "3.01%", "3%"),
        (1.2301, "124%", "123%"),
        (12.3456, "1240%", "1230%"),
        (0.0000123456, "0.00124%", "0.00123%"),
        (1e-12, "1.00e-10%", "1.00e-10%"),
        (1.5e300, "1.50e+302%", "1.50e+302%"),
    ],
)
def test_percentage(share, up, down):
    assert percentage(share, 3, ROUND_CEILING) == up
    assert percentage(share, 3, ROUND_FLOOR) == down


@given(st.floats(1e-12, 1e12))
def test_percentages_are_never_rounded_to_the_better_side(share):
    exact = 100 * Decimal(repr(share))
    assert Decimal(percentage(share, 3, ROUND_CEILING)[:-1]) >= exact
    assert Decimal(percentage(share, 4, ROUND_FLOOR)[:-1]) <= exact


@pytest.mark.parametrize(
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
    with pytest.raises(ValueError, match=r"bound=.* must be at most the loss .* for k=4 and"):
        certificate_of(aggregator, X, bound, trace)
