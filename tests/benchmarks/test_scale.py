import json
import subprocess
import sys
from pathlib import Path

import pytest
import scale
from _measure import run_alone

from sk_microagg import MicroAggregator

MEASURED = {"peak_mb": 100.0, "n_blocks": 1, "exact_transform": True, "smallest_group": 5}


@pytest.fixture
def run_pretending(monkeypatch, capsys, tmp_path):
    """Run the benchmark with a function in place of all cells; what it prints and writes."""

    def run(pretend, *options):
        path = tmp_path / "results.json"
        monkeypatch.setattr(scale, "run_alone", lambda script, cell, limit: pretend(cell))
        monkeypatch.setattr(sys, "argv", ["scale.py", *options, "--json", str(path)])
        scale.main()
        return capsys.readouterr().out, json.loads(path.read_text())

    return run


def grow(cell):
    """Two jobs are faster by 1.6, and need a quarter more CPU time."""
    work = (cell["n"] / 100_000) ** (1.25 if cell["method"] == "defaults" else 1.5)
    if cell["n"] < 100_000:
        work = 1000.0  # must not count
    seconds, cpu_seconds = (work, work) if cell["jobs"] == 1 else (work / 1.6, work * 1.25)
    return MEASURED | {"seconds": seconds, "cpu_seconds": cpu_seconds, "loss_percent": 2.5}


