import sys
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.generalization import KMember
from sk_microagg.metrics import risk_utility
from sk_microagg.plotting import (
    AttributeDisplay,
    CertificateDisplay,
    ConvergenceDisplay,
    PartitionDisplay,
    RiskUtilityDisplay,
)
from sk_microagg.plotting._distributions import Bars, Histogram, compare_columns
from sk_microagg.plotting._partition_display import Plane, outline
from sk_microagg.refiners import Exchange, IteratedLocalSearch, make_chain

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture(autouse=True)
def plt():
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module", name="X")
def records():
    return np.random.RandomState(0).gamma(2, size=(120, 3))


@pytest.fixture(scope="module")
def frame(X):
    return pd.DataFrame(X, columns=["age", "cost in $ or $", "<b>"])


@pytest.fixture(scope="module")
def searched(X):
    search = IteratedLocalSearch(max_iter=50)
    return MicroAggregator(k=4, refiner=search, random_state=0).fit(X)


MIXED = pd.DataFrame(
    {
        "age": [34, 36, None, 51, 58, 60],
        "ward": ["A", "A", "B", "B", "C", None],
    }
)


TRACE = np.array([[0, 0.1, 9.0], [7, 0.5, 6.0], [7, 1.0, 5.0]])
DRAW = {
    "risk and utility": partial(RiskUtilityDisplay.from_estimator, ks=[2, 6]),
    "partition": PartitionDisplay.from_estimator,
    "convergence": lambda aggregator, X, ax=None: ConvergenceDisplay.from_data(TRACE, ax=ax),
    "certificate": partial(CertificateDisplay.from_estimator, time_limit=0.02),
    "attributes": AttributeDisplay.from_estimator,
}


def draw_all(aggregator, X):
    """One display of each class that draws a table."""
    return [draw(aggregator, X) for name, draw in DRAW.items() if name != "convergence"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAW)
def test_axes_are_used_and_used_again(X, plt, name):
    aggregator = MicroAggregator(k=5).fit(X)
    figure, axes = plt.subplots(1, 2)
    display = DRAW[name](aggregator, X, ax=axes[0])
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]

    again = display.plot(ax=axes[1])
    assert again is display
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]

    display.plot()
    assert display.figure_ is not figure
    display.figure_.draw_without_rendering()
    figure.canvas.draw()


@pytest.mark.slow
@in_one_case(
    "table",
    [
        np.arange(12.0).reshape(12, 1),
        np.ones((12, 1)),
        np.ones((12, 3)),
        [[float(i), 1.0] for i in range(12)],
        np.repeat([[1.0, 2.0], [3.0, 5.0]], 6, axis=0),
        np.full((12, 2), 1e130),
        np.column_stack([np.arange(12.0), 1e15 + np.arange(12.0)]),
    ],
)
def test_degenerate_tables(table, plt):
    aggregator = MicroAggregator(k=3).fit(table)
    for display in draw_all(aggregator, table):
        display.figure_.draw_without_rendering()
        limits = [ax.axis() for ax in np.ravel(display.ax_)]
        assert np.isfinite(limits).all()
        plt.close(display.figure_)


@pytest.mark.slow
def test_frames_of_pandas_and_polars(frame):
    for table in (frame, pl.from_pandas(frame)):
        for display in draw_all(MicroAggregator(k=5).fit(table), table):
            display.figure_.draw_without_rendering()
        assert [ax.get_title(loc="left") for ax in display.ax_] == list(frame.columns)


def test_matplotlib_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'sk-microagg\[report\]'"):
        ConvergenceDisplay.from_data([[0, 0.1, 9.0]])


