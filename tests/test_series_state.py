"""The state of a series: nothing that it does not know of may have been released."""

import json
import shutil
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import sklearn

from sk_microagg import LDiversity, ReleaseSeries, TableAggregator
from sk_microagg._series import load_state
from sk_microagg._series._file import locked_state
from sk_microagg.metrics import joint_anonymity
from sk_microagg.privacy import TCloseness, UnitShare
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps")

K = 4
QUASI = ["age", "income"]


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    ages, incomes = rng.integers(18, 90, n), rng.integers(1000, 6000, n)
    return pd.DataFrame(
        {
            "id": [f"P{i:03}" for i in range(n)],
            "age": ages,
            "income": incomes,
            "ill": [f"D{i:03}" for i in range(n)],
        }
    )


def aggregator(**settings):
    return TableAggregator(K, unit="id", sensitive="ill", **settings)


@pytest.fixture
def path(tmp_path):
    """The state of a series with one release of twenty people."""
    series = ReleaseSeries(aggregator())
    series.release(people()[:20])
    series.save(tmp_path / "state")
    return tmp_path / "state"


def test_a_first_release_does_not_replace_a_state_whose_file_is_missing(path):
    path.unlink()
    with pytest.raises(FileNotFoundError):
        ReleaseSeries.load(path, aggregator())
    series = ReleaseSeries(aggregator())
    series.release(people())
    key = path.with_name("state.key")
    before = key.read_bytes()
    with pytest.raises(ValueError, match=r"state.key is the secret of another series, whose state"):
        series.save(path)
    assert not path.exists()
    assert key.read_bytes() == before


def test_a_series_writes_its_own_state_where_the_file_is_missing(path):
    series = ReleaseSeries.load(path, aggregator())
    series.release(people()[:30])
    path.unlink()
    series.save(path)
    assert ReleaseSeries.load(path, aggregator()).n_releases_ == 2


def test_the_key_of_a_first_release_that_was_not_made_is_replaced(path):
    key = path.with_name("state.key")
    key.write_bytes(key.read_bytes()[:32])
    path.unlink()
    series = ReleaseSeries(aggregator())
    series.release(people())
    series.save(path)
    assert ReleaseSeries.load(path, aggregator()).n_releases_ == 1


@pytest.mark.parametrize(
    "settings", [{}, {"random_state": 1}, {"column_weights": {"age": 3.0}}, {"refiner": None}]
)
def test_of_two_that_continue_a_state_only_the_first_saves(path, settings):
    ours, theirs = (ReleaseSeries.load(path, aggregator(**given)) for given in ({}, settings))
    ours.release(people()[:40])
    theirs.release(people()[:40])
    ours.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"knows releases that this series does not"):
        theirs.save(path)
    # One that is further ahead must not save, either.
    theirs.release(people())
    with pytest.raises(ValueError, match=r"knows releases that this series does not"):
        theirs.save(path)
    assert path.read_bytes() == before


def test_an_older_state_is_noticed(path):
    backup = path.read_bytes()
    series = ReleaseSeries.load(path, aggregator())
    series.release(people()[:40])
    series.save(path)
    path.write_bytes(backup)
    with pytest.raises(ValueError, match=r"is older than .*state\.key: .* not a backup"):
        ReleaseSeries.load(path, aggregator())
    with pytest.raises(ValueError, match=r"is older than"):
        series.save(path)


def test_a_saved_series_is_saved_again_and_from_memory(path, tmp_path):
    series = ReleaseSeries.load(path, aggregator())
    for end in (30, 40):
        series.release(people()[:end])
    series.save(path)
    series.save(path)
    # State and secret may be moved together.
    for name in ("state", "state.key"):
        shutil.move(tmp_path / name, tmp_path / name.replace("state", "moved"))
    assert ReleaseSeries.load(tmp_path / "moved", aggregator()).n_releases_ == 3


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_what_was_saved_is_jointly_anonymous(path, seed):
    """Whoever continues a state at random times, and publishes only what was saved."""
    rng = np.random.default_rng(seed)
    table, releases, units = people(90), [], []
    holders = [ReleaseSeries.load(path, aggregator(random_state=n)) for n in range(3)]
    n_refused = 0
    for end in range(25, 90, 6):
        place = int(rng.integers(3))
        release = holders[place].release(table[:end])
        try:
            holders[place].save(path)
        except ValueError:
            n_refused += 1
            settings = aggregator(random_state=place)
            holders[place] = ReleaseSeries.load(path, settings)
            continue
        releases.append(release[QUASI])
        units.append(holders[place].keys_)
    assert n_refused >= 2
    assert len(releases) >= 3
    assert joint_anonymity(releases, units) >= K


def test_a_state_that_another_process_continues_is_in_use(path):
    series = ReleaseSeries.load(path, aggregator())
    series.release(people()[:40])
    with locked_state(path), pytest.raises(BlockingIOError, match=r"state is in use: another"):
        series.save(path)
    series.save(path)
    assert sorted(file.name for file in path.parent.iterdir()) == ["state", "state.key"]


