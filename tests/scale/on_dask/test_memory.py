"""Memory on Dask: bounded by blocks and parts, whatever the columns; an error before the work."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg import TableAggregator
from sk_microagg._model import _points
from sk_microagg.tables import _coordinates

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
from sk_microagg.scale import (  # noqa: E402
    DaskTableAggregator,
    _bundles,
    _dask_table,
    _parquet,
    _transit,
)

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

# Prints by how much the memory of this process grew at most, in MB.
MEASURE = """
from pathlib import Path
import numpy as np, pandas as pd
{imports}

def peak():
    [line] = [one for one in Path("/proc/self/status").read_text().split("\\n") if "VmHWM" in one]
    return int(line.split()[1]) / 1e3

{before}
Path("/proc/self/clear_refs").write_text("5")  # The peak is that from here on.
start = peak()
{work}
print(peak() - start)
"""
measured = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def draw(n, n_values=229, seed=0):
    rng = np.random.default_rng(seed)
    values = np.array([f"value {number:03d}" for number in range(n_values)])
    columns = {name: values[rng.integers(0, n_values, n)] for name in ("country", "job")}
    return pd.DataFrame({"income": rng.normal(size=n).round(2), **columns})


def measure(folder, **code):
    script = folder / "script.py"
    script.write_text(MEASURE.format(**code))
    done = subprocess.run(
        [sys.executable, "-P", script], capture_output=True, text=True, check=True, cwd=folder
    )
    return float(done.stdout)


@pytest.mark.release
@measured
def test_codes_of_many_values_take_little_memory(tmp_path):
    draw(60_000).to_parquet(tmp_path / "table.parquet")
    grown = measure(
        tmp_path,
        imports="import dask\nfrom sk_microagg.scale import DaskTableAggregator",
        before="""
