"""Utility in a report: moments, correlations, resemblance and regressions."""

import json
import tracemalloc
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.metrics._pairs import MixedPair, Pair
from sk_microagg.report import make_report
from sk_microagg.report._attacks import due_to_release, wilson, with_interval
from sk_microagg.report._utility import (
    _least_squares,
    analyze,
    overlap,
    parse_formula,
    propensity_ratio,
    step_above,
    written,
)

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


@in_one_case(["size", "step"], [(0.011, 0.02), (0.5, 0.5), (6, 10), (0.1, 0.1), (21, 50), (0, 0)])
def test_steps(size, step):
    assert step_above(size) == pytest.approx(step)


def test_numbers_have_the_decimals_of_their_step():
    assert written(-1234.5, 0.5) == "\N{MINUS SIGN}1,234.5"
    assert written(30, 10) == "30"
    assert written(0.02, 0.02) == "0.02"


@in_one_case(
    ["formula", "names"],
    [
        ("income ~ age", ["income", "age"]),
        ("a b~c+`d + e`", ["a b", "c", "d + e"]),
    ],
)
def test_formulas(formula, names):
    response, terms = parse_formula(formula)
    assert [response, *terms] == names


@in_one_case("formula", ["income", "~ age", "a ~ b ~ c", "a ~ b +", "a + b ~ c", ""])
def test_other_texts_are_no_formulas(formula):
    with pytest.raises(ValueError, match=r"^analysis="):
        parse_formula(formula)


def test_least_squares_agree_with_those_of_numpy_and_leaving_one_out():
    X = np.column_stack([np.ones(60), RNG.normal(size=(60, 2)) * [1, 1000]])
    y = X @ [3, 2, 0.001] + RNG.normal(size=60)
    weights, half, steps = _least_squares(X, y, None)
    np.testing.assert_allclose(weights, np.linalg.lstsq(X, y, rcond=None)[0])
    left_out = [
        np.linalg.lstsq(np.delete(X, i, 0), np.delete(y, i), rcond=None)[0] for i in range(60)
    ]
    largest = np.abs(np.array(left_out) - weights).max(axis=0)
    assert (np.array(steps) >= largest * (1 - 1e-9)).all()
    # 95%: the usual interval, by the quantile of Student's distribution.
    errors = y - X @ weights
    standard = np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * (errors @ errors) / 57)
    np.testing.assert_allclose(half, 2.0024654580545986 * standard, rtol=1e-6)
    assert _least_squares(X[:, [0, 0]], y, None) is None


def test_people_with_many_records_are_left_out_as_a_whole():
    X = np.column_stack([np.ones(100), RNG.normal(size=100)])
    y = RNG.normal(size=100)
    y[:20] += 10
    _, _, one_by_one = _least_squares(X, y, None)
    _, _, as_a_person = _least_squares(X, y, np.r_[np.zeros(20, dtype=int), 1 + np.arange(80)])
    assert as_a_person[0] > one_by_one[0]


def test_an_analysis_survives_or_not(people):
    columns = {name: (people[name].to_numpy(),) * 2 for name in ("age", "income")}
    columns["sex"] = (people["sex"].to_numpy(dtype=object),) * 2
    columns["town"] = (people["town"].to_numpy(dtype=object),) * 2
    same = analyze("income ~ age + sex", columns, 5, None, str)
    assert [(one.term, one.overlap) for one in same.terms] == [
        ("(intercept)", 1),
        ("age", 1),
        (f"sex: {people['sex'].value_counts().index[1]}", 1),
    ]
    assert same.terms[1].before.low <= 0.5 <= same.terms[1].before.high
    shuffled = RNG.permutation(columns["age"][0])
    lost = analyze("income ~ age", {**columns, "age": (columns["age"][0], shuffled)}, 5, None, str)
    assert lost.terms[1].overlap <= 0
    # It follows from what else is told.
    assert [one.overlap for one in lost.terms] == [
        round(overlap(one.before, one.after), 2) for one in lost.terms
    ]
    # A town of few people is not named.
    towns = analyze("income ~ town", columns, 5, None, str)
    assert not any("Hof" in term for term in (one.term for one in towns.terms))


def test_why_there_is_no_analysis(people):
    numbers = people["age"].to_numpy()
    columns = {"a": (numbers,) * 2, "b": (2 * numbers,) * 2, "y": (numbers**2,) * 2}
    assert "determine" in analyze("y ~ a + b", columns, 5, None, str).why_not
    few = {name: tuple(part[:30] for part in pair) for name, pair in columns.items()}
    assert "too few" in analyze("y ~ a", few, 5, None, str).why_not
    columns["t"] = (people["town"].to_numpy(dtype=object),) * 2
    for formula in ("t ~ a", "y ~ z"):
        with pytest.raises(ValueError, match=f"^analysis='{formula}'"):
            analyze(formula, columns, 5, None, str)


