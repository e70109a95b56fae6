"""The builders reproduce the literature."""

import published
import pytest

FIGURES = {
    cell: figure
    for cell, figure in published.published_figures().items()
    if cell[1] in published.METHODS
}


@pytest.fixture(autouse=True)
def data(data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))


def test_all_builder_figures_are_looked_at():
    # 3 data sets × 3 k × 7 methods of Khomnotai2018, and phase I of Chang2007.
    assert len(FIGURES) == 3 * 3 * 7 + 3 * 3


@pytest.mark.parametrize("cell", [cell for cell in FIGURES if cell not in published.TIES], ids=str)
def test_loss_is_as_published(cell):
    loss, _ = published.measure(*cell)
    assert loss == pytest.approx(FIGURES[cell], abs=published.TOLERANCE)


def test_every_figure_but_the_tie_agrees_in_the_printed_table(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["published.py", "--k", "10"])
    published.main()
    figures = [cell for cell in FIGURES if cell[2] == 10]
    agreeing = len(figures) - len(published.TIES)
    last_line = capsys.readouterr().out.splitlines()[-1]
    assert last_line == f"{agreeing} of {len(figures)} published figures agree within 0.0015."
