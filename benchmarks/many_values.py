"""Tables with a column of many values, such as ZIP codes: time, memory and loss.

Each record has a code, an age, a sex and an income that depends on the code. Beyond 512
coordinates, TableAggregator stores points sparsely and divides the table into blocks that have few
of these values each. For tables that allow it, the same is done with one dense coordinate per value
and all records in one block. Examples::

    python benchmarks/many_values.py --json many_values.json
    python benchmarks/many_values.py --n 50000 --values 10000

Printed for each: information loss in all and of the code alone, the share of codes that are
released as they were, blocks, seconds and CPU seconds of `fit`, and the memory that it needs in
addition to the table. Each run is a process of its own, on one thread, unless `--quick` is given.
"""

import argparse
import json
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from _measure import cap_memory, machine_facts, measure, run_alone

from sk_microagg import TableAggregator
from sk_microagg.encoding import _coordinates

# Records, values, and whether one dense block is tried, too.
TABLES = [(5_000, 300, True), (5_000, 1_000, True), (10_000, 3_000, True), (50_000, 10_000, False)]

# Title, key and format of each column.
COLUMNS = [
    ("loss %", "loss_percent", "9.2f"),
    ("of codes", "code_loss_percent", "10.1f"),
    ("codes kept %", "kept_percent", "14.1f"),
    ("blocks", "blocks", "8d"),
    ("seconds", "seconds", "9.1f"),
    ("CPU s", "cpu_seconds", "9.1f"),
    ("peak MB", "peak_mb", "9.0f"),
]


def make_table(n, n_values):
    """Make a table; codes differ in how frequent they are, and in the incomes that go with them."""
    rng = np.random.default_rng(0)
    level, frequency = rng.random(n_values), rng.exponential(size=n_values)
    code = rng.choice(n_values, size=n, p=frequency / frequency.sum())
    return pd.DataFrame(
        {
            "code": [f"{number:05d}" for number in code],
            "age": rng.integers(18, 90, size=n),
            "sex": rng.choice(["f", "m"], size=n),
            "income": np.exp(rng.normal(size=n) + level[code]).round(2),
        }
    )


def measure_cell(cell):
    table = make_table(cell["n"], cell["values"])
    aggregator = TableAggregator(cell["k"], block_size=None if cell["dense"] else "auto")
    aggregator.fit(table.head(20 * cell["k"]))  # Exclude imports from the measurement.
    most = np.inf if cell["dense"] else _coordinates.MAX_DENSE
    with mock.patch.object(_coordinates, "MAX_DENSE", most):
        release, measured = measure(lambda: aggregator.fit_transform(table))
    return measured | {
        "loss_percent": 100 * aggregator.information_loss_,
        "code_loss_percent": 100 * aggregator.column_losses_["code"],
        "kept_percent": 100 * float((release["code"] == table["code"]).mean()),
        "blocks": aggregator.n_blocks_,
    }


def run_cells(arguments):
    titles = "".join(f"{title:>{form.rstrip('d').split('.')[0]}}" for title, _, form in COLUMNS)
    print(f"\n{'records':>9}{'values':>8}  {'points':<8}{titles}")
    cells = []
    for n, n_values, also_dense in arguments.tables:
        for dense in (False, True)[: 1 + also_dense]:
            task = {"n": n, "values": n_values, "k": arguments.k, "dense": dense}
            found = measure_cell(task) if arguments.quick else run_alone(__file__, task, 3600)
            cells.append(task | found)
            numbers = "".join(f"{found[key]:{form}}" for _, key, form in COLUMNS if key in found)
            name = "dense" if dense else "default"
            line = f"{n:>9}{n_values:>8}  {name:<8}{numbers}  {found.get('error', '')}"
            print(line.rstrip(), flush=True)
    return cells


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", type=int, default=5, help="minimum group size (%(default)s)")
    add("--n", type=int, help="number of records; with --values, a single table")
    add("--values", type=int, help="number of codes")
    add("--quick", action="store_true", help="a small table, in this process")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if (arguments.n is None) != (arguments.values is None):
        parser.error("--n and --values go together")
    arguments.tables = TABLES if arguments.n is None else [(arguments.n, arguments.values, False)]
    if arguments.quick:
        arguments.tables = [(1_000, 100, True)]
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