def lose(cell):
    """Half as many blocks cost half as much, and stitching wins back three quarters of it."""
    above = 0 if cell["block_size"] is None else cell["n"] / cell["block_size"]
    loss = 4 * (1 + above / (4 if cell["stitch"] else 1) / 100)
    return MEASURED | {"seconds": 1.0, "cpu_seconds": 1.0, "loss_percent": loss}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What a quick run prints and what it writes as JSON."""
    path = tmp_path_factory.mktemp("scale") / "results.json"
    command = [sys.executable, Path(scale.__file__), "--quick", "--json", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(path.read_text())


@pytest.mark.release
def test_quick_run_measures_growth(quick):
    printed, results = quick
    cells = results["growth"]["cells"]
    assert [(cell["method"], cell["n"], cell["jobs"]) for cell in cells] == [
        (method, n, jobs) for method in scale.METHODS for n in (400, 800) for jobs in (1, 2)
    ]
    for cell in cells:
        assert min(cell["seconds"], cell["cpu_seconds"]) > 0
        assert cell["smallest_group"] >= cell["k"]
        assert cell["budget_mb"] == pytest.approx(150 * cell["jobs"] + cell["n"] * 348e-6)
        assert cell["within_budget"] == (0 <= cell["peak_mb"] <= cell["budget_mb"])
        assert f"{cell['loss_percent']:10.4f}" in printed
    assert [cell["exact_transform"] for cell in cells] == [True] * 4 + [False] * 4
    for one, two in zip(cells[::2], cells[1::2], strict=True):
        assert one["loss_percent"] == two["loss_percent"]
    assert len(results["growth"]["exponents"]) == len(results["growth"]["speedups"]) == 4


@pytest.mark.release
def test_quick_run_compares_blocks_with_one_block(quick):
    _, results = quick
    cells = results["cuts"]["cells"]
    variants = [(None, False)] + [(n, stitch) for n in (800, 400, 200) for stitch in (False, True)]
    assert [(cell["data"], cell["block_size"], cell["stitch"]) for cell in cells] == [
        (data, *variant) for data in scale.DATA for variant in variants
    ]
    shares = iter(results["cuts"]["won_back"])
    for start in range(0, len(cells), len(variants)):
        one, *others = cells[start : start + len(variants)]
        assert "loss_above_percent" not in one
        for cell in others:
            ratio = cell["loss_percent"] / one["loss_percent"]
            assert cell["loss_above_percent"] == pytest.approx(100 * (ratio - 1))
        for cut, stitched in zip(others[::2], others[1::2], strict=True):
            assert cut["n_blocks"] == 1600 // cut["block_size"]
            # Where nothing is gained, what is left is rounding.
            assert stitched["loss_percent"] <= cut["loss_percent"] * (1 + 1e-12)
            row, cost = next(shares), cut["loss_percent"] - one["loss_percent"]
            assert (row["data"], row["block_size"]) == (cut["data"], cut["block_size"])
            if cost > 0:
                won = cut["loss_percent"] - stitched["loss_percent"]
                assert row["percent"] == pytest.approx(100 * won / cost, abs=1e-9)
    assert not list(shares)


def test_growth_is_counted_from_100000_records(run_pretending):
    printed, results = run_pretending(grow, "--parts", "growth")
    cells = results["growth"]["cells"]
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    assert [(cell["d"], cell["n"]) for cell in cells[::2]] == [
        *((4, n) for n in sizes * 2),
        *((10, n) for n in sizes[:-1] * 2),
    ]
    exponents = results["growth"]["exponents"]
    assert len(exponents) == 8
    for row in exponents:
        assert (row["from"], row["to"]) == (100_000, 10**7 if row["d"] == 4 else 10**6)
        for key in ("seconds", "cpu_seconds"):
            assert row[key] == pytest.approx(1.25 if row["method"] == "defaults" else 1.5)
    assert "  4  defaults          1    100000   10000000    1.250    1.250\n" in printed
    assert " 10  refiner=None      2    100000    1000000    1.500    1.500\n" in printed


def test_ratio_of_one_job_to_two_stands_beside_the_load(run_pretending, monkeypatch):
    loads = iter([0.25, 0.75] * 20)
    monkeypatch.setattr(scale.os, "getloadavg", lambda: (next(loads), 9, 9), raising=False)
    printed, results = run_pretending(grow, "--parts", "growth", "--d", "4", "--n", "1000000")
    for row in results["growth"]["speedups"]:
        assert row["ratio"] == pytest.approx(1.6)
        assert (row["busy_of_one"], row["busy"]) == pytest.approx((1, 2))
        assert (row["load_of_one"], row["load"]) == (0.25, 0.75)
    assert "   1000000     2    1.60       1.00   2.00       0.25   0.75\n" in printed
    assert results["growth"]["exponents"] == []
    assert "grow as n" not in printed


def test_budget_is_three_arrays_and_some_for_each_record_and_job(run_pretending):
    options = ["--parts", "growth", "--d", "4", "--n", "1000000"]
    within = run_pretending(lambda cell: grow(cell) | {"peak_mb": 546.0}, *options)[1]
    above = run_pretending(lambda cell: grow(cell) | {"peak_mb": 546.1}, *options)[1]
    assert [cell["budget_mb"] for cell in within["growth"]["cells"]] == [546, 696] * 2
    assert all(cell["within_budget"] for cell in within["growth"]["cells"])
    assert [cell["within_budget"] for cell in above["growth"]["cells"]] == [False, True] * 2


def test_huge_tables_are_run_if_asked_for_and_without_refiner(run_pretending):
    options = ["--parts", "growth", "--n", "10000000", "--d", "10", "--jobs", "2"]
    assert run_pretending(grow, *options)[1]["growth"]["cells"] == []
    (cell,) = run_pretending(grow, *options, "--huge")[1]["growth"]["cells"]
    assert cell["method"] == "refiner=None"


def test_share_that_stitching_wins_back(run_pretending):
    printed, results = run_pretending(lose, "--parts", "cuts")
    assert [row["percent"] for row in results["cuts"]["won_back"]] == pytest.approx([75] * 12)
    assert [cell["block_size"] for cell in results["cuts"]["cells"][1:7:2]] == [
        50_000, 25_000, 12_500,
    ]  # fmt: skip
    for data in scale.DATA:
        for d in (4, 10):
            shares = ", ".join(f"75% at blocks of {size}" for size in (50_000, 25_000, 12_500))
            assert f"{data}, d = {d}: {shares}\n" in printed


def test_no_share_is_won_back_where_cuts_cost_nothing(run_pretending):
    printed, results = run_pretending(
        lambda cell: lose(cell | {"block_size": None}), "--parts", "cuts", "--d", "4"
    )
    assert {row["percent"] for row in results["cuts"]["won_back"]} == {None}
    assert "blobs, d = 4: – at blocks of 50000, – at blocks of 25000," in printed


def test_failing_cell_is_reported_and_others_go_on(run_pretending):
    def pretend(cell):
        if cell["part"] == "growth":
            return {"error": "why"} if (cell["n"], cell["jobs"]) == (10**6, 2) else grow(cell)
        failing = {"normal": (None, False), "blobs": (25_000, True)}[cell["data"]]
        return {"error": "why"} if (cell["block_size"], cell["stitch"]) == failing else lose(cell)

    printed, results = run_pretending(pretend, "--d", "4", "--n", "100000", "1000000", "10000000")
    growth, cuts = results["growth"], results["cuts"]
    assert len(growth["cells"]) == 12
    assert len(cuts["cells"]) == 14
    failed = [cell for cell in growth["cells"] + cuts["cells"] if "error" in cell]
    assert printed.count("why\n") == len(failed) == 4
    assert [row["to"] for row in growth["exponents"]] == [10**7] * 4
    assert [row["n"] for row in growth["speedups"]] == [10**5, 10**7] * 2
    won_back = [(row["data"], row["block_size"]) for row in cuts["won_back"]]
    assert won_back == [("blobs", 50_000), ("blobs", 12_500)]


def test_small_group_is_pointed_out(run_pretending):
    printed, _ = run_pretending(
        lambda cell: grow(cell) | {"smallest_group": 4}, "--parts", "growth", "--n", "10000"
    )
    assert printed.count("smallest group has 4 records\n") == 8


@pytest.mark.release
def test_cell_that_cannot_run_says_why():
    cell = {"part": "growth", "data": "normal", "n": 3, "d": 2, "method": "defaults"}
    measured = run_alone(scale.__file__, cell | {"jobs": 1, "k": 5}, timeout=60)
    assert measured["error"].startswith("ValueError: k=5")


@pytest.mark.release
@pytest.mark.parametrize("data", scale.DATA)
def test_cell_measures_what_the_estimator_does(data):
    cell = {"part": "cuts", "data": data, "n": 600, "d": 3, "k": 5}
    expected = MicroAggregator(5, block_size=150).fit(scale.DATA[data](600, 3))
    measured = run_alone(scale.__file__, cell | {"block_size": 150, "stitch": False}, timeout=60)
    assert measured["loss_percent"] == pytest.approx(100 * expected.information_loss_)
    assert measured["n_blocks"] == expected.n_blocks_ == 4
    assert measured["smallest_group"] == expected.group_sizes_.min()
