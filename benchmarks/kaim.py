"""Information loss, time and peak memory of KAIM compared with k-member, on the Adult data.

The methods are k-member, which drops incomplete records and is charged the full loss of their
values, and KAIM with the distances entropy and ncp, each with and without its refiner. One
parameter varies at a time, over the values given: k, the number of quasi-identifiers, the number of
records, and the value missing rate (VMR), which is raised by deleting known values at random. By
default k is 5, the others are the largest values given, and nothing is deleted. Each cell (a method
on one table) runs in a separate process on one thread, unless `--quick` is given. Examples::

    python benchmarks/kaim.py --json kaim.json --plot kaim.png
    python benchmarks/kaim.py --n 4000 8000 --methods k-member ncp-refined
    python benchmarks/kaim.py --hierarchies adult_hierarchies

Samples of records and deletions are nested, and the same for all methods. The folder given by
`--hierarchies` contains a file `<column>.csv` for each categorical column; by default the
hierarchies of `fetch_adult` are used. Ages always become intervals. Seconds are CPU seconds of
`fit`; those of a refined method include the initial grouping. Memory is what `fit` needs in
addition to the table.

The authors of KAIM (Gong, Yang and Luo, 2013) report a mean ratio of losses of 0.438.
"""

import argparse
import json
from functools import cache
from pathlib import Path

import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone
from sklearn.base import clone

from sk_microagg import KAIM
from sk_microagg.datasets import fetch_adult
from sk_microagg.generalization import KMember

METHODS = {
    "k-member": KMember(),
    "entropy": KAIM(distance="entropy", refiner=None),
    "entropy-refined": KAIM(distance="entropy"),
    "ncp": KAIM(refiner=None),
    "ncp-refined": KAIM(),
}
BASELINE = "k-member"

# What varies, with its names in tables and in plots.
SWEEPS = {
    "k": ("k", "minimum group size, k"),
    "columns": ("|QI|", "quasi-identifiers"),
    "n": ("n", "records"),
    "vmr": ("VMR %", "missing values (%)"),
}
K = 5
QUICK = {"k": [2, 5], "columns": [2, 8], "n": [250, 500], "vmr": [10.0]}


@cache
def adult():
    """Return the table of quasi-identifiers, their names, and our hierarchies by position."""
    data = fetch_adult()
    names = data.feature_names[:-1]  # The last one is the salary class.
    positions = {name: j for j, name in enumerate(names)}
    hierarchies = {positions[name]: found for name, found in data.hierarchies.items()}
    return data.data[:, : len(names)], names, hierarchies


def sample(n, n_columns):
    """Return some records of Adult, in their order, and the first columns."""
    X = adult()[0]
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return X[np.sort(rows), :n_columns]


def delete(X, percent):
    """Delete known values at random until this percentage of all values is missing."""
    known = np.flatnonzero(np.not_equal(X, None))
    n_more = round(percent / 100 * X.size) - (X.size - len(known))
    if not 0 <= n_more <= len(known):
        raise ValueError(f"{percent:g}% missing is not possible: other values are missing already.")
    X = X.copy()
    X.flat[np.random.default_rng(1).permutation(known)[:n_more]] = None
    return X


def hierarchies_of(folder, n_columns):
    """Return the hierarchies of the first columns by position: our own, or paths in a folder."""
    _, names, own = adult()
    chosen = {j: Path(folder) / f"{names[j]}.csv" for j in own} if folder else own
    return {j: hierarchy for j, hierarchy in chosen.items() if j < n_columns}


def measure_cell(cell):
    """Fit one method to one table in this process."""
    k, X = cell["k"], sample(cell["n"], cell["columns"])
    hierarchies = hierarchies_of(cell["hierarchies"], cell["columns"])
    method = clone(METHODS[cell["method"]])
    method.set_params(k=k, hierarchies=hierarchies, random_state=0)
    method.fit(X[: 20 * k])  # Exclude imports at first use from the measurement.
    if cell["vmr"] is not None:
        X = delete(X, cell["vmr"])
    _, measured = measure(lambda: method.fit(X))
    return measured | {
        "loss_percent": 100 * method.information_loss_,
        "vmr_percent": 100 * method.value_missing_rate_,
        "smallest_group": int(method.group_sizes_.min()),
    }


