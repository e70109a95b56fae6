"""Columns of any kind on Dask: the release is that of TableAggregator, row by row."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from sk_microagg import TableAggregator
from sk_microagg.metrics import units_per_group
from sk_microagg.privacy import LDiversity
from sk_microagg.tables._encoder import LOST

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask  # noqa: E402
from example_tables.on_dask import assert_fit_fails, by_turns, every_shuffle  # noqa: E402

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

COLUMNS = [
    "age",
    "income",
    "visits",
    "ward",
    "town",
    "smoker",
    "birth",
    "seen",
    "stage",
    "blood",
    "price",
    "day",
]
assert_frame_equal = pd.testing.assert_frame_equal


@pytest.fixture(autouse=True)
def objects_stay_objects():
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def draw(n, seed=0):
    """All kinds of columns; values are missing, and the first two towns are of one row each."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="D")
    seconds = rng.integers(1_600_000_000, 1_700_000_000, n)
    stages = ["I", "II", "III", "IV", "none"]
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 1, n).round(2),
            "visits": pd.array(rng.poisson(3, n), dtype="Int64"),
            "ward": rng.choice(list("ABCDEF"), n),
            "town": [f"town {i}" for i in rng.geometric(0.15, n)],
            "smoker": rng.random(n) < 0.3,
            "birth": days,
            "seen": pd.to_datetime(seconds, unit="s", utc=True).tz_convert("Europe/Vienna"),
            "stage": pd.Categorical.from_codes(rng.integers(-1, 4, n), stages, ordered=True),
            "blood": pd.Categorical(rng.choice(["A", "B", "0"], n), ["0", "A", "AB", "B"]),
            "price": [Decimal(int(cents)) / 100 for cents in rng.integers(0, 10_000, n)],
            "day": [datetime.date(2000, 1, 1 + int(day)) for day in rng.integers(0, 28, n)],
            "person": rng.integers(0, n // 2, n),
            "region": rng.choice(["north", "south"], n),
            "illness": rng.choice(list("xyz"), n),
        }
    )
    for name in ("income", "visits", "town", "birth", "price"):
        table.loc[rng.random(n) < 0.1, name] = None
    table.loc[[0, n - 1], "town"] = ["Atlantis", "Utopia"]
    return table


def level_of(release, names=COLUMNS):
    return release.groupby(names, dropna=False, observed=True).size().min()


@pytest.mark.slow
@by_turns(block_size=[None, 80])
def test_the_release_is_that_of_table_aggregator(shuffle, block_size):
    table = draw(240)
    parameters = {"k": 4, "block_size": block_size, "column_weights": {"age": 3, "town": 0.5}}
    on_dask = DaskTableAggregator(quasi_identifiers=COLUMNS, shuffle=shuffle, **parameters)
    X = dd.from_pandas(table, npartitions=3)
    release = on_dask.fit_transform(X)
    in_memory = TableAggregator(quasi_identifiers=COLUMNS, **parameters)
    expected = in_memory.fit_transform(table)
    assert_frame_equal(release.compute(), expected)
    assert list(release.dtypes) == list(release.compute().dtypes)
    assert on_dask.n_blocks_ == in_memory.n_blocks_
    assert on_dask.kinds_ == in_memory.kinds_
    assert on_dask.exact_transform_ == in_memory.exact_transform_
    assert on_dask.information_loss_ == pytest.approx(in_memory.information_loss_)
    assert on_dask.exact_transform_
    assert_frame_equal(on_dask.transform(X).compute(), release.compute())


@pytest.mark.slow
def test_new_rows():
    names = ["age", "ward", "town", "seen", "stage"]
    table, new = draw(120)[[*names, "illness"]], draw(50, seed=1)[[*names, "illness"]]
    table["stage"] = table["stage"].fillna("I")
    new.loc[::3, "ward"] = "a new one"
    new["stage"] = new["stage"].cat.set_categories(["II", "IV"])
    parameters = {"k": 3, "refiner": "exchange"}
    on_dask = DaskTableAggregator(quasi_identifiers=names, **parameters)
    release = on_dask.fit_transform(dd.from_pandas(table, npartitions=2)).compute()
    in_memory = TableAggregator(quasi_identifiers=names, **parameters)
    assert_frame_equal(release, in_memory.fit_transform(table))
    new_rows = on_dask.transform(dd.from_pandas(new, npartitions=2)).compute()
    assert_frame_equal(new_rows, in_memory.transform(new))