class TestRiskUtilityDisplay:
    def test_draws_the_table(self, X):
        table = risk_utility(X, [10, 2, 5])
        display = RiskUtilityDisplay.from_data(table)
        order = [1, 2, 0]
        assert_array_equal(display.line_.get_xdata(), table["information_loss"][order])
        assert_array_equal(display.line_.get_ydata(), table["expected_matches"][order])
        assert_array_equal(display.bound_.get_ydata(), [1 / 2, 1 / 5, 1 / 10])
        assert [text.get_text() for text in display.texts_] == ["k = 2", "5", "10"]
        assert_array_equal(display.texts_[0].xy, (display.line_.get_xydata()[0]))

    def test_linkage_stays_below_the_guarantee(self, X):
        display = RiskUtilityDisplay.from_estimator(MicroAggregator(), X, [1, 2, 5])
        assert np.all(display.expected_matches <= 1 / display.k + 1e-12)

    def test_estimator_and_data_agree(self, X):
        estimator = MicroAggregator(refiner=None)
        ours = RiskUtilityDisplay.from_estimator(estimator, X, [2, 5])
        theirs = RiskUtilityDisplay.from_data(risk_utility(X, [2, 5], estimator=estimator))
        assert_array_equal(ours.line_.get_xydata(), theirs.line_.get_xydata())

    def test_data_frame(self, X):
        table = risk_utility(X, [2, 5])
        display = RiskUtilityDisplay.from_data(pd.DataFrame(table))
        assert_array_equal(display.line_.get_xdata(), table["information_loss"])

    @pytest.mark.parametrize("table", [[1, 2], np.zeros(2), pd.DataFrame({"k": [2]})])
    def test_bad_table(self, table):
        with pytest.raises(ValueError, match=r"^table has no .*expected_matches"):
            RiskUtilityDisplay.from_data(table)

    @pytest.mark.slow
    @pytest.mark.parametrize("risk", ["homogeneity", "closeness"])
    def test_risk_of_a_sensitive_column(self, X, risk):
        sensitive = pd.DataFrame({"ill": X[:, 0] > 0.5, "age": X[:, 1].round()})
        table = risk_utility(X, [5, 2], sensitive=sensitive)
        ours = RiskUtilityDisplay.from_data(table, risk=risk)
        assert_array_equal(ours.line_.get_ydata(), table[risk][::-1])
        assert_array_equal(ours.texts_[0].xy, ours.line_.get_xydata()[0])
        assert ours.bound_ is None
        assert ours.ax_.get_ylim()[0] <= 0
        theirs = RiskUtilityDisplay.from_estimator(
            MicroAggregator(), X, [2, 5], sensitive=sensitive, risk=risk
        )
        assert_array_equal(ours.line_.get_xydata(), theirs.line_.get_xydata())
        assert ours.ax_.get_ylabel() != theirs.plot().ax_.get_ylabel()
        assert theirs.bound_ is not None

    @pytest.mark.slow
    def test_units(self, X):
        unit = np.arange(len(X)) // 3
        table = risk_utility(X, [5, 2], unit=unit)
        ours = RiskUtilityDisplay.from_data(table, risk="units_per_group")
        assert_array_equal(ours.line_.get_ydata(), table["units_per_group"][::-1])
        assert ours.bound_ is None
        theirs = RiskUtilityDisplay.from_estimator(
            MicroAggregator(), X, [2, 5], unit=unit, risk="units_per_group"
        )
        assert_array_equal(ours.line_.get_xydata(), theirs.line_.get_xydata())
        assert ours.ax_.get_ylabel() == "different units in the group with the fewest"

    def test_sensitive_values_change_no_default(self, X):
        table = risk_utility(X, [2, 5], sensitive=X[:, 0] > 0.5)
        display = RiskUtilityDisplay.from_data(table)
        assert_array_equal(display.line_.get_ydata(), table["expected_matches"])
        assert_array_equal(display.bound_.get_ydata(), [1 / 2, 1 / 5])

    def test_bad_risk(self, X):
        with pytest.raises(ValueError, match="risk='loss'"):
            RiskUtilityDisplay.from_estimator(MicroAggregator(), X, [2], risk="loss")
        with pytest.raises(ValueError, match="risk='closeness'"):
            RiskUtilityDisplay.from_estimator(MicroAggregator(), X, [2], risk="closeness")
        with pytest.raises(ValueError, match="risk='units_per_group'"):
            RiskUtilityDisplay.from_estimator(
                MicroAggregator(), X, [2], sensitive=X[:, 0], risk="units_per_group"
            )
        with pytest.raises(ValueError, match="risk='units_per_group'"):
            RiskUtilityDisplay.from_data(risk_utility(X, [2]), risk="units_per_group")
        with pytest.raises(ValueError, match="risk='homogeneity'"):
            RiskUtilityDisplay.from_data(risk_utility(X, [2]), risk="homogeneity")


