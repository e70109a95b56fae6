"""What a notebook shows of a fitted model, beside the diagram of scikit-learn."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader
from marks import in_one_case
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import estimator_html_repr

from sk_microagg import KAIM, MicroAggregator, TableAggregator, TrainOnRelease
from sk_microagg._utils._estimator import column_losses, html_of, size_rows
from sk_microagg._utils._formatting import percent
from sk_microagg.generalization import KMember

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(90, 3)) * [1, 20, 300], columns=["age", "weight", "income"])
y = rng.normal(size=90)

ESTIMATORS = {
    "numbers": MicroAggregator(k=4),
    "not exact": MicroAggregator(k=4, refiner=None),
    "a table": TableAggregator(k=4),
    "generalized": KAIM(k=4, random_state=0),
    "with records dropped": KMember(k=4, random_state=0),
    "a model": TrainOnRelease(LinearRegression(), MicroAggregator(k=4)),
}


def fit(name):
    estimator = clone(ESTIMATORS[name])
    if name == "with records dropped":
        return estimator.fit(X.mask(X["age"] > 1.8))
    return estimator.fit(X, y)


@pytest.fixture(params=ESTIMATORS)
def fitted(request):
    return fit(request.param)


def facts_of(html):
    """Names and values of the list of figures."""
    row = next(row for row in Reader(html).rows if row[:1] == ["k"])
    return dict(zip(row[::2], row[1::2], strict=True))


def bars_of(html, title):
    """Texts of the bars by their labels; None without a picture of this title."""
    for label in Reader(html).labels:
        if label and label.startswith(f"{title}: "):
            bars = label.removeprefix(f"{title}: ").split("; ")
            return dict(bar.rsplit(": ", 1) for bar in bars)
    return None


def own_part(html):
    """What is shown beside the diagram."""
    return html[html.index('<div class="sk-microagg-groups">') :]


def without_ids(html):
    return re.sub(r"-id-\d+", "", html)


# What is shown


def test_the_figures_are_those_of_the_attributes(fitted):
    shown = fitted._repr_mimebundle_()["text/html"]
    model = getattr(fitted, "anonymizer_", fitted)
    sizes = model.group_sizes_
    exactness = (
        "exact" if model.exact_transform_ else "not exact: publish what fit_transform returns"
    )
    of = f"{sizes.min()} to {sizes.max()} records"
    of = of if sizes.min() < sizes.max() else f"{sizes.min()} records each"
    assert facts_of(shown) == {
        "k": "4",
        "Groups": f"{model.n_groups_}, of {of}",
        "Records": str(sizes.sum()),
        "Information loss": percent(model.information_loss_, digits=3),
        "transform": exactness,
    }
    bars = bars_of(shown, "Groups by number of records")
    assert {int(size): int(count) for size, count in bars.items() if count != "0"} == dict(
        zip(*np.unique(sizes, return_counts=True), strict=True)
    )
    assert ("Trained on a release of MicroAggregator" in shown) == (model is not fitted)


def test_the_diagram_of_scikit_learn_stays_as_it_is(fitted):
    diagram = without_ids(estimator_html_repr(fitted))
    for shown in (fitted._repr_mimebundle_()["text/html"], fitted._repr_html_()):
        assert diagram in without_ids(shown)
    assert fitted._repr_mimebundle_()["text/plain"] == repr(fitted)


@in_one_case("name", ESTIMATORS)
def test_an_estimator_that_is_not_fitted_has_the_diagram_alone(name):
    estimator = ESTIMATORS[name]
    diagram = without_ids(estimator_html_repr(estimator))
    assert without_ids(estimator._repr_html_()) == diagram
    assert without_ids(estimator._repr_mimebundle_()["text/html"]) == diagram


def test_text_if_scikit_learn_is_to_display_text(fitted):
    with config_context(display="text"):
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}
        assert not hasattr(fitted, "_repr_html_")


class Keeps(TransformerMixin, BaseEstimator):
    """Returns the table as it is."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_a_model_whose_anonymizer_has_no_groups():
    model = TrainOnRelease(LinearRegression(), Keeps()).fit(X, y)
    assert "sk-microagg-groups" not in model._repr_html_()


def test_a_model_of_another_version_that_lacks_a_figure_has_the_diagram_alone():
    aggregator = MicroAggregator(k=4).fit(X)
    del aggregator.exact_transform_
    assert "sk-microagg-groups" not in aggregator._repr_html_()


@in_one_case("k", [10, "many", None])
def test_k_that_the_groups_do_not_have_is_not_promised(k):
    aggregator = MicroAggregator(k=4).fit(X).set_params(k=k)
    assert facts_of(aggregator._repr_html_())["k"] == f"{k}, but set after the fit"
    assert facts_of(aggregator.set_params(k=3)._repr_html_())["k"] == "3"


def test_one_group_of_all_records():
    shown = MicroAggregator(k=90).fit(X)._repr_html_()
    assert facts_of(shown)["Groups"] == "1, of 90 records"


# Sizes of groups


def test_a_few_sizes_have_a_bar_each():
    rows = size_rows(np.array([5, 5, 7, 12]))
    assert [label for label, _, _ in rows] == ["5", "6", "7", "8", "9", "10", "11", "12"]
    assert [count for _, count, _ in rows] == [2, 0, 1, 0, 0, 0, 0, 1]


