"""Figures of a report, for an intruder who knows all records but one value."""

import json
import re
from copy import copy
from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.metrics import Certificate, _attribute_inference
from sk_microagg.report import _facts, _figures, _page, _report, _utility, make_report
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
@pytest.mark.parametrize(
    ("n_tables", "n_records"), [(4, 8), pytest.param(20, 20, marks=pytest.mark.release)]
)
def test_no_figure_gives_a_value_of_a_record(n_tables, n_records):
    widths, together = [], []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        n = (80, 200)[seed % 2]
        X = rng.normal(size=(n, 2)) if seed % 4 < 2 else rng.lognormal(size=(n, 2))
        y = X @ [1.0, -0.5] + rng.normal(size=n)
        published = figures(X, y)
        for record in rng.choice(n, n_records, replace=False):
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
def test_a_value_that_few_people_have_is_not_told(monkeypatch, n_known):
    monkeypatch.setattr(_attribute_inference, "N_TREES", 5)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 100), "size": rng.normal(size=100)})
    table["pay"] = np.where(np.arange(100) < n_known, 98765.4321, np.nan)
    aggregator = TableAggregator(k=5)
    report = make_report(aggregator, table, aggregator.fit_transform(table))
    told = json.dumps(report.to_dict()) + report.to_html().replace(",", "")
    assert "98765" not in told
    assert "size" in json.dumps(report.to_dict()["utility"])


# Changes of a value that are tried on whole reports, in standard deviations.
STEPS = (0.02, 0.05, 0.1, 0.25, 0.5)


def leaves(document, path=""):
    """Each figure or text of a document, by its place."""
    if isinstance(document, dict | list):
        pairs = document.items() if isinstance(document, dict) else enumerate(document)
        for name, part in pairs:
            yield from leaves(part, f"{path}/{name}")
    elif not path.endswith("/written"):
        yield path, document


