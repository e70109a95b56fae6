"""Series of releases: the rule over random histories, what is remembered, and what is refused."""

import io
import os
import stat
import sys
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from oracles.series import broken_rules, joint_level

from sk_microagg import KAIM, LDiversity, ReleaseSeries, TableAggregator, TCloseness
from sk_microagg._series._file import to_bytes
from sk_microagg.metrics import joint_anonymity
from sk_microagg.privacy import UnitShare

# Small batches are lost on some columns.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Column 'town'"),
    pytest.mark.filterwarnings("ignore:leavers='keep'. the rows of only"),
    pytest.mark.filterwarnings("ignore:All records"),
    pytest.mark.usefixtures("few_steps"),
]

QUASI = ["age", "town", "born"]


def make_people(rng, names):
    """A table of people with a row each."""
    n = len(names)
    return pd.DataFrame(
        {
            "id": names,
            "age": rng.integers(20, 80, n),
            "town": rng.choice(["Bonn", "Ulm", "Kiel"], n),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D"),
            "region": rng.choice(["north", "south"], n, p=[0.8, 0.2]),
            "ill": rng.choice(["flu", "gout", "cold"], n),
            "note": rng.normal(size=n),
        }
    )


def next_year(rng, table, names):
    """Some have left, some have other values, some have more rows, and some are new."""
    stays = rng.random(len(names)) < 0.9
    kept = table[table["id"].isin([n for n, is_kept in zip(names, stays, strict=True) if is_kept])]
    kept = kept.assign(ill=rng.choice(["flu", "gout", "cold"], len(kept)))
    moves = rng.random(len(kept)) < 0.2
    kept = kept.assign(age=np.where(moves, kept["age"] + 1, kept["age"]))
    twice = kept[rng.random(len(kept)) < 0.1].assign(ill="flu")
    n_new = int(rng.integers(0, 25))
    start = int(names.max()) + 1 if len(names) else 0
    new = make_people(rng, np.arange(start, start + n_new))
    return pd.concat([kept, twice, new]).sample(frac=1.0, random_state=int(rng.integers(99)))


VARIANTS = [
    ({}, {}),
    ({"strata": ["region"]}, {"hold": 0.3}),
    ({"sensitive": ["ill"], "privacy": LDiversity(2)}, {}),
    ({"sensitive": ["ill"], "privacy": TCloseness(0.6)}, {"leavers": "withdraw_group"}),
    ({"sensitive": ["ill"], "privacy": [LDiversity(2), UnitShare(0.5)]}, {"hold": 0.2}),
    ({"strata": ["region"], "categories": "generalize"}, {"leavers": "withdraw_group"}),
    ({"sensitive": ["ill"], "privacy": LDiversity(2)}, {"leavers": "keep"}),
    ({"sensitive": ["ill"]}, {"values": "first", "spare": 2}),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(VARIANTS)))
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.release)])
def test_the_rule_holds_over_random_histories(tmp_path, number, seed):
    rng = np.random.default_rng([seed, number])
    settings, of_series = VARIANTS[number]
    k = int(rng.integers(2, 5))
    aggregator = TableAggregator(
        k,
        quasi_identifiers=QUASI,
        unit="id",
        drop=["region"] if "strata" not in settings else [],
        refiner=None,
        **settings,
    )
    series = ReleaseSeries(aggregator, **of_series)
    shown = QUASI + settings.get("strata", [])
    table = make_people(rng, np.arange(30))
    releases, people, name_of = [], [], {}
    for year in range(5):
        erase = rng.choice(table["id"], 1).tolist() if year == 3 else []
        release = series.release(table, erase=erase)
        check_one_release(series, table, release, erase, k, settings)
        for key, unit in zip(series.keys_, series.units_, strict=True):
            assert unit is None or name_of.setdefault(key, unit) == unit
        people.append([name_of[key] for key in series.keys_])
        releases.append(release[shown].to_numpy().tolist())
        assert broken_rules(releases, people, k) == set()
        level = joint_level(releases, people)
        assert joint_anonymity([pd.DataFrame(rows) for rows in releases], people) == level >= k
        series.save(tmp_path / "state")
        series = ReleaseSeries.load(tmp_path / "state", aggregator, **of_series)
        table = next_year(rng, table, table["id"].unique())


