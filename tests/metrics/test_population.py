"""Risks in the population that a sample stands for."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import hyp2f1

from sk_microagg.metrics import individual_risk, population_risk

# The eight rows of the test of sdcMicro: how often a combination occurs, and its weights.
FREQUENCIES = np.array([3, 3, 3, 2, 2, 1, 1, 1])
TOTALS = np.array([108, 108, 108, 100, 100, 45.5, 17, 123.5])
CLASSES = [0, 0, 0, 1, 1, 2, 3, 4]
OF_SDCMICRO = [0.01369863] * 3 + [0.01877883] * 2 + [0.08579129, 0.17707583, 0.03931625]


def sample_of(f, total):
    """The classes and weights of one class."""
    return np.zeros(f, dtype=int), np.full(f, total / f)


def exact(f, total):
    """The integral of s^(f-1) p / (p + (1-p) s), one power after the other, with enough digits."""
    lost = f * max(-math.log10(max(total / f - 1, 1e-16)), 0)
    with localcontext(prec=40 + int(lost)):
        p = min(Decimal(f) / Decimal(total), Decimal(1))
        if p == 1:
            return 1 / f
        ratio = p / (1 - p)
        integral = -p.ln()
        for size in range(1, f):
            integral = 1 / Decimal(size) - ratio * integral
        return float(ratio * integral)


def test_the_rows_of_sdcmicro():
    weights = TOTALS / FREQUENCIES
    assert_allclose(
        individual_risk(CLASSES, weights, method="sdcmicro"), OF_SDCMICRO, rtol=0, atol=5e-9
    )
    ours = individual_risk(CLASSES, weights)
    assert_allclose(ours, [*map(exact, FREQUENCIES.tolist(), TOTALS)], rtol=1e-12)
    assert_allclose(ours[3:], OF_SDCMICRO[3:], rtol=0, atol=5e-9)
    assert (ours[:3] < OF_SDCMICRO[:3]).all()


@in_one_case(
    ("f", "total", "ours", "theirs"), [(3, 30, 0.04637, 0.04762), (5, 500, 0.0024917, 0.0024938)]
)
def test_published_figures(f, total, ours, theirs):
    assert individual_risk(*sample_of(f, total))[0] == pytest.approx(ours, abs=5e-6)
    assert individual_risk(*sample_of(f, total), method="sdcmicro")[0] == pytest.approx(
        theirs, abs=5e-6
    )


@in_one_case("f", [1, 2, 3, 5, 29, 30, 31, 90])
@in_one_case("p", [1e-12, 1e-6, 0.01, 0.3, 0.499999, 0.5, 0.500001, 0.9, 1 - 1e-9, 1.0])
def test_the_exact_risk_is_the_plain_version(f, p):
    risk = individual_risk(*sample_of(f, f / p))[0]
    assert risk == pytest.approx(exact(f, f / p), rel=1e-11)


@in_one_case("f", [1, 2, 3, 5, 9])
@in_one_case("p", [0.05, 0.3, 0.7, 0.95])
def test_the_plain_version_is_the_published_formula(f, p):
    published = p**f / f * hyp2f1(f, f, f + 1, 1 - p)
    assert exact(f, f / p) == pytest.approx(published, rel=1e-9)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.integers(1, 400), st.floats(1e-300, 4.0), st.sampled_from(["exact", "sdcmicro"]))
def test_no_risk_is_outside_of_its_range(f, p, method):
    # Weights below 1 happen, as after calibration.
    risk = individual_risk(*sample_of(f, f / p), method=method)[0]
    assert 0 < risk <= 1 / f


def test_a_record_alone_is_riskier_the_more_of_the_population_is_in_the_sample():
    for f in (1, 2, 3, 40):
        risks = [individual_risk(*sample_of(f, f / p))[0] for p in np.linspace(0.001, 1, 60)]
        assert (np.diff(risks) > 0).all()
        assert risks[-1] == pytest.approx(1 / f)


def test_three_intruders():
    classes, weights = [0, 0, 1, 1, 1, 2], [50, 50, 10, 10, 10, 4]
    risk = population_risk(classes, weights, threshold=0.3)
    f, total = np.array([2, 2, 3, 3, 3, 1]), np.array([100, 100, 30, 30, 30, 4])
    for found, each in (
        (risk.prosecutor, 1 / f),
        (risk.journalist, individual_risk(classes, weights)),
        (risk.marketer, 1 / total),
    ):
        assert found.largest == pytest.approx(each.max())
        assert found.mean == pytest.approx(each.mean())
        assert found.expected == pytest.approx(each.sum())
        assert found.share_above == np.mean(each > 0.3)
    assert risk.threshold == 0.3
    assert risk.prosecutor.expected == pytest.approx(3)  # one of each class


def test_a_threshold_of_1_over_f_is_not_exceeded():
    for f in range(2, 40):
        assert (
            population_risk(
                np.zeros(f, dtype=int), np.full(f, 2.0), threshold=1 / f
            ).prosecutor.share_above
            == 0
        )


def test_people_with_several_rows_count_once():
    release = pd.DataFrame({"age": [30, 30, 30, 40, 40], "town": ["Bonn"] * 5})
    unit, weight = ["Ann", "Ann", "Bob", "Cid", "Dan"], [20, 20, 30, 10, 40]
    alone = individual_risk([0, 0, 1, 1], [20, 30, 10, 40])
    assert_array_equal(individual_risk(release, weight, unit=unit), alone[[0, 0, 0, 2, 2]])
    risk = population_risk(release, weight, unit=unit)
    assert risk.prosecutor.largest == 0.5
    assert risk.marketer.largest == 1 / 50


@in_one_case(
    ("arguments", "error", "message"),
    [
        ({"weight": [1, 2, 0]}, ValueError, "weight"),
        ({"weight": [1, 2, -3]}, ValueError, "weight"),
        ({"weight": [1, 2, np.nan]}, ValueError, "weight"),
        ({"weight": ["a", "b", "c"]}, ValueError, "weight"),
        ({"weight": [1, 2]}, ValueError, "inconsistent"),
        ({"weight": [1, 2, 3], "unit": [1, 2]}, ValueError, "inconsistent"),
    ],
)
@in_one_case("function", [individual_risk, population_risk])
def test_arguments_are_checked(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function([0, 0, 1], **arguments)


def test_options_are_checked():
    with pytest.raises(ValueError, match="method='argus'"):
        individual_risk([0, 0], [1, 2], method="argus")
    with pytest.raises(ValueError, match=r"threshold=1\.5"):
        population_risk([0, 0], [1, 2], threshold=1.5)