class TestPartitionDisplay:
    def test_draws_the_records_and_the_centroids(self, X):
        aggregator = MicroAggregator(k=5).fit(X)
        display = PartitionDisplay.from_estimator(aggregator, X)
        drawn = display.records_.get_xydata()
        scaled = aggregator.scaler_.transform(X)
        points = Plane(scaled).place(scaled)
        assert_allclose(np.sort(drawn, axis=0), np.sort(points, axis=0))
        means = [points[aggregator.labels_ == j].mean(axis=0) for j in range(aggregator.n_groups_)]
        assert_allclose(display.centroids_.get_xydata(), means, atol=1e-12)
        assert display.ax_.get_title(loc="left") == f"{aggregator.n_groups_} groups"

    def test_each_hull_contains_its_group(self, X):
        labels = MicroAggregator(k=5).fit_predict(X[:, :2])
        display = PartitionDisplay.from_data(X[:, :2], labels)
        for label, path in enumerate(display.hulls_.get_paths()):
            corners, group = path.vertices, display.points[labels == label]
            assert {tuple(corner) for corner in corners} <= {tuple(point) for point in group}
            assert (
                path.contains_points(group, radius=1e-9).all()
                or path.contains_points(group, radius=-1e-9).all()
            )

    def test_estimator_and_data_agree(self, X):
        aggregator = MicroAggregator(k=5).fit(X)
        ours = PartitionDisplay.from_estimator(aggregator, X)
        scaled = aggregator.scaler_.transform(X)
        theirs = PartitionDisplay.from_data(scaled, aggregator.labels_)
        assert_array_equal(ours.points, theirs.points)

    def test_names_of_groups_do_not_matter(self, X):
        labels = np.arange(120) // 6
        display = PartitionDisplay.from_data(X, 7 * labels - 1)
        assert_array_equal(display.labels, labels)

    def test_more_groups_than_are_shown(self, X):
        labels = np.arange(120) // 6
        display = PartitionDisplay.from_data(X, labels, max_groups=5)
        distances = np.linalg.norm(
            [display.points[labels == j].mean(axis=0) for j in range(20)], axis=1
        )
        shown = np.linalg.norm(display.centroids_.get_xydata(), axis=1)
        assert_allclose(np.sort(shown), np.sort(distances)[:5])
        assert len(display.records_.get_xdata()) == 30
        title = display.ax_.get_title(loc="left")
        assert title == "5 of 20 groups, those nearest to the center"

    def test_one_column_is_drawn_in_its_own_units(self):
        table = pd.DataFrame({"age": [30.0, 60.0, 31.0, 61.0]})
        display = PartitionDisplay.from_estimator(MicroAggregator(k=2).fit(table), table)
        assert_array_equal(display.points, [[30, 1], [60, 2], [31, 1], [61, 2]])
        assert display.ax_.get_xlabel() == "age"

    def test_outlines(self):
        square = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]])
        assert sorted(outline(square).tolist()) == [[0, 0], [0, 1], [1, 0], [1, 1]]
        line = np.array([[1, 1], [0, 0], [3, 3], [2, 2]])
        assert sorted(outline(line).tolist()) == [[0, 0], [3, 3]]
        assert outline(np.ones((4, 2))).tolist() == [[1, 1]]

    def test_shares_of_variance(self):
        table = np.random.RandomState(0).normal(size=(50, 4)) * [9, 3, 1, 0]
        plane = Plane(table)
        variances = np.linalg.eigvalsh(np.cov(table.T))[::-1]
        assert_allclose(plane.shares, variances[:2] / variances.sum())
        share = percent(plane.shares[1])
        assert plane.axis_names()[1] == f"second principal component, {share} of variance"

    def test_errors(self, X):
        with pytest.raises(NotFittedError):
            PartitionDisplay.from_estimator(MicroAggregator(), X)
        with pytest.raises(TypeError, match=r"estimator=KAIM\(.*from_data\(X, estimator.labels_\)"):
            PartitionDisplay.from_estimator(KAIM(k=2).fit(MIXED), MIXED)
        with pytest.raises(ValueError, match=r"max_groups=0\b"):
            PartitionDisplay.from_data(X, np.zeros(120), max_groups=0)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            PartitionDisplay.from_data(X, np.zeros(119))