def check_one_release(series, table, release, erase, k, settings):
    """Everybody is released, waits or has been withdrawn; those who are here have today's cells."""
    released = {unit for unit in series.units_ if unit is not None}
    parts = [released, {*series.waiting_}, {*series.withdrawn_}]
    assert sorted(set.union(*parts)) == sorted(table["id"].unique())
    assert sum(map(len, parts)) == table["id"].nunique()
    assert not {*erase} & released
    assert len({*series.keys_}) == len(released) + series.n_left_
    assert {*series.frozen_} <= released
    if series.values == "today":
        has_rows_of_today = pd.Series(series.units_).isin({*table["id"]} - {*series.frozen_})
        mine = release[has_rows_of_today].assign(id=series.units_[has_rows_of_today])[
            ["id", "note"]
        ]
        wanted = table[table["id"].isin(released - {*series.frozen_})][["id", "note"]]
        assert sorted(map(tuple, mine.to_numpy())) == sorted(map(tuple, wanted.to_numpy()))
    assert series.real_k_ >= (1 if series.leavers == "keep" else k)
    if isinstance(settings.get("privacy"), LDiversity):
        shown = QUASI + settings.get("strata", [])
        by_group = release.groupby(shown, dropna=False)["ill"]
        n_values = by_group.agg(lambda ill: ill.nunique(dropna=False))
        is_hidden = by_group.agg(lambda ill: ill.isna().all())
        # Classes of equal rows may be several groups.
        assert ((n_values >= 2) | is_hidden).all()
        assert is_hidden.sum() <= series.n_suppressed_


def people(n=40, seed=0):
    return make_people(np.random.default_rng(seed), np.arange(n))


def series_of(k=4, **settings):
    names = ("hold", "leavers", "values", "spare")
    of_series = {name: settings.pop(name) for name in names if name in settings}
    settings = {"quasi_identifiers": QUASI, "unit": "id", "drop": ["region"], **settings}
    return ReleaseSeries(TableAggregator(k, **settings), **of_series)


def test_the_first_release_is_that_of_the_aggregator():
    table = people()
    series = series_of()
    release = series.release(table).set_axis(series.units_).loc[table["id"]]
    # Everybody has one row, so that the unit is no constraint.
    alone = TableAggregator(4, quasi_identifiers=QUASI, drop=["id", "region"]).fit_transform(table)
    assert list(release) == list(alone)
    for name in alone:
        assert_array_equal(release[name], alone[name])


def test_known_people_keep_their_groups_and_have_cells_of_today():
    table = people()
    series = series_of()
    first = series.release(table).set_axis(series.units_)
    later = table.assign(age=table["age"] + 5, note=1.0, town="Ulm")
    second = series.release(later).set_axis(series.units_).loc[first.index]
    assert first[QUASI].equals(second[QUASI])
    assert (second["note"] == 1.0).all()
    # Of forty changes, one of 256 is not noticed.
    assert series.changed_ >= 38


def test_without_unchanged_columns(tmp_path):
    series = series_of(drop=["region", "ill", "note"])
    for start in (0, 3):
        release = series.release(people(40)[start:])
        assert (release.shape, series.n_left_) == ((40, 3), start)
        series.save(tmp_path / "state")
        series = ReleaseSeries.load(tmp_path / "state", series.aggregator)


@pytest.mark.slow
def test_too_few_newcomers_wait():
    table = people(47)
    series = series_of(4)
    series.release(table[:40])
    assert len(series.release(table[:43])) == 40
    assert_array_equal(np.sort(series.waiting_), [40, 41, 42])
    assert len(series.release(table)) == 47
    assert len(series.waiting_) == 0