@pytest.mark.parametrize(
    ("settings", "options", "name"),
    [
        ({"numbers": "median"}, {}, "numbers"),
        ({"privacy": LDiversity(3)}, {}, "privacy"),
        ({"privacy": None}, {}, "privacy"),
        ({}, {"leavers": "keep"}, "leavers"),
        ({}, {"values": "first"}, "values"),
    ],
)
def test_what_earlier_releases_promise_cannot_be_changed(tmp_path, settings, options, name):
    given = {"privacy": [LDiversity(2), UnitShare(0.5)]}
    series = ReleaseSeries(aggregator(**given))
    series.release(people())
    series.save(tmp_path / "state")
    other = ReleaseSeries.load(tmp_path / "state", aggregator(**given | settings), **options)
    with pytest.raises(ValueError, match=rf"^{name}=.* must be .*, as in earlier releases"):
        other.release(people())
    same = {"privacy": [UnitShare(0.5), LDiversity(2)]}
    again = ReleaseSeries.load(tmp_path / "state", aggregator(**same), hold=0.1, spare=1)
    assert len(again.release(people())) == 60


def test_a_constraint_is_named_with_all_parameters(tmp_path):
    series = ReleaseSeries(aggregator(privacy=LDiversity(2)))
    series.release(people())
    series.aggregator.set_params(privacy=LDiversity(3))
    with pytest.raises(ValueError, match=r"privacy=\[LDiversity\(.*l=3.* must be .*l=2"):
        series.release(people())


def test_trees_of_equal_size_are_told_apart(tmp_path):
    def made(first):
        names = [f"D{i:03}" for i in range(60)]
        tree = {"these": names[first : first + 30], "others": names[:first] + names[first + 30 :]}
        return aggregator(privacy=TCloseness(0.9, Hierarchy.from_nested(tree)))

    series = ReleaseSeries(made(0))
    series.release(people())
    series.save(tmp_path / "state")
    again = ReleaseSeries.load(tmp_path / "state", made(0))
    assert len(again.release(people())) == 60
    other = ReleaseSeries.load(tmp_path / "state", made(1))
    with pytest.raises(ValueError, match=r"^privacy=.* must be .*, as in earlier releases"):
        other.release(people())


def test_a_parameter_of_a_later_version_has_to_have_its_default():
    series = ReleaseSeries(aggregator(privacy=LDiversity(2)))
    series.release(people())
    [constraint] = series._state.settings["privacy"]
    del constraint["parameters"]["kind"]
    assert len(series.release(people())) == 60
    series.aggregator.set_params(privacy=LDiversity(2, kind="entropy"))
    with pytest.raises(ValueError, match=r"^privacy="):
        series.release(people())


def test_what_scikit_learn_prints_makes_no_difference(tmp_path):
    made = aggregator(privacy=LDiversity(2))
    series = ReleaseSeries(made)
    series.release(people()[:40])
    series.save(tmp_path / "state")
    with sklearn.config_context(print_changed_only=False):
        assert len(ReleaseSeries.load(tmp_path / "state", made).release(people())) == 60
        assert len(series.release(people())) == 60


def test_the_state_of_another_version_says_which_one_it_needs(path, tmp_path):
    other = tmp_path / "other"
    with ZipFile(path) as old, ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "state.json":
                about = json.loads(content) | {"format": 99, "written_by": "9.9.9"}
                content = json.dumps(about).encode()
            new.writestr(name, content)
    path.with_name("other.key").write_bytes(path.with_name("state.key").read_bytes())
    with pytest.raises(
        ValueError,
        match=r"written by sk_microagg 9\.9\.9 in format 99, .* reads format \d+: contin",
    ):
        load_state(other)


def test_without_its_secret_the_state_says_nothing_of_the_order_of_a_table(path):
    """Otherwise, a sorted register beside it would name the people."""
    series = ReleaseSeries.load(path, aggregator())
    series.release(people()[3:])
    series.save(path)
    state = load_state(path)
    register = {state.key(unit): place for place, unit in enumerate(people()["id"])}
    for keys in (state.keys, state.owners):
        places = np.array([register[key] for key in keys])
        assert np.sum(places == np.arange(len(places))) < 10
        assert np.sum(np.diff(places) == 1) < 10
    ill = np.array(state.rows["ill"].to_pylist())
    assert np.sum(ill == people()["ill"]) < 10
    # Each row is still that of its owner.
    assert [f"D{register[key]:03}" for key in state.owners] == ill.tolist()


@pytest.mark.parametrize(
    "units",
    [
        [1, "1", *range(2, 20)],
        [True, *range(19)],
        ["a", None, *map(str, range(18))],
        [b"a", *map(str, range(19))],
    ],
)
def test_people_are_named_by_values_of_one_kind(units):
    table = people()[:20].assign(id=pd.Series(units, dtype=object))
    with pytest.raises(
        ValueError, match=r"^unit: (people must be named by|1 of 20 rows does not say)"
    ):
        ReleaseSeries(aggregator()).release(table)


def test_numbers_of_any_type_name_people():
    units = [np.int32(0), 1, 2.0, np.float64(3), *range(4, 20)]
    series = ReleaseSeries(aggregator())
    series.release(people()[:20].assign(id=pd.Series(units, dtype=object)))
    assert len(series.release(people()[:20].assign(id=range(20)))) == 20
    assert series.n_left_ == 0


def test_a_table_of_other_people_is_refused(path):
    series = ReleaseSeries.load(path, aggregator())
    with pytest.raises(ValueError, match=r"^unit: nobody of the earlier releases is in the table"):
        series.release(people().assign(id=range(60)))