def run_cells(arguments):
    """Run and print all cells; return them as a list of dicts.

    Cells shared by several sweeps are run once, and listed for each of them.
    """
    usual = {"k": K, "columns": max(arguments.columns), "n": max(arguments.n), "vmr": None}
    folder = str(arguments.hierarchies) if arguments.hierarchies else None
    cells, known = [], {}
    for sweep in SWEEPS:
        print_header(sweep, usual)
        for value in getattr(arguments, sweep):
            table = usual | {sweep: value}
            baseline = {}
            for method in arguments.methods:
                key = (method, *table.values())
                if key not in known:
                    task = {"method": method, "hierarchies": folder, **table}
                    known[key] = task | run_cell(task, arguments)
                cell = {"sweep": sweep, **known[key]}
                baseline = cell if method == BASELINE else baseline
                cell |= compare(cell, baseline)
                print_row(cell)
                cells.append(cell)
    return cells


def run_cell(task, arguments):
    if arguments.quick:  # Starting an interpreter would take most of the time.
        return measure_cell(task)
    return run_alone(__file__, task, arguments.limit)


def compare(cell, baseline):
    """Compare a cell with that of k-member on the same table, if both were run."""
    return {
        f"{key}_ratio": cell[key] / baseline[key]
        for key in ("loss_percent", "cpu_seconds")
        if key in cell and key in baseline
    }


def constants(sweep, table):
    """Return the parameters that do not vary, for headings."""
    names = [name for name in SWEEPS if name not in (sweep, "vmr")]
    return ", ".join(f"{SWEEPS[name][0]} = {table[name]}" for name in names)


def position(cell):
    """Return the value that varies; for the VMR, the one measured, or None if it is unknown."""
    if cell["sweep"] != "vmr":
        return cell[cell["sweep"]]
    return round(cell["vmr_percent"], 2) if "vmr_percent" in cell else cell["vmr"]


# Title, key and format of each column. Ratios are relative to k-member on the same table.
COLUMNS = [
    ("loss %", "loss_percent", "10.4f"),
    ("ratio", "loss_percent_ratio", "10.4f"),
    ("CPU s", "cpu_seconds", "10.3f"),
    ("ratio", "cpu_seconds_ratio", "10.2f"),
    ("peak MB", "peak_mb", "10.1f"),
]


def print_header(sweep, usual):
    print(f"\nLoss over {SWEEPS[sweep][1]}; {constants(sweep, usual)}")
    titles = "".join(f"{title:>10}" for title, _, _ in COLUMNS)
    print(f"{SWEEPS[sweep][0]:>6}  {'method':<16}{titles}")


def print_row(cell):
    numbers = "".join(
        f"{cell[key]:{form}}" if key in cell else f"{'–':>10}" for _, key, form in COLUMNS
    )
    value = "–" if position(cell) is None else f"{position(cell):g}"
    print(
        f"{value:>6}  {cell['method']:<16}{numbers}  {cell.get('error', '')}".rstrip(), flush=True
    )


def summarize(cells):
    """Return the mean ratio of losses over k and the growth over n of each method, or None."""
    table = []
    for method in dict.fromkeys(cell["method"] for cell in cells):
        over_k, over_n = (series(cells, method, sweep) for sweep in ("k", "n"))
        ratios = [cell.get("loss_percent_ratio") for cell in over_k]
        row = {"method": method, "mean_ratio": None if None in ratios else float(np.mean(ratios))}
        table.append(row | {"growth": growth(over_n)})
    return table


def series(cells, method, sweep):
    return [cell for cell in cells if cell["method"] == method and cell["sweep"] == sweep]


def growth(cells):
    """Return the least-squares slope of log CPU seconds over log n; None with fewer than two n."""
    points = [(cell["n"], cell["cpu_seconds"]) for cell in cells if "cpu_seconds" in cell]
    if len({n for n, _ in points}) < 2:
        return None
    return float(np.polyfit(*np.log(points).T, 1)[0])


def print_summary(table, cells):
    print("\nMean over k of the loss relative to k-member; CPU seconds grow as n^growth")
    print(f"{'method':<16}{'mean ratio':>11}{'growth':>8}")
    for row in table:
        ratio, power = (
            "–" if row[key] is None else f"{row[key]:{form}}"
            for key, form in (("mean_ratio", ".4f"), ("growth", ".2f"))
        )
        print(f"{row['method']:<16}{ratio:>11}{power:>8}")
    print(f"\nMaximum over the methods, with all of these columns and records, and k = {K}")
    largest = max(cell["n"] for cell in cells)
    ran = [cell for cell in cells if (cell["sweep"], cell["n"]) == ("n", largest)]
    for what, refined in (("without refiner", False), ("with refiner", True)):
        chosen = [cell for cell in ran if cell["method"].endswith("refined") == refined]
        seconds, peak = (
            max((cell[key] for cell in chosen if key in cell), default=float("nan"))
            for key in ("cpu_seconds", "peak_mb")
        )
        print(f"{what:<16}{seconds:9.2f} s{peak:8.1f} MB")


