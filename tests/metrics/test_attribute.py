from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import TABLES, in_units
from marks import in_one_case
from oracles.attacks import share_guessed
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator, TableAggregator, microaggregate
from sk_microagg.metrics import AttributeInference, _attribute_inference, attribute_inference
from sk_microagg.tables._encoder import LOST

pytestmark = pytest.mark.usefixtures("few_steps")

every_table = in_one_case("make", TABLES.values())


def people(n=300):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {
            "age": age.astype(float),
            "ward": np.where(age < 45, "A", rng.choice(["B", "C"], n)),
            "income": 100.0 * age + rng.normal(0, 50, n),
        }
    )


@pytest.mark.slow
@every_table
def test_success_is_that_of_plain_loops(make, monkeypatch):
    monkeypatch.setattr(_attribute_inference, "N_TREES", 3)
    X = make(np.random.default_rng(1), 40, 3)
    labels = microaggregate(X, 3)
    # Standardized columns, so that a standard deviation is 1, or 0.
    X = StandardScaler().fit_transform(X)
    release = np.array([X[labels == label].mean(axis=0) for label in labels])
    # A column that passes through has several values in a group.
    release[:, 2] = X[:, 2]
    for place, width in enumerate(np.roll([0.0, 0.1, 1.0], len(make.__name__))):
        tolerance = width * X[:, place].std()
        found = attribute_inference(release, X, place, width=width)
        by_rows, baseline = share_guessed(X.tolist(), release.tolist(), place, tolerance)
        assert found.baseline == pytest.approx(baseline)
        if found.attacker == "nearest rows":
            assert found.success == pytest.approx(by_rows)
        else:
            assert found.success > by_rows


def test_what_is_released_unchanged_is_guessed():
    X = in_units(200)
    found = attribute_inference(X, X, 1, width=0)
    assert found.success == 1
    assert found.baseline == pytest.approx(1 / 200)
    assert found.advantage == pytest.approx(1 - 1 / 200)


def test_one_row_for_all_is_no_better_than_chance():
    X = in_units(100)
    found = attribute_inference(np.tile(X.mean(axis=0), (100, 1)), X, 0)
    assert found.advantage == 0


def test_a_column_that_nothing_tells_of_is_guessed_by_chance():
    X = np.random.default_rng(0).normal(size=(2000, 1))
    found = attribute_inference(MicroAggregator(k=5).fit_transform(X), X, 0)
    assert found.advantage == 0  # Nothing else is known.
    X = np.random.default_rng(0).choice([0.0, 1.0], size=(2000, 3))
    assert abs(attribute_inference(X, X, 1).advantage) < 0.05


def test_the_chance_to_guess_a_column_of_zeros_is_high():
    X = np.zeros((100, 2))
    X[:, 0] = np.arange(100)
    X[90:, 1] = 1e6
    release = MicroAggregator(k=5).fit_transform(X)
    assert attribute_inference(release, X, 1).baseline == pytest.approx(0.9, abs=0.03)


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore:{LOST}")
def test_larger_groups_tell_less():
    X = people()
    X["income"] += np.random.default_rng(1).normal(0, 300, len(X))
    found = [
        attribute_inference(TableAggregator(k=k).fit_transform(X), X, "income").success
        for k in (2, 100)
    ]
    assert found[0] > found[1]


def test_categories_are_guessed_exactly():
    X = people()
    found = attribute_inference(TableAggregator(k=5).fit_transform(X), X, "ward")
    assert found.baseline == pytest.approx((X["ward"] == "A").mean())
    assert found.baseline + 0.1 < found.success < 1


def test_a_released_value_that_no_record_has_is_no_guess():
    X = pd.DataFrame({"age": [30, 31, 60, 61, 62], "ward": list("AABBB")})
    found = attribute_inference(X.assign(ward=["A", "A", "*", "*", "*"]), X, "ward")
    assert (found.success, found.baseline) == (0.4, 0.4)


def test_missing_values_do_not_count_and_are_no_guess():
    X = pd.DataFrame({"age": [30.0, 31, None, 61, 62], "ward": list("AABBB")})
    release = pd.DataFrame({"age": [30.5, 30.5, None, None, None], "ward": list("AABBB")})
    found = attribute_inference(release, X, "age")
    assert (found.success, found.baseline) == (0.5, 0.5)
    X["age"] = np.nan
    assert attribute_inference(release, X, "age") == AttributeInference(0.0, 0.0)


@pytest.mark.slow
def test_records_that_are_not_in_the_release():
    X = people(600)
    inside, outside = X[:400], X[400:].reset_index(drop=True)
    release = TableAggregator(k=2).fit_transform(inside)
    for column in ("income", "ward"):
        own = attribute_inference(release, inside, column)
        other = attribute_inference(release, outside, column)
        assert own.success > other.success > other.baseline
    numbers = ["age", "income"]
    assert attribute_inference(release[numbers], outside[numbers], "income").success > 0


@pytest.mark.slow
def test_a_control_is_asked_by_the_same_attacker():
    X = people(600)
    inside, outside = X[:400], X[400:].reset_index(drop=True)
    release = TableAggregator(k=2).fit_transform(inside)
    for columns in (["age", "ward", "income"], ["age", "income"]):
        tables = [table[columns] for table in (release, inside, outside)]
        found = attribute_inference(*tables[:2], "income", control=tables[2])
        alone = attribute_inference(*tables[:2], "income")
        assert (found.success, found.attacker) == (alone.success, alone.attacker)
        assert alone.control is None
        assert found.success > found.control > found.baseline
        # Of people who are in the release, it is the success itself.
        same = attribute_inference(*tables[:2], "income", control=tables[1])
        assert same.control == same.success