@in_one_case("seed", range(5))
def test_many_sizes_are_joined_and_every_group_is_counted_once(seed):
    rng = np.random.default_rng(seed)
    sizes = 10 + rng.poisson(rng.integers(1, 3000), size=2000) ** rng.integers(1, 3)
    rows = size_rows(sizes)
    assert len(rows) <= 9
    for label, count, text in rows:
        ends = [int(end.replace(",", "")) for end in re.findall(r"[\d,]+", label)]
        low, high = ends[0], sizes.max() if "more" in label else ends[-1]
        assert count == np.sum((sizes >= low) & (sizes <= high))
        assert text == f"{count:,}"
    assert sum(count for _, count, _ in rows) == 2000


# Losses of columns


def test_columns_lose_what_lies_within_groups():
    aggregator = MicroAggregator(k=4).fit(X)
    release = aggregator.fit_transform(X)
    expected = ((X - release) ** 2).mean() / X.var(ddof=0)
    losses = column_losses(aggregator)
    assert losses == pytest.approx(expected.to_dict(), rel=1e-9)
    assert np.mean([*losses.values()]) == pytest.approx(aggregator.information_loss_)
    shown = bars_of(aggregator._repr_html_(), "Information loss by column")
    order = sorted(losses, key=losses.get, reverse=True)
    assert [*shown.items()] == [(name, percent(losses[name], digits=3)) for name in order]


def test_columns_of_a_table():
    table = X.assign(ward=rng.choice(list("ab"), size=90))
    aggregator = TableAggregator(k=4).fit(table)
    shown = bars_of(aggregator._repr_html_(), "Information loss by column")
    assert shown == {
        name: percent(loss, digits=3) for name, loss in aggregator.column_losses_.items()
    }


def test_columns_without_names_or_variance():
    values = np.column_stack([X["age"], np.full(90, 0.1), 1e9 + X["income"]]).astype(np.float32)
    losses = column_losses(MicroAggregator(k=4).fit(values))
    assert [*losses] == ["x0", "x1", "x2"]
    assert losses["x1"] == 0
    assert all(0 <= loss <= 1 for loss in losses.values())


@pytest.mark.slow
@in_one_case(
    "aggregator",
    [
        MicroAggregator(k=4, scaler=None),
        MicroAggregator(k=4, scaler=MinMaxScaler()),
        MicroAggregator(k=4, scaler=StandardScaler(with_std=False)),
        KAIM(k=4, random_state=0),
    ],
)
def test_no_losses_of_columns_if_public_attributes_do_not_give_them(aggregator):
    assert column_losses(aggregator.fit(X)) is None
    assert bars_of(aggregator._repr_html_(), "Information loss by column") is None


def test_no_losses_of_columns_if_values_are_missing():
    aggregator = MicroAggregator(k=4).fit(X.mask(X > 1e3).assign(age=X["age"].where(y < 1)))
    assert column_losses(aggregator) is None


def test_the_columns_that_lose_most_of_many():
    losses = {f"column {number}": number / 100 for number in range(30)}
    model = SimpleNamespace(
        k=4,
        group_sizes_=np.array([4, 5]),
        information_loss_=0.1,
        exact_transform_=True,
        column_losses_=losses,
    )
    shown = bars_of(f"<div>{html_of(model)}</div>", "Information loss by column")
    assert [*shown][:2] == ["column 29", "column 28"]
    assert len(shown) == 9
    assert shown["22 more"] == "up to 21.0%"


# Safe to show


def test_nothing_is_shown_that_public_attributes_do_not_tell(fitted):
    model = getattr(fitted, "anonymizer_", fitted)
    public = {
        name: getattr(model, name)
        for name in ("group_sizes_", "information_loss_", "exact_transform_", "column_losses_")
        if hasattr(model, name)
    }
    if isinstance(model, MicroAggregator):
        public |= {
            "centroids_": model.centroids_,
            "feature_names_in_": model.feature_names_in_,
            "rounding_": model.rounding_,
        }
        if hasattr(model, "scaler_"):
            public["scaler_"] = model.scaler_
    assert html_of(SimpleNamespace(k=4, **public)) == html_of(model)


def test_no_bar_is_about_fewer_records_than_k(fitted):
    for label in bars_of(fitted._repr_html_(), "Groups by number of records"):
        assert int(label) >= 4


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</svg></title>&lt;b&gt;",
    "\x1b[2J\u202ea\x00",
]


@in_one_case("kind", [MicroAggregator, TableAggregator])
def test_names_of_columns_are_text(kind):
    table = pd.concat([X, X["age"] ** 2], axis=1).set_axis(HOSTILE, axis=1)
    shown = kind(k=4).fit(table)._repr_html_()
    part = Reader(own_part(shown))
    assert {*part.tags} == {"div", "dl", "dt", "dd", "svg", "text", "title", "rect"}
    assert part.links == []
    text = "".join(part.text)
    assert all(name in text for name in HOSTILE[:3])
    assert r"\x1b[2J\u202ea\x00" in text
    assert not {"\x1b", "\u202e", "\x00"} & {*own_part(shown)}


def test_small_however_many_groups_and_however_long_names():
    rng = np.random.default_rng(0)
    sizes = 5 + rng.poisson(2, size=200_000)
    model = SimpleNamespace(
        k=5,
        group_sizes_=sizes,
        information_loss_=0.1,
        exact_transform_=True,
        column_losses_={f"{number}{'x' * 10_000}": 0.1 for number in range(1000)},
    )
    assert len(html_of(model).encode()) < 15_000
