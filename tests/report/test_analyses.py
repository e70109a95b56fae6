"""Regressions of a report: by statsmodels, before and after."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from marks import in_one_case

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.report import make_report
from sk_microagg.report._analyses import Table, analyze, as_column, overlap
from sk_microagg.report._sections import Coefficient

pytestmark = pytest.mark.usefixtures("few_steps", "facts_only")

RNG = np.random.default_rng(0)


def people(n=300):
    age = RNG.integers(20, 80, n).astype(float)
    sex = RNG.choice(["f", "m"], n)
    town = RNG.choice(["Bonn", "Ulm", "Hof"], n, p=[0.6, 0.37, 0.03])
    income = 10 + 0.5 * age + 5 * (sex == "m") + RNG.normal(0, 5, n)
    weight = RNG.uniform(1, 9, n).round(1)
    table = {"age": age, "sex": sex, "town": town, "income": income, "net income": 0.7 * income}
    return pd.DataFrame(table | {"weight": weight, "ill": income + RNG.normal(0, 20, n) > 40})


PEOPLE = people()
OTHERS = people()


def table_of(frame, weights=None):
    return Table({name: as_column(cells) for name, cells in frame.items()}, weights)


def triples(terms, side):
    found = {one.term: getattr(one, side) for one in terms}
    return {term: (one.estimate, one.low, one.high) for term, one in found.items()}


@in_one_case(
    "formula",
    [
        "income ~ age + sex",
        "np.log(income) ~ age * C(sex)",
        "Q('net income') ~ age:sex + np.sqrt(age)",
        "income ~ bs(age, df=4) + C(town, Treatment('Bonn'))",
        "income ~ I(age / 10) - 1",
    ],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_they_are_those_of_statsmodels(formula, is_weighted):
    weights = PEOPLE["weight"].to_numpy() if is_weighted else None
    tables = table_of(PEOPLE, weights), table_of(OTHERS, weights)
    terms = analyze(formula, *tables).terms
    for side, frame in (("before", PEOPLE), ("after", OTHERS)):
        fit = smf.wls(formula, frame, weights=1.0 if weights is None else weights).fit()
        expected = np.column_stack([fit.params, fit.conf_int()])
        found = triples(terms, side)
        assert [*found] == [*fit.params.index]
        np.testing.assert_allclose([*found.values()], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["boolean", "category", "number"])
def test_two_values_are_explained_by_a_logistic_regression(kind):
    make = {
        "boolean": lambda ill: ill,
        "category": lambda ill: np.where(ill, "yes", "no"),
        "number": lambda ill: ill.astype(float),
    }[kind]
    frames = [frame.assign(ill=make(frame["ill"])) for frame in (PEOPLE, OTHERS)]
    found = analyze("ill ~ age + sex", *map(table_of, frames))
    assert found.model == "logistic regression"
    for side, frame in (("before", PEOPLE), ("after", OTHERS)):
        ill = frame["ill"].astype(float)
        fit = smf.logit("ill ~ age + sex", frame.assign(ill=ill)).fit(disp=False)
        expected = np.column_stack([fit.params, fit.conf_int()])
        np.testing.assert_allclose([*triples(found.terms, side).values()], expected, rtol=1e-4)


def test_released_means_between_two_numbers_are_shares():
    """Of 1 and 2, a released mean of 1.8 is a share of 0.8, and not another value."""
    released = PEOPLE.assign(ill=np.clip(PEOPLE["ill"] * 0.9 + 0.05, 0, 1))
    for low, high in ((0, 1), (1, 2)):
        frames = [f.assign(ill=low + (high - low) * f["ill"]) for f in (PEOPLE, released)]
        found = analyze("ill ~ age", *map(table_of, frames))
        assert found.target == f"the probability that ill is {high}"
        X = sm.add_constant(released[["age"]])
        fit = sm.GLM(released["ill"], X, family=sm.families.Binomial()).fit()
        estimates = [one.after.estimate for one in found.terms]
        np.testing.assert_allclose(estimates, fit.params, rtol=1e-6)


def test_weights_of_a_logistic_regression_count_rows_that_often():
    weights = RNG.integers(1, 4, len(PEOPLE)).astype(float)
    found = analyze("ill ~ age", *[table_of(PEOPLE, weights)] * 2)
    repeated = PEOPLE.loc[PEOPLE.index.repeat(weights.astype(int))]
    X = sm.add_constant(repeated[["age"]])
    fit = sm.Logit(repeated["ill"].astype(float), X).fit(disp=False)
    estimates = [one.before.estimate for one in found.terms]
    np.testing.assert_allclose(estimates, fit.params, rtol=1e-4)


def test_missing_values_leave_rows_out():
    gaps = PEOPLE.copy()
    gaps.loc[::5, "age"] = np.nan
    gaps.loc[1::5, "sex"] = None
    weights = PEOPLE["weight"].to_numpy()
    found = analyze("income ~ age + sex", table_of(gaps, weights), table_of(PEOPLE, weights))
    known = gaps.dropna(subset=["age", "sex"])
    fit = smf.wls("income ~ age + sex", known, weights=known["weight"]).fit()
    np.testing.assert_allclose([one.before.estimate for one in found.terms], fit.params, rtol=1e-8)


def test_both_sides_have_the_same_reference_and_say_what_one_lacks():
    without = PEOPLE.assign(town=PEOPLE["town"].replace("Bonn", "Ulm"))
    found = analyze("income ~ town", table_of(PEOPLE), table_of(without))
    terms = {one.term: one for one in found.terms}
    assert set(terms) == {"Intercept", "town[T.Bonn]", "town[T.Ulm]"}
    assert terms["town[T.Bonn]"].after is terms["town[T.Bonn]"].overlap is None
    assert terms["town[T.Ulm]"].after is not None


@in_one_case(
    ("formula", "words"),
    [
        ("income", "must be a formula"),
        ("~ age", "must be a formula"),
        ("income ~ age ~ sex", "must be a formula"),
        ("income ~ aeg", "'aeg', which must be one of the released columns"),
        ("income ~ Q('gross income')", "'gross income', which must be one"),
        ("income ~ age + (", "cannot be fitted: expected a noun"),
        ("town ~ age", "must hold numbers, dates or two categories"),
        ("income ~ __import__('os').system('false')", "which is no part of a formula"),
        ("income ~ open('x')", "calls 'open'"),
        ("income ~ np.load('x')", "calls 'np.load'"),
        ("income ~ age.sum", "'age.sum', which must be one"),
        ("income ~ [age for age in ()]", "which is no part of a formula"),
    ],
)
def test_what_a_formula_must_be(formula, words):
    with pytest.raises(ValueError, match=r"^analysis=") as caught:
        analyze(formula, *[table_of(PEOPLE)] * 2)
    assert words in str(caught.value)


def test_a_formula_is_text():
    with pytest.raises(TypeError, match=r"^analysis=3 "):
        analyze(3, *[table_of(PEOPLE)] * 2)


@in_one_case(
    ("formula", "frame", "words"),
    [
        ("income ~ age + twice", PEOPLE.assign(twice=2 * PEOPLE["age"]), "determine each other"),
        ("income ~ age + town", PEOPLE[:3], "too few records"),
        ("ill ~ age", PEOPLE.assign(ill=PEOPLE["age"] > 50), "tell both values apart"),
    ],
)
def test_why_there_is_none(formula, frame, words):
    found = analyze(formula, *[table_of(frame)] * 2)
    assert found.terms == []
    assert words in found.why_not


def test_overlap():
    def interval(low, high):
        return Coefficient((low + high) / 2, low, high, "")

    assert overlap(interval(0, 2), interval(0, 2)) == 1
    assert overlap(interval(0, 2), interval(1, 3)) == 0.5
    assert overlap(interval(0, 2), interval(8, 10)) < 0
    # (5.4 - 2.5) / 4.6 and / 4.5
    assert overlap(interval(0.8, 5.4), interval(2.5, 7.0)) == pytest.approx(0.637, abs=1e-3)


@pytest.mark.slow
def test_a_slope_that_is_known_is_shown_to_three_digits():
    x = np.arange(400.0)
    frame = pd.DataFrame({"x": x, "y": 3 + 1.234 * x + RNG.normal(0, 1, len(x))})
    aggregator = MicroAggregator(k=12, refiner=None).set_output(transform="pandas")
    release = aggregator.fit_transform(frame)
    report = make_report(aggregator, frame, release, analysis="y ~ x")
    slope = report.to_dict()["analyses"][0]["terms"][1]
    assert slope["term"] == "x"
    for side, table in (("before", frame), ("after", release)):
        assert slope[side]["text"].startswith("1.23 [1.23, ")
        assert slope[side]["text"] in report.to_html()
        assert slope[side]["estimate"] == pytest.approx(np.polyfit(table["x"], table["y"], 1)[0])
    assert slope["before"]["estimate"] != slope["after"]["estimate"]


@pytest.mark.slow
def test_released_weights_count_after_and_original_ones_before():
    settings = {"k": 5, "weight": "weight", "weight_release": "mean", "drop": ["ill", "town"]}
    aggregator = TableAggregator(**settings, quasi_identifiers=["age", "income", "sex"])
    release = aggregator.fit_transform(PEOPLE)
    report = make_report(aggregator, PEOPLE, release, analysis="income ~ age").to_dict()
    terms = report["analyses"][0]["terms"]
    for side, frame in (("before", PEOPLE), ("after", release)):
        fit = smf.wls("income ~ age", frame, weights=frame["weight"]).fit()
        found = [term[side]["estimate"] for term in terms]
        np.testing.assert_allclose(found, fit.params, rtol=1e-6)
    mean = next(m for m in report["utility"]["moments"] if m["column"] == "income")["mean"]
    for side, frame in (("before", PEOPLE), ("after", release)):
        expected = np.average(frame["income"], weights=frame["weight"])
        assert mean[side] == pytest.approx(expected)