@pytest.mark.slow
def test_a_control_of_other_values_and_types():
    X = people()
    others = pl.DataFrame({"age": [30, None], "ward": ["Z", "A"], "income": [3000.0, 3100.0]})
    for column, control in (("age", 1), ("ward", 2), ("income", 2)):
        found = attribute_inference(X, X, column, control=others)
        assert found.control * control == pytest.approx(round(found.control * control))
    assert attribute_inference(X, X, "ward", control=others[:1]).control == 0
    with pytest.raises(ValueError, match=r"^control with 1 columns"):
        attribute_inference(X, X, "age", control=others[["age"]])
    with pytest.raises(ValueError, match=r"^control has the columns"):
        attribute_inference(X, X, "age", control=others[["ward", "age", "income"]])


def test_numbers_that_depend_on_others_are_guessed_beyond_the_nearest_row():
    """The groups are wide, but along a line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    X[:, 2] = X[:, 0] + 2 * X[:, 1]
    release = MicroAggregator(k=10).fit_transform(X)
    found = attribute_inference(release, X, 2)
    assert found.attacker == "corrected rows"
    assert found.success == 1
    nearest = release[cdist(X[:, :2], release[:, :2]).argmin(axis=1), 2]
    assert np.mean(np.abs(nearest - X[:, 2]) < 0.1 * X[:, 2].std()) < 0.6


def test_a_category_that_depends_on_others_is_guessed_by_a_forest():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    X["sign"] = np.where(X["a"] > 0, "plus", "minus")
    release = TableAggregator(k=5).fit_transform(X)
    found = attribute_inference(release, X, "sign")
    assert found.attacker == "forest"
    assert found.success > 0.9


@pytest.mark.slow
def test_of_many_records_some_are_asked_about():
    X = in_units(300)
    release = MicroAggregator(k=4).fit_transform(X)
    all_records = attribute_inference(release, X, 0)
    some = attribute_inference(release, X, 0, max_records=200)
    assert some == attribute_inference(release, X, 0, max_records=200)
    assert some != all_records
    assert some.success == pytest.approx(all_records.success, abs=0.1)
    with pytest.raises(ValueError, match=r"^max_records=0\b"):
        attribute_inference(release, X, 0, max_records=0)


@pytest.mark.slow
def test_the_order_of_released_rows_does_not_matter():
    X = people()
    release = TableAggregator(k=5).fit_transform(X)
    shuffled = release.sample(frac=1, random_state=0)
    for column in X.columns:
        assert attribute_inference(shuffled, X, column) == attribute_inference(release, X, column)


@pytest.mark.slow
@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_names_numbers_frames_and_arrays(frame):
    X = in_units(100)
    release = MicroAggregator(k=4).fit_transform(X)
    tables = [frame(dict(zip("abc", table.T, strict=True))) for table in (release, X)]
    found = attribute_inference(release, X, 2)
    assert attribute_inference(*tables, "c") == found
    assert attribute_inference(*tables, 2) == found
    assert attribute_inference(release, X, 2, n_jobs=2) == found


@pytest.mark.slow
def test_categories_of_a_sparse_space():
    names = np.array([f"v{i}" for i in range(700)])
    X = pd.DataFrame({"name": np.repeat(names, 2), "ward": np.repeat(list("AB"), 700)})
    found = attribute_inference(X, X, "ward")
    assert (found.success, found.baseline) == (1.0, 0.5)


def test_codes_that_are_not_released_are_guessed_from_those_next_to_them():
    codes = np.repeat([f"{number:05d}" for number in range(300)], 10)
    X = pd.DataFrame({"zip": codes, "region": np.repeat(list("NSNS"), 750)})
    X["age"] = np.random.default_rng(0).integers(20, 80, 3000).astype(float)
    is_known = np.arange(3000) // 10 % 3 > 0
    release = X.assign(zip=np.where(is_known, codes, None), age=X["age"].mean())
    found = attribute_inference(release, X, "region")
    assert found.attacker == "forest"
    assert found.success > 0.95


def test_the_result_is_frozen():
    found = attribute_inference([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], 0)
    assert {type(found.success), type(found.baseline)} == {float}
    with pytest.raises(FrozenInstanceError):
        found.success = 0.0


@in_one_case(
    ("column", "options", "message"),
    [
        ("z", {}, "^column='z'"),
        (3, {}, r"^column=3\b"),
        (-1, {}, r"^column=-1\b"),
        (0, {"width": -1}, r"^width=-1\b"),
    ],
)
def test_bad_options(column, options, message):
    X = people()
    with pytest.raises(ValueError, match=message):
        attribute_inference(X, X, column, **options)


@in_one_case("column", [True, [0]])
def test_what_only_compares_equal_to_a_number_is_no_column_of_an_array(column):
    with pytest.raises(ValueError, match=r"^column=(True|\[0\])"):
        attribute_inference(np.eye(3), np.eye(3), column)


def test_other_columns_raise():
    X = people()
    with pytest.raises(ValueError, match="shape"):
        attribute_inference(X[["age", "ward"]], X, "age")
    with pytest.raises(ValueError, match=r"^release with 1 columns"):
        attribute_inference(X[["age"]], X[["age", "income"]], "age")
    with pytest.raises(ValueError, match="order"):
        attribute_inference(X[["income", "age"]], X[["age", "income"]], "age")


def test_a_category_may_have_as_many_values_as_there_are_rows():
    names = [f"c{i:02d}" for i in range(60)]
    X = pd.DataFrame({"x": np.arange(60.0), "name": pd.Categorical(names, ordered=True)})
    assert attribute_inference(X, X, "name").success == 1