def test_overlap():
    from sk_microagg.report._utility import Interval

    assert overlap(Interval(1, 0, 2, 1), Interval(1, 0, 2, 1)) == 1
    assert overlap(Interval(1, 0, 2, 1), Interval(2, 1, 3, 1)) == 0.5
    assert overlap(Interval(1, 0, 2, 1), Interval(9, 8, 10, 1)) == -1


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
    assert wilson(0.5, 100) == (0.4, 0.6)
    assert wilson(0.0, 100) == (0.0, 0.04)
    assert wilson(1.0, 100) == (0.96, 1.0)


@in_one_case(
    ["hits", "n", "others", "n_others"],
    [(180, 240, 30, 60), (240, 240, 30, 60), (0, 400, 50, 100), (300, 2000, 100, 1000)],
)
def test_what_is_due_to_a_release_is_the_risk_of_anonymeter(hits, n, others, n_others):
    """By its formulas (arXiv:2211.10459): both rates are the centers of Wilson intervals."""
    share, of_others = hits / n, others / n_others
    found = due_to_release(with_interval(share, n, 1), with_interval(of_others, n_others, 1))
    assert found.value == pytest.approx(max((share - of_others) / (1 - of_others), 0), abs=0.02)

    def rate(x, m):
        z = 1.959964
        spread = np.sqrt(x * (m - x) / m + z**2 / 4)
        return (x + z**2 / 2) / (m + z**2), z * spread / (m + z**2)

    (a, error), (c, error_of_others) = rate(hits, n), rate(others, n_others)
    risk = (a - c) / (1 - c)
    error = np.hypot(error / (1 - c), error_of_others * (1 - a) / (1 - c) ** 2)
    ends = np.clip([risk - error, risk + error], 0, 1)
    np.testing.assert_allclose(found.interval, ends, atol=0.025)
    assert found.interval[0] <= found.value <= found.interval[1]


def test_what_is_due_to_a_release_is_not_shown_of_a_few_people():
    few, many, all_of_them = (with_interval(share, 100, 5) for share in (0.01, 0.5, 0.99))
    assert few.interval is all_of_them.interval is None
    for pair in ((few, many), (many, all_of_them)):
        assert due_to_release(*pair) == ("not shown", None, None)


@pytest.fixture(scope="module")
def report(people):
    aggregator = TableAggregator(k=5, sensitive="town")
    release = aggregator.fit_transform(people)
    analysis = ["income ~ age + sex", "income ~ town"]
    return make_report(aggregator, people, release, analysis=analysis, scenario={})


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_documents_are_as_their_schema_says(report, people):
    schema = json.loads((files("sk_microagg.report") / "schema.json").read_text(encoding="utf-8"))
    kaim = KAIM(k=5)
    generalized = make_report(kaim, people, kaim.fit_transform(people))
    numbers = people[["age", "income"]].to_numpy()
    aggregator = MicroAggregator(k=5)
    units = np.arange(len(numbers)) // 2
    release = aggregator.fit_transform(numbers, unit=units)
    averages = make_report(aggregator, numbers, release, unit=units, certificate=0.1)
    validator = jsonschema.Draft202012Validator(schema)
    for each in (report, generalized, averages):
        assert [*validator.iter_errors(each.to_dict())] == []


@pytest.mark.slow
def test_people_outside_the_table_are_attacked_as_well(report):
    attacks = report.to_dict()["attacks"]
    compared = [attack for attack in attacks if attack["others"] is not None]
    assert [attack["goal"] for attack in compared] == ["singling out", "linkability"] + [
        "inference"
    ] * 4
    for attack in compared:
        for name in ("success", "others", "by_chance"):
            interval = attack[name]["interval"]
            assert interval is None or 0 <= interval[0] <= interval[1] <= 1
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
        found = make_report(aggregator, X, release).to_dict()
    linkability = next(each for each in found["attacks"] if each["goal"] == "linkability")
    assert linkability["success"]["text"] == "100%"
    assert linkability["others"]["interval"][1] < 0.5
    for attack in found["attacks"]:
        if attack["goal"] == "inference" and attack["others"] is not None:
            assert attack["others"]["text"] != "100%" == attack["success"]["text"]


@pytest.mark.slow
def test_files_by_their_names(report, tmp_path):
    assert json.loads(report.save(tmp_path / "r.json").read_text()) == report.to_dict()
    assert report.save(tmp_path / "r.htm").read_text(encoding="utf-8") == report.to_html()


@pytest.mark.slow
def test_figures_of_analysts_are_on_the_page(report):
    page = report.to_html()
    for text in ("income ~ age + sex", "95% confidence intervals", "Deviation, original"):
        assert text in page
    assert "Hof" not in page
