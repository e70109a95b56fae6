"""What weighted means tell about one record to somebody who knows all others of the table.

A plain mean that is rounded to a unit bounds the last value of a group of n to within n / 2 units.
The mean weight, which has all digits, tells the weight of the last record; then a weighted mean
bounds its value to within half a unit over its share of the weights: heavy records are known better
than by plain means, and light ones less well. A bound on that share bounds what is told.
"""

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.privacy import Dominance

RNG = np.random.default_rng(0)
N, K = 120, 5
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "income": RNG.integers(500, 9000, N),
        "w": np.round(RNG.lognormal(2, 1.5, N), 1) + 0.1,
    }
)


def widths(release, labels, column, weights):
    """By record, the width of the interval of its value, given all others; each holds the value."""
    found = np.empty(N)
    for record in range(N):
        members = np.flatnonzero(labels == labels[record])
        others = members[members != record]
        n, mean = len(members), release[column].iloc[record]
        if weights is None:
            own, total, known = 1.0, n, TABLE[column].iloc[others].sum()
        else:
            # The mean weight tells the weight of the last record.
            total = n * release["w"].iloc[record]
            own = total - weights[others].sum()
            assert own == pytest.approx(weights[record], rel=1e-6)
            known = (weights[others] * TABLE[column].iloc[others]).sum()
        low, high = (((mean + half) * total - known) / own for half in (-0.5, 0.5))
        assert low - 1e-6 <= TABLE[column].iloc[record] <= high + 1e-6
        found[record] = high - low
    return found


@pytest.mark.slow
@in_one_case("column", ["age", "income"])
def test_a_record_is_known_the_better_the_heavier_it_is(column):
    weights = TABLE["w"].to_numpy()
    plain = TableAggregator(K, drop="w", random_state=0)
    weighted = TableAggregator(K, weight="w", random_state=0)
    by_plain = widths(plain.fit_transform(TABLE), plain.labels_, column, None)
    by_weighted = widths(weighted.fit_transform(TABLE), weighted.labels_, column, weights)
    sizes = weighted.group_sizes_[weighted.labels_]
    totals = np.bincount(weighted.labels_, weights)[weighted.labels_]
    assert by_plain == pytest.approx(sizes)
    assert by_weighted == pytest.approx(totals / weights)
    # Neither is exact, but the heaviest are known nearly as well as if they were alone.
    assert by_plain.min() >= K
    assert 1 < by_weighted.min() < 1.3
    assert np.median(by_weighted) > K


def test_a_bound_on_the_share_of_a_weight_bounds_what_is_told():
    privacy = Dominance(0.4, column="w")
    aggregator = TableAggregator(K, weight="w", privacy=privacy, random_state=0)
    release = aggregator.fit_transform(TABLE)
    for column in ("age", "income"):
        found = widths(release, aggregator.labels_, column, TABLE["w"].to_numpy())
        assert found.min() >= (1 - 1e-6) / 0.4


def test_means_of_weights_are_those_of_at_least_k_records():
    release = TableAggregator(K, weight="w").fit_transform(TABLE)
    assert release["w"].value_counts().min() >= K
    assert release[["age", "income", "w"]].value_counts().min() >= K
