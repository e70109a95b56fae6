import json
import subprocess
import sys
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path

import _speed
import beyond_k
import constraints
import disclosure
import generalized
import how_long
import kaim
import mixed
import numpy as np
import pandas as pd
import pipelines
import pytest
import refiners
from _measure import run_alone
from marks import in_one_case
from sklearn.neighbors import KNeighborsRegressor

from sk_microagg import KAIM
from sk_microagg.datasets import fetch_adult
from sk_microagg.generalization import KMember

# A whole run of a script; its pieces are tested every time.
end_to_end = pytest.mark.release

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script, *arguments):
    """What a benchmark prints and what it writes as JSON."""
    path = Path(arguments[-1])
    command = [sys.executable, BENCHMARKS / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(path.read_text())


SMALL = {"n": 60, "d": 2, "k": 3, "seed": 0}


# What a script measures in a process of its own, here on few records.
@pytest.mark.slow
@in_one_case(
    ("script", "function", "cell"),
    [
        ("builders", "measure_cell", SMALL | {"method": "MDAV", "data": "blobs"}),
        ("one_column", "measure_cell", SMALL | {"method": "microaggregate", "data": "ages"}),
        ("records", "measure_task", SMALL | {"data": "normal 60 x 2", "limit": 0.05}),
        (
            "records",
            "measure_task",
            SMALL | {"data": "normal 60 x 2", "limit": 0.05, "refiner": "Annealing"},
        ),
        ("limits", "measure_cell", SMALL | {"what": "IteratedLocalSearch", "limit": 0.05}),
        ("constraints", "measure_cost", SMALL | {"data": "visits", "constraint": "unit"}),
        ("many_values", "measure_cell", {"n": 100, "values": 9, "k": 3, "points": "codes"}),
    ],
)
def test_a_script_measures_its_cells(script, function, cell):
    measured = getattr(import_module(script), function)(cell)
    percents = [measured[name] for name in measured if name in ("loss_percent", "bound_percent")]
    assert len(percents) == 1
    assert 0 < percents[0] < 100
    assert measured.get("smallest_group", cell["k"]) >= cell["k"]


@pytest.mark.slow
def test_constraints_benchmark_merges_in_two_ways():
    measured = constraints.measure_merging({"n": 1000, "l": 60, "seed": 0})
    assert measured["is_met"]
    assert measured["n_groups"] < measured["n_built"] / 5


def test_how_long_measures_the_default_and_a_bound():
    (default,) = how_long.measure_table("visits", 5, limits=[], prove=0.05)
    assert 0 < default["bound_percent"] <= default["loss_percent"] < 100


def test_pipelines_trains_in_four_ways():
    ways = pipelines.versions(KNeighborsRegressor())
    assert list(ways) == ["original", "pipeline", "release", "target"]


@end_to_end
def test_builders_benchmark_compares_with_the_oracle(tmp_path):
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


@end_to_end
def test_one_column_benchmark_measures_loss_time_and_memory(tmp_path):
    options = ["--n", "400", "--k", "3", "30", "--data", "ages", "--cases", "3"]
    _, results = run("one_column.py", *options, "--json", tmp_path / "results.json")
    ours = [cell for cell in results["cells"] if cell["method"] != "microagg1d"]
    assert [(cell["method"], cell["k"]) for cell in ours] == [
        ("microaggregate", 3), ("MicroAggregator.fit", 3),
        ("microaggregate", 30), ("MicroAggregator.fit", 30),
    ]  # fmt: skip
    for cell in ours:
        assert cell["smallest_group"] >= cell["k"]
        assert 0 < cell["loss_percent"] < 100
        assert cell["seconds"] > 0
        assert cell["peak_mb"] >= 0


@end_to_end
def test_anytime_benchmark_compares_all_searches(tmp_path):
    options = ["--data", "normal 300 x 6", "--search", "0.1", "0.2", "-k", "3", "--seeds", "0"]
    printed, results = run("anytime.py", *options, "--json", tmp_path / "results.json")
    assert [line.split()[-2] for line in printed.splitlines()[2:]] == ["ratio", "ratio"]
    assert len(results["cells"]) == 6
    for cell in results["cells"]:
        assert 0 < cell["loss_percent"] < 100
        assert cell["seconds"] < cell["limit"] + 0.5


@end_to_end
def test_limits_benchmark_waits_for_time_limits_and_ctrl_c(tmp_path):
    options = ["--n", "300", "-k", "3", "--limits", "0.2", "--presses", "2"]
    options += ["--what", "IteratedLocalSearch", "--json", tmp_path / "results.json"]
    printed, results = run("limits.py", *options)
    at_limit, at_press = results["cells"]
    assert len(printed.splitlines()) == 4
    assert at_limit["over"] == at_limit["seconds"] - 0.2
    assert at_press["answered"] < at_press["seconds"]
    for cell in results["cells"]:
        assert 0 < cell["loss_percent"] < 100


@end_to_end
def test_beyond_k_benchmark_measures_what_constraints_cost(tmp_path):
    path = tmp_path / "results.json"
    printed, results = run("beyond_k.py", "--data", "breast cancer", "--json", path)
    rows = {line[:52].strip(): line[52:].split() for line in printed.splitlines()}
    alone, diverse, close = (rows[name] for name in ("None", "LDiversity()", "TCloseness(t=0.1)"))
    assert float(alone[0]) < float(diverse[0]) < float(close[0])  # loss
    assert float(alone[3]) > 50
    assert float(diverse[3]) == float(close[3]) == 0  # homogeneity
    assert float(close[4]) <= 0.1 < float(diverse[4])  # closeness
    kept = {cell["name"]: cell for cell in results["constraints"]}
    assert f"{kept['TCloseness(t=0.1)']['loss_percent']:.2f}" == close[0]
    assert kept["None"]["homogeneity_percent"] > 50


def test_default_is_compared_with_the_best_published_builder():
    table = {"merge": [40, 30], "k-anonymity first": [50, 20], "t-closeness first": [60, 30]}
    losses = {"one": table | {"default": [30, 10]}, "two": table | {"default": [20, 19]}}
    found = beyond_k.below_the_best(losses)
    assert (found["least"], found["most"]) == pytest.approx((5, 50))


@end_to_end
def test_disclosure_benchmark_measures_what_releases_give_away(tmp_path, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    parts = ["--parts", "subtraction", "linkage", "walls", "nearest"]
    _, results = run("disclosure.py", *parts, "--json", tmp_path / "results.json")
    assert results["subtraction"]["records"] > 0
    assert results["linkage"]["linked_percent"] > 90
    tight, fitted = results["walls"]["tight"], results["walls"]["fitted"]
    assert all(fitted[name] <= 20 < tight[name] for name in tight)
    assert all(0 < share < 50 for share in results["nearest"].values())


@pytest.mark.parametrize(
    ("release", "n_own", "n_rare", "n_unique"),
    [
        (["[1, 5]", "[1, 5]", "7", "*"] + ["9"] * 5, 8, 3, 2),
        (["[0, 6]", "[0, 6]", "[6, 8]", "*"] + ["[8, 10]"] * 5, 0, 0, 0),
    ],
)
def test_numbers_that_intervals_show_are_counted(release, n_own, n_rare, n_unique):
    X = np.array([1.0, 5, 7, 7, 9, 9, 9, 9, 9])[:, None]
    found = disclosure.shown_numbers(X, np.array(release, dtype=object)[:, None])
    expected = 100 * np.array([n_own, n_rare, n_unique]) / len(X)
    assert list(found) == ["own_percent", "rare_percent", "unique_percent"]
    assert list(found.values()) == pytest.approx(expected)


@end_to_end
def test_pipelines_benchmark_trains_in_four_ways(monkeypatch, tmp_path):
    path = tmp_path / "results.json"
    monkeypatch.setattr(pipelines, "MODELS", {"neighbors": KNeighborsRegressor()})
    monkeypatch.setattr(sys, "argv", ["pipelines.py", "--json", str(path)])
    pipelines.main()
    scores = json.loads(path.read_text())["r2"]["neighbors"]
    assert list(scores) == ["original", "pipeline", "release", "target"]
    assert max(scores.values()) < 1
    assert scores["pipeline"] < scores["original"]


@end_to_end
def test_dask_benchmark_checks_the_release(tmp_path):
    options = ["--runs", "none:2000", "--columns", "3", "--values", "12"]
    options += ["--workers", "1", "--folder", tmp_path]
    _, results = run("scale_dask.py", *options, "--json", tmp_path / "results.json")
    (cell,) = results["cells"]
    assert (cell["rows"], cell["refiner"], cell["anonymity_level"]) == (2000, "none", 5)
    assert cell["parts_out_of_line"] == 0
    assert min(cell["seconds"], cell["peak_worker_mb"], cell["model_bytes"]) > 0


@end_to_end
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


@pytest.mark.release
def test_refiners_benchmark_proves_bounds_of_real_data(data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    proven = refiners.measure_cell({"data": "Tarragona", "k": 5, "prove": 0.5})
    assert 0 < proven["bound_percent"] < 20.2


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


@pytest.mark.release
@pytest.mark.parametrize(
    "task",
    [
        {"task": "search", "data": "Tarragona", "k": 3, "max_iter": 20},
        {"task": "search against oracle", "data": "Tarragona", "n": 60, "k": 3}
        | {"max_iter": 500, "oracle_max_iter": 5},
        {"task": "refiner against oracle", "refiner": "LocalSearch", "n": 40, "k": 3},
        {"task": "refiner against oracle", "refiner": "Exchange", "n": 40, "k": 3},
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


@pytest.fixture
def adult(data_folder, monkeypatch):
    """The data set, for this process and for those that it starts."""
    if not (data_folder / "adult.csv").exists():
        pytest.skip(f"needs adult.csv in {data_folder}")
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    return fetch_adult()


@end_to_end
def test_kaim_benchmark_has_all_cells(tmp_path, adult):
    plot = tmp_path / "plot.png"
    printed, results = run(
        "kaim.py", "--quick", "--plot", plot, "--json", tmp_path / "results.json"
    )
    cells = results["cells"]
    varied = {"k": [2, 5], "columns": [2, 8], "n": [250, 500], "vmr": [None, 10]}
    usual = {"k": 5, "columns": 8, "n": 500, "vmr": None}
    names = ("sweep", *usual, "method")
    assert [tuple(cell[name] for name in names) for cell in cells] == [
        (sweep, *(usual | {sweep: value}).values(), method)
        for sweep, values in varied.items()
        for value in values
        for method in kaim.METHODS
    ]
    baseline = {}
    for cell in cells:
        assert cell["cpu_seconds"] > 0
        assert cell["peak_mb"] >= 0
        assert cell["smallest_group"] >= cell["k"]
        baseline = cell if cell["method"] == "k-member" else baseline
        for key in ("loss_percent", "cpu_seconds"):
            assert cell[f"{key}_ratio"] == pytest.approx(cell[key] / baseline[key])
        assert f"{cell['method']:<16}{cell['loss_percent']:10.4f}" in printed
    for before, after in pairwise(cells):
        if after["method"] == f"{before['method']}-refined":
            assert after["loss_percent"] < before["loss_percent"]
    assert [row["method"] for row in results["summary"]] == list(kaim.METHODS)
    for row in results["summary"]:
        two, five = kaim.series(cells, row["method"], "k")
        ratios = two["loss_percent_ratio"], five["loss_percent_ratio"]
        assert row["mean_ratio"] == pytest.approx(np.mean(ratios))
        low, high = kaim.series(cells, row["method"], "n")
        doubled = high["cpu_seconds"] / low["cpu_seconds"]
        assert row["growth"] == pytest.approx(np.log2(doubled))
        assert f"{row['mean_ratio']:11.4f}{row['growth']:8.2f}\n" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.release
@pytest.mark.parametrize(
    ("method", "estimator"),
    [
        ("k-member", KMember(3)),
        ("entropy-refined", KAIM(3, distance="entropy", refiner="local_search")),
        ("ncp", KAIM(3, distance="ncp", refiner=None)),
    ],
)
def test_kaim_benchmark_measures_what_the_estimators_do(method, estimator, adult):
    cell = {"method": method, "k": 3, "columns": 5, "n": 400, "vmr": 12, "hierarchies": None}
    X = kaim.delete(kaim.sample(400, 5), 12)
    hierarchies = {j: adult.hierarchies[adult.feature_names[j]] for j in range(1, 5)}
    estimator.set_params(hierarchies=hierarchies, random_state=0).fit(X)
    measured = run_alone(kaim.__file__, cell, timeout=60)
    assert measured["loss_percent"] == pytest.approx(100 * estimator.information_loss_)
    assert measured["vmr_percent"] == pytest.approx(12)
    assert measured["smallest_group"] == estimator.group_sizes_.min()


@pytest.mark.release
def test_kaim_benchmark_samples_and_deletes_nested(adult):
    table = adult.data[:, :8]
    np.testing.assert_array_equal(kaim.sample(len(table), 8), table)
    some, more = ({tuple(row) for row in kaim.sample(n, 8)} for n in (50, 100))
    assert some < more
    X = kaim.sample(100, 8)
    less, gone = (np.equal(kaim.delete(X, percent), None) for percent in (5, 20))
    assert np.all(np.equal(X, None) <= less)
    assert np.all(less <= gone)
    assert (less.sum(), gone.sum()) == (40, 160)
    with pytest.raises(ValueError, match="0% missing is not possible"):
        kaim.delete(X, 0)


@pytest.mark.release
def test_kaim_benchmark_takes_other_hierarchies(tmp_path, adult):
    for name in adult.feature_names[1:-1]:
        (tmp_path / f"{name}.csv").write_text(
            "".join(f"{leaf};*\n" for leaf in leaves(adult, name))
        )
    cell = {"method": "ncp", "k": 5, "columns": 8, "n": 300, "vmr": None}
    flat = KAIM(5, refiner=None, random_state=0).fit(kaim.sample(300, 8))
    measured = kaim.measure_cell(cell | {"hierarchies": str(tmp_path)})
    assert measured["loss_percent"] == pytest.approx(100 * flat.information_loss_)


def leaves(adult, name):
    column = adult.data[:, adult.feature_names.index(name)]
    return dict.fromkeys(value for value in column if value is not None)


def test_kaim_benchmark_says_what_failed(capsys):
    cells = [
        {"sweep": sweep, "method": "ncp", "k": 5, "columns": 8, "n": n, "vmr": None, "error": "why"}
        for sweep in kaim.SWEEPS
        for n in (10, 20)
    ]
    for cell in cells:
        kaim.print_row(cell)
    summary = kaim.summarize(cells)
    kaim.print_summary(summary, cells)
    assert summary == [{"method": "ncp", "mean_ratio": None, "growth": None}]
    assert capsys.readouterr().out.count("why\n") == len(cells)


@end_to_end
def test_records_benchmark_searches_proves_and_compares(tmp_path, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    cell = ["--data", "Tarragona", "-k", "10", "--seeds", "0", "--search", "0.5"]
    printed, results = run(
        "records.py", *cell, "--prove", "0.5", "--json", tmp_path / "records.json"
    )
    (record,) = results["cells"]
    assert record["smallest_group"] >= 10
    assert 0 < record["bound_percent"] <= record["loss_percent"]
    ratio = record["loss_percent"] / record["bound_percent"]
    assert record["gap_percent"] == pytest.approx(100 * (ratio - 1))
    n_records = int(record["is_record"])
    assert printed.endswith(f"seed 0: {n_records} of 1 at or below the published best\n")


@end_to_end
def test_mixed_benchmark_compares_releases(tmp_path, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    folder = data_folder / "adult_hierarchies"
    plot = tmp_path / "plot.png"
    options = ["--quick", "--hierarchies", folder, "--plot", plot]
    printed, results = run("mixed.py", *options, "--json", tmp_path / "results.json")
    assert plot.read_bytes().startswith(b"\x89PNG")
    plain, with_trees, generalized = results["cells"]
    assert [cell["method"] for cell in results["cells"]] == list(mixed.METHODS)
    for cell in results["cells"]:
        assert cell["smallest_class"] >= 5
        assert cell["kept_percent"] == pytest.approx(np.mean([*cell["kept_percent_of"].values()]))
        assert cell["cpu_seconds"] > 0
        assert cell["peak_mb"] >= 0
    # Each is best at its own release.
    assert plain["loss_percent"] < with_trees["loss_percent"] < generalized["loss_percent"]
    assert plain["kept_percent"] > generalized["kept_percent"]
    assert plain["iloss_percent"] > with_trees["iloss_percent"] > generalized["iloss_percent"]
    assert "native-country" in printed
    # A value that is true of the whole group is its mode.
    for name, share in generalized["kept_percent_of"].items():
        assert generalized["unchanged_percent_of"][name] <= share


@end_to_end
def test_generalized_benchmark_counts_classes_and_overlaps(tmp_path, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    options = ["--every", "40", "--hierarchies", data_folder / "adult_hierarchies"]
    _, results = run("generalized.py", *options, "--json", tmp_path / "results.json")
    found = {(cell["method"], cell["l"]): cell for cell in results["cells"]}
    assert list(found) == [*product(generalized.METHODS, (1, 2))]
    for (method, l_diversity), cell in found.items():
        assert cell["smallest_class"] >= 5
        assert (cell["classes_of_one_salary"] == 0) == (l_diversity == 2)
        assert (cell["overlaps"] == 0) == (method == "disjoint")
    losses = [found[method, 2]["iloss_percent"] for method in generalized.METHODS]
    assert losses[1] < losses[0] < losses[2]


def test_overlaps_of_a_release_are_counted():
    table = pd.DataFrame({"age": [20, 30, 40, 50], "town": ["a", "b", "b", "c"]})
    release = pd.DataFrame({"age": ["[20, 30]"] * 2 + ["[35, 50]"] * 2, "town": ["*"] * 4})
    assert generalized.overlaps(table, release) == 0
    assert generalized.overlaps(table, release.assign(town=["*", "*", "b", "*"])) == 1
    touching = ["20", "[20, 40]", "[20, 40]", "[45, 50]"]
    assert generalized.overlaps(table, release.assign(age=touching)) == 1
    assert len(generalized.classes_of(release, table["town"])) == 2


@end_to_end
def test_constraints_benchmark_measures_costs_and_losses(tmp_path, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    options = ["--n", "300", "--d", "2", "--sensitive", "FICA", "--t", "0.25", "--columns", "2"]
    options += ["--k", "3"]
    printed, results = run(
        "constraints.py", *options, "--seconds", "0.5", "--json", tmp_path / "results.json"
    )
    assert "VIOLATED" not in printed
    for cell in results["costs"]:
        assert cell["is_met"]
        assert cell["smallest_group"] >= 5
        assert cell["cpu_seconds"] > 0
        assert cell["peak_mb"] >= 0
        assert cell.get("loss_percent_ratio", 1) >= 0.9
    assert sum("cpu_seconds_ratio" in cell for cell in results["costs"]) == 4
    built, default, annealed = results["census"]
    assert [cell["method"] for cell in results["census"]] == constraints.METHODS
    assert max(default["loss_percent"], annealed["loss_percent"]) < 0.6 * built["loss_percent"]
    assert [cell["n_violating"] for cell in results["business"]] == [146, 121, 65, 43, 38, 11]
    assert all(cell["is_met"] for cell in results["business"])
    ours, annealed, merged = (
        sum(cell[name] for cell in results["business"])
        for name in ("loss_percent", "annealed_percent", "merged_percent")
    )
    assert ours <= 0.78 * merged
    assert annealed < 0.79 * merged


@end_to_end
def test_how_long_benchmark_compares_searches_with_one_bound(tmp_path):
    options = ["--tables", "visits", "--search", "0.5", "--prove", "0.5"]
    printed, results = run("how_long.py", *options, "--json", tmp_path / "results.json")
    default, searched = results["cells"]
    assert (default["limit"], searched["limit"]) == (None, 0.5)
    for cell in results["cells"]:
        assert 0 < cell["bound_percent"] <= cell["loss_percent"]
        ratio = cell["loss_percent"] / cell["bound_percent"]
        assert cell["gap_percent"] == pytest.approx(100 * (ratio - 1))
    assert default["bound_percent"] == searched["bound_percent"]
    assert "default" in printed
