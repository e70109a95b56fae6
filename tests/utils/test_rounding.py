"""How finely means are released."""

from decimal import ROUND_FLOOR, Context

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg._utils._rounding import Rounding, Spread, finest_step, rounding_of_numbers

NUMBERS = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))


def plain_step(values, spread):
    """The rule, record by record."""
    known = [value for value in values if not np.isnan(value)]
    different = sorted({*known})
    if len(different) < 2 or spread == 0:
        return 0.0
    larger = []
    for value in known:
        place = different.index(value)
        gaps = [different[place] - different[place - 1]] if place else []
        gaps += [different[place + 1] - value] if place + 1 < len(different) else []
        larger.append(max(gaps))
    step = 10 ** np.rint(np.log10(float(f"{np.median(larger):.0e}")))
    if len(different) > len(known) / 2:
        step = max(step, 10 ** np.floor(np.log10(spread / 2) + 1e-12))
    one_digit = Context(prec=1, rounding=ROUND_FLOOR)
    first_digit = float(one_digit.create_decimal(repr(spread)))
    while step > 4 * first_digit:
        step /= 10
    return step


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 30), elements=NUMBERS), st.integers(1, 10**6))
def test_steps_are_those_of_the_plain_rule(values, spread):
    step, _ = finest_step(values, spread / 1000)
    assert step == pytest.approx(plain_step(values, spread / 1000), rel=1e-9)


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 30), elements=NUMBERS), st.floats(0, 1e6))
def test_means_are_never_finer_than_the_column(values, spread):
    for own in (0, 1, 3):
        rounding = rounding_of_numbers(np.round(values, own), own, spread)
        assert rounding.decimals <= own


@settings(deadline=None)
@given(
    arrays(np.float64, (12, 2), elements=st.one_of(NUMBERS, st.just(np.nan))),
    st.integers(1, 11),
)
def test_spreads_of_parts_are_those_of_the_whole(columns, cut):
    labels = np.repeat([0, 1, 2], 4)
    groups = np.array([0, 1, 2])
    whole = Spread.within(columns, labels)
    parts = [
        Spread.within(columns[labels == group], labels[labels == group] * 0) for group in groups
    ]
    merged = Spread.merged(parts)
    np.testing.assert_allclose(merged.deviations(), whole.deviations(), rtol=1e-9, atol=1e-9)


def test_what_it_is_in_words():
    words = {
        Rounding(): "all digits",
        Rounding(0): "integers",
        Rounding(1): "1 decimal",
        Rounding(2, "the gap between its values"): "2 decimals, the gap between its values",
        Rounding(-2): "multiples of 100",
        Rounding("day"): "days",
        Rounding("10 days"): "multiples of 10 days",
    }
    assert {each: str(each) for each in words} == words


def test_a_release_of_the_records_themselves_keeps_their_digits():
    table = pd.DataFrame({"x": [0.123, 4.5, 6.78], "y": [100, 200, 301]})
    with pytest.warns(UserWarning, match="^k=1"):
        release = TableAggregator(1).fit_transform(table)
    pd.testing.assert_frame_equal(release, table)


def test_a_value_that_all_of_a_group_share_is_kept():
    """A step of 10, for gaps of 5, would turn all into other values."""
    table = pd.DataFrame({"band": np.repeat([20.0, 25.0, 30.0, 35.0], 25)})
    assert TableAggregator(5).fit_transform(table).equals(table)


def test_finer_means_are_announced():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": np.log(rng.integers(18, 91, 200)), "b": rng.integers(0, 50, 200)})
    for decimals in (None, 5, {"a": 5}, {"a": None}):
        with pytest.warns(UserWarning, match=r"^Means of 'a' \(2 decimals"):
            TableAggregator(5, decimals=decimals).fit(table)
    with pytest.warns(UserWarning, match=r"^Means of 'a' \(2 decimals"):
        MicroAggregator(5, decimals={"a": 5}).fit(table)
    with pytest.raises(ValueError, match=r"^decimals must not be finer"):
        TableAggregator(5, decimals=5, weight="w").fit(table.assign(w=1.5))
    for fine in (
        MicroAggregator(5),
        MicroAggregator(5, decimals={"a": 1}),
        TableAggregator(5, decimals=1),
    ):
        fine.fit(table)


def test_numbers_of_columns_name_those_of_arrays():
    X = np.random.default_rng(0).normal(size=(60, 2))
    centroids = MicroAggregator(3, decimals={1: 1}).fit(X).centroids_
    assert np.array_equal(centroids[:, 1], centroids[:, 1].round(1))
    assert not np.array_equal(centroids[:, 0], centroids[:, 0].round(1))
    with pytest.raises(ValueError, match=r"^decimals names 2, but the columns are"):
        MicroAggregator(3, decimals={2: 1}).fit(X)
    with pytest.raises(ValueError, match=r"^decimals='day' for column 0 must be"):
        MicroAggregator(3, decimals="day").fit(X)
