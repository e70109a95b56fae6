"""What releases of TableAggregator and KAIM keep of the categories and ages of Adult.

The table has age and seven categorical columns, with missing values. Three ways to form groups are
compared: TableAggregator, TableAggregator with hierarchies, and KAIM. The groups of each are
released in two ways: as means and modes, and generalized, that is, as the lowest common node of
the hierarchies and an interval of ages. Examples::

    python benchmarks/mixed.py --json mixed.json --plot mixed.png
    python benchmarks/mixed.py --hierarchies adult_hierarchies -k 10

Printed for each:

- loss: the squared error in the coordinates of TableAggregator without hierarchies, as a share of
  the total sum of squares, also for groups that were formed otherwise;
- kept: the share of the categorical cells that the modes leave as they were, missing ones included;
- years: the mean absolute error of the mean age of the group, rounded to years;
- ILossRate: the loss of the generalized release (`sk_microagg.metrics.generalization_loss`). KAIM
  ends its intervals of ages as it always does; for the others, they end at the youngest and the
  oldest of the group;
- unchanged, by column: the share of the categorical cells that the generalized release leaves as
  they were;
- seconds and CPU seconds of `fit`, and the memory that it needs in addition to the table.

With `--n` above the number of records of Adult, records are drawn from it, with noise.

Each way to form groups runs in a separate process on one thread, unless `--quick` is given. The
folder given by `--hierarchies` contains a file `<column>.csv` for each categorical column; by
default the hierarchies of `fetch_adult` are used.
"""

import argparse
import json
from functools import cache
from pathlib import Path

import numpy as np
from _given_groups import released_groups
from _measure import cap_memory, machine_facts, measure, run_alone

from sk_microagg import KAIM, TableAggregator
from sk_microagg.datasets import fetch_adult
from sk_microagg.metrics import anonymity_level, generalization_loss, information_loss
from sk_microagg.tables import Hierarchy, TableEncoder

METHODS = ("TableAggregator", "TableAggregator, hierarchies", "KAIM")

# Title, key and format of each column.
COLUMNS = [
    ("loss %", "loss_percent", "9.2f"),
    ("kept %", "kept_percent", "9.2f"),
    ("years", "years", "9.3f"),
    ("ILossRate %", "iloss_percent", "13.2f"),
    ("seconds", "seconds", "9.1f"),
    ("CPU s", "cpu_seconds", "9.1f"),
    ("peak MB", "peak_mb", "9.0f"),
]


@cache
def adult():
    """Return the table of quasi-identifiers and our hierarchies."""
    data = fetch_adult(as_frame=True)
    return data.data.drop(columns="salary-class"), data.hierarchies


def sample(n):
    """Return some records of Adult, in their order; if it has too few, records of that kind."""
    table, _ = adult()
    rng = np.random.default_rng(0)
    if n > len(table):
        return resampled(table, n, rng)
    return table.iloc[np.sort(rng.permutation(len(table))[:n])].reset_index(drop=True)


def resampled(table, n, rng):
    """Draw records with noise: up to two years of age, and 2% of the cells of others."""
    drawn = table.iloc[rng.integers(len(table), size=n)].reset_index(drop=True)
    drawn["age"] = np.clip(drawn["age"] + rng.integers(-2, 3, size=n), 17, 90)
    for name in drawn.columns.drop("age"):
        is_other = rng.random(n) < 0.02
        others = table[name].iloc[rng.integers(len(table), size=is_other.sum())]
        drawn.loc[is_other, name] = others.to_numpy()
    return drawn


def hierarchies_of(folder):
    """Return the hierarchies of the categorical columns: our own, or those in a folder."""
    _, own = adult()
    if folder is None:
        return own
    return {name: Hierarchy.from_csv(Path(folder) / f"{name}.csv") for name in own}


def make_method(name, k, hierarchies, jobs):
    if name == "KAIM":
        return KAIM(k, hierarchies=hierarchies, random_state=0).set_output(transform="pandas")
    trees = hierarchies if name.endswith("hierarchies") else None
    return TableAggregator(k, hierarchies=trees, n_jobs=jobs)


