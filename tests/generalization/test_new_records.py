"""Guarantees of `transform`: rows of the release, no record in the model, a warning."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from example_tables.mixed import HIERARCHIES, covers, draw

from sk_microagg import KAIM
from sk_microagg.generalization import KMember
from sk_microagg.tables import Hierarchy

ESTIMATORS = [
    KAIM(4, hierarchies=HIERARCHIES, random_state=0),
    KAIM(4, hierarchies=HIERARCHIES, refiner=None, distance="entropy", random_state=0),
    KAIM(4, hierarchies=HIERARCHIES, output="midpoint", random_state=0),
    KMember(4, hierarchies=HIERARCHIES, random_state=0),
    KMember(4, hierarchies=HIERARCHIES, incomplete="keep", random_state=0),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


@pytest.fixture(name="X")
def table():
    return draw(120)


@pytest.fixture(name="new")
def new_table():
    return draw(80, seed=1)


def assert_array_equal(one, other):
    """As text, so that missing numbers are equal."""
    assert np.array_equal(np.asarray(one).astype(str), np.asarray(other).astype(str))


def rows(table):
    return set(map(tuple, np.asarray(table).astype(str).tolist()))


@every_estimator
def test_new_records_get_rows_of_the_release(estimator, X, new):
    release = estimator.fit_transform(X)
    assert rows(estimator.transform(new)) <= rows(release[estimator.labels_ >= 0])


@pytest.mark.slow_but_first
@every_estimator
def test_rows_in_any_order_and_in_batches(estimator, X, new):
    whole = estimator.fit(X).transform(new)
    order = np.random.default_rng(0).permutation(len(new))
    assert_array_equal(estimator.transform(new.iloc[order]), whole[order])
    batches = [estimator.transform(new.iloc[start : start + 7]) for start in range(0, 80, 7)]
    assert_array_equal(np.concatenate(batches), whole)


@pytest.mark.slow_but_first
@every_estimator
def test_pickled_and_fitted_again(estimator, X, new):
    whole = estimator.fit(X).transform(new)
    assert_array_equal(pickle.loads(pickle.dumps(estimator)).transform(new), whole)
    release = estimator.fit_transform(X)
    assert_array_equal(estimator.transform(new), whole)
    assert_array_equal(release, estimator.fit_transform(X))


def test_a_record_covered_by_a_group_gets_a_row_that_is_true_of_it(X):
    kaim = KAIM(4, hierarchies=HIERARCHIES, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moved = kaim.transform(X)
    # Every training record is covered by its own group.
    assert all(map(covers, moved.ravel(), X.to_numpy().ravel()))


def test_the_tightest_of_the_groups_that_cover_a_record():
    X = [["a", 1], ["a", 1], ["a", 1], ["a", 9], ["b", 5], ["b", 6]]
    kaim = KAIM(2, grid=None, refiner=None, random_state=0).fit(X)
    assert kaim.transform([["a", 1]]).tolist() == [["a", "1"]]
    assert kaim.transform([["b", 5]]).tolist() == [["b", "[5, 6]"]]
    # The nearest, since no group covers it.
    assert kaim.transform([["b", 7]]).tolist() == [["b", "[5, 6]"]]


def test_unknown_values_count_as_missing(X, new):
    kaim = KAIM(4, hierarchies=HIERARCHIES, random_state=0).fit(X)
    unknown, missing = new.copy(), new.copy()
    unknown["country"], missing["country"] = "Atlantis", None
    unknown["sex"], missing["sex"] = "X", None
    assert_array_equal(kaim.transform(unknown), kaim.transform(missing))


def test_numbers_beyond_the_training_data_count_as_the_last_ones(X, new):
    kaim = KAIM(4, hierarchies=HIERARCHIES, random_state=0).fit(X)
    beyond, last = new.copy(), new.copy()
    beyond["age"], last["age"] = 500.0, X["age"].max()
    assert_array_equal(kaim.transform(beyond), kaim.transform(last))


def test_numbers_outside_all_bins_count_as_missing():
    hierarchies = {0: Hierarchy.from_bins([0, 10, 20])}
    kaim = KAIM(2, hierarchies=hierarchies, random_state=0)
    kaim.fit([[1, "a"], [2, "a"], [12, "b"], [13, "b"], [None, "c"], [None, "c"]])
    assert_array_equal(kaim.transform([[99, "a"]]), kaim.transform([[None, "a"]]))
    assert kaim.transform([[5, "a"]]).tolist() == [["[0, 10)", "a"]]


def test_warning_if_transform_of_the_training_data_is_not_the_release(X, new):
    # By entropy, groups overlap more.
    kaim = KAIM(4, hierarchies=HIERARCHIES, distance="entropy", refiner=None, random_state=0)
    release = kaim.fit_transform(X)
    assert not kaim.exact_transform_
    with pytest.warns(UserWarning, match="given the training data") as caught:
        moved = kaim.transform(X)
    assert caught[0].filename == __file__
    assert (moved != release).any()
    # Warnings are errors here: other tables give none.
    kaim.transform(new)
    kaim.transform(X.iloc[:-1])


def test_no_warning_if_transform_is_exact():
    X = [["a", 1], ["a", 2], ["b", 8], ["b", 9]]
    kaim = KAIM(2, random_state=0)
    release = kaim.fit_transform(X)
    assert kaim.exact_transform_
    assert_array_equal(kaim.transform(X), release)


def test_records_dropped_by_k_member_are_not_counted():
    X = [["a", 1], ["a", 2], ["b", None], ["b", 9], ["b", 8]]
    estimator = KMember(2, grid=None, random_state=0)
    release = estimator.fit_transform(X)
    assert release.tolist() == [["a", "[1, 2]"]] * 2 + [["*", "*"]] + [["b", "[8, 9]"]] * 2
    assert estimator.labels_[2] == -1
    assert_array_equal(np.sort(estimator.group_sizes_), [2, 2])
    # Four values lose 2 of 9, the dropped record loses both cells.
    assert estimator.information_loss_ == pytest.approx((4 * 2 / 9 + 2) / 10)
    assert not estimator.exact_transform_


@pytest.mark.parametrize("incomplete", ["drop", "keep"])
def test_k_member_with_and_without_incomplete_records(X, incomplete):
    estimator = KMember(4, hierarchies=HIERARCHIES, incomplete=incomplete, random_state=0).fit(X)
    is_incomplete = X.isna().any(axis=1).to_numpy()
    assert_array_equal(estimator.labels_ < 0, is_incomplete & (incomplete == "drop"))
    assert estimator.group_sizes_.min() >= 4
    assert (
        estimator.group_sizes_.sum() == len(X) if incomplete == "keep" else (~is_incomplete).sum()
    )


def test_a_fitted_model_holds_no_value_that_is_not_released():
    rng = np.random.default_rng(0)
    names = [f"person{i:03d}" for i in range(60)]
    X = pd.DataFrame({"name": names, "income": rng.lognormal(size=60), "debt": rng.normal(size=60)})
    hierarchies = {"debt": Hierarchy.from_bins([-9, -1, 0, 1, 9])}
    kaim = KAIM(5, hierarchies=hierarchies, random_state=0)
    release = kaim.fit_transform(X)
    model = pickle.dumps(kaim)
    assert not any(name.encode() in model for name in names)
    released = {end for cell in release[:, 1] for end in cell.strip("[]*").split(", ")}
    for column in ("income", "debt"):
        for value in X[column]:
            is_released = column == "income" and repr(value) in released
            number = np.float64(value)
            # Arrays and single floats are pickled in different byte orders.
            for pattern in (number.tobytes(), number.byteswap().tobytes(), repr(value).encode()):
                assert (pattern in model) <= is_released


@pytest.mark.parametrize("hierarchy", [Hierarchy.intervals(), Hierarchy.from_bins([0, 10, 10**9])])
def test_a_fitted_model_does_not_reveal_suppressed_values(hierarchy):
    models = []
    for secret in (1_234_567, 7_654_321):
        X = [[0, "a"], [1, "a"], [2, "b"], [3, "b"], [secret, "c"], [None, "c"]]
        kaim = KAIM(2, hierarchies={0: hierarchy}, refiner=None, random_state=0).fit(X)
        models.append(pickle.dumps((kaim.centroids_, kaim._groups)))
    assert models[0] == models[1]


def test_a_pickled_model_does_not_confirm_a_guess_at_the_data(X):
    kaim = KAIM(4, hierarchies=HIERARCHIES, distance="entropy", refiner=None, random_state=0).fit(X)
    assert not kaim.exact_transform_
    shipped = pickle.loads(pickle.dumps(kaim))
    # Warnings are errors here: it does not recognize the data.
    shipped.transform(X)
    with pytest.warns(UserWarning, match="given the training data"):
        kaim.transform(X)


@pytest.mark.parametrize("make", [list, np.array, lambda v: pd.DataFrame({"mark": v})])
def test_integers_that_floats_do_not_distinguish_are_categories(make):
    marks = [2**53, 2**53 + 1, 2**53 + 1, 2**53]
    X = make(marks) if make not in (list, np.array) else make([[mark] for mark in marks])
    assert KAIM(2, random_state=0).fit_transform(X).ravel().tolist() == list(map(str, marks))


def test_times_without_a_value_and_masked_cells_are_missing():
    times = np.array(["2020-01-01", "2020-01-01", "NaT", "NaT"], dtype="datetime64[ns]")[:, None]
    expected = ["2020-01-01"] * 2 + ["*"] * 2
    assert KAIM(2, random_state=0).fit_transform(times).ravel().tolist() == expected
    masked = np.ma.array([[1.0], [1.0], [99.0], [98.0]], mask=[[0], [0], [1], [1]])
    assert KAIM(2, random_state=0).fit_transform(masked).ravel().tolist() == ["1", "1", "*", "*"]


def test_the_root_is_a_star_whatever_its_label():
    tree = Hierarchy.from_parents({"a": "any", "b": "any", "any": None})
    assert tree.root == "any"
    kaim = KAIM(2, hierarchies={0: tree}, random_state=0)
    assert kaim.fit_transform([["a"], ["b"]]).tolist() == [["*"], ["*"]]
