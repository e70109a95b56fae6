"""What l-diversity costs generalized releases of Adult: those of TableAggregator, and KAIM's.

Age and seven categorical columns with missing values are released as intervals and nodes of
hierarchies, and the salary unchanged: without l-diversity, and so that every class of equal rows
has both salaries. Classes, their salaries and overlaps are counted here, from the released cells.
Examples::

    python benchmarks/generalized.py --json generalized.json
    python benchmarks/generalized.py --hierarchies adult_hierarchies --every 8

The folder given by `--hierarchies` contains a file `<column>.csv` for each categorical column; by
default the hierarchies of `fetch_adult` are used. Each cell runs in a separate process on one
thread.
"""

import argparse
import json
import re
from itertools import pairwise, product
from pathlib import Path

from _measure import cap_memory, machine_facts, measure, run_alone

from sk_microagg import KAIM, TableAggregator
from sk_microagg.datasets import fetch_adult
from sk_microagg.metrics import generalization_loss
from sk_microagg.privacy import LDiversity
from sk_microagg.tables import Hierarchy

SENSITIVE = "salary-class"
METHODS = ["KAIM", "overlapping", "disjoint"]


def measure_cell(cell):
    """Make one release in this process."""
    data = fetch_adult(as_frame=True)
    table, trees = data.data[:: cell["every"]], data.hierarchies
    if cell["folder"] is not None:
        trees = {name: Hierarchy.from_csv(Path(cell["folder"]) / f"{name}.csv") for name in trees}
    parameters = {"k": cell["k"], "sensitive": SENSITIVE, "hierarchies": trees, "random_state": 0}
    parameters["privacy"] = LDiversity(cell["l"]) if cell["l"] > 1 else None
    if cell["method"] == "KAIM":
        method = KAIM(**parameters).set_output(transform="pandas")
    else:
        parameters |= {"numbers": "interval", "categories": "generalize"}
        method = TableAggregator(**parameters, intervals=cell["method"])
    release, measured = measure(lambda: method.fit_transform(table), most_runs=1)
    names = [name for name in table if name != SENSITIVE]
    classes = classes_of(release[names], table[SENSITIVE])
    return measured | {
        "iloss_percent": 100 * generalization_loss(table[names], release[names], hierarchies=trees),
        "classes": len(classes),
        "smallest_class": min(map(len, classes.values())),
        "classes_of_one_salary": sum(len({*salaries}) == 1 for salaries in classes.values()),
        "overlaps": overlaps(table[names], release[names]),
    }


def classes_of(release, salaries):
    """Return the salaries of each class of equal released rows."""
    found = {}
    rows = release.astype(str).itertuples(index=False, name=None)
    for row, salary in zip(rows, salaries, strict=True):
        found.setdefault(row, []).append(salary)
    return found


def overlaps(table, release):
    """Count intervals of ages that overlap the next one, and values that become several cells."""
    ends = sorted({tuple(map(float, re.findall(r"[\d.]+", cell))) for cell in as_text(release.age)})
    n_intervals = sum(low[-1] >= high[0] for low, high in pairwise(ends) if low and high)
    n_values = sum(
        int((as_text(release[name]).groupby(as_text(table[name])).nunique() > 1).sum())
        for name in table
    )
    return n_intervals + n_values


def as_text(column):
    return column.astype(str)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", type=int, default=5, help="minimum group size (%(default)s)")
    add("--l", type=int, default=2, help="different salaries of each class (%(default)s)")
    add("--every", type=int, default=1, help="take only every n-th record (%(default)s)")
    add("--hierarchies", type=Path, help="folder with <column>.csv files, instead of ours")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.cell:
        cap_memory()
        print(json.dumps(measure_cell(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"\n{'method':<14}{'l':>3}{'ILossRate %':>13}{'classes':>9}{'of one salary':>15}", end="")
    print(f"{'smallest':>10}{'overlaps':>10}{'CPU s':>8}")
    folder, cells = arguments.hierarchies and str(arguments.hierarchies), []
    for method, l_diversity in product(METHODS, (1, arguments.l)):
        cell = {"method": method, "k": arguments.k, "l": l_diversity, "every": arguments.every}
        found = run_alone(__file__, cell | {"folder": folder}, 3600)
        cells.append(cell | found)
        print(f"{method:<14}{l_diversity:>3}", end="")
        if "error" in found:
            print(found["error"], flush=True)
            continue
        print(f"{found['iloss_percent']:>13.2f}{found['classes']:>9}", end="")
        print(f"{found['classes_of_one_salary']:>15}{found['smallest_class']:>10}", end="")
        print(f"{found['overlaps']:>10}{found['cpu_seconds']:>8.1f}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
