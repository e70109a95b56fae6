"""TableAggregator: the groups of MicroAggregator, roles of columns, what transform returns."""

from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.mixed import COUNTRIES
from example_tables.numbers import in_units
from marks import exact_means, in_one_case
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.metrics import anonymity_level, closeness
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing

pytestmark = pytest.mark.usefixtures("few_steps")

LEAVES = [leaf for leaves in COUNTRIES.values() for leaf in leaves]
RNG = np.random.default_rng(0)
NUMBERS = {
    "random": RNG.normal(size=(60, 3)) * [1.0, 1000.0, 0.01],
    "ties": RNG.integers(0, 3, size=(60, 2)).astype(float),
    "integers": RNG.integers(0, 500, size=(60, 3)),
    "float32": RNG.normal(size=(60, 3)).astype(np.float32),
    "one column": RNG.lognormal(size=(60, 1)),
    "one column with ties": RNG.integers(0, 9, size=(60, 1)),
    "a constant column": np.column_stack([RNG.normal(size=60), np.full(60, 7.1)]),
    "constant": np.full((20, 2), 3.0),
    "n = k": RNG.normal(size=(5, 2)),
    "n = 2k - 1": RNG.normal(size=(9, 2)),
    "iris": load_iris().data,
}
AS_TABLE = {
    "array": lambda X: X,
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "objects": lambda X: X.astype(object),
}


@cache
def fitted_to_numbers(name):
    return MicroAggregator(5).fit(NUMBERS[name])


@pytest.mark.slow_but_first
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("form", AS_TABLE)
@exact_means
def test_groups_of_complete_numbers_are_those_of_micro_aggregator(numbers, form):
    X, expected = NUMBERS[numbers], fitted_to_numbers(numbers)
    model = TableAggregator(5, decimals=None).fit(AS_TABLE[form](X))
    assert_array_equal(model.labels_, expected.labels_)
    assert model.exact_transform_ == expected.exact_transform_
    if X.dtype.kind == "f" and form == "array":
        np.testing.assert_allclose(model.centroids_, expected.centroids_, rtol=1e-6)


@pytest.mark.slow
@in_one_case(
    "parameters",
    [{"builder": "cbfs"}, {"refiner": "local_search"}, {"block_size": 20}, {"refiner": None}],
)
def test_groups_are_those_of_micro_aggregator_with_other_parameters(parameters):
    X = NUMBERS["random"]
    labels = MicroAggregator(3, random_state=0, **parameters).fit_predict(X)
    model = TableAggregator(3, random_state=0, **parameters)
    assert_array_equal(model.fit_predict(X), labels)


