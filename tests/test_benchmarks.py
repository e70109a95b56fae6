import json
import subprocess
import sys
from pathlib import Path

import _speed
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(script, *arguments):
    """What a benchmark prints and what it writes as JSON."""
    path = Path(arguments[-1])
    command = [sys.executable, BENCHMARKS / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(path.read_text())


def test_builders_benchmark_measures_ours_beside_the_oracle(tmp_path):
    sizes = ["--n", "60", "120", "--d", "2", "--data", "blobs"]
    methods = ["--methods", "MDAV", "oracle"]
    printed, results = run("builders.py", *sizes, *methods, "--json", tmp_path / "results.json")
    assert printed.endswith("MDAV's partition is the oracle's in 2 of 2 cells.\n")
    assert [(cell["method"], cell["n"]) for cell in results["cells"]] == [
        ("MDAV", 60), ("oracle", 60), ("MDAV", 120), ("oracle", 120),
    ]  # fmt: skip
    for cell in results["cells"]:
        assert cell["seconds"] > 0
        assert cell["peak_mb"] >= 0
        assert 0 < cell["loss_percent"] < 100
    assert {row["method"] for row in results["growth"]} == {"MDAV", "oracle"}


def test_refiners_benchmark_measures_loss_time_and_memory(tmp_path):
    refiners = ["none", "Exchange", "IteratedLocalSearch"]
    plot = tmp_path / "plot.png"
    options = ["--quick", "--refiners", *refiners, "--plot", plot]
    _, results = run("refiners.py", *options, "--json", tmp_path / "results.json")
    built, exchanged, searched = results["cells"]
    assert [cell["refiner"] for cell in results["cells"]] == refiners
    assert searched["loss_percent"] < exchanged["loss_percent"] < built["loss_percent"]
    for cell in (exchanged, searched):
        assert cell["loss_to_built"] < 1
        assert cell["smallest_group"] >= cell["k"]
        assert min(cell["builder_seconds"], cell["seconds"]) > 0
        assert cell["peak_mb"] >= 0
    seconds, losses = zip(*searched["trace"], strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(losses) == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(searched["loss_percent"])
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "task",
    [
        {"task": "iteration", "n": 400, "d": 2, "k": 5, "n_iterations": 40},
        {"task": "fit", "n": 100, "d": 2},
        {"task": "transform", "n": 100, "d": 2, "n_groups": 40},
    ],
    ids=str,
)
def test_speed_is_measured(task):
    assert max(_speed.measure_task(task).values()) > 0


@pytest.mark.parametrize(
    "task",
    [
        {"task": "search", "data": "Tarragona", "k": 3, "max_iter": 20},
        {"task": "search beside oracle", "data": "Tarragona", "k": 3}
        | {"max_iter": 500, "oracle_max_iter": 5},
        {"task": "refiner beside oracle", "refiner": "LocalSearch", "n": 40, "k": 3},
        {"task": "refiner beside oracle", "refiner": "Exchange", "n": 40, "k": 3},
    ],
    ids=str,
)
def test_speed_on_real_data_is_measured(task, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    measured = _speed.measure_task(task)
    assert measured.get("ratio", 1) > 0
    assert all(value >= 0 for value in measured.values())


def test_speed_table_has_the_growths(monkeypatch, capsys):
    def pretend(script, task, limit):
        assert task["task"] in _speed.TASKS
        n = task.get("n", 1)
        return {"cpu_seconds": n, "ms": n, "median_ms": n, "ratio": 100.0}

    monkeypatch.setattr(_speed, "run_alone", pretend)
    rows = {row["what"]: row for row in _speed.run("script", limit=1)}
    assert rows["MicroAggregator(k=5).fit, 100000 to 25000 records, d = 4"]["value"] == 4
    assert len(capsys.readouterr().out.splitlines()) == len(rows)
