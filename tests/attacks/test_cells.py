"""An intruder lists the possible records in the cells of a model, and solves for the groups."""

import pickle

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.metrics import cell_enumeration
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps")

AGES, RATINGS, INCOMES = range(18, 90), range(1, 6), range(50, 1000)


def people(n, *columns, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.choice(column, size=n) for column in columns])


@pytest.mark.slow
@in_one_case(
    ("columns", "n", "k", "at_least"),
    [([AGES], 300, 5, 0.3), ([AGES, RATINGS], 1000, 3, 0.2)],
)
def test_cells_of_few_coarse_columns_determine_groups_and_the_release_does_not(
    columns, n, k, at_least
):
    aggregator = MicroAggregator(k=k).fit(people(n, *columns))
    assert cell_enumeration(aggregator, columns) > at_least
    assert cell_enumeration(aggregator.release_only(), columns) < 0.03


def test_cells_of_sparse_columns_determine_nothing():
    X = people(100, AGES, INCOMES)
    assert cell_enumeration(MicroAggregator(k=5).fit(X), [AGES, INCOMES]) == 0


def test_what_is_determined():
    """Cells {1, 2} and {5, ..., 9}: 1, 1, 2 is the only solution; 6, 6, 6 and 5, 6, 7 are two."""
    aggregator = MicroAggregator(k=3).fit([[1], [1], [2], [5], [6], [7]])
    assert cell_enumeration(aggregator, [[1, 2, 5, 6, 7, 8, 9]]) == 0.5
    # In halves, 1.5, 1.5, 1 has the same sum.
    assert cell_enumeration(aggregator, [np.arange(2, 19) / 2]) == 0
    # Three equal records are shared by k people.
    equal = MicroAggregator(k=3).fit([[1], [1], [1], [5], [6], [8]])
    assert cell_enumeration(equal, [[1, 5, 6, 8]]) == 0.5


def test_bad_values():
    aggregator = MicroAggregator(k=2).fit(people(20, AGES, RATINGS))
    with pytest.raises(ValueError, match=r"^values of 1 columns"):
        cell_enumeration(aggregator, [AGES])
    with pytest.raises(ValueError, match=r"^values allow 1e\+08 different records"):
        cell_enumeration(aggregator, [range(10_000)] * 2)
    with pytest.raises(ValueError, match=r"^values .* one step"):
        cell_enumeration(aggregator, [[18, 19, 20.5], RATINGS])


def table(X):
    return pd.DataFrame(X, columns=["age", "rating"]).assign(sex=np.where(X[:, 1] > 2, "f", "m"))


MODELS = {
    "numbers": (MicroAggregator(k=5, refiner="annealing"), lambda X: X),
    "table": (TableAggregator(k=5, refiner="annealing"), table),
}


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "make"), MODELS.values(), ids=MODELS)
def test_a_model_without_cells_tells_its_release_and_nothing_else(estimator, make, tmp_path):
    X = make(people(200, AGES, RATINGS))
    fitted = clone(estimator)
    release = fitted.fit_transform(X)
    assert len(fitted.refiner_.trace_) > 0
    stripped = pickle.loads(pickle.dumps(fitted.release_only()))
    rounded = (
        fitted.centroids_ if estimator is not MODELS["numbers"][0] else fitted.centroids_.round()
    )
    pd.testing.assert_frame_equal(pd.DataFrame(stripped.centroids_), pd.DataFrame(rounded))
    for name in ("group_sizes_", "exact_transform_"):
        np.testing.assert_array_equal(getattr(stripped, name), getattr(fitted, name))
    assert stripped.information_loss_ == np.ceil(100 * fitted.information_loss_) / 100
    # Neither the order of the original nor its exact figures are in it.
    assert not {"labels_", "sse_", "column_losses_"} & {*vars(stripped)}
    assert stripped.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    needs_cells = [stripped.transform, stripped.score]
    needs_cells += [stripped.format, stripped.certificate] if hasattr(stripped, "format") else []
    for method in needs_cells:
        with pytest.raises(NotFittedError, match="holds only its release"):
            method(X)
    kept = {name for name in vars(stripped) if not name.endswith("_")} - {*fitted.get_params()}
    assert kept <= {"_names", "_released", "_sk_microagg_version", "_table_roles"}
    assert not {"weights_", "scaler_", "n_iter_"} & {*vars(stripped)}
    assert not hasattr(stripped.refiner_, "trace_")
    # A copy of the copy is the same.
    again = stripped.release_only()
    pd.testing.assert_frame_equal(pd.DataFrame(again.centroids_), pd.DataFrame(rounded))
    make_report(stripped, X, release).save(tmp_path / "report.html")
    # The model itself is as it was, and the copy can be fitted again.
    fitted.transform(X[:3])
    stripped.fit(X).transform(X[:3])


def test_means_of_columns_with_gaps_are_not_looked_at():
    X = people(60, range(20), range(20))
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    with pytest.raises(ValueError, match=r"^aggregator must have been fitted on records without"):
        cell_enumeration(MicroAggregator(3).fit(X), [range(20), range(20)])


def test_rounded_means_are_those_of_several_groups():
    """Of 1, 1, 2: with the mean rounded to 1, also 1, 1, 1 and 0, 1, 2 and so on are possible."""
    ages = people(300, AGES)
    exact, rounded = MicroAggregator(5).fit(ages), MicroAggregator(5, decimals="auto").fit(ages)
    # The cells of both tell the same, since a model has exact means for them.
    assert cell_enumeration(exact, [AGES]) == cell_enumeration(rounded, [AGES]) > 0.3
    assert cell_enumeration(rounded.release_only(), [AGES]) == 0


def test_a_model_that_is_not_fitted_has_no_release():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MicroAggregator().release_only()
