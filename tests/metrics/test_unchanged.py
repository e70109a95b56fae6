from collections import Counter
from itertools import combinations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case

from sk_microagg.metrics import (
    _anonymity,
    _determined,
    determined_columns,
    record_linkage,
    unchanged_uniqueness,
)

pytestmark = pytest.mark.usefixtures("few_steps")


def unique_rows(rows, units):
    """Plain version: rows whose combination belongs to one unit only."""
    people = {}
    for row, unit in zip(rows, units, strict=True):
        people.setdefault(row, set()).add(unit)
    return np.array([len(people[row]) == 1 for row in rows])


def rows_of(table, columns):
    return list(zip(*(table[name] for name in columns), strict=True))


@pytest.mark.slow
@in_one_case("seed", range(6))
@in_one_case("has_units", [False, True])
def test_shares_are_those_of_all_combinations(seed, has_units):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 200))
    columns = {f"c{j}": rng.integers(0, rng.integers(2, 2 * n), n) for j in range(5)}
    table = pd.DataFrame(columns).astype({"c0": str, "c1": float})
    table.loc[::7, "c1"] = np.nan
    groups = rng.integers(0, n // 5, n)
    units = rng.integers(0, n // 2, n) if has_units else np.arange(n)

    found = unchanged_uniqueness(groups, table, units if has_units else None)

    plain = table.astype(str)
    assert found.unique == pytest.approx(unique_rows(rows_of(plain, plain), units).mean())
    for size in (1, 2, 3):
        by = {c: unique_rows(rows_of(plain, c), units) for c in combinations(plain, size)}
        assert found.unique_by[size - 1] == pytest.approx(np.any([*by.values()], axis=0).mean())
        most = tuple(sorted(found.columns_by[size - 1]))
        assert by[most].sum() == max(each.sum() for each in by.values())
    both = [(*row, group) for row, group in zip(rows_of(plain, plain), groups, strict=True)]
    assert found.unique_with_release == pytest.approx(unique_rows(both, units).mean())
    of_people = {row: Counter() for row in both}
    for row, unit in zip(both, units, strict=True):
        of_people[row][unit] += 1
    of_rows = zip(units, map(of_people.get, both), strict=True)
    chances = [counts[unit] / counts.total() for unit, counts in of_rows]
    best = [max(np.array(chances)[units == unit]) for unit in units]
    assert found.expected_matches == pytest.approx(np.mean(best))


@in_one_case("has_units", [False, True])
def test_a_constant_column_changes_no_figure(has_units):
    rng = np.random.default_rng(4)
    X, unit = rng.normal(size=(200, 2)), rng.integers(0, 30, 200) if has_units else None
    release = X.round()
    linkage = record_linkage(X, release, unit=unit)
    found = unchanged_uniqueness(release, np.zeros((200, 1)), unit)
    assert found.expected_matches == pytest.approx(linkage.expected_if_linked)


def test_work_is_bounded_and_the_columns_with_most_values_come_first(monkeypatch):
    monkeypatch.setattr(_anonymity, "MOST_ROWS", 100 * 30)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{j}": rng.integers(0, 2 + 5 * (j == 8), 100) for j in range(9)})
    table["id"] = range(100)
    found = unchanged_uniqueness(np.arange(100) // 5, table)
    assert found.n_combined == 5
    assert found.unique_by == (1, 1, 1)
    assert found.columns_by[:2] == (("id",), ("id", "c8"))


@pytest.mark.slow
def test_the_same_on_dask():
    rng = np.random.default_rng(1)
    release = pd.DataFrame({"age": rng.integers(0, 20, 300), "town": rng.choice(["a", "b"], 300)})
    others = pd.DataFrame({"w": rng.integers(0, 40, 300), "job": rng.choice([*"xyz", None], 300)})
    found = unchanged_uniqueness(release, others)
    on_dask = [dd.from_pandas(table, npartitions=20) for table in (release, others)]
    same = unchanged_uniqueness(*on_dask)
    assert (same.unique, same.unique_with_release) == pytest.approx(
        (found.unique, found.unique_with_release)
    )
    assert same.expected_matches == pytest.approx(found.expected_matches)
    assert same.unique_by == ()
    with pytest.raises(TypeError, match=r"^unit "):
        unchanged_uniqueness(*on_dask, unit=np.arange(300))
    with pytest.raises(ValueError, match="partitions"):
        unchanged_uniqueness(on_dask[0].repartition(npartitions=2), on_dask[1])


@pytest.fixture
def people():
    rng = np.random.default_rng(2)
    n = 600
    return pd.DataFrame(
        {
            "exper": rng.integers(0, 40, n),
            "year": rng.integers(1980, 1988, n),
            "wage": rng.lognormal(size=n),
            "kind": rng.choice(["a", "b", "c", "d"], n),
        }
    )


def as_text(table):
    return table.astype(str).astype(object)


def with_commas(table):
    return as_text(table).map(lambda cell: cell.replace(".", ","))


@in_one_case("form", [lambda table: table, as_text, with_commas, pl.from_pandas])
def test_what_determines_a_column(people, form):
    others = pd.DataFrame({"expersq": people.exper**2, "lwage": np.log(people.wage)})
    found = determined_columns(people, form(others))
    assert found == [(("expersq",), "exper"), (("lwage",), "wage")]


def test_dummies_determine_a_column_together(people):
    dummies = {f"d{year}": (people.year == year).astype(int) for year in range(1981, 1988)}
    pairs = {"is_ab": people.kind.isin(["a", "b"]), "is_ac": people.kind.isin(["a", "c"])}
    noise = {"noise": np.random.default_rng(3).integers(0, 2, len(people))}
    found = determined_columns(people, pd.DataFrame({**noise, **dummies, **pairs}))
    assert found == [((*dummies,), "year"), ((*pairs,), "kind")]


def test_most_rows_are_enough(people):
    town_of = people.kind.map(str.upper)
    town_of[::40] = "other"
    found = determined_columns(people[["kind"]], pd.DataFrame({"town": town_of}))
    assert found == [(("town",), "kind")]


def test_dates_are_numbers(people):
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(people.index * 37 % 9000, unit="D")
    ages = pd.DataFrame({"age": 2020 - born.year})
    assert determined_columns(ages, pd.DataFrame({"born": born})) == [(("born",), "age")]
    written = pd.DataFrame({"born": born.strftime("%Y-%m-%d").astype(object)})
    assert determined_columns(ages, written) == [(("born",), "age")]
    in_a_zone = pd.DataFrame({"born": born.tz_localize("Europe/Berlin")})
    assert determined_columns(ages, in_a_zone) == [(("born",), "age")]
    assert determined_columns(ages, as_text(in_a_zone)) == [(("born",), "age")]


@in_one_case("n_extreme", [1, 10, 60])
@in_one_case("value", [1e4, -9999.0])
def test_few_people_do_not_decide_it(n_extreme, value):
    """Neither one who is extreme in both columns, nor codes for missing values in both."""
    numbers = np.random.default_rng(0).normal(size=(500, 3))
    numbers[:n_extreme] = value
    assert determined_columns(numbers[:, :1], numbers[:, 1:]) == []


@in_one_case("n_extreme", [1, 10])
def test_few_people_do_not_decide_it_for_related_columns(n_extreme):
    numbers = np.random.default_rng(0).normal(size=(500, 1))
    numbers[:n_extreme] = 1e4
    related = numbers[:, :1] + np.random.default_rng(1).normal(scale=0.5, size=(500, 1))
    assert determined_columns(numbers, related) == []


def test_rounded_skewed_numbers_determine_a_column():
    """Their ranks have many ties."""
    income = np.random.default_rng(0).lognormal(sigma=1.5, size=500)
    rounded = pd.DataFrame({"rounded": income.round(0)})
    assert rounded["rounded"].corr(pd.Series(income), "spearman") < 0.98
    assert determined_columns(income[:, None], rounded) == [(("rounded",), "x0")]


@in_one_case("outliers", [0, 5])
def test_sums_and_quotients(outliers):
    rng = np.random.default_rng(0)
    parts = pd.DataFrame(rng.lognormal(size=(300, 3)), columns=["a", "b", "c"])
    X = pd.DataFrame({"total": parts.sum(axis=1), "bmi": parts["a"] / parts["b"] ** 2})
    X[: 2 * outliers] *= 100
    others = parts.assign(noise=rng.normal(size=300), sex=rng.integers(0, 2, 300))
    others.loc[:outliers, "c"] = np.nan
    found = determined_columns(X, others)
    assert found == [(("a", "b", "c"), "total"), (("a", "b"), "bmi")]
    assert determined_columns(X, others.drop(columns="b")) == []


@in_one_case("n_columns", [10, 90, 150])
def test_many_columns_are_no_sum(n_columns):
    """As many columns as records fit everything, but predict nothing."""
    numbers = np.random.default_rng(0).normal(size=(100, 1 + n_columns))
    assert determined_columns(numbers[:, :1], numbers[:, 1:]) == []


@pytest.mark.slow
@in_one_case("n", [3, 10, 30, 100, 400])
def test_no_false_alarms(n):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.c_[
            rng.integers(0, 2, n), rng.integers(0, 10, n), rng.normal(size=n), rng.random(n) < 0.03
        ]
        others = {f"d{j}": rng.integers(0, 2, n) for j in range(30)}
        others |= {"constant": 1, "id": np.arange(n), "few twins": np.arange(n) // 1.1}
        others |= {"rare": rng.random(n) < 0.03, "code": rng.integers(0, n // 2 + 1, n)}
        assert determined_columns(X, pd.DataFrame(others)) == []


def test_a_column_does_not_determine_others_because_it_is_unique(people):
    people["wage"] = np.random.default_rng(5).permutation(people["wage"])
    twins = pd.concat([people, people[:20]])  # A few people occur twice, with all their values.
    others = pd.DataFrame({"measured": [*range(600), *range(20)]})
    assert determined_columns(twins, others) == []


def test_rows_of_one_person_are_alike_anyway(people):
    rows = people.loc[people.index.repeat(3)]
    others, person = pd.DataFrame({"measured": rows["wage"]}), rows.index
    assert len(determined_columns(rows[["exper"]], others)) == 1
    assert determined_columns(rows[["exper"]], others, unit=person) == []


def test_a_sample_of_many_records_is_enough(monkeypatch, people):
    monkeypatch.setattr(_determined, "SAMPLE_SIZE", 200)
    others = pd.DataFrame({"expersq": people.exper**2, "noise": people.wage[::-1].to_numpy()})
    assert determined_columns(people, others) == [(("expersq",), "exper")]