def measure_cell(cell):
    """Form groups in one way, and measure both releases of them."""
    k, table = cell["k"], sample(cell["n"])
    hierarchies = hierarchies_of(cell["hierarchies"])
    method = make_method(cell["method"], k, hierarchies, cell["jobs"])
    method.fit(table.head(20 * k))  # Exclude imports at first use from the measurement.
    _, measured = measure(lambda: method.fit(table))
    labels = method.labels_
    encoder = TableEncoder(table, k)
    averaged = rows_of(table, labels, k, "mode")
    release = method.fit_transform(table) if cell["method"] == "KAIM" else None
    if release is None:
        release = generalized(table, labels, k, hierarchies)
    kept = {name: same(table[name], averaged[name]).mean() for name in hierarchies}
    unchanged = {name: unchanged_share(table[name], release[name]) for name in hierarchies}
    return measured | {
        "groups": method.n_groups_,
        "exact_transform": bool(method.exact_transform_),
        "smallest_class": int(min(anonymity_level(averaged), anonymity_level(release))),
        "loss_percent": 100 * information_loss(encoder.points(table), labels),
        "kept_percent": 100 * float(np.mean(list(kept.values()))),
        "kept_percent_of": {name: 100 * float(share) for name, share in kept.items()},
        "unchanged_percent_of": {name: 100 * float(share) for name, share in unchanged.items()},
        "years": float((averaged["age"] - table["age"]).abs().mean()),
        "iloss_percent": 100 * generalization_loss(table, release, hierarchies=hierarchies),
    }


def rows_of(table, labels, k, categories, hierarchies=()):
    """Return the release of the records, given their groups."""
    released = released_groups(table, labels, k, categories, hierarchies)
    release = table.copy()
    for name, rows in released.items():
        release[name] = rows[name].take(labels).to_numpy()
    return release


def generalized(table, labels, k, hierarchies):
    """Return lowest common nodes, and intervals from the youngest to the oldest of each group."""
    release = rows_of(table, labels, k, "generalize", hierarchies).astype(object)
    ages = table["age"].groupby(labels)
    low, high = ages.transform("min"), ages.transform("max")
    release["age"] = [
        str(first) if first == last else f"[{first}, {last}]"
        for first, last in zip(low, high, strict=True)
    ]
    return release


def same(before, after):
    return (before == after).to_numpy(dtype=bool, na_value=False) | (
        before.isna() & after.isna()
    ).to_numpy()


def unchanged_share(before, after):
    """Return the share of generalized cells that are as they were; ``*`` stands for missing."""
    return (before.astype(object).where(before.notna(), "*") == after).mean()


def run_cells(arguments):
    folder = str(arguments.hierarchies) if arguments.hierarchies else None
    titles = "".join(f"{title:>{form.split('.')[0]}}" for title, _, form in COLUMNS)
    print(f"\n{'groups of':<30}{titles}")
    cells = []
    for method in arguments.methods:
        task = {"method": method, "hierarchies": folder, "k": arguments.k}
        task |= {"n": arguments.n, "jobs": arguments.jobs}
        found = measure_cell(task) if arguments.quick else run_alone(__file__, task, 3600)
        cells.append(task | found)
        numbers = "".join(f"{found[key]:{form}}" for _, key, form in COLUMNS if key in found)
        print(f"{method:<30}{numbers}  {found.get('error', '')}".rstrip(), flush=True)
    return cells


def print_columns(cells):
    """Print the share of unchanged cells of each column, in both releases."""
    names = list(hierarchies_of(None))
    for title, key in (("means and modes", "kept"), ("generalized", "unchanged")):
        print(f"\nCells as they were, in percent: {title}")
        print(f"{'groups of':<30}" + "".join(f"{name:>15}" for name in names))
        for cell in cells:
            if "error" not in cell:
                shares = cell[f"{key}_percent_of"]
                row = "".join(f"{shares[name]:15.2f}" for name in names)
                print(f"{cell['method']:<30}{row}")


def plot_columns(cells, path):
    """Draw the shares of unchanged cells: TableAggregator and KAIM, each with its own release."""
    from matplotlib.figure import Figure

    found = {cell["method"]: cell for cell in cells}
    bars = {
        "TableAggregator, modes": (found["TableAggregator"]["kept_percent_of"], "#0072B2"),
        "KAIM, generalized": (found["KAIM"]["unchanged_percent_of"], "#E69F00"),
    }
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for offset, (name, (shares, color)) in zip((-0.2, 0.2), bars.items(), strict=True):
        places = [place + offset for place in range(len(shares))]
        axes.barh(places, shares.values(), 0.4, color=color, label=name)
    axes.set_yticks(range(len(shares)), shares)
    axes.invert_yaxis()
    axes.set(xlabel=f"cells as they were (%), k = {cells[0]['k']}", xlim=(0, 100))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path, dpi=110)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", type=int, default=5, help="minimum group size (%(default)s)")
    add("--n", type=int, default=48_842, help="number of records (%(default)s)")
    add("--jobs", type=int, default=1, help="blocks in parallel (%(default)s)")
    add("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    add("--hierarchies", type=Path, help="folder with <column>.csv files, instead of ours")
    add("--quick", action="store_true", help="a small table, in this process")
    add("--json", type=Path, help="file to write the results to")
    add("--plot", type=Path, help="file for a figure of the shares of unchanged cells")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.n = 1000
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.cell:
        cap_memory()
        print(json.dumps(measure_cell(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    cells = run_cells(arguments)
    print_columns(cells)
    if arguments.plot:
        plot_columns(cells, arguments.plot)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
