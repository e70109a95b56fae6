"""Files as releases of a series: with their state, or neither; killed at any moment."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracles.series import broken_rules

from sk_microagg import LDiversity
from sk_microagg._cli._voice import SHELL
from sk_microagg._series import load_state, locked_state
from sk_microagg.release import RequestError, release_file
from sk_microagg.release._release import Progress
from sk_microagg.release._request import ReleaseRequest

pytestmark = pytest.mark.usefixtures("few_steps")

ROLES = {"unit": "id", "sensitive": ["ill"], "k": 4}
BEGIN = ROLES | {"series_begin": True}
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
        roles = ROLES if year else BEGIN
        summary = release_file(path, output, series=tmp_path / "series", **roles)
        release = pd.read_csv(output) if suffix == ".csv" else pd.read_parquet(output)
        assert list(release) == [*QUASI, "ill"]
        facts = summary.to_dict()
        assert (facts["series"], facts["row_order"]) == (year + 1, "random")
        assert facts["people"] == len(release)
        assert facts["left"] == [0, 2, 5][year]
        assert facts["rows_of_today"] + facts["frozen"] + facts["left"] == len(release)
        releases.append(release)
        state = load_state(tmp_path / "series")
        rows = state.centroids.to_pandas().astype(str).agg("|".join, axis=1)
        by_key = {k: rows[g] for k, g in zip(state.keys, state.groups, strict=True)}
        keys.append(by_key)
        assert sorted(by_key.values()) == sorted(release[QUASI].astype(str).agg("|".join, axis=1))
    rows = [[[row] for row in by_key.values()] for by_key in keys]
    assert broken_rules(rows, [[*by_key] for by_key in keys], 4) == set()
    # Nobody's value changes, so that those of today and the last ones are the same.
    assert sorted(releases[2]["ill"]) == sorted(pd.concat([years[2], years[0][:5]])["ill"])


@pytest.mark.slow
def test_the_same_as_in_python(tmp_path, years):
    from sk_microagg import ReleaseSeries, TableAggregator

    aggregator = TableAggregator(4, unit="id", sensitive=["ill"], random_state=0)
    series = ReleaseSeries(aggregator)
    for year, table in enumerate(years):
        path, output = written(table, tmp_path / "in.csv"), tmp_path / f"out{year}.csv"
        release_file(path, output, series=tmp_path / "series", **(ROLES if year else BEGIN))
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
        ({"card": "card.html"}, "not_in_series"),
        ({"hold": 1.0}, "bad_value"),
        ({"spare": -1}, "bad_value"),
        ({"values": "old"}, "bad_value"),
        ({"leavers": "go"}, "bad_value"),
        ({"report": "series"}, "same_file"),
        ({"series": None, "hold": 0.5}, "needs"),
        ({"series": None, "erase": ["P1"]}, "needs"),
        ({"series": None, "leavers": "withdraw_group"}, "needs"),
        ({"series": None, "values": "first"}, "needs"),
        ({"series": None, "spare": 1}, "needs"),
    ],
)
def test_requests_that_are_refused(tmp_path, years, monkeypatch, settings, code):
    monkeypatch.chdir(tmp_path)
    path = written(years[0], tmp_path / "in.csv")
    given = BEGIN | {"series": "series"} | settings
    given["series_begin"] = given["series"] is not None
    assert refused(path, "out.csv", **given).code == code
    assert sorted(os.listdir()) == ["in.csv"]


def test_files_that_are_refused(tmp_path, years):
    path, state = written(years[0], tmp_path / "in.csv"), tmp_path / "series"
    output = tmp_path / "out.csv"
    assert refused(path, "-", series=state, **BEGIN).code == "no_file"
    assert refused(path, output, series=path, **BEGIN).code == "same_file"
    few = written(years[0][:3], tmp_path / "few.csv")
    assert refused(few, output, series=state, **BEGIN).code == "bad_input"
    assert not state.exists()
    release_file(path, output, series=state, **BEGIN)
    before = state.read_bytes()
    error = refused(path, tmp_path / "b.csv", series=state, **ROLES | {"k": 5})
    assert error.code == "other_series"
    assert "earlier releases have k=4, but this request has k=5: they must be" in str(error)
    # In the words of the command line.
    error = refused(path, tmp_path / "b.csv", series=state, **ROLES | {"privacy": LDiversity(3)})
    assert "releases have no constraint, but this request has --l 3" in error.in_words(SHELL)
    error = refused(path, tmp_path / "b.csv", series=state, **ROLES | {"sensitive": []})
    assert "releases have --quasi-identifiers age, town, seen, but" in error.in_words(SHELL)
    text = written(years[1].assign(id=None), tmp_path / "text.csv")
    assert refused(text, tmp_path / "b.csv", series=state, **ROLES).code == "bad_cells"
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
        error = refused(path, output, series=state, **(ROLES if n_releases else BEGIN))
        assert error.code == "cannot_write"
        assert not output.exists()
        if n_releases:
            assert load_state(state).n_releases == 1
        else:
            assert not state.exists()
            release_file(path, tmp_path / "first.csv", series=state, **BEGIN)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_series_is_begun_once_and_continued_where_its_state_is(tmp_path, years):
    path, state = written(years[0], tmp_path / "in.csv"), tmp_path / "series"
    key, output = tmp_path / "series.key", tmp_path / "out.csv"
    error = refused(path, output, series=state, **ROLES)
    assert error.code == "no_series"
    assert "series_begin" in str(error)
    release_file(path, output, series=state, **BEGIN)
    before = [file.read_bytes() for file in (state, key)]
    for name in ("series", "mistyped"):
        settings = BEGIN if name == "series" else ROLES
        error = refused(path, tmp_path / "b.csv", series=tmp_path / name, **settings)
        assert error.code == ("series_exists" if name == "series" else "no_series")
    assert [file.read_bytes() for file in (state, key)] == before
    state.unlink()
    for settings, code in ((ROLES, "no_series"), (BEGIN, "series_exists")):
        assert refused(path, tmp_path / "b.csv", series=state, **settings).code == code
    assert key.read_bytes() == before[1]
    assert not (tmp_path / "b.csv").exists()


def test_an_older_state_is_refused(tmp_path, years):
    path, state = written(years[0], tmp_path / "in.csv"), tmp_path / "series"
    release_file(path, tmp_path / "first.csv", series=state, **BEGIN)
    backup = state.read_bytes()
    release_file(path, tmp_path / "second.csv", series=state, **ROLES)
    state.write_bytes(backup)
    error = refused(path, tmp_path / "third.csv", series=state, **ROLES)
    assert error.code == "bad_series"
    assert "is older than" in str(error)


def test_a_state_in_use_is_refused(tmp_path, years):
    path, state = written(years[0], tmp_path / "in.csv"), tmp_path / "series"
    with locked_state(state):
        error = refused(path, tmp_path / "out.csv", series=state, **BEGIN)
    assert error.code == "series_in_use"
    assert sorted(os.listdir(tmp_path)) == ["in.csv"]


@pytest.mark.slow
def test_of_two_commands_at_once_one_is_made_or_one_follows_the_other(tmp_path, years):
    state = tmp_path / "series"
    table = written(years[1], tmp_path / "in.csv")
    release_file(written(years[0], tmp_path / "y.csv"), tmp_path / "o.csv", series=state, **BEGIN)
    command = [sys.executable, "-P", "-m", "sk_microagg", "anonymize", str(table)]
    options = ["--series", str(state), "--unit", "id", "--sensitive", "ill", "-k", "4", "--quiet"]
    started = [
        subprocess.Popen(
            [*command, str(tmp_path / f"out{seed}.csv"), *options, "--seed", str(seed)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(3)
    ]
    errors = [process.communicate()[1] for process in started]
    made = [number for number, process in enumerate(started) if process.returncode == 0]
    assert len(made) >= 1, errors
    assert load_state(state).n_releases == 1 + len(made)
    for number, error in enumerate(errors):
        assert (tmp_path / f"out{number}.csv").exists() == (number in made)
        assert number in made or "is in use" in error
    # All that were made have the same groups.
    rows = [pd.read_csv(tmp_path / f"out{number}.csv")[QUASI] for number in made]
    classes = [sorted(map(tuple, each.astype(str).to_numpy())) for each in rows]
    assert all(each == classes[0] for each in classes)


def test_kinds_are_those_of_the_first_release(tmp_path, years):
    rng = np.random.default_rng(0)
    zips = ["01067", "20095", "53111", "80331"]
    first, later = (table.assign(zip=rng.choice(zips, len(table))) for table in years[:2])
    state = tmp_path / "series"
    release_file(written(first, tmp_path / "a.csv"), tmp_path / "o.csv", series=state, **BEGIN)
    # No code in this table has a leading zero: by themselves, all look like numbers.
    later = later[later["zip"] != "01067"]
    path = written(later, tmp_path / "b.csv")
    summary = release_file(path, tmp_path / "p.csv", series=state, **ROLES)
    about = {one["name"]: one for one in summary.to_dict()["columns"]}["zip"]
    assert (about["kind"], about["recognized"]) == ("category", "as in earlier releases")
    released = {*pd.read_csv(tmp_path / "p.csv", dtype=str)["zip"].dropna()}
    assert released <= {*zips}
    error = refused(path, tmp_path / "q.csv", series=state, number=["zip"], **ROLES)
    assert error.code == "other_series"


@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_what_the_summary_says(tmp_path, years, suffix):
    rng = np.random.default_rng(0)
    first, second = (table.assign(cost=rng.normal(50, 9, len(table))) for table in years[:2])
    state, output = tmp_path / "series", tmp_path / f"out.{suffix}"
    roles = {**ROLES, "sensitive": ["ill", "cost"]}
    path = written(first, tmp_path / f"a.{suffix}")
    facts = release_file(path, output, series=state, series_begin=True, **roles).to_dict()
    # In the first release, everybody has one row.
    alone = release_file(path, tmp_path / f"b.{suffix}", **roles | {"unit": None, "drop": ["id"]})
    alone = alone.to_dict()
    assert facts["information_loss"] == pytest.approx(alone["information_loss"], rel=0.02)
    assert [one["name"] for one in facts["columns"]] == [one["name"] for one in alone["columns"]]
    path = written(second, tmp_path / f"c.{suffix}")
    facts = release_file(path, output, series=state, overwrite=True, **roles).to_dict()
    release = pd.read_csv(output) if suffix == "csv" else pd.read_parquet(output)
    compared = {one["name"]: one for one in facts["compared"]}
    assert list(compared) == [*QUASI, "ill", "cost"]
    assert compared["cost"]["mean"] == pytest.approx(release["cost"].mean())
    assert compared["cost"]["mean_in_table"] == pytest.approx(second["cost"].mean())
    shares = [table["ill"].value_counts(normalize=True) for table in (release, second)]
    assert compared["ill"]["largest_difference"] == pytest.approx(
        (shares[0] - shares[1]).abs().max()
    )
    # All rows of frozen groups are older, as are those of the two who left.
    assert facts["left"] == 2
    assert facts["frozen"] > 0
    in_table = release["cost"].round(9).isin(second["cost"].round(9))
    assert facts["rows_of_today"] == in_table.sum()
    assert 0 < facts["information_loss"] < 1


def test_a_real_k_below_k_is_told(tmp_path, years):
    state, roles = tmp_path / "series", ROLES | {"leavers": "keep"}
    path = written(years[0], tmp_path / "in.csv")
    summary = release_file(path, tmp_path / "a.csv", series=state, series_begin=True, **roles)
    assert summary.to_dict()["real_k"] >= 4
    path = written(years[0][6:], tmp_path / "in.csv")
    request = ReleaseRequest(path, tmp_path / "b.csv", series=state, **roles)
    summary = release_file(request, progress=Progress())
    assert summary.to_dict()["real_k"] < 4
    assert "real_k" in [message.code for message in summary.warnings]


@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
@pytest.mark.parametrize("values", ["today", pytest.param("first", marks=pytest.mark.slow)])
def test_a_report_of_a_series(tmp_path, years, suffix, values):
    pytest.importorskip("matplotlib")
    state, roles = tmp_path / "series", ROLES | {"privacy": LDiversity(2), "values": values}
    for year, table in enumerate(years[:2]):
        summary = release_file(
            written(table, tmp_path / f"in{year}.{suffix}"),
            tmp_path / f"out{year}.{suffix}",
            series=state,
            series_begin=year == 0,
            report=tmp_path / f"report{year}.json",
            **roles,
        )
        report = json.loads((tmp_path / f"report{year}.json").read_text(encoding="utf-8"))
        facts = summary.to_dict()
        assert facts["report"] == str(tmp_path / f"report{year}.json")
        assert f"Release {year + 1}. All figures" in report["method"]["Series"]
        assert f"{facts['records']:,} rows" in report["method"]["Series"]
        assert report["protection"]["k_achieved"] >= 4
        assert [one["holds"] for one in report["protection"]["constraints"]] == [True]
        assert report["release"]["shuffled"]
        # Of frozen groups, nothing is measured.
        assert report["records"] <= facts["records"] - facts["left"]
        assert year or report["records"] == facts["records"]
        states = {one["state"] for one in report["verdicts"]}
        assert "broken" not in states


def test_nothing_is_written_if_there_is_nothing_to_report_on(tmp_path, years):
    state, path = tmp_path / "series", written(years[0], tmp_path / "in.csv")
    release_file(path, tmp_path / "a.csv", series=state, **BEGIN)
    before = state.read_bytes()
    few = written(years[0][::6], tmp_path / "few.csv")
    report = tmp_path / "report.html"
    error = refused(few, tmp_path / "b.csv", series=state, report=report, **ROLES)
    assert error.code == "bad_input"
    assert "rows follow the table" in str(error)
    assert state.read_bytes() == before
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.slow
def test_unchanged_columns_of_any_type(tmp_path, years):
    for year, table in enumerate(years[:2]):
        path = written(table.assign(visits=[[1, 2]] * len(table)), tmp_path / f"{year}.parquet")
        output = tmp_path / f"out{year}.parquet"
        roles = {**(ROLES if year else BEGIN), "quasi_identifiers": QUASI}
        summary = release_file(path, output, series=tmp_path / "series", **roles)
        assert pd.read_parquet(output)["visits"].map(list).tolist() == [[1, 2]] * (30 + 10 * year)
        assert "visits" not in [one["name"] for one in summary.to_dict()["compared"]]


# The first argument is the table, the second says whether a series is begun, and the others are
# numbers of steps after which a process is killed, each in a folder of that name. Prints the first
# number that is not reached.
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
roles = {"unit": "id", "sensitive": ["ill"], "k": 4, "series_begin": sys.argv[2] == "begin"}
for steps in map(int, sys.argv[3:]):
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
@pytest.mark.parametrize("begins", [True, False])
def test_killed_at_any_moment_there_is_the_old_state_or_the_new_one(tmp_path, years, begins):
    first, second = (written(t, tmp_path / f"in{i}.csv") for i, t in enumerate(years[:2]))
    made = tmp_path / "made"
    made.mkdir()
    if not begins:
        release_file(first, made / "first.csv", series=made / "series", **BEGIN)
    numbers = [*map(str, range(1, 50))]
    for steps in numbers:
        shutil.copytree(made, tmp_path / steps)
    what = "begin" if begins else "continue"
    command = [sys.executable, "-P", "-c", KILLED, str(second), what]
    # One process starts all others where it can: imports take longer than releases.
    starts = [numbers] if hasattr(os, "fork") else [[number] for number in numbers]
    for start in starts:
        done = subprocess.run([*command, *start], cwd=tmp_path, stdout=subprocess.PIPE, check=False)
        assert done.returncode == (0 if done.stdout else 9)
        if done.stdout:
            break
    n_steps = int(done.stdout)
    assert 6 < n_steps < 49
    n_before = 0 if begins else 1
    assert load_state(tmp_path / str(n_steps) / "series").n_releases == n_before + 1
    for steps in range(1, n_steps):
        folder = tmp_path / str(steps)
        state, output = folder / "series", folder / "out.csv"
        n_releases = load_state(state).n_releases if state.exists() else 0
        is_made = n_releases == n_before + 1
        assert is_made or not output.exists()
        # The next command completes a release that was made, or makes it.
        roles = ROLES if n_releases else BEGIN
        request = ReleaseRequest(second, folder / "next.csv", series=state, **roles)
        summary = release_file(request, progress=Progress())
        is_completed = "completed" in [message.code for message in summary.warnings]
        assert output.exists() == is_made
        assert is_made or not is_completed
        assert load_state(state).n_releases == n_releases + 1
        if is_made:
            pair = [sorted(p.read_text().splitlines()) for p in (output, folder / "next.csv")]
            assert pair[0] == pair[1]


def test_the_request_keeps_paths_as_text(tmp_path):
    assert ReleaseRequest("a.csv", "b.csv", series=tmp_path / "s").series == str(tmp_path / "s")
