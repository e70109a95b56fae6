"""Loss over time, as `refiners.py --plot` draws it."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

# Shapes tell refiners apart without colour; dark is MDAV, light are the other builders.
SHAPES = {
    "none": "o",
    "Decompose": "v",
    "DecomposeShrink": "D",
    "LocalSearch": "s",
    "Exchange": "X",
    "IteratedLocalSearch": "*",
}
DARK, LIGHT, SEARCH = "black", "0.72", "#0072B2"


def plot_losses(cells, path):
    """Draw a panel for each data set: a line for the iterated search, a point for each refiner."""
    cells = [cell for cell in cells if "loss_percent" in cell]
    names = list(dict.fromkeys(cell["data"] for cell in cells))
    n_columns = min(len(names) + 1, 3)
    n_rows = -(-(len(names) + 1) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(3.4 * n_columns, 2.9 * n_rows), squeeze=False
    )
    panels = axes.flat
    for panel, name in zip(panels, names, strict=False):
        draw_panel(panel, name, [cell for cell in cells if cell["data"] == name])
    for panel in panels[len(names) :]:
        panel.axis("off")
    panels[len(names)].legend(handles=legend_handles(), loc="center", frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def draw_panel(panel, name, cells):
    main = cells[0]["builder"]
    for cell in sorted(cells, key=lambda cell: cell["builder"] == main):
        is_main = cell["builder"] == main
        seconds = cell["builder_seconds"]
        if is_main and "trace" in cell:
            times, losses = zip(*cell["trace"], strict=True)
            panel.step([seconds + t for t in times], losses, where="post", color=SEARCH)
        style = {"color": point_colour(cell, is_main), "markeredgecolor": "white"}
        size = 11 if cell["refiner"] == "IteratedLocalSearch" else 8
        shape = SHAPES[cell["refiner"]]
        panel.plot(seconds + cell["seconds"], cell["loss_percent"], shape, ms=size, **style)
    panel.set_xscale("log")
    panel.set_title(f"{name}, k = {cells[0]['k']}", fontsize=10)
    panel.set_xlabel("seconds, with the builder's")
    panel.set_ylabel("information loss, %")
    panel.grid(alpha=0.25)


def point_colour(cell, is_main):
    if not is_main:
        return LIGHT
    return SEARCH if cell["refiner"] == "IteratedLocalSearch" else DARK


def legend_handles():
    def handle(label, **style):
        return Line2D([], [], label=label, markeredgecolor="white", **style)

    names = {"none": "no refiner", "IteratedLocalSearch": "IteratedLocalSearch, and its way there"}
    points = [
        handle(
            names.get(refiner, refiner),
            marker=shape,
            markersize=11 if shape == "*" else 8,
            color=SEARCH if shape == "*" else DARK,
            linestyle="-" if shape == "*" else "",
        )
        for refiner, shape in SHAPES.items()
    ]
    return [
        *points,
        handle("dark: from MDAV", marker="o", color=DARK, ls="", markersize=8),
        handle("light: from other builders", marker="o", color=LIGHT, ls="", markersize=8),
    ]