@pytest.mark.slow
def test_newcomers_wait_in_strata_and_under_constraints_that_they_cannot_satisfy():
    table = people(40).assign(region=["north"] * 37 + ["south"] * 3)
    series = series_of(4, strata=["region"], drop=[])
    assert len(series.release(table)) == 37
    assert {*series.waiting_} == {37, 38, 39}
    table = people(40).assign(ill="flu")
    series = series_of(4, sensitive=["ill"], privacy=LDiversity(2))
    with pytest.raises(ValueError, match=r"No group of k=4 people .* 40 people wait"):
        series.release(table)
    assert series.n_releases_ == 0
    series.release(people(40))
    series.release(pd.concat([people(40), table.assign(id=table["id"] + 40)]))
    assert len(series.waiting_) == 40


def test_sensitive_values_that_violate_a_constraint_later_are_missing():
    table = people(12)
    series = series_of(4, sensitive=["ill"], privacy=LDiversity(2))
    series.release(table)
    release = series.release(table.assign(ill="flu"))
    assert release["ill"].isna().all()
    assert series.n_suppressed_ == len(release[QUASI].drop_duplicates())
    # Those who leave now are released with what was last released of them.
    release = series.release(table[1:]).set_axis([str(unit) for unit in series.units_])
    assert release.loc["None", "ill"] == table["ill"][0]


def test_leavers_stay_until_all_of_their_group_have_left():
    table = people(8)
    series = series_of(4)
    first = series.release(table).set_axis(series.units_)
    rows = first[QUASI].astype(str).agg("|".join, axis=1)
    group = rows.index[rows == rows[0]]
    one_left = series.release(table[table["id"] != 0])
    assert (len(one_left), series.n_left_) == (8, 1)
    assert 0 not in series.units_
    note = one_left["note"][[unit is None for unit in series.units_]].tolist()
    assert note == [table["note"][0]]
    all_left = series.release(table[~table["id"].isin(group)])
    assert (len(all_left), series.n_left_) == (8 - len(group), 0)
    # Nobody comes back without the others.
    assert len(series.release(table)) == 8 - len(group)
    assert {*series.withdrawn_} == {*group}


def notes_of(series, release):
    """The notes of people in the table."""
    rows = pd.Series(release["note"].to_numpy(), index=series.units_)
    return rows[rows.index.notna()]


def test_a_group_of_which_fewer_than_k_can_follow_keeps_its_rows():
    table = people(8)
    series = series_of(4)
    series.release(table)
    label_of = dict(zip(series.units_, series._release.labels, strict=True))
    mates = [unit for unit in range(8) if label_of[unit] == label_of[0]]
    assert len(mates) == 4
    later = table.assign(note=table["note"] + 100)
    notes = notes_of(series, series.release(later[later["id"] != 0]))
    assert {*series.frozen_} == {*mates} - {0}
    for unit, note in notes.items():
        assert note == (table if unit in mates else later)["note"][unit]
    # Nobody has seen that one was missing: the group goes on.
    last = table.assign(note=table["note"] + 200)
    notes = notes_of(series, series.release(last))
    assert len(series.frozen_) == 0
    assert sorted(notes) == sorted(last["note"])


def test_people_who_come_back_after_others_went_on_keep_their_rows():
    table = people(9).assign(age=range(40, 49), town="Bonn", born=pd.Timestamp("1980-01-01"))
    series = series_of(4, spare=4)
    assert len(series.release(table)[QUASI].drop_duplicates()) == 1
    for year, (missing, frozen) in enumerate([([0], []), ([], [0]), ([1, 2, 3, 4], [0])], 1):
        later = table.assign(note=table["note"] + year)
        series.release(later.drop(index=missing))
        assert sorted(series.frozen_) == frozen
        assert series.real_k_ == 9 - len({0, *missing})
    # With four who follow, one more would be too many to miss.
    series.release(table.drop(index=5))
    assert sorted(series.frozen_) == [0, 1, 2, 3, 4, 6, 7, 8]
    assert series.real_k_ == 9


