"""Tables with columns of many values, such as ZIP codes and diagnoses: time, memory and loss.

Each record has three numbers and two codes. TableAggregator compares codes as they are. With
`--coordinates`, each value is a coordinate instead, of blocks that have few of these: so it was
before there were codes in the kernels, and so it is for refiners that do not take them. Examples::

    python benchmarks/many_values.py --json many_values.json
    python benchmarks/many_values.py --n 60000 --values 10000

Printed for each: information loss in all and of a code alone, the share of codes that are released
as they were, blocks, seconds and CPU seconds of `fit`, and the memory that it needs in addition to
the table. Each run is a process of its own, on one thread, unless `--quick` is given.
"""

import argparse
import json
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from _measure import cap_memory, machine_facts, measure, run_alone

from sk_microagg import TableAggregator
from sk_microagg.tables import _coordinates

TABLES = [(n, n_values) for n_values in (12, 229, 1_000, 10_000) for n in (20_000, 60_000)]

# Title, key and format of each column.
COLUMNS = [
    ("loss %", "loss_percent", "9.2f"),
    ("of a code", "code_loss_percent", "11.1f"),
    ("codes kept %", "kept_percent", "14.1f"),
    ("blocks", "blocks", "8d"),
    ("seconds", "seconds", "9.1f"),
    ("CPU s", "cpu_seconds", "9.1f"),
    ("peak MB", "peak_mb", "9.0f"),
]


def make_table(n, n_values):
    """Make a table of three numbers and two codes, all independent of each other."""
    rng = np.random.default_rng(0)
    numbers = {f"number {j}": rng.normal(size=n).round(3) for j in (1, 2, 3)}
    codes = {f"code {j}": rng.integers(n_values, size=n) for j in (1, 2)}
    return pd.DataFrame(
        numbers | {name: [f"{value:05d}" for value in values] for name, values in codes.items()}
    )


def measure_cell(cell):
    table = make_table(cell["n"], cell["values"])
    aggregator = TableAggregator(cell["k"])
    aggregator.fit(table.head(20 * cell["k"]))  # Exclude imports from the measurement.
    most = np.inf if cell["points"] == "coordinates" else _coordinates.MAX_WITHOUT_CODES
    with mock.patch.object(_coordinates, "MAX_WITHOUT_CODES", most):
        release, measured = measure(lambda: aggregator.fit_transform(table))
    return measured | {
        "loss_percent": 100 * aggregator.information_loss_,
        "code_loss_percent": 100 * aggregator.column_losses_["code 1"],
        "kept_percent": 100 * float((release["code 1"] == table["code 1"]).mean()),
        "blocks": aggregator.n_blocks_,
    }


def run_cells(arguments):
    titles = "".join(f"{title:>{form.rstrip('d').split('.')[0]}}" for title, _, form in COLUMNS)
    print(f"\n{'records':>9}{'values':>8}  {'points':<12}{titles}")
    cells = []
    for n, n_values in arguments.tables:
        for points in ("codes", "coordinates")[: 1 + arguments.coordinates]:
            task = {"n": n, "values": n_values, "k": arguments.k, "points": points}
            found = measure_cell(task) if arguments.quick else run_alone(__file__, task, 3600)
            cells.append(task | found)
            numbers = "".join(f"{found[key]:{form}}" for _, key, form in COLUMNS if key in found)
            line = f"{n:>9}{n_values:>8}  {points:<12}{numbers}  {found.get('error', '')}"
            print(line.rstrip(), flush=True)
    return cells


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", type=int, default=5, help="minimum group size (%(default)s)")
    add("--n", type=int, help="number of records; with --values, a single table")
    add("--values", type=int, help="number of values of each code")
    add("--coordinates", action="store_true", help="also with a coordinate per value")
    add("--quick", action="store_true", help="a small table, in this process")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if (arguments.n is None) != (arguments.values is None):
        parser.error("--n and --values go together")
    arguments.tables = TABLES if arguments.n is None else [(arguments.n, arguments.values)]
    if arguments.quick:
        arguments.tables = [(1_000, 100)]
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
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