class TestConvergenceDisplay:
    TRACE = np.array([[0, 0.1, 9.0], [7, 0.5, 6.0], [7, 1.0, 5.0]])

    @pytest.mark.parametrize(("x", "times"), [("seconds", [0.1, 0.5, 1]), ("iteration", [0, 7, 7])])
    def test_draws_the_trace(self, x, times):
        display = ConvergenceDisplay.from_data(self.TRACE, x=x)
        assert_array_equal(display.line_.get_xdata(), times)
        assert_array_equal(display.line_.get_ydata(), [9, 6, 5])
        assert display.ax_.get_ylabel() == "sum of squared errors"

    def test_as_a_share(self):
        display = ConvergenceDisplay.from_data(self.TRACE, total=20)
        assert_allclose(display.line_.get_ydata(), [0.45, 0.3, 0.25])
        assert [text.get_text() for text in display.texts_] == ["45.0%", "25.0%"]
        assert display.ax_.get_ylabel() == "information loss"

    def test_ends_with_the_loss_of_the_estimator(self, X, searched):
        display = ConvergenceDisplay.from_estimator(searched)
        assert_allclose(display.line_.get_ydata()[-1], searched.information_loss_)
        with_data = ConvergenceDisplay.from_estimator(searched, X)
        assert_allclose(with_data.line_.get_xydata(), display.line_.get_xydata())

    def test_estimator_and_data_agree(self, searched):
        total = searched.sse_ / searched.information_loss_
        ours = ConvergenceDisplay.from_estimator(searched, x="iteration")
        theirs = ConvergenceDisplay.from_data(searched.refiner_.trace_, total, "iteration")
        assert_array_equal(ours.line_.get_xydata(), theirs.line_.get_xydata())

    def test_a_step_of_a_chain(self, X):
        chain = make_chain(IteratedLocalSearch(max_iter=20), Exchange())
        aggregator = MicroAggregator(k=4, refiner=chain, random_state=0).fit(X)
        display = ConvergenceDisplay.from_estimator(aggregator)
        assert_array_equal(display.trace, aggregator.refiner_.steps_[0][1].trace_)
        assert_allclose(display.line_.get_ydata()[-1], aggregator.information_loss_, rtol=0.1)

    def test_kaim(self):
        kaim = KAIM(k=2, refiner=IteratedLocalSearch(max_iter=20), random_state=0).fit(MIXED)
        display = ConvergenceDisplay.from_estimator(kaim)
        assert_allclose(display.line_.get_ydata()[-1], kaim.information_loss_)

    def test_nothing_lost(self):
        search = IteratedLocalSearch(max_iter=5)
        aggregator = MicroAggregator(k=2, refiner=search, random_state=0).fit(np.ones((6, 2)))
        display = ConvergenceDisplay.from_estimator(aggregator, np.ones((6, 2)))
        assert_array_equal(display.line_.get_ydata()[-1], 0)

    @pytest.mark.parametrize("refiner", [None, "exchange", ["decompose", "exchange"]])
    def test_no_search(self, X, refiner):
        aggregator = MicroAggregator(refiner=refiner).fit(X)
        with pytest.raises(ValueError, match=r"^estimator has no trace"):
            ConvergenceDisplay.from_estimator(aggregator)

    def test_searches_in_blocks(self, X):
        search = IteratedLocalSearch(max_iter=5)
        aggregator = MicroAggregator(k=3, refiner=search, block_size=50).fit(X)
        with pytest.raises(ValueError, match="block_size=None"):
            ConvergenceDisplay.from_estimator(aggregator)

    def test_errors(self):
        with pytest.raises(NotFittedError):
            ConvergenceDisplay.from_estimator(MicroAggregator())
        with pytest.raises(ValueError, match="x='hours'"):
            ConvergenceDisplay.from_data(self.TRACE, x="hours")
        with pytest.raises(ValueError, match=r"trace of shape \(3, 2\)"):
            ConvergenceDisplay.from_data(self.TRACE[:, :2])
        with pytest.raises(ValueError, match=r"trace of shape \(0, 3\)"):
            ConvergenceDisplay.from_data(np.empty((0, 3)))
        with pytest.raises(ValueError, match=r"total=0\b"):
            ConvergenceDisplay.from_data(self.TRACE, total=0)


