"""DaskTableAggregator on workers that are processes of their own, some of which are killed."""

import gc
import os
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from marks import case
from numpy.testing import assert_array_equal

from sk_microagg import MicroAggregator
from sk_microagg.metrics import anonymity_level
from sk_microagg.privacy import LDiversity
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.scale import _bundles

dask = pytest.importorskip("dask", reason="Dask is an extra")
dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
distributed = pytest.importorskip("distributed", reason="Dask is an extra")

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.first]

NAMES = ["age", "income", "share"]
PARAMETERS = {
    "k": 3,
    "block_size": 120,
    "refiner": IteratedLocalSearch(max_iter=20),
    "random_state": 0,
}
kills = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
every_shuffle = pytest.mark.parametrize("shuffle", ["disk", "memory"])


@pytest.fixture(name="X", scope="module")
def dask_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1200, 3)) * [1.0, 200.0, 0.05], columns=NAMES)
    return dd.from_pandas(table.assign(visits=rng.poisson(3, size=1200)), npartitions=4)


@pytest.fixture(name="new", scope="module")
def dask_table_of_new_rows():
    values = np.random.default_rng(1).normal(size=(90, 3)) * [1.0, 200.0, 0.05]
    return dd.from_pandas(pd.DataFrame(values, columns=NAMES), npartitions=2)


@pytest.fixture(name="threads", scope="module")
def release_of_threads(X, new):
    """Release and new rows as threads compute them, before there is a cluster."""
    return run(X, new, sample_size=1000, shuffle="disk")


@pytest.fixture(name="cluster", scope="module")
def start_two_workers(threads):
    # A killed worker may take longer to come back than a cluster waits for it, on a busy machine.
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"})
    with patience, start(n_workers=2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(name="client")
def wait_for_two_workers(cluster):
    cluster.wait_for_workers(2, timeout=240)  # One may just have been killed.
    return cluster


@pytest.fixture(autouse=True)
def make_bundles_small(monkeypatch):
    """A task processes two or three blocks of such small tables, not all of them."""
    monkeypatch.setattr(_bundles, "BUNDLE_BYTES", 6000)


def start(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        memory_limit="1GiB",
    )


def run(X, new, **parameters):
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, **PARAMETERS, **parameters)
    release = aggregator.fit_transform(X).compute()
    return release, aggregator.transform(new).compute()


def assert_same(results, expected):
    for result, expected_result in zip(results, expected, strict=True):
        pd.testing.assert_frame_equal(result, expected_result)


# Equal results of any number of workers


@pytest.mark.parametrize("shuffle", ["auto", "disk"])  # Such tables are in memory by "auto".
def test_two_workers_make_the_release_of_threads(client, X, new, threads, shuffle):
    assert_same(run(X, new, sample_size=1000, shuffle=shuffle), threads)


@pytest.mark.release
def test_one_worker_makes_the_release_of_threads(X, new, threads):
    with start(n_workers=1) as cluster, distributed.Client(cluster):
        for shuffle in ("disk", "memory"):
            assert_same(run(X, new, sample_size=1000, shuffle=shuffle), threads)


def test_release_is_that_of_micro_aggregator(client, X):
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle="memory", **PARAMETERS)
    release = aggregator.fit_transform(X)
    expected = MicroAggregator(**PARAMETERS, decimals="auto").fit_transform(X[NAMES].compute())
    assert_array_equal(release[NAMES].compute(), expected)
    assert anonymity_level(release[NAMES]) == anonymity_level(expected) >= 3


def test_constraints_units_and_strata(client, X):
    V = X.assign(
        patient=(X["visits"] * 31 + X["age"].round(1) * 10).astype(int).astype(str),
        ward=(X["share"] * 20).round().clip(-1, 1).astype(int).astype(str),
    )
    parameters = PARAMETERS | {"privacy": LDiversity(3), "refiner": "local_search"}
    aggregator = DaskTableAggregator(
        quasi_identifiers=NAMES,
        shuffle="disk",
        **parameters,
        sensitive="visits",
        unit="patient",
        strata="ward",
    )
    release = aggregator.fit_transform(V)
    table = V.compute()
    memory = MicroAggregator(**parameters, decimals="auto")
    expected = memory.fit_transform(
        table[NAMES], sensitive=table["visits"], unit=table["patient"], strata=table["ward"]
    )
    assert_array_equal(release[NAMES].compute(), expected)
    assert_array_equal(
        aggregator.transform(V[[*NAMES, "ward"]])[NAMES].compute(),
        memory.transform(table[NAMES][::-1], strata=table["ward"][::-1])[::-1],
    )


