"""Utility in a report: moments, categories, correlations, resemblance and attacks."""

import json
import tracemalloc

import jsonschema
import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.random import RandomState

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.metrics import correlation_change
from sk_microagg.metrics._pairs import MixedPair, Pair, make_pair
from sk_microagg.report import make_report, report_schema
from sk_microagg.report._attacks import due_to_release, wilson, with_interval
from sk_microagg.report._utility import correlations, measure_utility, propensity_ratio

pytestmark = pytest.mark.usefixtures("few_steps")

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def people():
    n = 300
    age = RNG.integers(20, 80, n).astype(float)
    sex = RNG.choice(["f", "m"], n)
    town = RNG.choice(["Bonn", "Ulm", "Hof"], n, p=[0.6, 0.39, 0.01])
    income = 10 + 0.5 * age + 5 * (sex == "m") + RNG.normal(0, 5, n)
    return pd.DataFrame({"age": age, "sex": sex, "town": town, "income": income})


def test_moments_are_those_of_pandas(people):
    gaps = people[["age", "income"]].copy()
    gaps.loc[::7, "income"] = np.nan
    pair = make_pair(gaps, gaps.fillna(0.0))
    found = {
        one.column: one for one in measure_utility(pair, [*gaps], RandomState(0), None).moments
    }
    for name, one in found.items():
        for frame, side in ((gaps, "before"), (gaps.fillna(0.0), "after")):
            column = frame[name]
            quartiles = column.quantile([0.25, 0.5, 0.75])
            expected = [column.mean(), column.std(), *quartiles]
            changes = (one.mean, one.deviation, one.lower_quartile, one.median, one.upper_quartile)
            assert [getattr(each, side) for each in changes] == pytest.approx(expected)
    # The column that changed comes first.
    assert [*found] == ["income", "age"]


def test_dates_are_dates():
    days = pd.Series(pd.date_range("2024-01-01", periods=9, freq="7D"))
    table = pd.DataFrame({"day": days, "moment": days.iloc[0] + pd.to_timedelta(range(9), "h")})
    pair = make_pair(table, table.assign(day=days.iloc[4]))
    moments = {m.column: m for m in measure_utility(pair, [*table], RandomState(0), None).moments}
    day = moments["day"]
    assert day.mean.text == "2024-01-29 \N{RIGHTWARDS ARROW} 2024-01-29"
    assert day.lower_quartile.text == "2024-01-15 \N{RIGHTWARDS ARROW} 2024-01-29"
    deviation = days.std() / pd.Timedelta("1D")
    assert day.deviation.text == f"{deviation:.1f} days \N{RIGHTWARDS ARROW} 0.00 days"
    assert moments["moment"].mean.text.startswith("2024-01-01T04:00 ")


def test_correlations_are_those_of_pairs_of_known_values(people):
    gaps = people[["age", "income"]].assign(other=RNG.normal(size=len(people)), same=1.0)
    gaps.loc[::3, "age"] = np.nan
    gaps.loc[1::4, "income"] = np.nan
    columns = [gaps[name].to_numpy() for name in gaps]
    found = correlations(columns, np.ones(len(gaps)))
    np.testing.assert_allclose(found, gaps.corr(), atol=1e-12)
    weights = RNG.integers(1, 5, len(gaps))
    repeated = gaps.loc[gaps.index.repeat(weights)]
    np.testing.assert_allclose(correlations(columns, weights * 0.5), repeated.corr(), atol=1e-12)
    # Of large numbers, differences are correlated.
    shifted = [column + 1e9 for column in columns]
    np.testing.assert_allclose(correlations(shifted, np.ones(len(gaps))), found, atol=1e-5)


def test_a_correlation_that_is_gone_is_the_largest_change(people):
    table = people[["age", "income"]].assign(other=RNG.normal(size=len(people)))
    released = table.assign(income=1.0)
    found = measure_utility(make_pair(table, released), [*table], RandomState(0), None)
    assert found.correlations[0].columns == ["age", "income"]
    change = correlation_change(table, released)
    assert found.largest_correlation_change == pytest.approx(change.largest)
    assert found.mean_correlation_change == pytest.approx(change.mean)


def test_small_categories_that_change_much_come_first():
    n = 1000
    town = np.repeat(["Bonn", "Ulm", "Hof"], [500, 483, 17])
    table = pd.DataFrame({"town": town, "age": np.arange(n)})
    # Hof falls from 1.7% to 0.2%, and Bonn rises from 50% to 51.5%.
    pair = make_pair(table, table.assign(town=np.repeat(["Bonn", "Ulm", "Hof"], [515, 483, 2])))
    found = measure_utility(pair, [*table], RandomState(0), None).categories
    assert [(one.category, one.share.text) for one in found] == [
        ("Hof", "1.70% \N{RIGHTWARDS ARROW} 0.200%"),
        ("Bonn", "50.0% \N{RIGHTWARDS ARROW} 51.5%"),
    ]


@pytest.mark.slow
def test_a_release_that_looks_like_the_original_has_a_ratio_of_about_one():
    X, draws = RNG.normal(size=(400, 2)), np.random.RandomState(0)
    alike = propensity_ratio(Pair(X, X + RNG.normal(scale=1e-9, size=X.shape)), draws)
    release = MicroAggregator(k=40, refiner=None).fit_transform(X)
    other = propensity_ratio(Pair(X, release), draws)
    assert 0.5 < alike < 1.7 < other