def test_a_model_does_not_tell_the_only_known_value_of_a_group(tmp_path):
    table = pd.DataFrame({"income": [np.nan] * 60, "ward": ["A", "B"] * 30, "age": 0})
    table.loc[:19, "income"] = 100.0 + np.arange(20)
    table.loc[40, "income"] = 987_654.0
    table.loc[40:, "age"] = 90
    aggregator = DaskTableAggregator(k=20, folder=tmp_path).fit(dd.from_pandas(table, 2))
    [file] = tmp_path.rglob("*.npz")
    records = np.array([[987_654.0, 0, 90], [np.nan, 0, 90]])
    own, others = aggregator._space.points(records)[:, 0]
    means = np.load(file)["scaled-0"][:, 0]
    told = others + (own - others) / np.arange(1, 61)  # by the mean of a group of any size
    assert not np.isclose(means[:, None], told, rtol=1e-9).any()
    assert np.isclose(means, others).any()


@pytest.mark.slow
def test_roles():
    table = draw(240)
    roles = {"sensitive": "illness", "strata": "region", "unit": "person"}
    parameters = {"k": 4, "privacy": LDiversity(2), "refiner": "local_search", "random_state": 0}
    X = dd.from_pandas(table, npartitions=3)
    release = DaskTableAggregator(quasi_identifiers=COLUMNS, **parameters, **roles).fit_transform(X)
    in_memory = TableAggregator(quasi_identifiers=COLUMNS, **parameters, **roles)
    expected = in_memory.fit_transform(table)
    assert_frame_equal(release.compute(), expected)


