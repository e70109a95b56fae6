import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from _train_methods import Release, form_groups
from _train_summary import Accuracies, print_against_mondrian, print_published
from _train_tables import load, published_accuracies

from sk_microagg import TableAggregator

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "train.py"


@pytest.fixture(autouse=True)
def folder(data_folder, monkeypatch):
    if not (data_folder / "train").is_dir():
        pytest.skip(f"needs the folder train in {data_folder}")
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))


def cell(method, split, accuracy, k=10, part="honest"):
    place = {"part": part, "table": "mgm", "split": split, "k": k, "method": method}
    return place | {"accuracy": {"SVM": accuracy}, "member": {}}


def run(path, *arguments):
    command = [sys.executable, SCRIPT, "--json", path, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(path.read_text())


@pytest.mark.release
def test_benchmark_measures_both_protocols_and_goes_on_where_it_stopped(tmp_path):
    grid = ["--parts", "honest", "published", "--tables", "mgm", "--ks", "25"]
    grid += ["--methods", "raw", "plain", "target", "diverse", "tree", "--models", "SVM"]
    path, plot = tmp_path / "train.json", tmp_path / "train.png"
    _, first = run(path, *grid, "--splits", "1")
    printed, second = run(path, *grid, "--splits", "2", "--plot", plot)
    assert second["cells"][: len(first["cells"])] == first["cells"]
    found = {(c["part"], c["split"], c["method"]): c for c in second["cells"]}
    assert set(found) == {
        *(("honest", s, m) for s in (0, 1) for m in ("raw", "plain", "target", "diverse", "tree")),
        *(("published", 0, method) for method in ("raw", "plain")),
    }
    for (_, _, method), measured in found.items():
        assert 70 < measured["accuracy"]["SVM"] < 90
        assert measured.get("smallest_group", 25) >= 25
        if method == "diverse":
            assert measured["pure_percent"] == 0
    assert "mgm        SVM" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_groups_of_all_methods_are_released_like_those_of_table_aggregator():
    records, _, quasi_identifiers = load("cmc")
    aggregator = TableAggregator(
        10, quasi_identifiers=quasi_identifiers, categories="shares", random_state=0
    )
    train, new = records.iloc[:300], records.iloc[300:400]
    expected = aggregator.fit_transform(train)
    release = Release(train, quasi_identifiers, aggregator.labels_, 10)

    def in_order(frame):
        return np.sort(frame.to_numpy(dtype=float), axis=1)

    np.testing.assert_allclose(np.sort(release.rows, axis=1), in_order(expected))
    formatted = in_order(aggregator.format(new))
    np.testing.assert_allclose(np.sort(release.format(new), axis=1), formatted)


@pytest.mark.slow
def test_plain_groups_do_not_depend_on_labels():
    records, target, quasi_identifiers = load("mgm")
    train = records.iloc[:200]
    groups = [
        form_groups("plain", train, quasi_identifiers, y, 10)
        for y in (target[:200], np.arange(200))
    ]
    np.testing.assert_array_equal(*groups)


@pytest.mark.slow
def test_tables_are_those_of_the_study():
    shapes = {name: load(name).records.shape for name in ("adult", "cahousing", "cmc", "mgm")}
    assert shapes == {
        "adult": (30162, 8), "cahousing": (20640, 9), "cmc": (1473, 9), "mgm": (830, 5),
    }  # fmt: skip
    for name in shapes:
        records, _, quasi_identifiers = load(name)
        assert not records.isna().any(axis=None)
        assert set(quasi_identifiers) <= set(records.columns)
    assert pd.api.types.is_numeric_dtype(load("adult").records["age"])
    assert len(published_accuracies()) == 4 * 4 * 6


def test_methods_are_compared_in_the_same_splits(capsys):
    cells = [cell("plain", split, accuracy) for split, accuracy in enumerate([80, 82, 84])]
    cells += [cell("Mondrian", split, accuracy) for split, accuracy in enumerate([79, 80])]
    found = Accuracies(cells, "honest")
    difference = found.difference("mgm", "SVM", ("plain", 10), ("Mondrian", 10))
    assert difference == pytest.approx((1.5, 0.5, 2))
    assert found.mean("mgm", "SVM", "plain", 10) == pytest.approx((82, 2 / np.sqrt(3), 3))
    print_against_mondrian(found)
    assert "1 cells: 1 above, 0 tied, together 100%\nbelow: none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("accuracies", "outcome"), [((79, 82), "0 above, 1 tied"), ((78, 79), "0 above, 0 tied")]
)
def test_differences_within_a_standard_error_are_ties(accuracies, outcome, capsys):
    cells = [cell("target", split, accuracy) for split, accuracy in enumerate(accuracies)]
    cells += [cell("Mondrian", split, 80) for split in range(2)]
    print_against_mondrian(Accuracies(cells, "honest"))
    assert outcome in capsys.readouterr().out


def test_cells_below_the_best_published_method_are_named(capsys):
    figures = published_accuracies()
    cells = []
    for k, change in ((5, -1.0), (10, 0.0)):
        best = max(figures["mgm", "SVM", k].values())
        cells.append(cell("plain", 0, best + change, k, "published"))
    print_published(Accuracies(cells, "published"))
    printed = capsys.readouterr().out
    assert "in 1 of 2 cells\nbelow: mgm/SVM/5 -1.00" in printed
