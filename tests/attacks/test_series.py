"""An intruder who has several releases of the same people, and knows who came and who left."""

import io
from collections import Counter
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from marks import exact_means

from sk_microagg import ReleaseSeries, TableAggregator

pytestmark = exact_means

K = 5
QUASI = ["age", "height"]


def people(n=60, n_clusters=1):
    """People with a unique diagnosis each, and values with many digits, in clusters far apart."""
    rng = np.random.default_rng(0)
    values = rng.normal([45, 170], [15, 10], (n, 2)) + 1000.0 * (np.arange(n) % n_clusters)[:, None]
    table = pd.DataFrame(values, columns=QUASI)
    return table.assign(id=[f"P{i:04}" for i in range(n)], ill=[f"D{i:04}" for i in range(n)])


def aggregator(k=K, **settings):
    return TableAggregator(k, quasi_identifiers=QUASI, sensitive="ill", decimals=None, **settings)


def independent(*tables, ks=(K, K)):
    """A release of each table, by itself."""
    pairs = zip(ks, tables, strict=True)
    return [aggregator(k, drop="id").fit_transform(table) for k, table in pairs]


def in_series(*tables, **settings):
    """The same as a series."""
    series = ReleaseSeries(aggregator(unit="id"), **settings)
    return [series.release(table) for table in tables]


def nearest_class(release, person):
    """The rows of the class of equal rows that is nearest to a person."""
    apart = ((release[QUASI] - person[QUASI].astype(float)) ** 2).sum(axis=1)
    return release[apart == apart.min()]


def computed_records(releases):
    """Records that are the difference of two classes, of which one has one more member."""
    first, second = (
        [(row, len(rows)) for row, rows in release.groupby(QUASI)] for release in releases
    )
    return [
        n_after * np.array(after) - n_before * np.array(before)
        for before, n_before in first
        for after, n_after in second
        if n_after == n_before + 1
    ]


def n_computed(releases, table):
    """How many records of a table an intruder computes."""
    found = np.array(computed_records(releases)).reshape(-1, 2)
    originals = table[QUASI].to_numpy()
    return sum(np.isclose(found, record, rtol=1e-9).all(axis=1).any() for record in originals)


def test_records_computed_from_k_and_one_more():
    table = people()
    releases = independent(table, table, ks=(K, K + 1))
    assert n_computed(releases, table) >= 3
    series = ReleaseSeries(aggregator(unit="id"))
    series.release(table)
    series.aggregator.set_params(k=K + 1)
    with pytest.raises(ValueError, match=r"^k=6 must be 5\b"):
        series.release(table)


@pytest.mark.slow
def test_the_record_of_a_newcomer_is_computed():
    table = people(5 * K + 4, n_clusters=5)
    for newcomer in range(5 * K, len(table)):
        new = table[newcomer : newcomer + 1]
        tables = table[: 5 * K], pd.concat([table[: 5 * K], new])
        assert n_computed(independent(*tables), new) == 1
        releases = in_series(*tables)
        assert n_computed(releases, tables[1]) == 0
        counts = [Counter(map(tuple, release[QUASI].to_numpy())) for release in releases]
        assert counts[0] == counts[1]


@pytest.mark.slow
def test_sensitive_values_by_intersection():
    table = people()
    later = table.assign(age=table["age"] + np.random.default_rng(1).normal(0, 4, len(table)))
    # Whoever is looked for is known by the values of each year.
    releases = independent(table, later)
    left = [
        {*nearest_class(releases[0], table.loc[i])["ill"]}
        & {*nearest_class(releases[1], later.loc[i])["ill"]}
        for i in table.index
    ]
    assert sum(len(values) == 1 for values in left) >= 3
    first, second = in_series(table, later)
    classes = [release.groupby(QUASI)["ill"].agg(frozenset) for release in (first, second)]
    assert classes[0].equals(classes[1])
    assert min(map(len, classes[0])) >= K


def what_is_missing(releases, person):
    """The values that were in a person's class, and are not in the class that it has become."""
    before, after = (Counter(nearest_class(release, person)["ill"]) for release in releases)
    return [*(before - after)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:leavers='keep'. the rows of only")
@pytest.mark.parametrize("leavers", ["freeze_group", "keep", "withdraw_group"])
def test_what_somebody_who_left_had_is_not_what_is_missing(leavers):
    table = people(5 * (K + 1), n_clusters=5)
    for place in range(4):
        person, later = table.loc[place], table.drop(index=place)
        assert what_is_missing(independent(table, later), person) == [person["ill"]]
        first, second = in_series(table, later, leavers=leavers)
        missing = Counter(first["ill"]) - Counter(second["ill"])
        assert len(missing) == 0 or len(missing) >= K
        # Places do not tell, either.
        assert leavers == "withdraw_group" or len(second) == len(table)


@pytest.mark.slow
def test_places_do_not_tell_who_has_left():
    table = people(20)
    places = []
    for _ in range(12):
        series = ReleaseSeries(aggregator(unit="id"))
        series.release(table)
        release = series.release(table[1:])
        places.append(release.index[[unit is None for unit in series.units_]][0])
    # In the order of the table, or with leavers at the end, there would be one.
    assert len({*places}) >= 4


def test_values_that_change_every_year_tell_who_has_left_unless_groups_are_withdrawn():
    """The limit of other `leavers`, which `doc/series.rst` names."""
    table = people()
    later = table.assign(ill=table["ill"] + "b").drop(index=0)
    kept, withdrawn = (
        in_series(table, later, leavers=leavers) for leavers in ("keep", "withdraw_group")
    )
    same = [{*first["ill"]} & {*second["ill"]} for first, second in (kept, withdrawn)]
    assert same == [{"D0000"}, set()]


def test_the_state_holds_neither_names_nor_original_values(tmp_path):
    table = people()
    series = ReleaseSeries(aggregator(unit="id"), leavers="withdraw_group")
    series.release(table)
    series.release(table[3:], erase=["P0010"])
    path = tmp_path / "state"
    series.save(path)
    with ZipFile(path) as archive:
        tables = [
            pq.read_table(io.BytesIO(archive.read(name))).to_pandas()
            for name in archive.namelist()
            if name.endswith(".parquet")
        ]
    cells = {cell for each in tables for column in each for cell in each[column]}
    assert not cells & {*table["id"]}
    assert not cells & {*table[QUASI].to_numpy().ravel()}
    # Of those who have left there is nothing but a key.
    assert not cells & {*table["ill"][[0, 1, 2, 10]]}
    content = path.read_bytes()
    assert not any(name.encode() in content for name in table["id"])


def test_without_its_secret_the_state_does_not_tell_who_is_in_it():
    table = people()
    states = []
    for _ in range(2):
        series = ReleaseSeries(aggregator(unit="id"))
        series.release(table)
        states.append({*series._state.keys})
    assert not states[0] & states[1]


def test_marks_of_equal_values_differ():
    """Otherwise, whoever knows one person would know others with the same values."""
    table = people().assign(age=40.0, height=170.0)
    series = ReleaseSeries(aggregator(unit="id"))
    series.release(table)
    assert len({*series._state.marks.tolist()}) > 30
