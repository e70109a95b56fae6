"""Builders reproduce the literature; refiners end at or below it."""

import json
from contextlib import redirect_stdout
from io import StringIO

import published
import pytest

from sk_microagg.metrics import information_loss

FIGURES = published.published_figures()
BUILT = [row for row in FIGURES if row[1] in published.METHODS]
DECOMPOSED = [row for row in FIGURES if row[1] in published.DECOMPOSED | published.SHRUNK]
PHASE_TWO = [row for row in FIGURES if row[1] in published.PHASE_TWO]
SEARCHED = [row for row in FIGURES if row[1].startswith(tuple(published.SEARCHES))]


@pytest.fixture(scope="module")
def output(data_folder, tmp_path_factory):
    """What the benchmark prints, and our cells of it by data set, method and k."""
    path, printed = tmp_path_factory.mktemp("published") / "cells.json", StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("SK_MICROAGG_DATA", str(data_folder))
        patch.setattr("sys.argv", ["published.py", "--json", str(path)])
        published.main()
    cells = json.loads(path.read_text())["cells"]
    return printed.getvalue(), {(c["dataset"], c["method"], c["k"]): c for c in cells}


@pytest.fixture
def cells(output):
    return output[1]


# All of them, as long as it takes: a few of them are compared every time, below.
all_figures = pytest.mark.release


def test_all_figures_are_looked_at():
    # 3 data sets × 3 k × 7 methods of Khomnotai2018, and TFRP in two phases of Chang2007.
    assert len(BUILT) == 3 * 3 * 7 + 3 * 3
    assert len(DECOMPOSED) == 2 * 3 * 3 * 7
    assert len(PHASE_TWO) == 3 * 3
    # Best, mean and worst of two searches, and the best of restarts.
    assert len(SEARCHED) == 3 * 3 * (2 * 3 + 1)
    assert len(FIGURES) == sum(map(len, (BUILT, DECOMPOSED, PHASE_TWO, SEARCHED)))


@all_figures
def test_loss_of_a_builder_is_as_published(cells):
    for row in BUILT:
        if row not in published.TIES:
            ours = cells[row]["ours"]
            assert ours == pytest.approx(FIGURES[row], abs=published.TOLERANCE), row


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["Tarragona", "Census"])
def test_loss_of_each_builder_is_as_published_at_one_k(dataset, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    rows = [row for row in BUILT if row[0] == dataset and row[2] == 5]
    assert len({method for _, method, _ in rows}) == 8
    X = published.standardized(dataset)
    for row in rows:
        if row not in published.TIES:
            labels = published.METHODS[row[1]].build(X, 5)
            loss = 100 * information_loss(X, labels)
            assert loss == pytest.approx(FIGURES[row], abs=published.TOLERANCE), row


@all_figures
@pytest.mark.parametrize(
    ("rows", "share_at_or_below", "most_above"),
    [(DECOMPOSED, 0.95, 0.08), (PHASE_TWO, 7 / 9, 0.02)],
    ids=["decomposition", "second phase of TFRP"],
)
def test_decomposition_ends_at_or_below_the_published_loss(
    rows, share_at_or_below, most_above, cells
):
    ours = [cells[row] for row in rows]
    assert sum(map(published.is_no_worse, ours)) >= share_at_or_below * len(ours)
    assert max(cell["ours"] / cell["published"] for cell in ours) <= 1 + most_above


@pytest.mark.slow
def test_search_ends_near_the_published_mean(data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    row = "Census", "ILSMC 5000 iterations, mean of 20", 3
    loss, _ = published.measure_search(*row, n_seeds=1)
    assert loss <= 1.015 * FIGURES[row]


@all_figures
def test_summary_counts_what_agrees(output):
    agreeing, known = len(BUILT) - len(published.TIES), len(BUILT)
    assert f"; {agreeing} of {known} agree within 0.0015.\n" in output[0]


def test_mean_worst_and_best_are_told_apart(monkeypatch):
    monkeypatch.setattr(published, "searches", lambda *_: ([1.0, 2.0, 6.0], 0.5))
    monkeypatch.setattr(published, "best_search", lambda *_: (0.9, 0.1))
    losses = {row[1].split(", ")[-1]: published.measure_search(*row)[0] for row in SEARCHED}
    assert losses == {
        "mean of 20": 3.0,
        "worst of 20": 6.0,
        "best of 20": 0.9,
        "LSC best of 5000 random restarts": 0.9,
    }