def test_resemblance_of_codes_takes_no_column_per_code():
    codes = np.repeat([f"{number:05d}" for number in range(800)], 5)
    table = pd.DataFrame({"zip": codes, "town": np.random.RandomState(0).permutation(codes)})
    pair = MixedPair(table, table.assign(zip=codes[0]))
    tracemalloc.start()
    assert propensity_ratio(pair, np.random.RandomState(0)) > 5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_wilson_intervals():
    # https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval, by its formula
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert wilson(0.0, 100) == pytest.approx((0.0, 0.0370), abs=1e-4)
    assert wilson(1.0, 100) == pytest.approx((0.9630, 1.0), abs=1e-4)


@in_one_case(
    ["hits", "n", "others", "n_others"],
    [(180, 240, 30, 60), (240, 240, 30, 60), (0, 400, 50, 100), (300, 2000, 100, 1000)],
)
def test_what_is_due_to_a_release_is_the_risk_of_anonymeter(hits, n, others, n_others):
    """By its formulas (arXiv:2211.10459): both rates are the centers of Wilson intervals."""
    share, of_others = hits / n, others / n_others
    found = due_to_release(with_interval(share, n), with_interval(of_others, n_others))
    assert found.value == pytest.approx(max((share - of_others) / (1 - of_others), 0))

    def rate(x, m):
        z = 1.959964
        spread = np.sqrt(x * (m - x) / m + z**2 / 4)
        return (x + z**2 / 2) / (m + z**2), z * spread / (m + z**2)

    (a, error), (c, error_of_others) = rate(hits, n), rate(others, n_others)
    risk = (a - c) / (1 - c)
    error = np.hypot(error / (1 - c), error_of_others * (1 - a) / (1 - c) ** 2)
    ends = np.clip([risk - error, risk + error], 0, 1)
    np.testing.assert_allclose(found.interval, ends, atol=1e-4)
    assert found.interval[0] <= found.value <= found.interval[1]


def test_nothing_is_due_to_a_release_where_all_others_are_guessed():
    assert due_to_release(with_interval(1.0, 50), with_interval(1.0, 50)) is None


@pytest.fixture(scope="module")
def report(people):
    aggregator = TableAggregator(k=5, sensitive="town")
    release = aggregator.fit_transform(people)
    analysis = ["income ~ age + sex", "income ~ town"]
    return make_report(aggregator, people, release, analysis=analysis, scenario={})


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_documents_are_as_their_schema_says(report, people):
    kaim = KAIM(k=5)
    generalized = make_report(kaim, people, kaim.fit_transform(people))
    numbers = people[["age", "income"]].to_numpy()
    aggregator = MicroAggregator(k=5)
    units = np.arange(len(numbers)) // 2
    release = aggregator.fit_transform(numbers, unit=units)
    averages = make_report(aggregator, numbers, release, unit=units, certificate=0.1)
    validator = jsonschema.Draft202012Validator(report_schema())
    for each in (report, generalized, averages):
        assert [*validator.iter_errors(each.to_dict())] == []


@pytest.mark.slow
def test_people_outside_the_table_are_attacked_as_well(report):
    compared = report.to_dict()["attacks"]["compared"]
    assert [attack["goal"] for attack in compared] == ["singling out", "linkability"] + [
        "inference"
    ] * 4
    for attack in compared:
        for name in ("success", "others", "by_chance"):
            low, high = attack[name]["interval"]
            assert 0 <= low <= attack[name]["value"] <= high <= 1
    assert "240 others" in report.to_html()
    assert "60 records were held out" in report.to_html()


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_a_release_that_copies_the_original_fails_the_comparison():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    aggregator = MicroAggregator(k=1)
    with pytest.warns(UserWarning, match="k=1"):
        release = aggregator.fit_transform(X)
    with pytest.warns(UserWarning, match="k=1"):
        found = make_report(aggregator, X, release).to_dict()["attacks"]["compared"]
    linkability = next(each for each in found if each["goal"] == "linkability")
    assert linkability["success"]["value"] == 1
    assert linkability["others"]["interval"][1] < 0.5
    for attack in found:
        if attack["goal"] == "inference":
            assert attack["others"]["value"] < 1 == attack["success"]["value"]


@pytest.mark.slow
def test_files_by_their_names(report, tmp_path):
    assert json.loads(report.save(tmp_path / "r.json").read_text()) == report.to_dict()
    assert report.save(tmp_path / "r.htm").read_text(encoding="utf-8") == report.to_html()


@pytest.mark.slow
def test_figures_of_analysts_are_on_the_page(report):
    page = report.to_html()
    for text in ("income ~ age + sex", "95% confidence intervals", "Standard deviation"):
        assert text in page


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_a_report_can_be_made_again(people):
    aggregator = TableAggregator(k=5, sensitive="town")
    release = aggregator.fit_transform(people)
    found = [make_report(aggregator, people, release).to_dict() for _ in range(2)]
    other = make_report(aggregator, people, release, random_state=1).to_dict()
    for each in (*found, other):
        each.pop("written")
    assert found[0] == found[1]
    assert found[0]["attacks"]["compared"] != other["attacks"]["compared"]
    attacks = {**found[0]["attacks"], "compared": None}, {**other["attacks"], "compared": None}
    assert attacks[0] == attacks[1]


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
@pytest.mark.parametrize("n", [99, 100])
def test_fewer_than_a_hundred_rows_are_not_guessed(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    aggregator = MicroAggregator(k=5)
    report = make_report(aggregator, X, aggregator.fit_transform(X))
    attacks = report.to_dict()["attacks"]
    assert bool(attacks["guesses"]) == (n == 100)
    assert ("Attacks by guessing are left out" in report.to_html()) == (n == 99)
    assert attacks["identity"]["value"] > 0
