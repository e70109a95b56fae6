"""Draw the picture of the README and the landing page, and print the figures next to it.

Usage: python benchmarks/front.py --plot doc/front.png --json front.json
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
from _measure import machine_facts

from sk_microagg import TableAggregator
from sk_microagg.datasets import load_visits
from sk_microagg.metrics import anonymity_level, uniqueness

K = 5
TIME_LIMIT = 10
KNOWN = ["age", "sex", "town", "income"]
COLORS = {  # also told apart by the color-blind
    "Bari": "#e69f00",
    "Milan": "#0072b2",
    "Naples": "#d55e00",
    "Rome": "#009e73",
    "Turin": "#cc79a7",
}
SEXES = {"f": "o", "m": "^"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, help="where to write the picture")
    parser.add_argument("--json", type=Path, help="file to write the results to")
    arguments = parser.parse_args()
    visits = load_visits()
    aggregator = TableAggregator(k=K, drop="id", sensitive="diagnosis")
    release = aggregator.fit_transform(visits)

    if arguments.plot:
        draw_both(visits, release, arguments.plot)
    figures = compute_figures(visits, release, aggregator)
    for name, figure in figures.items():
        print(f"{name}: {figure:.4g}")
    if arguments.json:
        results = {"machine": machine_facts(), "figures": figures}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


def compute_figures(visits, release, aggregator):
    """Return what the release changes, what it loses, and what any release would lose."""
    figures = {"rows": len(visits), "different_rows": len(release[KNOWN].drop_duplicates())}
    figures["unique_percent"] = 100 * uniqueness(visits[KNOWN])
    figures["level"] = anonymity_level(release[KNOWN])
    for column in ("age", "income"):
        figures[f"{column}_off"] = (release[column] - visits[column]).abs().mean()
    for column in ("sex", "town"):
        figures[f"{column}_same_percent"] = 100 * (release[column] == visits[column]).mean()
    certificate = aggregator.certificate(visits, time_limit=TIME_LIMIT)
    figures["loss_percent"] = 100 * certificate.loss
    figures["bound_percent"] = 100 * certificate.bound
    return {name: float(figure) for name, figure in figures.items()}


def draw_both(visits, release, path):
    """Draw the table and its release next to each other."""
    # Legible also on a phone, where the picture is 360 pixels wide.
    plt.rcParams.update({"font.size": 13, "axes.titlesize": 14})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8, 4.8), sharex=True, sharey=True, layout="constrained"
    )
    draw(left, visits.assign(size=1))
    left.set_title(f"Before: {len(visits)} patients,\n{uniqueness(visits[KNOWN]):.0%} unique")
    rows = release[KNOWN].value_counts(dropna=False).rename("size").reset_index()
    draw(right, rows)
    level = anonymity_level(release[KNOWN])
    right.set_title(f"Released: {len(rows)} different rows,\nat least {level} patients each")
    left.set_ylabel("income in thousands")
    figure.legend(
        handles=legend(left),
        loc="outside lower center",
        ncols=7,
        frameon=False,
        handletextpad=0,
        columnspacing=0.8,
    )
    figure.savefig(path, dpi=140)


def draw(axes, rows):
    """Draw rows at their age and income; the area is the number of patients."""
    for (town, sex), part in rows.groupby(["town", "sex"]):
        axes.scatter(
            part["age"],
            part["income"],
            s=14 * part["size"],
            color=COLORS[town],
            marker=SEXES[sex],
            alpha=0.75,
            linewidths=0,
        )
    axes.set_xlabel("age")
    axes.spines[["top", "right"]].set_visible(False)


def legend(axes):
    """Handles for towns, by color, and sexes, by shape."""
    towns = [axes.scatter([], [], color=color, label=town) for town, color in COLORS.items()]
    sexes = [
        axes.scatter([], [], color="gray", marker=marker, label=sex)
        for sex, marker in SEXES.items()
    ]
    return towns + sexes


if __name__ == "__main__":
    main()