class InOrder:
    def build(self, X, k):
        return np.minimum(np.arange(len(X)) // k, len(X) // k - 1)

dask.config.set(scheduler="synchronous")
parameters = {"builder": InOrder(), "refiner": None, "random_state": 0, "sample_size": 20_000}
pd.read_parquet("table.parquet")
""",
        work="""
aggregator = DaskTableAggregator(5, **parameters)
release = aggregator.fit_transform("table.parquet", path="release.parquet")
aggregator.transform("table.parquet", path="again.parquet")
""",
    )
    # All points together, with 459 coordinates each, have 220 MB.
    assert grown < 200


@pytest.mark.slow
@measured
@pytest.mark.parametrize(("n", "d"), [pytest.param(3000, 60, marks=pytest.mark.release), (5000, 8)])
def test_estimate_of_the_memory_of_a_block(tmp_path, n, d):
    grown = measure(
        tmp_path,
        imports="from sk_microagg import microaggregate",
        before=f"X = np.random.default_rng(0).normal(size=({n}, {d}))\nmicroaggregate(X[:100], 5)",
        work="microaggregate(X, 5)",
    )
    estimate = _transit.bytes_of_block(n, d) / 1e6
    assert estimate / 4 < grown < estimate


@pytest.fixture(name="small_worker")
def worker_with_little_memory(monkeypatch):
    """A thread of it has 10 MB."""
    limit = (_transit.PROCESS_BYTES + 10e6) / _transit.USABLE_SHARE
    monkeypatch.setattr(
        _dask_table, "_workers", lambda: [{"memory_limit": limit, "nthreads": 1}] * 2
    )


class Never:
    def build(self, X, k):
        raise AssertionError("no rows may be grouped")


@pytest.mark.slow
def test_error_up_front_if_blocks_need_more_memory_than_workers_have(small_worker, tmp_path):
    X = dd.from_pandas(draw(12_000, n_values=10), npartitions=10)
    aggregator = DaskTableAggregator(5, builder=Never(), block_size=None, folder=tmp_path)
    message = (
        r"block_size=None: a block of about 12000 rows with 21 coordinates needs about 0.024 GiB, "
        r"but a worker has 0.0093 GiB for each of its threads. It must be at most 4595; or give "
        "workers more memory"
    )
    with pytest.raises(ValueError, match=message):
        aggregator.fit(X)
    assert not list(tmp_path.rglob("*"))  # No row has left its part.
    aggregator.set_params(builder="mdav", refiner=None, block_size=1500).fit(X)
    assert aggregator.n_blocks_ >= 8


@pytest.mark.slow
def test_error_up_front_if_parts_need_more_memory_than_workers_have(small_worker):
    X = dd.from_pandas(draw(60_000, n_values=10), npartitions=1)
    aggregator = DaskTableAggregator(5, builder=Never(), block_size=1000)
    with pytest.raises(ValueError, match=r"60000 rows.* 0[.]038 GiB"):
        aggregator.fit(X)


def test_threads_of_this_process_share_its_memory(monkeypatch):
    import dask

    system = pytest.importorskip("distributed.system")
    monkeypatch.setattr(system, "MEMORY_LIMIT", 2**30)
    with dask.config.set(scheduler="threads", num_workers=4):
        of_four = _dask_table.DaskTable(None).bytes_per_thread()
    with dask.config.set(scheduler="synchronous"):
        assert _dask_table.DaskTable(None).bytes_per_thread() == 4 * of_four == 0.95 * 2**30 - 180e6


def test_blocks_of_auto_size_are_smaller_with_many_columns():
    assert _transit.limit_block_size(25_000, 8, 5) == 25_000
    assert _transit.limit_block_size(25_000, 400, 5) == 10_000
    assert _transit.limit_block_size(5_000_000, 400, 1000) == 100_000


def test_parts_of_parquet_files_are_small_in_memory_as_well(tmp_path, monkeypatch):
    draw(8000).to_parquet(tmp_path / "table.parquet", row_group_size=1000)
    assert _parquet.read_parquet(tmp_path / "table.parquet").npartitions == 1
    monkeypatch.setattr(_parquet, "PART_BYTES_IN_MEMORY", 300_000)
    table = _parquet.read_parquet(tmp_path / "table.parquet")
    assert table.npartitions == 4
    assert len(table) == 8000


@pytest.fixture(name="large")
def count_as_large(monkeypatch):
    """Tables of some thousand rows with more than 64 values are large."""
    monkeypatch.setattr(_coordinates, "MAX_DENSE_CELLS", 100_000)
    monkeypatch.setattr(_points, "MAX_CELLS", 100_000)
    monkeypatch.setattr(_points, "MIN_RECORDS", 100)


@pytest.mark.slow
def test_large_tables_of_codes_are_released_as_in_memory(large):
    table = draw(2500, n_values=50)
    X = dd.from_pandas(table, npartitions=3)
    aggregator = DaskTableAggregator(5, refiner="exchange", random_state=0)
    expected = TableAggregator(5, refiner="exchange", random_state=0)
    release = expected.fit_transform(table)
    assert_array_equal(aggregator.fit_transform(X).compute(), release)
    assert aggregator.n_blocks_ == expected.n_blocks_ > 2
    assert aggregator.exact_transform_
    assert expected.exact_transform_
    assert_array_equal(aggregator.transform(X).compute(), release)
    assert_array_equal(expected.transform(table), release)


@pytest.mark.slow
def test_batches_of_points_change_nothing(monkeypatch):
    X = dd.from_pandas(draw(2000, n_values=8), npartitions=2)
    parameters = {"k": 5, "refiner": None, "block_size": 400, "sample_size": 1000}
    whole = DaskTableAggregator(**parameters)
    release = whole.fit_transform(X).compute()
    again = whole.transform(X).compute()
    monkeypatch.setattr(_bundles, "BATCH_BYTES", 30_000)
    batches = DaskTableAggregator(**parameters)
    assert_array_equal(batches.fit_transform(X).compute(), release)
    assert_array_equal(batches.transform(X).compute(), again)
    assert_allclose(batches.information_loss_, whole.information_loss_, rtol=1e-12)