class TestAttributeDisplay:
    def test_draws_the_shares_of_records_in_bins(self, X):
        aggregator = MicroAggregator(k=5).fit(X)
        release = aggregator.centroids_[aggregator.labels_]
        display = AttributeDisplay.from_data(X, release)
        for j, panel in enumerate(display.ax_):
            before, after = (patch.get_data() for patch in panel.patches)
            assert_array_equal(before.edges, after.edges)
            for column, drawn in ((X[:, j], before), (release[:, j], after)):
                counts = np.histogram(column, drawn.edges)[0]
                assert_allclose(drawn.values, counts / 120, atol=1e-12)
                assert_allclose(drawn.values.sum(), 1)

    def test_estimator_and_data_agree(self, frame):
        aggregator = MicroAggregator(k=5).fit(frame)
        ours = AttributeDisplay.from_estimator(aggregator, frame)
        release = aggregator.centroids_[aggregator.labels_]
        theirs = AttributeDisplay.from_data(frame.to_numpy(), release, list(frame.columns))
        for one, other in zip(ours.columns, theirs.columns, strict=True):
            assert one.name == other.name
            assert_array_equal(one.before, other.before)
            assert_array_equal(one.after, other.after)

    def test_names(self, X, frame):
        aggregator = MicroAggregator().fit(frame)
        display = AttributeDisplay.from_estimator(aggregator, X)
        assert [column.name for column in display.columns] == list(frame.columns)
        display = AttributeDisplay.from_data(X, X)
        assert [column.name for column in display.columns] == ["x0", "x1", "x2"]

    def test_integer_bins_cover_equally_many_values(self):
        ages = np.repeat(np.arange(20, 90), 3)[:, None]
        (column,) = compare_columns(ages, ages + 0.0)
        assert_array_equal(column.edges % 1, 0.5)
        assert_array_equal(np.diff(column.edges) % 1, 0)
        assert_allclose(column.before[:-1], column.before[0])

    @pytest.mark.parametrize("k", [2, 5, 30, 200])
    def test_bins_stand_for_enough_records(self, X, k):
        release = MicroAggregator(k=min(k, 120)).fit_transform(X)
        for j, column in enumerate(compare_columns(X, release, at_least=k)):
            counts = np.round(column.before * len(X))
            assert np.all((counts == 0) | (counts >= min(k, 120)))
            assert_allclose([column.before.sum(), column.after.sum()], 1)
            # Nothing discloses the range of the original.
            if len(np.unique(release[:, j])) > 1:
                assert_allclose(column.edges[[0, -1]], [release[:, j].min(), release[:, j].max()])

    def test_an_extreme_value_leaves_no_mark(self, X):
        release = MicroAggregator(k=5).fit_transform(X)
        extreme = X.copy()
        extreme[X.argmax(axis=0), range(3)] *= 1000
        for one, other in zip(
            compare_columns(X, release, at_least=5),
            compare_columns(extreme, release, at_least=5),
            strict=True,
        ):
            assert_array_equal(one.edges, other.edges)
            assert_array_equal(one.before, other.before)

    @pytest.mark.parametrize(
        ("largest", "labels"),
        [(8, ["0", "2"]), (40_000, ["0", "10k"]), (-4e6, ["−4M", "−3M"]), (4e9, ["0", "1bn"])],
    )
    def test_large_numbers_are_short(self, largest, labels):
        values = np.linspace(0, largest, 40)[:, None]
        display = AttributeDisplay.from_data(values, values)
        display.figure_.canvas.draw()
        shown = [label.get_text() for label in display.ax_[0].get_xticklabels()]
        assert set(labels) <= set(shown)

    def test_missing_numbers(self):
        before = pd.DataFrame({"age": [30, None, 50, 60]}, dtype="Int64")
        (column,) = compare_columns(before, np.array([[40.0], [40.0], [np.nan], [np.nan]]))
        assert column.missing == ("25.0%", "50.0%")
        assert_allclose([column.before.sum(), column.after.sum()], [0.75, 0.5])
        display = AttributeDisplay(columns=[column]).plot()
        assert display.ax_[0].get_xlabel() == "missing: 25.0% before, 50.0% after"

    def test_missing_shares_have_no_rounding_errors(self):
        # 2.5% is a tie: in tables, it is written as 2%.
        X = np.arange(200.0)[:, None]
        X[:5] = np.nan
        (column,) = compare_columns(X, X)
        assert column.missing == (percent(np.isnan(X).mean()),) * 2 == ("2.50%", "2.50%")

    def test_categories(self):
        before = [["a"]] * 5 + [["b"]] * 3 + [[None]] * 2
        after = [["a"]] * 4 + [["*"]] * 3 + [["letter"]] * 3
        (column,) = compare_columns(before, after)
        assert column.categories == ["a", "b", "*", "letter"]
        assert_allclose(column.before, [0.5, 0.3, 0.2, 0])
        assert_allclose(column.after, [0.4, 0, 0.3, 0.3])
        display = AttributeDisplay(columns=[column]).plot()
        widths = [bar.get_width() for bar in display.ax_[0].patches]
        assert_allclose(widths, [*column.before, *column.after])

    def test_categories_stand_for_enough_records(self):
        before = [["a"]] * 9 + [["b"]] * 6 + [["c"]] * 5 + [["Nauru"]] * 2
        (column,) = compare_columns(before, before, at_least=5)
        assert column.categories == ["a", "b", "(others)"]
        assert_allclose(column.before * 22, [9, 6, 7])
        (column,) = compare_columns(before[-2:], before[-2:], at_least=5)
        assert column.categories == ["(others)"]

    def test_wide_labels_leave_room_for_bars(self):
        import matplotlib.pyplot as plt

        for letter in "aWM@":
            figure, ax = plt.subplots(figsize=(2.7, 1.9), layout="constrained")
            (column,) = compare_columns([[20 * letter]] * 5, [[20 * letter]] * 5)
            column.draw(ax)
            figure.draw_without_rendering()
            assert ax.get_position().width >= 0.35, letter

    def test_many_categories(self):
        before = [[f"v{i % 50}"] for i in range(500)]
        (column,) = compare_columns(before, before)
        assert len(column.categories) == 9
        assert_allclose(column.before.sum(), 1)

    @pytest.mark.slow
    def test_kaim(self):
        kaim = KAIM(k=2, random_state=0).fit(MIXED)
        display = AttributeDisplay.from_estimator(kaim, MIXED)
        age, ward = display.columns
        assert isinstance(age, Histogram)
        assert isinstance(ward, Bars)
        display.figure_.canvas.draw()
        numbers = KAIM(k=2, output="midpoint", random_state=0).fit(MIXED)
        age, _ = AttributeDisplay.from_estimator(numbers, MIXED).columns
        assert isinstance(age, Histogram)

    def test_notes_alone(self):
        display = AttributeDisplay.from_data(MIXED[["age"]], pd.DataFrame({"age": ["*"] * 6}))
        assert display.ax_[0].texts[0].get_text() == "no value is released"

    def test_dropped_records(self):
        member = KMember(k=2, random_state=0).fit(MIXED)
        _, ward = AttributeDisplay.from_estimator(member, MIXED).columns
        assert ward.after[ward.categories.index("*")] >= 2 / 6

    def test_an_axes_for_each_column(self, X, plt):
        _, axes = plt.subplots(1, 3)
        display = AttributeDisplay.from_data(X, X, ax=axes)
        assert list(display.ax_) == list(axes)
        with pytest.raises(ValueError, match=r"^ax has 2 axes"):
            display.plot(ax=axes[:2])

    def test_errors(self, X):
        with pytest.raises(NotFittedError):
            AttributeDisplay.from_estimator(MicroAggregator(), X)
        with pytest.raises(ValueError, match=r"release of shape \(119, 3\)"):
            AttributeDisplay.from_data(X, X[1:])
        two = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
        with pytest.raises(ValueError, match=r"\['a', 'b'\]"):
            AttributeDisplay.from_data(two, two[["b", "a"]])
        with pytest.raises(ValueError, match=r"feature_names=\['a'\]"):
            AttributeDisplay.from_data(X, X, ["a"])
        with pytest.raises(ValueError, match=r"at_least=0\b"):
            AttributeDisplay.from_data(X, X, at_least=0)