def patients(n=120, seed=0):
    """Visits of patients, with columns of all roles."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "name": [f"person {j}" for j in range(n)],
            "age": rng.integers(18, 90, n).astype(float),
            "country": rng.choice(["France", "Spain", "India", "Japan", "Nepal"], n),
            "patient": rng.integers(0, n // 3, n),
            "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "region": rng.choice(["north", "south"], n),
            "illness": rng.choice(["flu", "gout", "cold", "none"], n),
            "cost": rng.lognormal(size=n).round(2),
            "is_new": rng.random(n) < 0.3,
        },
        index=rng.permutation(n) + 1000,
    )
    table.loc[table.index[rng.random(n) < 0.1], "age"] = np.nan
    table.loc[table.index[rng.random(n) < 0.1], "country"] = None
    return table


QUASI_IDENTIFIERS = ["age", "country", "visit", "is_new"]
ROLES = {
    "sensitive": ["illness", "cost"],
    "unit": "patient",
    "strata": "region",
    "drop": "name",
}


def aggregator(k=4, **parameters):
    return TableAggregator(k, random_state=0, **parameters)


def test_columns_by_their_roles():
    table = patients()
    release = aggregator(**ROLES).fit_transform(table)
    left = [name for name in table if name not in ("name", "patient")]
    assert release.columns.tolist() == left
    pd.testing.assert_index_equal(release.index, table.index)
    unchanged = ["region", "illness", "cost"]
    pd.testing.assert_frame_equal(release[unchanged], table[unchanged])
    released_rows = [release[name] for name in (*QUASI_IDENTIFIERS, "region")]
    assert table["patient"].groupby(released_rows, dropna=False).nunique().min() >= 4
    assert anonymity_level(release[QUASI_IDENTIFIERS]) >= 4


def test_each_group_has_k_units():
    table = patients()
    model = aggregator(5, **ROLES).fit(table)
    assert table["patient"].groupby(model.labels_).nunique().min() >= 5
    assert table["region"].groupby(model.labels_).nunique().max() == 1
    without = aggregator(5, drop=["name", "patient"], quasi_identifiers=QUASI_IDENTIFIERS)
    assert table["patient"].groupby(without.fit_predict(table)).nunique().min() < 5


def test_columns_that_have_no_role_are_released_as_they_are():
    table = patients()
    release = aggregator(quasi_identifiers=["age", "country"]).fit_transform(table)
    others = [name for name in table if name not in ("age", "country")]
    pd.testing.assert_frame_equal(release[others], table[others])
    assert release.columns.tolist() == table.columns.tolist()
    assert anonymity_level(release[["age", "country"]]) >= 4


@pytest.mark.slow
@in_one_case(
    ("privacy", "sensitive", "n_illnesses", "distance"),
    [
        (LDiversity(3), "illness", 3, 1.0),
        (TCloseness(0.2), "cost", 1, 0.2),
        (
            [LDiversity(2, column="illness"), TCloseness(0.25, column="cost")],
            ["illness", "cost"],
            2,
            0.25,
        ),
    ],
)
def test_groups_satisfy_constraints_on_sensitive_columns(privacy, sensitive, n_illnesses, distance):
    table = patients().drop(columns=["name", "patient"])
    free = aggregator(sensitive=["illness", "cost"]).fit(table)
    assert table["illness"].groupby(free.labels_).nunique().min() == 1
    assert closeness(free.labels_, table["cost"]) > 0.25
    quasi_identifiers = [*QUASI_IDENTIFIERS, "region"]
    model = aggregator(quasi_identifiers=quasi_identifiers, sensitive=sensitive, privacy=privacy)
    model.set_params(refiner=Annealing(max_iter=2000)).fit(table)
    assert model.n_groups_ > 3
    assert table["illness"].groupby(model.labels_).nunique().min() >= n_illnesses
    assert closeness(model.labels_, table["cost"]) <= distance


@pytest.mark.slow
def test_transform_stays_within_strata():
    table = patients()
    model = aggregator(strata="region", drop=["name", "patient"]).fit(table)
    new = patients(50, seed=1)
    moved = model.transform(new)
    assert moved["region"].tolist() == new["region"].tolist()
    release = model.fit_transform(table)

    def rows(table, region):
        part = table.loc[table["region"] == region, QUASI_IDENTIFIERS]
        return {*map(tuple, part.astype(str).to_numpy())}

    for region in ("north", "south"):
        assert rows(moved, region) <= rows(release, region)
    assert not rows(moved, "north") & rows(release, "south")


def test_an_unknown_stratum_is_an_error():
    model = aggregator(strata="region", drop=["name", "patient"]).fit(patients())
    new = patients(5, seed=1).assign(region="west")
    with pytest.raises(ValueError, match=r"^strata: .* fit did not have"):
        model.transform(new)


# Transform, score, format


@pytest.mark.slow
@in_one_case("seed", range(3))
def test_transform_of_the_training_data_is_the_release(seed):
    table = patients(seed=seed).drop(columns=["name", "patient"])
    model = aggregator()
    release = model.fit_transform(table)
    assert model.exact_transform_
    pd.testing.assert_frame_equal(model.transform(table), release)
    shuffled = table.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(model.transform(shuffled), release.loc[shuffled.index])
    # Where a single value of a group is known, the model holds another point than the mean.
    assert model.score(table) <= -model.information_loss_ * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:Column .c. has mostly",
    "ignore:Column .c. is released as missing",
    "ignore:All records are in one group",
    "ignore:transform was given",
)
@in_one_case(
    ("parameters", "seeds"),
    [
        ({"unit": "u", "drop": "d"}, range(25)),
        ({"unit": "u", "drop": "d", "numbers": "median"}, range(25)),
        ({"sensitive": "d", "privacy": LDiversity(2), "drop": "u"}, range(25)),
        ({"strata": "d", "drop": "u"}, range(15)),
    ],
)
def test_transform_is_said_to_be_exact_only_if_it_is(parameters, seeds):
    """Categories that few people have are no coordinates: groups at one place may differ."""
    n_exact = n_hidden = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 24))
        codes = np.sort(rng.integers(0, n // 2, n))
        table = pd.DataFrame({"c": [f"v{code}" for code in codes], "x": 0.0})
        table["u"], table["d"] = rng.integers(0, n // 2 + 2, n), np.arange(n) % 2
        model = TableAggregator(3, **parameters)
        try:
            release = model.fit_transform(table)
        except ValueError:  # There are fewer than k people.
            continue
        is_same = model.transform(table).equals(release)
        assert is_same or not model.exact_transform_
        n_exact += model.exact_transform_
        n_hidden += not is_same
    assert n_exact
    assert n_hidden or "strata" in parameters


def test_new_values_and_new_missing_ones_are_transformed():
    table = patients().drop(columns=["name", "patient"])
    table["age"] = table["age"].fillna(50)
    table["country"] = table["country"].fillna("Spain")
    model = aggregator().fit(table)
    new = patients(20, seed=1).drop(columns=["name", "patient"])
    new["country"] = "Atlantis"
    new.loc[new.index[:10], "age"] = np.nan
    new.loc[new.index[5:15], "visit"] = pd.NaT
    moved = model.transform(new)
    known = {*map(tuple, model.centroids_.astype(str).to_numpy())}
    names = list(model.centroids_.columns)
    assert {*map(tuple, moved[names].astype(str).to_numpy())} <= known
    assert "Atlantis" not in {*moved["country"]}
    assert np.isfinite(model.score(new))


@pytest.mark.slow
def test_losses_of_columns_are_shares_of_their_variance():
    table = patients().drop(columns=["name", "patient", "region", "illness", "cost"])
    model = aggregator(column_weights={"visit": 20.0}).fit(table)
    groups = model.labels_
    days = (table["visit"] - table["visit"].min()).dt.days
    within = ((days - days.groupby(groups).transform("mean")) ** 2).sum()
    assert model.column_losses_["visit"] == pytest.approx(within / days.var(ddof=0) / len(days))
    # The loss of a category is that of its Gini impurity.
    impurity = 1 - (table["is_new"].value_counts(normalize=True) ** 2).sum()
    of_groups = (
        table["is_new"]
        .groupby(groups)
        .transform(lambda part: 1 - (part.value_counts(normalize=True) ** 2).sum())
    )
    assert model.column_losses_["is_new"] == pytest.approx(
        of_groups.astype(float).mean() / impurity
    )
    assert list(model.column_losses_) == list(table)
    equal = aggregator().fit(table)
    assert model.column_losses_["visit"] < equal.column_losses_["visit"]


@exact_means
def test_medians_are_those_of_pandas():
    table = pd.DataFrame(in_units(), columns=["a", "b", "c", "d"][: in_units().shape[1]])
    model = aggregator(numbers="median", decimals=None)
    release = model.fit_transform(table)
    expected = table.groupby(model.labels_).transform("median")
    pd.testing.assert_frame_equal(release, expected)


@pytest.mark.slow
@exact_means
@in_one_case(
    ("decimals", "expected"),
    [("auto", (-1, 0)), (0, (0, 0)), (None, (9, 9)), ({"price": 1}, (1, 0)), ({"age": 1}, (-1, 1))],
)
def test_decimals(decimals, expected):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"price": rng.integers(0, 10**5, 60) / 100, "age": rng.integers(0, 90, 60) * 1.0}
    )
    release = aggregator(7, decimals=decimals).fit_transform(table)
    for name, places in zip(table, expected, strict=True):
        assert np.array_equal(release[name].round(places), release[name]) == (places < 9)
        assert not np.array_equal(release[name].round(places - 1), release[name])


def test_shares_and_their_format():
    table = patients().drop(columns=["name", "patient", "illness"])
    model = aggregator(categories="shares", strata="region")
    release = model.fit_transform(table)
    countries = [name for name in release if name.startswith("country=")]
    assert {*countries} == {f"country={name}" for name in (*LEAVES, "(missing)")}
    np.testing.assert_allclose(release[countries].sum(axis=1), 1)
    expected = (table["country"] == "Japan").groupby(model.labels_).transform("mean")
    np.testing.assert_allclose(release["country=Japan"], expected)
    formatted = model.format(table)
    assert list(formatted) == list(release) == list(model.get_feature_names_out())
    assert_array_equal(formatted["country=Japan"], table["country"] == "Japan")
    assert_array_equal(formatted["age"], table["age"])
    assert formatted.dtypes.tolist() == release.dtypes.tolist()
    new = table.assign(country="Atlantis")
    assert not model.format(new)[countries].to_numpy().any()


@pytest.mark.slow
def test_categories_count_as_much_as_numbers_if_released_as_shares():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=200), "code": rng.choice(list("abcd"), 200)})
    modes, shares = (TableAggregator(9, categories=name).fit(table) for name in ("mode", "shares"))
    weighted = TableAggregator(9, column_weights={"code": 4 / 3}).fit(table)
    assert_array_equal(shares.labels_, weighted.labels_)
    assert shares.column_losses_["code"] < modes.column_losses_["code"]
    assert shares.column_losses_["age"] > modes.column_losses_["age"]


def test_format_leaves_records_as_they_are_but_for_dropped_columns():
    table = patients()
    model = aggregator(**ROLES).fit(table)
    pd.testing.assert_frame_equal(model.format(table), table.drop(columns=["name", "patient"]))


def test_generalized_values_are_true_of_all_members():
    table = patients().drop(columns=["name", "patient", "region", "illness", "cost"])
    model = aggregator(categories="generalize", hierarchies={"country": COUNTRIES})
    release = model.fit_transform(table)
    assert model.kinds_["country"] == "hierarchy"
    assert {*release["country"]} <= {*LEAVES, *COUNTRIES, "*"}
    assert {*release["country"]} & {*COUNTRIES}
    for cell, original in zip(release["country"], table["country"], strict=True):
        assert cell in ("*", original) or original in COUNTRIES[cell]
    for cell, original in zip(release["is_new"], table["is_new"], strict=True):
        assert cell in ("*", str(original))


@pytest.mark.slow
def test_hierarchies_in_files_of_arx(data_folder):
    folder = data_folder / "adult_hierarchies"
    names = ["education", "marital-status", "native-country"]
    adult = pd.read_csv(data_folder / "adult.csv", na_values="?", sep=None, engine="python")
    adult = (
        adult[[*names, "age"]]
        .head(400)
        .apply(lambda column: column.str.strip() if column.dtype.kind not in "if" else column)
    )
    hierarchies = {name: folder / f"{name}.csv" for name in names}
    paths = {
        name: {row.split(";")[0]: row.split(";") for row in path.read_text().splitlines()}
        for name, path in hierarchies.items()
    }
    model = aggregator(5, categories="generalize", hierarchies=hierarchies)
    release = model.fit_transform(adult)
    assert anonymity_level(release) >= 5
    for name in names:
        for label in range(model.n_groups_):
            members = model.labels_ == label
            above = [paths[name].get(cell, ["*"]) for cell in adult.loc[members, name].fillna("*")]
            lowest = next(node for node in above[0] if all(node in path for path in above))
            assert {*release.loc[members, name]} == {lowest}


# Same results


@pytest.mark.slow
def test_threads_change_nothing():
    table = patients(200).drop(columns=["name", "patient"])
    one = aggregator(block_size=40, n_jobs=1)
    two = aggregator(block_size=40, n_jobs=2)
    pd.testing.assert_frame_equal(one.fit_transform(table), two.fit_transform(table))
    assert_array_equal(one.labels_, two.labels_)
    new = patients(50, seed=1).drop(columns=["name", "patient"])
    pd.testing.assert_frame_equal(one.transform(new), two.transform(new))


@pytest.mark.slow
def test_a_second_fit_and_other_names_change_nothing():
    table = patients().drop(columns=["name", "patient"])
    release = aggregator().fit_transform(table)
    pd.testing.assert_frame_equal(aggregator().fit_transform(table), release)
    renamed = aggregator().fit_transform(table.set_axis(range(7), axis=1))
    pd.testing.assert_frame_equal(renamed.set_axis(table.columns, axis=1), release)


def test_the_table_is_not_changed():
    table = patients()
    copy = table.copy(deep=True)
    model = aggregator(**ROLES)
    release = model.fit_transform(table)
    release.loc[:, "illness"] = "changed"
    model.transform(table)
    pd.testing.assert_frame_equal(table, copy)


def test_models_of_frames_take_arrays_and_the_other_way_round():
    table = pd.DataFrame({"a": [1, 2, 8, 9], "b": ["x", "x", "y", "y"]})
    model = TableAggregator(k=2).fit(table)
    with pytest.warns(UserWarning, match="feature names"):
        found = model.transform(table.to_numpy(dtype=object))
    np.testing.assert_array_equal(found, model.transform(table).to_numpy(dtype=object))
    model = TableAggregator(k=2).fit(table.to_numpy(dtype=object))
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(model.transform(table).to_numpy(dtype=object), found)


def test_shares_have_different_names():
    table = pd.DataFrame({"c": ["(other)"] * 4 + ["f"] * 4 + ["x"]})
    release = TableAggregator(k=4, categories="shares").fit_transform(table)
    assert list(release.columns) == ["c=(other)", "c=f", "c=((other))"]
    np.testing.assert_allclose(release.sum(axis=1), 1.0)


def test_a_given_order_may_have_values_that_the_type_lacks():
    table = pd.DataFrame({"s": pd.Categorical(["S", "L"] * 3)})
    release = TableAggregator(k=6, ordinal={"s": ["S", "M", "L"]}).fit_transform(table)
    assert release["s"].tolist() == ["M"] * 6


@pytest.mark.slow
def test_whole_numbers_can_be_a_target():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    weighted = TableAggregator(k=5, column_weights="target")
    weighted.fit(table, (30_000 + 10_000 * table["a"]).astype(int))
    plain = TableAggregator(k=5).fit(table)
    assert weighted.column_losses_["a"] < plain.column_losses_["a"] / 2


@exact_means
def test_rounded_numbers_fit_their_types():
    narrow = pd.DataFrame({"a": pd.array([255, 250, 254, 255], dtype="UInt8")})
    assert TableAggregator(k=4, decimals=-2).fit_transform(narrow)["a"].tolist() == [255] * 4
    prices = pl.Series([Decimal("1.23"), Decimal("2.34"), Decimal("5.11")], dtype=pl.Decimal(10, 2))
    for decimals in (None, 5):
        aggregator = TableAggregator(k=3, decimals=decimals)
        release = aggregator.fit_transform(pl.DataFrame({"price": prices}))
        assert release["price"].to_list() == [Decimal("2.89")] * 3


def test_equal_nanoseconds_stay_as_they_are():
    times = ["2024-05-01 10:00:00.123456789"] * 4 + ["2024-01-01 00:00:00.000000001"] * 4
    table = pd.DataFrame({"time": pd.to_datetime(times)})
    pd.testing.assert_frame_equal(TableAggregator(k=4).fit_transform(table), table)


@in_one_case("estimator", [MicroAggregator(k=1), TableAggregator(k=1)])
def test_with_k_of_1_the_release_is_the_table(estimator):
    X = np.array([[1.0, 5.0], [1.0, 7.0], [1.0, np.nan]])
    np.testing.assert_array_equal(estimator.fit_transform(X), X)


def test_columns_of_shares_do_not_take_the_names_of_others():
    table = pd.DataFrame({"sex": ["f", "f", "m", "m"], "sex=f": [1, 2, 3, 4]})
    aggregator = TableAggregator(k=2, categories="shares", sensitive="sex=f")
    with pytest.raises(ValueError, match=r"Column 'sex' .*'sex=f'"):
        aggregator.fit(table)
    assert not hasattr(aggregator, "labels_")
