"""A report states what attacks on identity and attributes achieve."""

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.metrics import attribute_inference, record_linkage
from sk_microagg.report import _attacks, make_report

pytestmark = pytest.mark.usefixtures("few_steps", "small_attacks", "no_pictures")

K = 5


@pytest.fixture
def report(tmp_path):
    def report(X, estimator, **parameters):
        release = estimator.fit_transform(X)
        path = make_report(estimator, X, release, **parameters).save(tmp_path / "report.html")
        return Reader(path.read_text(encoding="utf-8")), release

    return report


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
def test_identity_and_attributes_of_numbers(report):
    X = numbers()
    page, release = report(X, MicroAggregator(K))
    linkage = record_linkage(X, release)
    assert page.row("Identity, nearest row")[:2] == [
        percent(linkage.expected_matches),
        "0.500%",
    ]
    linkage = record_linkage(X, release, one_to_one=True)
    assert page.row("Identity, one to one")[0] == percent(linkage.expected_matches)
    for place in range(3):
        found = attribute_inference(release, X, place)
        expected = [percent(found.success), percent(found.baseline)]
        assert page.row(f"Attribute, x{place}")[:2] == expected
        assert page.row(f"Attribute, x{place}")[2].endswith(f"Best: {found.attacker}.")


@pytest.mark.slow
def test_attributes_of_any_kind(report):
    X = people()[["age", "ward"]]
    page, release = report(X, TableAggregator(K))
    for name in X.columns:
        found = attribute_inference(release, X, name)
        texts = [percent(found.success), percent(found.baseline)]
        assert page.row(f"Attribute, {name}")[:2] == texts


@pytest.mark.slow
def test_of_many_records_some_are_asked_about(report, monkeypatch):
    monkeypatch.setattr(_attacks, "MOST_ASKED", 150)
    monkeypatch.setattr(_attacks, "MOST_LINKED", 100)
    X = numbers()
    page, release = report(X, MicroAggregator(K))
    text = "".join(page.text)
    assert "Attributes: of 150 records, drawn at random." in text
    assert "There are too many records to link one to one." in text
    assert not any(row and row[0] == "Identity, one to one" for row in page.rows)
    found = attribute_inference(release, X, 1).success
    assert share(page.row("Attribute, x1")[0]) == pytest.approx(found, abs=0.1)


@pytest.mark.slow
def test_intervals_are_not_attacked(report):
    page, _ = report(numbers(), KAIM(K, random_state=0))
    assert "Adversarial" not in "".join(page.text)
