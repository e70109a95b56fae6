"""A report states what attacks on identity, attributes and membership achieve."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import RandomState
from tables.pages import Reader

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import whole_percent
from sk_microagg.metrics import attribute_inference, record_linkage
from sk_microagg.metrics._pairs import Pair
from sk_microagg.privacy import LDiversity
from sk_microagg.report import _attacks, _facts, make_report

pytestmark = pytest.mark.usefixtures("few_steps", "small_attacks", "no_pictures", "same_draws")

K = 5


@pytest.fixture
def same_draws(monkeypatch):
    monkeypatch.setattr(_facts, "new_random", lambda: RandomState(1))


@pytest.fixture
def report(tmp_path):
    def report(X, estimator, **parameters):
        release = estimator.fit_transform(X)
        path = make_report(estimator, X, release, **parameters).save(tmp_path / "report.html")
        return Reader(path.read_text(encoding="utf-8")), release

    return report


@pytest.fixture
def small_halves(monkeypatch):
    monkeypatch.setattr(_attacks, "FEWEST_MEMBERS", 50)
    monkeypatch.setattr(_attacks, "N_TREES", 20)


@pytest.fixture
def all_are_asked(monkeypatch):
    monkeypatch.setattr(_attacks, "SHARE_ASKED", 1.0)


def numbers(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[:, 1] += 2 * X[:, 0]
    return X


def people(n=300):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "ward": np.where(age < 45, "A", rng.choice(["B", "C"], n)),
            "ill": np.where(age + rng.normal(0, 15, n) < 45, "yes", "no"),
        }
    )


def share(cell):
    return float(cell.removesuffix("%")) / 100


@pytest.mark.slow
def test_identity_and_attributes_of_numbers(report, all_are_asked):
    X = numbers()
    page, release = report(X, MicroAggregator(K))
    linkage = record_linkage(X, release)
    assert page.row("Identity, nearest row")[:2] == [
        whole_percent(linkage.expected_matches),
        "<1%",
    ]
    linkage = record_linkage(X, release, one_to_one=True)
    assert page.row("Identity, one to one")[0] == whole_percent(linkage.expected_matches)
    for place in range(3):
        found = attribute_inference(release, X, place)
        expected = [whole_percent(found.success), whole_percent(found.baseline)]
        assert page.row(f"Attribute, x{place}")[:2] == expected
        assert page.row(f"Attribute, x{place}")[2].endswith(f"Best: {found.attacker}.")


@pytest.mark.slow
def test_attributes_of_any_kind_as_shares_of_all_records(report, all_are_asked):
    X = people()[["age", "ward"]]
    page, release = report(X, TableAggregator(K))
    for name in X.columns:
        found = attribute_inference(release, X, name)
        known = X[name].notna().mean()
        for text, share in zip(
            page.row(f"Attribute, {name}"), (found.success, found.baseline), strict=False
        ):
            # To within ten records, since there are categories.
            assert abs(float(text.removesuffix("%")) / 100 - share * known) <= 10 / 300 + 0.005


@pytest.mark.slow
def test_of_many_records_some_are_asked_about(report, monkeypatch):
    monkeypatch.setattr(_attacks, "MOST_ASKED", 150)
    monkeypatch.setattr(_attacks, "MOST_PAIRS_IN_A_REPORT", 1000)
    X = numbers()
    page, release = report(X, MicroAggregator(K))
    text = "".join(page.text)
    assert "Attributes: of 150 records, drawn at random." in text
    assert "There are too many records to link one to one." in text
    assert not any(row and row[0] == "Identity, one to one" for row in page.rows)
    found = attribute_inference(release, X, 1).success
    assert share(page.row("Attribute, x1")[0]) == pytest.approx(found, abs=0.1)


@pytest.mark.slow
def test_figures_that_stand_for_few_records_are_not_shown(report, all_are_asked):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60.0), rng.permutation(60)])
    page, release = report(X, MicroAggregator(20))
    assert 0 < attribute_inference(release, X, 1).baseline < 20 / 60
    assert page.row("Attribute, x1")[1] == "fewer than 20 records"


@pytest.mark.slow
def test_intervals_are_not_attacked(report):
    page, _ = report(numbers(), KAIM(K, random_state=0))
    assert "Attacks" not in "".join(page.text)


# Membership


@pytest.mark.slow
def test_without_a_target_membership_is_not_examined(report):
    page, _ = report(numbers(), MicroAggregator(K))
    assert "no target of one was given" in "".join(page.text)


@pytest.mark.slow
@pytest.mark.parametrize("is_number", [False, True])
def test_a_model_of_the_release_gives_less_away(report, small_halves, is_number):
    X = numbers(600)
    target = X[:, 0] + np.random.default_rng(1).normal(size=600)
    page, _ = report(X, MicroAggregator(K), target=target if is_number else target > 0)
    release, original = (share(page.row(f"Membership, {of}")[0]) for of in ("release", "original"))
    assert original > 0.6
    assert release - 0.5 < (original - 0.5) / 2
    assert "Membership: 300 records and as many others" in "".join(page.text)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [TableAggregator, MicroAggregator])
def test_columns_of_any_kind_and_roles(report, small_halves, estimator):
    X = people()
    if estimator is TableAggregator:
        page, _ = report(
            X, TableAggregator(K, sensitive="ill", privacy=LDiversity(2)), target="ill"
        )
        assert "random forest for ill" in page.row("Membership, release")[2]
        return
    ages = X[["age"]]
    aggregator = MicroAggregator(K)
    page, _ = report(ages, aggregator, unchanged=X[["ill"]], target="ill", unit=np.arange(300) // 2)
    assert share(page.row("Membership, original")[0]) > 0.4


def test_records_of_one_person_are_on_the_same_side():
    unit = np.repeat(np.arange(50), 4)
    members, others = _attacks._halves(np.zeros(200), unit, RandomState(0))
    assert len(members) == len(others) == 100
    assert not {*unit[members]} & {*unit[others]}


def test_records_without_a_target_are_left_out():
    target = np.array(["a", None] * 50, dtype=object)
    members, others = _attacks._halves(target, None, RandomState(0))
    assert {*members % 2} == {*others % 2} == {0}


@pytest.mark.slow
def test_too_few_records(report):
    page, _ = report(numbers(100), MicroAggregator(K), target=np.arange(100) % 2)
    assert "Membership was not measured: there are too few records." in "".join(page.text)


def membership(X, target):
    aggregator = MicroAggregator(K, refiner=None)
    roles = dict.fromkeys(("sensitive", "unit", "strata"))
    random = RandomState(0)
    target = _attacks.target_of(target, X, None, aggregator)
    return _attacks.measure_membership(X, aggregator, target, roles, Pair(X, X), random)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.round(2 * x) / 2,
        lambda x: pd.Series(x > 0).astype("boolean").mask(x > 2),
        lambda x: np.array([None if value > 2 else int(value) for value in x], dtype=object),
        lambda x: pd.DataFrame({"yes": x > 0}),
        lambda x: pd.to_datetime(1e9 * x, unit="s").to_series(),
    ],
    ids=["few numbers", "boolean", "objects", "frame", "dates"],
)
@pytest.mark.usefixtures("small_halves")
def test_targets_of_any_kind(make):
    X = numbers()
    facts = membership(X, make(X[:, 0]))
    assert facts.share_right(facts.original) > 0.4


@pytest.mark.usefixtures("small_halves")
def test_a_target_that_differs_for_everybody():
    facts = membership(numbers(), [f"case {number}" for number in range(200)])
    assert facts.reason == "the target has too many different values"
    assert facts.original is facts.released is None


@pytest.mark.slow
def test_sensitive_values_that_a_table_was_fitted_with(tmp_path, small_halves):
    X = people()
    y, X = X["ill"].to_numpy(), X[["age", "ward"]]
    aggregator = TableAggregator(K, privacy=LDiversity(2), column_weights="target", refiner=None)
    release = aggregator.fit_transform(X, y, sensitive=y)
    path = tmp_path / "report.html"
    make_report(aggregator, X, release, sensitive=y, target=y).save(path)
    page = Reader(path.read_text(encoding="utf-8"))
    assert page.row("Membership, release")[1] == "50%"


@pytest.mark.slow
def test_a_half_that_cannot_be_anonymized(report, small_halves):
    X = people()
    # Of the rare stratum, fewer than k records are in one half.
    X["stratum"] = np.where(np.arange(300) < K, "rare", "common")
    page, _ = report(X, TableAggregator(K, strata="stratum", sensitive="ill"), target="ill")
    assert "half of the records cannot be anonymized in the same way" in "".join(page.text)


@pytest.mark.parametrize(
    ("estimator", "target", "error", "message"),
    [
        (TableAggregator(K, sensitive="ill"), "age", ValueError, "^target='age'"),
        (TableAggregator(K, sensitive="ill"), "z", ValueError, r"one of \['ill'\], or an array"),
        (TableAggregator(K), np.arange(7), ValueError, "^target has 7 records"),
        (KAIM(K), np.arange(300), TypeError, "must be a MicroAggregator or a TableAggregator"),
    ],
)
def test_bad_targets(report, estimator, target, error, message):
    with pytest.raises(error, match=message):
        report(people(), estimator, target=target)