# A color-blind safe palette; filled markers and solid lines are refined.
STYLES = {
    "k-member": ("k-member", "black", "s"),
    "entropy": ("KAIM, entropy", "#D55E00", "v"),
    "entropy-refined": ("KAIM, entropy, refined", "#D55E00", "v"),
    "ncp": ("KAIM, ncp", "#0072B2", "o"),
    "ncp-refined": ("KAIM, ncp, refined", "#0072B2", "o"),
}


def plot_losses(cells, path):
    """Draw one panel per parameter that varies, with one line per method."""
    from matplotlib.figure import Figure

    cells = [cell for cell in cells if "loss_percent" in cell]
    figure = Figure(figsize=(9, 7.4))
    panels = figure.subplots(2, 2).flat
    for panel, sweep in zip(panels, SWEEPS, strict=True):
        draw_panel(panel, sweep, [cell for cell in cells if cell["sweep"] == sweep])
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=110)


def draw_panel(panel, sweep, cells):
    for method in dict.fromkeys(cell["method"] for cell in cells):
        draw_line(panel, method, series(cells, method, sweep))
    if sweep == "n":
        panel.set_xscale("log")
        panel.minorticks_off()
    positions = sorted({position(cell) for cell in cells})
    panel.set_xticks(positions, [f"{value:g}" for value in positions])
    panel.set_title(constants(sweep, cells[0]), fontsize=10)
    panel.set_xlabel(SWEEPS[sweep][1])
    panel.set_ylabel("information loss (%)")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.25)


def draw_line(panel, method, cells):
    name, color, mark = STYLES[method]
    refined = method.endswith("refined")
    panel.plot(
        [position(cell) for cell in cells],
        [cell["loss_percent"] for cell in cells],
        label=name,
        color=color,
        marker=mark,
        markerfacecolor=color if refined else "white",
        linestyle="-" if refined else "--",
    )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", type=int, nargs="+", default=[2, 5, 10], help="minimum group sizes")
    add("--columns", type=int, nargs="+", default=[2, 5, 8], help="numbers of quasi-identifiers")
    sizes = [4_000, 8_000, 16_000, 32_000, 48_842]
    add("--n", type=int, nargs="+", default=sizes, help="numbers of records")
    add(
        "--vmr",
        type=float,
        nargs="+",
        default=[5, 10, 16, 22],
        help="missing values, %%",
    )
    add("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    add("--hierarchies", type=Path, help="folder with <column>.csv files, instead of ours")
    add("--limit", type=float, default=600, help="time limit of a cell in seconds (%(default)s)")
    add("--quick", action="store_true", help="only a few small tables")
    add("--json", type=Path, help="file to write the results to")
    add("--plot", type=Path, help="file for the plot of the four sweeps")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(QUICK)
    arguments.methods = [method for method in METHODS if method in arguments.methods]
    for sweep in SWEEPS:
        setattr(arguments, sweep, sorted(set(getattr(arguments, sweep))))
    arguments.vmr.insert(0, None)  # The rate of the data.
    if not arguments.cell:
        check(parser, arguments)
    return arguments


def check(parser, arguments):
    X, _, _ = adult()
    for option, most in (("n", len(X)), ("columns", X.shape[1])):
        if not all(1 <= value <= most for value in getattr(arguments, option)):
            parser.error(f"--{option} must be from 1 to {most}")
    for path in hierarchies_of(arguments.hierarchies, X.shape[1]).values():
        if isinstance(path, Path) and not path.exists():
            parser.error(f"{path} is missing")


def main():
    arguments = parse_arguments()
    if arguments.cell:
        cap_memory()
        print(json.dumps(measure_cell(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print("one process" if arguments.quick else "one process and one thread per cell", end="; ")
    print("ratios are relative to k-member on the same table")
    cells = run_cells(arguments)
    summary = summarize(cells)
    print_summary(summary, cells)
    if arguments.plot:
        plot_losses(cells, arguments.plot)
    if arguments.json:
        results = {"machine": facts, "cells": cells, "summary": summary}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
