"""Figures of a report, for an intruder who knows all records but one value."""

import json

import numpy as np
import pandas as pd
import pytest

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.report import make_report
from sk_microagg.report._utility import _moments, analyze

# Changes of the unknown value that are tried, in standard deviations of its column.
CHANGES = np.linspace(-2, 2, 33)
TRUE = len(CHANGES) // 2


def figures(X, y):
    """What a report says of the original: mean, deviation, and coefficients of a regression."""
    columns = {"a": (X[:, 0],) * 2, "b": (X[:, 1],) * 2, "y": (y, y)}
    regression = analyze("y ~ a + b", columns, 5, None, str)
    assert len(regression.terms) == 3
    moments = [(each.before, each.step) for each in _moments(y, y, None)]
    return moments + [
        (one.before.estimate, one.before.low, one.before.high, one.before.step)
        for one in regression.terms
    ]


def width(agrees):
    """How far changes around none at all agree with what was published."""
    low = high = TRUE
    while low > 0 and agrees[low - 1]:
        low -= 1
    while high < len(CHANGES) - 1 and agrees[high + 1]:
        high += 1
    return CHANGES[high] - CHANGES[low]


@pytest.mark.slow
@pytest.mark.parametrize("n_tables", [4, pytest.param(20, marks=pytest.mark.release)])
def test_no_figure_gives_a_value_of_a_record(n_tables):
    widths, together = [], []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        n = (80, 200)[seed % 2]
        X = rng.normal(size=(n, 2)) if seed % 4 < 2 else rng.lognormal(size=(n, 2))
        y = X @ [1.0, -0.5] + rng.normal(size=n)
        published = figures(X, y)
        for record in rng.choice(n, 20, replace=False):
            agrees = []
            for change in CHANGES:
                other = y.copy()
                other[record] += change * y.std()
                found = zip(figures(X, other), published, strict=True)
                agrees.append([one == true for one, true in found])
            agrees = np.array(agrees)
            widths.append([width(of_figure) for of_figure in agrees.T])
            together.append(width(agrees.all(axis=1)))
    # Rounding leaves at least half a deviation open by each figure, and mostly more than two.
    assert np.min(widths) >= 0.5
    assert np.quantile(widths, 0.05) >= 2
    # All figures together say more, but not the value.
    assert np.min(together) >= 0.25
    assert np.median(together) >= 2


def test_exact_figures_would_give_it():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    exact, known = y.mean(), np.delete(y, 7)
    assert np.isclose(exact * len(y) - known.sum(), y[7])
    mean, _ = _moments(y, y, None)
    assert abs(mean.before * len(y) - known.sum() - y[7]) > y.std() / 4


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [1, 4])
def test_a_value_that_few_people_have_is_not_told(n_known):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 100), "size": rng.normal(size=100)})
    table["pay"] = np.where(np.arange(100) < n_known, 98765.4321, np.nan)
    aggregator = TableAggregator(k=5)
    report = make_report(aggregator, table, aggregator.fit_transform(table))
    told = json.dumps(report.to_dict()) + report.to_html().replace(",", "")
    assert "98765" not in told
    assert "size" in json.dumps(report.to_dict()["utility"])


# Changes of a value that are tried on whole reports, in standard deviations.
STEPS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


def leaves(document, path=""):
    """Each figure or text of a document, by its place."""
    if isinstance(document, dict | list):
        pairs = document.items() if isinstance(document, dict) else enumerate(document)
        for name, part in pairs:
            yield from leaves(part, f"{path}/{name}")
    elif not path.endswith("/written"):
        yield path, document


def widths_of(aggregator, X, release):
    """By the place of a figure, how many values of a record agree with it, in deviations."""
    documents = {}
    for change in (0.0, *STEPS, *(-step for step in STEPS)):
        other = X.copy()
        other.iloc[0, 0] += change * X["y"].std()
        report = make_report(aggregator, other, release, analysis="y ~ a + b", scenario={})
        documents[change] = dict(leaves(report.to_dict()))
    return {
        path: sum(
            next((s for s in STEPS if documents[sign * s].get(path) != true), STEPS[-1])
            for sign in (-1, 1)
        )
        for path, true in documents[0.0].items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_tables", "n_records"),
    [(2, 2), pytest.param(20, 20, marks=pytest.mark.release)],
    ids=["thinned", "full"],
)
def test_no_figure_of_a_whole_report_gives_a_value(monkeypatch, n_tables, n_records):
    # An intruder knows the release and all other values, and tries values until the report agrees.
    monkeypatch.setattr("sk_microagg.report._report.render", lambda *_, **__: "")
    monkeypatch.setattr("sk_microagg.metrics._attribute_inference.N_TREES", 5)
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        n = (100, 300)[seed % 2]
        a, b = rng.normal(size=(2, n)) if seed % 4 < 2 else rng.lognormal(size=(2, n))
        X = pd.DataFrame({"y": a - 0.5 * b + rng.normal(size=n), "a": a, "b": b})
        for record in rng.choice(n, n_records, replace=False):
            # The record that is attacked comes first.
            order = np.r_[record, np.delete(np.arange(n), record)]
            table = X.iloc[order].reset_index(drop=True)
            aggregator = MicroAggregator(k=5, refiner=None)
            release = aggregator.fit_transform(table)
            widths = widths_of(aggregator, table, release)
            # What a report calls a guess is within a tenth of a deviation.
            assert min(widths.values()) >= 0.1, (seed, record, min(widths, key=widths.get))
            finer = [
                p for p in widths if p.startswith(("/utility/col", "/utility/cor", "/analyses"))
            ]
            assert finer
            assert min(map(widths.get, finer)) >= 0.5