def test_first_values_stay():
    table = people(20)
    series = series_of(4, values="first")
    series.release(table[:12])
    later = table.assign(note=table["note"] + 100)
    notes = notes_of(series, series.release(later[1:]))
    wanted = pd.concat([table["note"][1:12], later["note"][12:]])
    assert notes.sort_index().tolist() == wanted.tolist()
    assert sorted(series.frozen_) == [*range(1, 12)]
    assert (series.changed_alone_, series.n_left_) == (0, 1)


@pytest.mark.filterwarnings("default:leavers='keep'. the rows of only")
def test_a_real_k_below_k_is_told():
    table = people(8)
    series = series_of(4, leavers="keep")
    series.release(table)
    with pytest.warns(UserWarning, match=r"^leavers='keep': the rows of only 3 people .* than k=4"):
        series.release(table[1:])
    assert series.real_k_ == 3
    assert len(series.frozen_) == 0


def test_new_groups_have_spare_members():
    table = people(60)
    series = series_of(4, spare=3)
    series.release(table)
    assert np.bincount(series._release.labels).min() == 7
    assert len(series.release(pd.concat([table, people(6, seed=1).assign(id=range(60, 66))]))) == 60
    assert len(series.waiting_) == 6


@pytest.mark.parametrize("leaves", [True, False])
def test_a_withdrawn_group_does_not_come_back(leaves):
    table = people(24)
    series = series_of(4, leavers="withdraw_group" if leaves else "keep")
    series.release(table)
    gone = series.release(table[1:] if leaves else table, erase=[] if leaves else [0])
    n_withdrawn = 24 - len(gone)
    assert n_withdrawn >= 4
    assert len(series.withdrawn_) == n_withdrawn - leaves
    assert len(series.release(table)) == len(gone)
    assert 0 in series.withdrawn_


def test_held_people_are_those_who_lose_most():
    table = people(60)
    table.loc[:3, "age"] = [200, 300, 400, 500]
    series = series_of(4, hold=0.1)
    assert len(series.release(table)) == 60 - len(series.waiting_)
    assert {0, 1, 2, 3} <= {*series.waiting_}
    assert 4 <= len(series.waiting_) <= 6
    series.hold = 0.0
    assert len(series.release(table)) == 60


def test_units_are_recognized_in_later_tables_of_another_type():
    table = people(8)
    series = series_of(4)
    series.release(table)
    for later in (
        table.assign(id=table["id"].astype(float)),
        table.assign(id=table["id"].map(str)),
    ):
        assert len(series.release(later)) == 8
        assert len(series.waiting_) == series.n_left_ == 0


def test_errors():
    table, series = people(), series_of()
    with pytest.raises(TypeError, match=r"^aggregator must be a TableAggregator, got KAIM"):
        ReleaseSeries(KAIM())
    with pytest.raises(ValueError, match=r"^unit=None\b"):
        ReleaseSeries(TableAggregator())
    with pytest.raises(ValueError, match=r"^categories='shares'"):
        series_of(categories="shares")
    with pytest.raises(ValueError, match=r"^weight='size'"):
        series_of(weight="size")
    for hold in (-0.1, 1.0, True, "0.1", None):
        with pytest.raises(ValueError, match=rf"^hold={hold!r} must be a number from 0 to below 1"):
            series_of(hold=hold)
    with pytest.raises(ValueError, match=r"^leavers='go'"):
        series_of(leavers="go")
    with pytest.raises(ValueError, match=r"^values='old'"):
        series_of(values="old")
    for spare in (-1, 0.5, True, None):
        with pytest.raises(ValueError, match=rf"^spare={spare!r} must be an integer of at least 0"):
            series_of(spare=spare)
    with pytest.raises(ValueError, match=r"nothing to save"):
        series.save("state")
    with pytest.raises(TypeError, match=r"^table must be a DataFrame of pandas, got list"):
        series.release([[1]])
    with pytest.raises(TypeError, match=r"names are text"):
        series.release(table.rename(columns={"note": 1}))
    with pytest.raises(ValueError, match=r"^unit: 1 of 40 rows .*, at position 0"):
        series.release(table.assign(id=[None, *range(39)]))
    with pytest.raises(ValueError, match=r"k=4 people can be formed: nobody .* 3 people wait"):
        series.release(table[:3])
    assert series.n_releases_ == 0