# Errors


def test_errors_in_a_row_reach_the_user(client, X):
    bad = X.assign(income=X["income"].where(X["visits"] < 8, np.inf))
    with pytest.raises(ValueError, match="'income' of X: some cells are infinite"):
        DaskTableAggregator(quasi_identifiers=NAMES).fit(bad)


@every_shuffle
def test_rows_do_not_outlive_a_failure(client, X, tmp_path, shuffle):
    class Fails:
        def build(self, X, k):
            raise RuntimeError("no groups today")

    aggregator = DaskTableAggregator(
        quasi_identifiers=NAMES, builder=Fails(), shuffle=shuffle, folder=tmp_path
    )
    with pytest.raises(RuntimeError, match="no groups today"):
        aggregator.fit(X)
    assert not list(tmp_path.rglob("rows-*"))
    assert not hasattr(aggregator, "n_rows_")


# Workers that are killed


def make_builder(folder, fatal):
    """A builder that kills its worker at one call, counted over all workers."""

    # Workers cannot import this file, so the class reaches them as a part of the builder.
    class Kills:
        def build(self, X, k):
            import os
            import signal

            from sk_microagg.builders import MDAV

            call = 0
            while True:
                try:
                    os.close(os.open(folder / f"call-{call}", os.O_CREAT | os.O_EXCL))
                    break
                except FileExistsError:
                    call += 1
            if call == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return MDAV().build(X, k)

    folder.mkdir()
    return Kills()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(name="write", scope="module")
def write_with_a_fatal_call(X, new):
    """Write a release; return its files, new rows, and the numbers of calls and of blocks."""

    def write(folder, shuffle, fatal=None):
        aggregator = DaskTableAggregator(
            quasi_identifiers=NAMES,
            builder=make_builder(folder / "calls", fatal),
            folder=folder / "rows",
            shuffle=shuffle,
            **PARAMETERS,
        )
        aggregator.fit_transform(X, path=folder / "release")
        moved = aggregator.transform(new).compute()
        n_calls = len(list((folder / "calls").iterdir()))
        return contents(folder / "release"), moved, n_calls, aggregator.n_blocks_

    return write


@pytest.fixture(name="undisturbed", scope="module")
def write_undisturbed(cluster, write, tmp_path_factory):
    before = cluster.run(os.getpid)
    *results, n_calls, n_blocks = write(tmp_path_factory.mktemp("undisturbed"), "disk")
    assert n_calls == n_blocks == 16
    assert cluster.run(os.getpid) == before
    return results


@kills
@every_shuffle
def test_a_worker_that_is_killed_changes_nothing(client, undisturbed, write, tmp_path, shuffle):
    files, moved = undisturbed
    before = set(client.run(os.getpid).values())
    files_again, moved_again, n_calls, n_blocks = write(tmp_path, shuffle, fatal=8)
    # A worker did die, half way through the blocks, and some were done again.
    assert len(before - set(client.run(os.getpid).values())) == 1
    assert n_calls > n_blocks == 16
    assert len(files) == 4
    assert files_again == files
    pd.testing.assert_frame_equal(moved_again, moved)


@kills
def test_releases_outlive_their_estimators_and_a_worker(client, X):
    releases, expected = {}, {}
    for shuffle in ("disk", "memory"):
        aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **PARAMETERS)
        releases[shuffle] = aggregator.fit_transform(X)
        expected[shuffle] = releases[shuffle].compute()
    del aggregator
    gc.collect()
    process_of, held_by = client.run(os.getpid), client.has_what()
    worker = max(process_of, key=lambda worker: len(held_by[worker]))
    assert held_by[worker]
    os.kill(process_of[worker], signal.SIGKILL)
    for shuffle, release in releases.items():
        with case(shuffle=shuffle):
            pd.testing.assert_frame_equal(release.compute(), expected[shuffle])