def releases(n_records, seeds):
    """Tables whose first record is attacked, with their releases; y is the first column."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = (100, 300)[seed % 2]
        a, b = rng.normal(size=(2, n)) if seed % 4 < 2 else rng.lognormal(size=(2, n))
        X = pd.DataFrame({"y": a - 0.5 * b + rng.normal(size=n), "a": a, "b": b})
        for record in rng.choice(n, n_records, replace=False):
            order = np.r_[record, np.delete(np.arange(n), record)]
            table = X.iloc[order].reset_index(drop=True)
            aggregator = MicroAggregator(k=5, refiner=None)
            release = aggregator.fit_transform(table)
            assert np.isclose(aggregator.information_loss_, loss_of(table, release))
            yield (seed, record), aggregator, table, release


def loss_of(X, release):
    return np.mean(((X - release) ** 2).sum() / ((X - X.mean()) ** 2).sum())


def changed(aggregator, X, release, change):
    """What the intruder makes a report of, who changes the value by so many deviations."""
    X = X.copy()
    X.iloc[0, 0] += change * X["y"].std()
    # A report has the loss from the estimator, which the intruder computes again.
    aggregator = copy(aggregator)
    aggregator.information_loss_ = loss_of(X, release)
    return aggregator, X


def figures_of(aggregator, X, release, change=0.0):
    """Figures of a report that are the same in all reports, and those that are drawn."""
    aggregator, X = changed(aggregator, X, release, change)
    report = make_report(aggregator, X, release, analysis="y ~ a + b", scenario={}).to_dict()
    drawn = [report["utility"].pop("propensity_ratio"), report.pop("attacks")]
    return dict(leaves(report)), dict(leaves(drawn))


def widths_of(*arguments):
    """By the place of a figure, how many values of a record agree with it, in deviations."""
    changes = (0.0, *STEPS, *(-step for step in STEPS))
    found = {change: figures_of(*arguments, change)[0] for change in changes}
    return {
        path: sum(
            next((s for s in STEPS if found[sign * s].get(path) != true), STEPS[-1])
            for sign in (-1, 1)
        )
        for path, true in found[0.0].items()
    }


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(_report, "render", lambda *_, **__: "")
    monkeypatch.setattr(_attribute_inference, "N_TREES", 5)


@pytest.mark.slow
def test_pictures_and_proofs_tell_no_more_of_the_loss(monkeypatch):
    monkeypatch.setattr(_facts, "measure_attacks", lambda *_: None)
    monkeypatch.setattr(_utility, "propensity_ratio", lambda *_: 1.0)
    monkeypatch.setattr(_page, "draw_groups", lambda *_: None)
    nothing = SimpleNamespace(pictures=[], most_changed=[], notes=[], n_left_out=0)
    monkeypatch.setattr(_page, "draw_columns", lambda *_, **__: nothing)

    def with_numbers(draw, size, label, id=None):
        """What is drawn, to the last digit, instead of lines."""
        traces = [value.tolist() for value in vars(draw.__self__).values() if np.ndim(value)]
        return _figures.Picture(label, "", str(traces), id)

    monkeypatch.setattr(_figures, "_as_svg", with_numbers)
    for place, aggregator, X, release in releases(2, range(2)):
        told = {}
        for change in (0.0, -0.05, 0.05):
            estimator, table = changed(aggregator, X, release, change)
            loss = estimator.information_loss_
            # Search and proof, which the intruder can repeat, end with these.
            estimator.refiner_ = SimpleNamespace(
                trace_=np.array([[0, 0, loss + 0.1], [9, 1, loss]])
            )
            estimator.sse_ = loss
            bounds = np.array([[0.5, 0.01], [1, loss - 0.02]])
            proof = Certificate(loss, loss - 0.02, bounds, aggregator.k)
            html = make_report(estimator, table, release, certificate=proof).to_html()
            told[change] = re.findall(
                r"<figure.*?</figure>|[^>]*bove the optimum.*?</p>", html, re.S
            )
            assert len(told[change]) >= 3
        # One may lie beyond a step, the other does not.
        assert told[0.0] in (told[-0.05], told[0.05]), place


@pytest.fixture
def seeded(monkeypatch):
    """Draw the same in each run of a test, and something else in each report."""
    monkeypatch.setattr(_facts, "new_random", map(np.random.RandomState, count()).__next__)


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(
    ("n_tables", "n_records"),
    [(2, 2), pytest.param(20, 20, marks=pytest.mark.release)],
    ids=["thinned", "full"],
)
def test_no_figure_of_a_whole_report_gives_a_value(monkeypatch, n_tables, n_records):
    # An intruder knows the release and all other values, and tries values until the report agrees.
    monkeypatch.setattr(_facts, "measure_attacks", lambda *_: None)
    monkeypatch.setattr(_utility, "propensity_ratio", lambda *_: 1.0)
    for place, *known in releases(n_records, range(n_tables)):
        widths = widths_of(*known)
        # What a report calls a guess is within a tenth of a deviation.
        assert min(widths.values()) >= 0.1, (place, min(widths, key=widths.get))
        finer = [
            path
            for path in widths
            if path.startswith(("/utility/col", "/utility/cor", "/analyses"))
            and not path.endswith("/overlap")  # It follows from two intervals.
        ]
        assert finer
        assert min(map(widths.get, finer)) >= 0.5


@pytest.mark.slow
@pytest.mark.usefixtures("fast", "seeded")
@pytest.mark.parametrize(
    ("n_tables", "n_records", "n_reports"),
    [(1, 1, 10), pytest.param(5, 2, 20, marks=pytest.mark.release)],
    ids=["thinned", "full"],
)
def test_no_drawn_figure_of_a_whole_report_tells_values_apart(n_tables, n_records, n_reports):
    # The intruder does not know what was drawn. Reports that he makes with draws of his own do not
    # tell the true value from one that is a whole deviation away.
    p_values = {}
    for place, *known in releases(n_records, range(1, 2 * n_tables, 2)):
        true, other = (
            [figures_of(*known, change) for _ in range(n_reports)] for change in (0.0, 1.0)
        )
        assert all(fixed == true[0][0] for fixed, _ in true)
        for path in {path for _, drawn in true + other for path in drawn}:
            values = [in_order(drawn.get(path)) for _, drawn in true + other]
            ranks = [sorted(values).index(value) for value in values]
            if len({*ranks}) > 1:
                both = ranks[:n_reports], ranks[n_reports:]
                p_values[place, path] = mannwhitneyu(*both, method="asymptotic").pvalue
    assert len(p_values) >= 30 * n_tables * n_records
    least = min(p_values, key=p_values.get)
    assert p_values[least] * len(p_values) >= 0.01, least


def in_order(figure):
    """A key that sorts numbers by their size, after figures that are not shown, and words."""
    text = str(figure).rstrip("%")
    return (text, 0.0) if text.strip("0123456789.") else ("number", float(text))


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
def test_draws_that_an_intruder_can_repeat_would_give_it(monkeypatch):
    monkeypatch.setattr(_facts, "new_random", lambda: np.random.RandomState(0))
    assert any(
        figures_of(*known)[1] != figures_of(*known, 0.02)[1] for _, *known in releases(20, [3])
    )


def test_draws_cannot_be_repeated():
    draws = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        draws.append(_facts.new_random().randint(1 << 30, size=4).tolist())
    assert draws[0] != draws[1]
