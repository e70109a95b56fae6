"""The plot of loss over time made by `refiners.py --plot`."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

# Shapes distinguish refiners without color; the first builder is dark, the others are light.
SHAPES = {
    "none": "o",
    "Decompose": "v",
    "DecomposeShrink": "D",
    "LocalSearch": "s",
    "Exchange": "P",
    "Auto": "p",
    "Annealing": "^",
    "Recombination": "X",
    "IteratedLocalSearch": "*",
}
NAMES = {"none": "no refiner", "IteratedLocalSearch": "IteratedLocalSearch over time"}
DARK, LIGHT, SEARCH = "black", "0.75", "#0072B2"


def plot_losses(cells, path):
    """Draw one panel per data set: a line for the iterated search, and a point per refiner."""
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
    panels[len(names)].legend(
        handles=legend_handles(),
        title=f"dark: from {cells[0]['builder']}\nlight: from other builders",
        loc="center",
        frameon=False,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def draw_panel(panel, name, cells):
    first = cells[0]["builder"]
    # Draw the dark ones last, on top.
    for cell in sorted(cells, key=lambda cell: cell["builder"] == first):
        is_first = cell["builder"] == first
        seconds = cell["builder_seconds"]
        if is_first and "trace" in cell:
            times, losses = zip(*cell["trace"], strict=True)
            panel.step([seconds + t for t in times], losses, where="post", color=SEARCH)
        panel.plot(
            seconds + cell["seconds"],
            cell["loss_percent"],
            **point_style(cell["refiner"], is_first),
        )
    panel.set_xscale("log")
    panel.set_title(f"{name}, k = {cells[0]['k']}", fontsize=10)
    panel.set_xlabel("seconds, including the builder")
    panel.set_ylabel("information loss (%)")
    panel.grid(alpha=0.25)


def point_style(refiner, is_first=True):
    is_search = refiner == "IteratedLocalSearch"
    color = SEARCH if is_search else DARK
    return {
        "color": color if is_first else LIGHT,
        "marker": SHAPES[refiner],
        "markersize": 12 if is_search else 9 if SHAPES[refiner] in "vP^X" else 8,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "linestyle": "",
    }


def legend_handles():
    handles = [
        Line2D([], [], label=NAMES.get(refiner, refiner), **point_style(refiner))
        for refiner in SHAPES
    ]
    handles[-1].set_linestyle("-")
    return handles