def test_a_release_that_breaks_the_rule_is_refused():
    table = people(8)
    series = series_of()
    series.release(table)
    state = series._state
    # A state that has lost the row of somebody who has left.
    is_kept = state.owners != state.key(0)
    rows = state.rows.filter(is_kept)
    series._state = replace(state, owners=state.owners[is_kept], rows=rows)
    with pytest.raises(
        ValueError, match=r"k=4 must always appear together: the release is refused"
    ):
        series.release(table[1:])
    assert len(series.release(table)) == 8


def parts_of(series):
    """The files in the archive of a state, without the times when they were written."""
    with ZipFile(io.BytesIO(to_bytes(series._state))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_failed_release_changes_nothing():
    table = people()
    series = series_of()
    series.release(table)
    before = parts_of(series)
    with pytest.raises(ValueError, match=r"types"):
        series.release(people(50).assign(note="text"))
    assert parts_of(series) == before
    assert series.n_releases_ == 1


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"k": 5}, "k"),
        ({"quasi_identifiers": ["age", "town"]}, "quasi_identifiers"),
        ({"sensitive": ["ill"]}, "sensitive"),
        ({"drop": ["region", "note"]}, "released"),
        ({"strata": ["region"], "drop": []}, "strata"),
        ({"sensitive": ["ill"], "privacy": LDiversity(2)}, "sensitive"),
        ({"categories": "generalize"}, "categories"),
    ],
)
def test_a_state_of_other_settings_is_an_error(tmp_path, settings, name):
    series = series_of()
    series.release(people())
    series.save(tmp_path / "state")
    other = ReleaseSeries.load(tmp_path / "state", series_of(**settings).aggregator)
    assert other.n_releases_ == 1
    with pytest.raises(ValueError, match=rf"^{name}=.* as in earlier releases"):
        other.release(people())


def test_files_that_are_no_state(tmp_path):
    path = tmp_path / "state"
    aggregator = series_of().aggregator
    with pytest.raises(FileNotFoundError):
        ReleaseSeries.load(path, aggregator)
    for year in (0, 1):
        series = series_of()
        series.release(people(seed=year))
        if year:
            with pytest.raises(ValueError, match=r"is the state of another series"):
                series.save(path)
            series.save(tmp_path / "other")
        else:
            series.save(path)
    (tmp_path / "state.key").write_bytes((tmp_path / "other.key").read_bytes())
    with pytest.raises(ValueError, match=r"state.key is not the secret of"):
        ReleaseSeries.load(path, aggregator)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"is not the state of a series, or is damaged"):
        ReleaseSeries.load(path, aggregator)


def test_a_series_that_was_continued_elsewhere_is_not_overwritten(tmp_path):
    path = tmp_path / "state"
    series = series_of()
    series.release(people(20))
    series.save(path)
    others = [ReleaseSeries.load(path, series.aggregator) for _ in range(2)]
    for number, other in enumerate(others):
        other.release(people(30 + 5 * number))
    others[0].save(path)
    others[0].save(path)
    for late in (series, others[1]):
        with pytest.raises(ValueError, match=r"was continued elsewhere"):
            late.save(path)
    assert len(ReleaseSeries.load(path, series.aggregator)._state.keys) == 30


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_only_the_owner_can_read_state_and_secret(tmp_path):
    series = series_of()
    series.release(people())
    series.save(tmp_path / "state")
    for name in ("state", "state.key"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "state.key"]
