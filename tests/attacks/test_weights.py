"""What weighted means tell an attacker who knows all other records, or nobody in the table.

A plain mean that is rounded to a unit bounds the last value of a group of n to within n / 2 units.
A weighted mean bounds it to within half a unit over the share of the weight: heavy records are
known better than by plain means, and light ones less well. A bound on that share bounds what is
told. To an attacker who knows nobody, weights tell apart whose values are in a mean, so that means
with many digits have a single solution.
"""

import numpy as np
import pandas as pd
import pytest
from attacks.weighted_means import VALUES, shares_computed, steps_of, survey, weights_on_list
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

pytestmark = pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups")


def widths(aggregator, release, column, weights):
    """By record, the width of the interval of its value in steps, given all others."""
    labels, found = aggregator.labels_, np.empty(N)
    step = 10.0 ** -aggregator.rounding_[column].decimals
    for record in range(N):
        members = np.flatnonzero(labels == labels[record])
        others, mean = members[members != record], release[column].iloc[record]
        known = (weights[others] * TABLE[column].iloc[others]).sum()
        low, high = (
            ((mean + half) * weights[members].sum() - known) / weights[record]
            for half in (-step / 2, step / 2)
        )
        assert low - 1e-6 <= TABLE[column].iloc[record] <= high + 1e-6
        found[record] = (high - low) / step
    return found


@pytest.mark.slow
@in_one_case("column", ["age", "income"])
def test_a_record_is_known_the_better_the_heavier_it_is(column):
    weights = TABLE["w"].to_numpy()
    plain = TableAggregator(K, drop="w", random_state=0)
    weighted = TableAggregator(K, weight="w", random_state=0)
    by_plain = widths(plain, plain.fit_transform(TABLE), column, np.ones(N))
    by_weighted = widths(weighted, weighted.fit_transform(TABLE), column, weights)
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
        found = widths(aggregator, release, column, TABLE["w"].to_numpy())
        assert found.min() >= (1 - 1e-6) / 0.4


def test_mean_weights_are_those_of_at_least_k_records():
    release = TableAggregator(K, weight="w", weight_release="mean").fit_transform(TABLE)
    assert release["w"].value_counts().min() >= K
    assert release[["age", "income", "w"]].value_counts().min() >= K


def attacked(k, weight_release, n_weights, knows_list):
    """Shares of what an attacker computes of a release with the default rounding."""
    table, design = survey(300, 0, n_weights)
    aggregator = TableAggregator(k, weight="w", weight_release=weight_release)
    release = aggregator.fit_transform(table)
    if weight_release == "mean" and not knows_list:
        release["w"] = 1.0  # The best guess at weights of which only the mean is known.
    steps = steps_of(aggregator)
    own = design if knows_list else None
    return shares_computed(table, release, aggregator.labels_, k, steps, own)


WAYS = {
    "kept, calibrated": ("keep", None, False),
    "kept, of a list": ("keep", 30, False),
    "mean": ("mean", 30, False),
    "mean, of a known list": ("mean", 30, True),
}


@pytest.mark.slow_but_first
@pytest.mark.parametrize("k", [5, 3, 2])
@pytest.mark.parametrize("way", WAYS)
def test_rounded_weighted_means_hide_their_values(way, k):
    shares = attacked(k, *WAYS[way])
    assert max(shares.values()) <= 0.05
    assert shares["row"] == 0


@pytest.mark.slow_but_first
@pytest.mark.parametrize("k", [3, 2, 5])
def test_the_attack_computes_rows_from_means_with_all_digits(k):
    table, _ = survey(60, 0)
    aggregator = TableAggregator(k, weight="w")
    release = aggregator.fit_transform(table)
    totals = np.bincount(aggregator.labels_, table["w"])
    for name in VALUES:
        sums = np.bincount(aggregator.labels_, table["w"] * table[name])
        release[name] = (sums / totals)[aggregator.labels_]
    shares = shares_computed(table, release, aggregator.labels_, k, dict.fromkeys(VALUES, 0.0))
    assert shares["row"] > 0.9


def test_a_list_tells_the_weights_of_a_mean_with_all_digits():
    table, design = survey(300, 0, 30)
    labels = TableAggregator(5, weight="w").fit_predict(table)
    means = table["w"].groupby(labels).mean()[np.bincount(labels) == 5][:20]
    found = [weights_on_list(design, 5, mean, n_digits=16) for mean in means]
    assert np.mean([weights is not None for weights in found]) > 0.9


def test_shares_with_a_weight_are_refused():
    """A weighted share is a subset sum of the weights, which has one solution at k=5."""
    table = TABLE.assign(town=RNG.choice(["Bonn", "Ulm"], N))
    with pytest.raises(ValueError, match=r"^categories='shares' must be 'mode' or 'generalize'"):
        TableAggregator(K, weight="w", categories="shares").fit(table)
