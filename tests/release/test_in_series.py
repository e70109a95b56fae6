"""Files as releases of a series: with their state, or neither; killed at any moment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracles.series import broken_rules

from sk_microagg._series_state import SeriesState
from sk_microagg.release import RequestError, release_file
from sk_microagg.release._release import Progress
from sk_microagg.release._request import ReleaseRequest

pytestmark = pytest.mark.usefixtures("few_steps")

ROLES = {"unit": "id", "sensitive": ["ill"], "k": 4}
QUASI = ["age", "town", "seen"]


@pytest.fixture
def years():
    """The tables of three years, in which some leave and some come."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"P{i}" for i in range(60)],
            "age": rng.integers(20, 80, 60),
            "town": rng.choice(["Bonn", "Ulm"], 60),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), "D"),
            "ill": rng.choice(["flu", "gout", "cold"], 60),
        }
    )
    return [table[:30], table[2:40], table[5:]]


def written(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", pytest.param(".parquet", marks=pytest.mark.slow)])
def test_the_rule_holds_for_files(tmp_path, years, suffix):
    releases, keys = [], []
    for year, table in enumerate(years):
        output = tmp_path / f"out{year}{suffix}"
        path = written(table, tmp_path / f"in{year}{suffix}")
        summary = release_file(path, output, series=tmp_path / "series", **ROLES)
        release = pd.read_csv(output) if suffix == ".csv" else pd.read_parquet(output)
        assert list(release) == [*QUASI, "ill"]
        facts = summary.to_dict()
        assert (facts["series"], facts["row_order"]) == (year + 1, "random")
        assert facts["people"] == len(release)
        assert facts["left"] == [0, 2, 5][year]
        releases.append(release)
        state = SeriesState.load(tmp_path / "series")
        rows = state.centroids.to_pandas().astype(str).agg("|".join, axis=1)
        by_key = {k: rows[g] for k, g in zip(state.keys, state.groups, strict=True)}
        keys.append(by_key)
        assert sorted(by_key.values()) == sorted(release[QUASI].astype(str).agg("|".join, axis=1))
    rows = [[[row] for row in by_key.values()] for by_key in keys]
    assert broken_rules(rows, [[*by_key] for by_key in keys], 4) == set()
    # Those who are in a release have their values of today, and the others their last ones.
    assert sorted(releases[2]["ill"]) == sorted(pd.concat([years[2], years[0][:5]])["ill"])


@pytest.mark.slow
def test_the_same_as_in_python(tmp_path, years):
    from sk_microagg import ReleaseSeries, TableAggregator

    aggregator = TableAggregator(
        4, unit="id", sensitive=["ill"], decimals={"age": 0}, random_state=0
    )
    series = ReleaseSeries(aggregator)
    for year, table in enumerate(years):
        path, output = written(table, tmp_path / "in.csv"), tmp_path / f"out{year}.csv"
        release_file(path, output, series=tmp_path / "series", **ROLES)
        ours = series.release(table).assign(seen=lambda rows: rows["seen"].dt.strftime("%Y-%m-%d"))
        theirs = pd.read_csv(output)
        rows = [sorted(map(tuple, release.astype(str).to_numpy())) for release in (ours, theirs)]
        assert rows[0] == rows[1]


def refused(*paths, **settings):
    with pytest.raises(RequestError) as caught:
        release_file(*paths, **settings)
    return caught.value


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"unit": None}, "needs"),
        ({"method": "kaim"}, "not_in_series"),
        ({"categories": "shares"}, "not_in_series"),
        ({"certificate": 1.0}, "not_in_series"),
        ({"report": "report.html"}, "not_in_series"),
        ({"hold": 1.0}, "bad_value"),
        ({"leavers": "go"}, "bad_value"),
        ({"series": None, "hold": 0.5}, "needs"),
        ({"series": None, "erase": ["P1"]}, "needs"),
        ({"series": None, "leavers": "withdraw_group"}, "needs"),
    ],
)
def test_requests_that_are_refused(tmp_path, years, monkeypatch, settings, code):
    monkeypatch.chdir(tmp_path)
    path = written(years[0], tmp_path / "in.csv")
    given = ROLES | {"series": "series"} | settings
    assert refused(path, "out.csv", **given).code == code
    assert sorted(os.listdir()) == ["in.csv"]