def of_few_people(n, seed=0):
    """A table in which many rows are of one person, who has values that nobody else has."""
    table = draw(n, seed)
    rows = np.random.default_rng(seed).permutation(n)[: n // 8]
    table.loc[rows, "person"] = 0
    table.loc[rows, "ward"] = "at home"
    table.loc[rows[::2], "town"] = "Atlantis"
    table.loc[table["town"] == "Atlantis", "person"] = 0
    table.loc[rows[::3], "stage"] = "none"
    table.loc[rows[1::2], "blood"] = "AB"
    # In some groups, the only known values are several ones of this person.
    table.loc[table["age"] < 50, "income"] = None
    table.loc[rows, "income"] = 987_654.25
    return table


@pytest.mark.slow
@every_shuffle
def test_people_with_several_rows(shuffle, tmp_path):
    table = of_few_people(240)
    parameters = {"k": 4, "block_size": 80}
    X = dd.from_pandas(table, npartitions=3)
    on_dask = DaskTableAggregator(
        quasi_identifiers=COLUMNS, shuffle=shuffle, folder=tmp_path, **parameters, unit="person"
    )
    release = on_dask.fit_transform(X).compute()
    in_memory = TableAggregator(quasi_identifiers=COLUMNS, unit="person", **parameters)
    assert_frame_equal(release, in_memory.fit_transform(table))
    assert on_dask.n_blocks_ == in_memory.n_blocks_ > 1
    assert on_dask.information_loss_ == pytest.approx(in_memory.information_loss_)
    assert units_per_group(release[COLUMNS], table["person"]) >= 4
    values = {"ward": "at home", "town": "Atlantis", "stage": "none", "blood": "AB"}
    for name, value in values.items():
        assert (table[name] == value).sum() >= 4
        assert not (release[name] == value).any()
    for name in ("stage", "blood"):
        assert values[name] not in release[name].cat.categories
    assert not (release["income"] == 987_654.25).any()
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*.*")) + pickle.dumps(on_dask)
    for value in (b"at home", b"Atlantis"):
        assert value not in kept
    new = of_few_people(100, seed=1)
    new_rows = on_dask.transform(dd.from_pandas(new, npartitions=2)).compute()
    assert_frame_equal(new_rows, in_memory.transform(new))


@pytest.mark.slow_but_first
@pytest.mark.filterwarnings(f"ignore:{LOST}")
@pytest.mark.parametrize("seed", range(3))
def test_categories_that_one_person_has_most_often(seed):
    """What many rows have, but few people, is not the most frequent category of anything."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"code": rng.choice([1, 1, 1, 1, 2, 3, 4, 5], 90)})
    table["town"] = np.where(table["code"] == 1, "Atlantis", "town " + table["code"].astype(str))
    table["person"] = np.where(table["code"] == 1, rng.integers(0, 2, 90), np.arange(90))
    parameters = {"k": 3, "categorical": ["code"], "refiner": None}
    on_dask = DaskTableAggregator(quasi_identifiers=["code", "town"], **parameters, unit="person")
    release = on_dask.fit_transform(dd.from_pandas(table, npartitions=4)).compute()
    in_memory = TableAggregator(unit="person", **parameters)
    assert_frame_equal(release, in_memory.fit_transform(table))
    assert on_dask._space._columns[0].values == in_memory._encoder.columns[0].values


@pytest.mark.parametrize("is_ordered", [False, True])
def test_an_ordinal_has_the_same_categories_in_all_parts(is_ordered):
    kind = pd.CategoricalDtype(["0", "A", "AB", "B", "C"], ordered=is_ordered)
    table = pd.DataFrame({"blood": pd.Series([*"0B" * 10, *"A" * 20], dtype=kind)})
    table["age"] = np.arange(40) // 20
    parameters = {"k": 20, "ordinal": ["blood"]}
    aggregator = DaskTableAggregator(**parameters)
    X = dd.from_pandas(table, npartitions=2)
    releases = aggregator.fit_transform(X), aggregator.transform(X)
    expected = TableAggregator(**parameters).fit_transform(table)
    categories = expected.dtypes["blood"].categories.tolist()
    for release in releases:
        assert_frame_equal(release.compute(), expected)
        for part in (release, *(part.compute() for part in release.partitions)):
            assert part.dtypes["blood"].categories.tolist() == categories


def test_an_ordinal_without_any_shared_value():
    table = pd.DataFrame({"code": np.arange(60), "age": np.arange(60) // 20})
    release = DaskTableAggregator(3, ordinal=["code"]).fit_transform(dd.from_pandas(table, 2))
    assert release.compute()["code"].isna().all()
    assert release.dtypes["code"] == release.compute()["code"].dtype == "Int64"


@pytest.mark.slow
def test_a_larger_table(tmp_path):
    table = draw(1200)
    table.to_parquet(tmp_path / "table.parquet", row_group_size=400)
    parameters = {"k": 4, "block_size": 400, "sample_size": 1000, "refiner": "exchange"}
    releases = []
    for shuffle in ("disk", "memory"):
        aggregator = DaskTableAggregator(
            quasi_identifiers=COLUMNS, shuffle=shuffle, folder=tmp_path / "model", **parameters
        )
        path = tmp_path / shuffle
        releases.append(aggregator.fit_transform(tmp_path / "table.parquet", path=path).compute())
        assert aggregator.n_blocks_ > 2
        assert level_of(releases[-1]) >= 4
        assert level_of(pd.read_parquet(path)) >= 4
        again = aggregator.transform(tmp_path / "table.parquet")
        assert aggregator.exact_transform_
        assert_frame_equal(again.compute(), releases[-1])
        assert aggregator.information_loss_ == pytest.approx(_loss(table, releases[-1]), rel=0.02)
    assert_frame_equal(*releases)
    read = pd.read_parquet(tmp_path / "table.parquet")
    # Unordered categories that nobody has are not released.
    read["blood"] = read["blood"].cat.remove_unused_categories()
    assert list(releases[0].dtypes) == list(read.dtypes)
    assert_frame_equal(releases[0].drop(columns=COLUMNS), read.drop(columns=COLUMNS))
    kept = b"".join(file.read_bytes() for file in (tmp_path / "model").rglob("*.*"))
    for name in (b"Atlantis", b"Utopia"):
        assert name not in kept + pickle.dumps(aggregator)
        assert name not in b"".join(file.read_bytes() for file in path.iterdir())


def _loss(table, release):
    """The loss of the groups of a release, in the space that TableAggregator would use."""
    in_memory = TableAggregator(4, quasi_identifiers=COLUMNS, refiner=None).fit(table)
    space = in_memory._encoder.coordinates
    labels = release.groupby(COLUMNS, dropna=False, observed=True).ngroup().to_numpy()
    sums = space.sums_of_squares(space.numbers(table[COLUMNS]), labels)
    within, total = map(sum, zip(*sums.values(), strict=True))
    return within / total


@pytest.mark.slow
def test_categories_of_very_many_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 2500)})
    table["zip"] = rng.integers(10_000, 10_800, 2500).astype(str)
    X = dd.from_pandas(table, npartitions=3)
    # MDAV takes codes, so blocks need not have few of these values.
    options = {"k": 2, "refiner": None}
    on_dask, in_memory = DaskTableAggregator(**options), TableAggregator(**options)
    assert_frame_equal(on_dask.fit_transform(X).compute(), in_memory.fit_transform(table))
    assert on_dask.n_blocks_ == in_memory.n_blocks_ == 1
    options["builder"] = "cbfs"
    on_dask, in_memory = DaskTableAggregator(**options), TableAggregator(**options)
    assert_frame_equal(on_dask.fit_transform(X).compute(), in_memory.fit_transform(table))
    assert on_dask.n_blocks_ == in_memory.n_blocks_ > 1
    assert on_dask.information_loss_ == pytest.approx(in_memory.information_loss_)
    new = table[::-7].assign(zip="a new one")
    assert_frame_equal(
        on_dask.transform(dd.from_pandas(new, npartitions=1, sort=False)).compute(),
        in_memory.transform(new),
    )
    sampled = DaskTableAggregator(**options, sample_size=1000)
    assert level_of(sampled.fit_transform(X).compute(), ["age", "zip"]) >= 2
    # A sample does not show all coordinates, so blocks are smaller.
    assert sampled.block_sizes_.max() < 2200


@pytest.mark.parametrize("refiner", [None, "exchange"])
def test_numbers_with_missing_values(refiner):
    table = draw(300)[["age", "income", "visits"]]
    X = dd.from_pandas(table, npartitions=3)
    on_dask = DaskTableAggregator(k=3, refiner=refiner)
    expected = TableAggregator(k=3, refiner=refiner).fit_transform(table)
    assert expected.isna().any(axis=None)
    assert_frame_equal(on_dask.fit_transform(X).compute(), expected)
    assert on_dask.kinds_ == dict.fromkeys(table, "number")
    assert on_dask.transform(X).compute().shape == table.shape
    with pytest.raises(ValueError, match=r"^Column 'age' of X: some cells are no numbers"):
        on_dask.transform(dd.from_pandas(table.assign(age="x"), npartitions=1))


@pytest.mark.slow
def test_integers_and_truth_values_that_are_missing_in_some_files(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": pd.array(rng.integers(0, 100, 150), dtype="Int64"),
            "size": pd.array(rng.integers(0, 9, 150), dtype="UInt8"),
            "smoker": pd.array(rng.random(150) < 0.4, dtype="boolean"),
            "ward": rng.choice(list("abc"), 150),
            "rooms": rng.integers(0, 9, 150),
            "visits": pd.array([3] * 150, dtype="Int32"),
        }
    )
    for name in ("age", "size", "smoker", "visits"):
        table.loc[60:90, name] = None
    (tmp_path / "table").mkdir()
    for number in range(3):
        rows = pa.Table.from_pandas(table[50 * number : 50 * (number + 1)], preserve_index=False)
        # Without metadata, nothing tells of the types of pandas.
        path = tmp_path / "table" / f"{number}.parquet"
        pq.write_table(rows.replace_schema_metadata(None), path)
    columns = ["age", "size", "smoker", "ward", "rooms"]
    aggregator = DaskTableAggregator(4, quasi_identifiers=columns)
    release = aggregator.fit_transform(tmp_path / "table", path=tmp_path / "release")
    expected = TableAggregator(4, quasi_identifiers=columns).fit_transform(table)
    assert expected.isna().any().sum() == 4
    rows = release.compute().reset_index(drop=True)
    assert_frame_equal(rows, expected, check_dtype=False)
    for frame in (release, pd.read_parquet(tmp_path / "release"), aggregator.transform(release)):
        kinds = frame.dtypes.drop("ward")
        assert kinds.to_dict() == expected.dtypes.drop("ward").to_dict()


def test_columns_without_any_value_or_without_any_shared_one():
    table = pd.DataFrame({"none": [None] * 60, "name": [f"person {i}" for i in range(60)]})
    table["nan"] = np.nan
    table["code"] = np.arange(60)
    X = dd.from_pandas(table, npartitions=2)
    options = {"k": 3, "categorical": ["code"]}
    release = DaskTableAggregator(**options).fit_transform(X).compute()
    assert release.isna().all(axis=None)
    with pytest.warns(UserWarning, match="missing almost everywhere"):
        expected = TableAggregator(**options).fit_transform(table)
    assert_array_equal(release.isna(), expected.isna())
    assert list(release.dtypes) == list(expected.dtypes)


def test_categories_that_differ_by_partition():
    kinds = [pd.CategoricalDtype(list(names)) for names in ("ab", "bc")]
    parts = [
        pd.DataFrame({"kind": pd.Series(list(names) * 20, dtype=kind)})
        for names, kind in zip(("ab", "bc"), kinds, strict=True)
    ]
    X = dd.from_delayed([*map(dask.delayed, parts)], meta=parts[0][:0], verify_meta=False)
    release = DaskTableAggregator(k=3).fit_transform(X).compute()
    assert list(release["kind"].cat.categories) == ["a", "b", "c"]
    assert release["kind"].tolist() == ["a", "b"] * 20 + ["b", "c"] * 20
    ordered = dd.from_delayed(
        [dask.delayed(part.assign(kind=part["kind"].cat.as_ordered())) for part in parts],
        meta=parts[0][:0].assign(kind=parts[0]["kind"][:0].cat.as_ordered()),
        verify_meta=False,
    )
    message = "^Column 'kind' of X has ordered categories that differ by partition"
    assert_fit_fails(DaskTableAggregator(k=3), ordered, ValueError, message)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"categorical": ["height"]}, ValueError, "^categorical names 'height', but the columns"),
        ({"column_weights": "target"}, TypeError, "^column_weights='target' must be a dict from"),
        ({"column_weights": {"age": 0}}, ValueError, r"^column_weights\['age'\]=0"),
        ({"ordinal": ["height"]}, ValueError, "^ordinal names 'height', but the columns"),
        (
            {"ordinal": {"ward": ["A", "B"]}},
            ValueError,
            r"^ordinal\['ward'\]: some cells",
        ),
        ({"ordinal": ["ward"], "categorical": ["ward"]}, ValueError, "^Column 'ward' is in both"),
        ({"decimals": 0.5}, ValueError, "^decimals=0.5 for column 'age' must be an integer"),
    ],
    ids=str,
)
def test_bad_parameters(parameters, error, message):
    X = dd.from_pandas(draw(60)[["age", "ward"]], npartitions=1)
    assert_fit_fails(DaskTableAggregator(k=3, **parameters), X, error, message)


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        ([2**60 + 1, 2**60], ValueError, "^Column 'x' of X holds integers of 2\\*\\*53 or more"),
        ([1j, 2j], TypeError, "'x' of X holds complex numbers"),
        ([np.inf, 1.0], ValueError, "^Column 'x' of X: some cells are infinite"),
    ],
    ids=["codes", "complex", "infinity"],
)
def test_cells_that_are_refused(cells, error, message):
    table = pd.DataFrame({"x": cells * 20, "ward": list("AB") * 20})
    X = dd.from_pandas(table, npartitions=2)
    assert_fit_fails(DaskTableAggregator(k=3), X, error, message)


def test_objects_of_several_types_are_categories():
    table = pd.DataFrame({"x": [datetime.date(2000, 1, 1), "yesterday"] * 20})
    release = DaskTableAggregator(k=3).fit_transform(dd.from_pandas(table, npartitions=2))
    assert_frame_equal(release.compute(), table)


def test_objects_of_dates_with_a_time():
    cells = [datetime.datetime(2000, 1, 1, hour) for hour in range(20)]
    table = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    release = DaskTableAggregator(k=3).fit_transform(dd.from_pandas(table, npartitions=2))
    assert_frame_equal(release.compute(), TableAggregator(k=3).fit_transform(table))