def test_files_that_are_refused(tmp_path, years):
    path, state = written(years[0], tmp_path / "in.csv"), tmp_path / "series"
    output = tmp_path / "out.csv"
    assert refused(path, "-", series=state, **ROLES).code == "no_file"
    assert refused(path, output, series=path, **ROLES).code == "same_file"
    few = written(years[0][:3], tmp_path / "few.csv")
    assert refused(few, output, series=state, **ROLES).code == "bad_input"
    assert not state.exists()
    release_file(path, output, series=state, **ROLES)
    before = state.read_bytes()
    error = refused(path, tmp_path / "b.csv", series=state, **ROLES | {"k": 5})
    assert error.code == "other_series"
    assert "k=5 must be 4" in str(error)
    text = written(years[1].assign(id=None), tmp_path / "text.csv")
    assert refused(text, tmp_path / "b.csv", series=state, **ROLES).code == "bad_input"
    assert state.read_bytes() == before
    (tmp_path / "series.key").unlink()
    assert refused(path, tmp_path / "b.csv", series=state, **ROLES).code == "cannot_read"
    state.write_text("no state", encoding="utf-8")
    (tmp_path / "series.key").write_bytes(b"1" * 32)
    assert refused(path, tmp_path / "b.csv", series=state, **ROLES).code == "bad_series"


def test_a_release_that_cannot_be_renamed_leaves_the_old_state(tmp_path, years, monkeypatch):
    path, state = written(years[0], tmp_path / "in.csv"), tmp_path / "series"
    replace, output = os.replace, tmp_path / "out.csv"

    def fail(source, target):
        if Path(target) == output:
            raise OSError("no room")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    for n_releases in (0, 1):
        error = refused(path, output, series=state, **ROLES)
        assert error.code == "cannot_write"
        assert not output.exists()
        if n_releases:
            assert SeriesState.load(state).n_releases == 1
        else:
            assert not state.exists()
            release_file(path, tmp_path / "first.csv", series=state, **ROLES)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


# The first argument is the table, the others are numbers of steps after which a process is killed,
# each in a folder of that name. Prints the first number that is not reached.
KILLED = """
import os, sys
import pyarrow.dataset, pyarrow.pandas_compat  # else each of the processes imports them
from sk_microagg import ReleaseSeries
from sk_microagg.refiners import _auto
from sk_microagg.release import release_file

_auto.MAX_STEPS_PER_RECORD = _auto.MIN_STEPS_PER_RECORD  # how good groups are does not matter
calls = steps = 0

def counted(function):
    def call(*arguments, **settings):
        global calls
        calls += 1
        if calls == steps:
            os._exit(9)
        done = function(*arguments, **settings)
        calls += 1
        if calls == steps:
            os._exit(9)
        return done
    return call

for name in ("replace", "fsync", "chmod", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
roles = {"unit": "id", "sensitive": ["ill"], "k": 4}
for steps in map(int, sys.argv[2:]):
    is_parent = hasattr(os, "fork") and os.fork()
    if not is_parent:
        release_file(sys.argv[1], f"{steps}/out.csv", series=f"{steps}/series", **roles)
        print(steps, flush=True)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    if code == 0:
        break
    assert code == 9
"""


@pytest.mark.slow
def test_killed_at_any_moment_there_is_the_old_state_or_the_new_one(tmp_path, years):
    first, second = (written(t, tmp_path / f"in{i}.csv") for i, t in enumerate(years[:2]))
    made = tmp_path / "made"
    made.mkdir()
    release_file(first, made / "first.csv", series=made / "series", **ROLES)
    for steps in range(1, 30):
        shutil.copytree(made, tmp_path / str(steps))
    command = [sys.executable, "-P", "-c", KILLED, str(second)]
    # One process starts all others where it can: imports take longer than releases.
    starts = [map(str, range(1, 30))] if hasattr(os, "fork") else [[str(n)] for n in range(1, 30)]
    for start in starts:
        done = subprocess.run([*command, *start], cwd=tmp_path, stdout=subprocess.PIPE, check=False)
        assert done.returncode == (0 if done.stdout else 9)
        if done.stdout:
            break
    n_steps = int(done.stdout)
    assert 6 < n_steps < 29
    assert SeriesState.load(tmp_path / str(n_steps) / "series").n_releases == 2
    for steps in range(1, n_steps):
        folder = tmp_path / str(steps)
        state, output = folder / "series", folder / "out.csv"
        n_releases = SeriesState.load(state).n_releases
        assert n_releases == 2 or not output.exists()
        # The next command completes a release that was made.
        request = ReleaseRequest(second, folder / "next.csv", series=state, **ROLES)
        summary = release_file(request, progress=Progress())
        is_completed = "completed" in [message.code for message in summary.warnings]
        assert output.exists() == (n_releases == 2)
        assert n_releases == 2 or not is_completed
        if n_releases == 2:
            pair = [sorted(p.read_text().splitlines()) for p in (output, folder / "next.csv")]
            assert pair[0] == pair[1]


def test_the_request_keeps_paths_as_text(tmp_path):
    assert ReleaseRequest("a.csv", "b.csv", series=tmp_path / "s").series == str(tmp_path / "s")
