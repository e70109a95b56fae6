"""Time, memory and information loss of MicroAggregator on many records, divided into blocks.

There are two parts. `growth` fits normal records, with the defaults and without a refiner, in one
job and in two, and shows time, peak memory relative to a budget, and the growth of time with the
number of records. `cuts` shows the loss of 2, 4 and 8 blocks compared with a single block, and how
much of it stitching recovers. Each cell (one fit) runs in a separate process, unless `--quick` is
given, with one thread per job. Examples::

    python benchmarks/scale.py --json scale.json
    python benchmarks/scale.py --parts growth --n 100000 1000000 --d 4 --jobs 1
    python benchmarks/scale.py --parts growth --n 10000000 --d 10 --jobs 2 --huge
    python benchmarks/scale.py --parts cuts --d 4

Memory is what `fit` needs in addition to the records. Its budget is three times the array of the
records, plus 300 bytes per record and 150 MB per job. Losses refer to standardized columns. Growth
is measured from 100 000 records on: up to 25 000 the defaults use a single block, where time grows
faster than linearly. Cuts halve the records, so that blocks have 25 000 of 100 000 records, but
15 625 of a million and 19 531 of ten million: an exponent below 1 is due to smaller blocks.

Two jobs are faster than one only if two CPUs are idle, so load averages are shown next to the
ratio. They refer to the minute before a cell, which includes the previous cell. "Busy" is CPU
seconds over seconds: a single job that kept less than one CPU busy had to wait for others.
"""

import argparse
import json
import os
from itertools import product
from pathlib import Path

import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone
from _scale_tables import (
    exponents,
    print_cuts_header,
    print_cuts_row,
    print_exponents,
    print_growth_header,
    print_growth_row,
    print_speedups,
    print_won_back,
    speedups,
    won_back,
)
from sklearn.datasets import make_blobs

from sk_microagg import MicroAggregator

K = 5
METHODS = {"defaults": {}, "refiner=None": {"refiner": None}}

# More values than this take long, even if they fit into memory.
HUGE = 40_000_000

# Numbers of blocks in the second part.
NUMBERS_OF_BLOCKS = (2, 4, 8)

QUICK = {"n": [400, 800], "d": [2], "jobs": [1, 2], "n_cuts": 1600, "since": 400}


def normal(n, d):
    return np.random.default_rng([0, n, d]).normal(size=(n, d))


def blobs(n, d):
    return make_blobs(n, d, centers=20, random_state=np.random.RandomState([0, n, d]))[0]


DATA = {"normal": normal, "blobs": blobs}


def make_aggregator(cell):
    if cell["part"] == "growth":
        return MicroAggregator(cell["k"], **METHODS[cell["method"]], n_jobs=cell["jobs"])
    return MicroAggregator(cell["k"], block_size=cell["block_size"], stitch=cell["stitch"])


def measure_cell(cell):
    """Fit one data set in this process."""
    X = DATA[cell["data"]](cell["n"], cell["d"])
    aggregator = make_aggregator(cell)
    # Exclude imports at first use from the measurement.
    aggregator.fit(X[: 20 * cell["k"]])
    _, measured = measure(lambda: aggregator.fit(X))
    return measured | {
        "loss_percent": 100 * aggregator.information_loss_,
        "n_blocks": aggregator.n_blocks_,
        "exact_transform": aggregator.exact_transform_,
        "smallest_group": int(np.bincount(aggregator.labels_).min()),
    }


def run_cell(cell, arguments):
    """Return a cell with its measurements, and the load of the machine before it."""
    cell = cell | {"load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None}
    if arguments.quick:  # Starting an interpreter would take most of the time.
        return cell | measure_cell(cell)
    return cell | run_alone(__file__, cell, arguments.limit)


def growth_cells(arguments):
    """Yield the cells of the first part; cells to be compared are consecutive."""
    for d, method, n, jobs in product(arguments.d, METHODS, arguments.n, arguments.jobs):
        if n * d <= HUGE or (arguments.huge and method == "refiner=None"):
            cell = {"part": "growth", "data": "normal", "d": d, "method": method, "n": n}
            yield cell | {"jobs": jobs, "k": K}


def run_growth(arguments):
    """Run and print the first part; return cells and derived statistics."""
    print("\nGrowth: normal records")
    print_growth_header()
    cells = []
    for cell in growth_cells(arguments):
        cell = run_cell(cell, arguments)
        cell |= compare_with_budget(cell)
        print_growth_row(cell)
        cells.append(cell)
    results = {"exponents": exponents(cells, arguments.since), "speedups": speedups(cells)}
    if results["exponents"]:
        print_exponents(results["exponents"], arguments.since)
    if results["speedups"]:
        print_speedups(results["speedups"])
    return {"cells": cells} | results


def compare_with_budget(cell):
    array = 8 * cell["n"] * cell["d"]
    budget = (3 * array + 300 * cell["n"]) / 1e6 + 150 * cell["jobs"]
    if "peak_mb" not in cell:
        return {"budget_mb": budget}
    return {"budget_mb": budget, "within_budget": cell["peak_mb"] <= budget}


def run_cuts(arguments):
    """Run and print the second part; return cells and derived statistics."""
    print(f"\nCuts: {arguments.n_cuts} records in one job; 'above' is the increase over one block")
    cells = []
    for data, d in product(DATA, arguments.d):
        print_cuts_header()
        table = {"part": "cuts", "data": data, "d": d, "n": arguments.n_cuts, "k": K}
        whole = run_cell(table | {"block_size": None, "stitch": False}, arguments)
        print_cuts_row([whole])
        cells.append(whole)
        for n_blocks in NUMBERS_OF_BLOCKS:
            table["block_size"] = arguments.n_cuts // n_blocks
            pair = [run_cell(table | {"stitch": stitch}, arguments) for stitch in (False, True)]
            for cell in pair:
                cell |= compare_with_one_block(cell, whole)
            print_cuts_row(pair)
            cells += pair
    shares = won_back(cells)
    if shares:
        print_won_back(shares)
    return {"cells": cells, "won_back": shares}


def compare_with_one_block(cell, whole):
    """Return the increase over the loss of one block, if both were run."""
    if "loss_percent" not in cell or "loss_percent" not in whole:
        return {}
    return {"loss_above_percent": 100 * (cell["loss_percent"] / whole["loss_percent"] - 1)}


PARTS = {"growth": run_growth, "cuts": run_cuts}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    add("--n", type=int, nargs="+", default=sizes, help="numbers of records of the first part")
    add("--d", type=int, nargs="+", default=[4, 10], help="numbers of columns")
    add("--jobs", type=int, nargs="+", default=[1, 2], help="numbers of jobs of the first part")
    huge = "include more than 40 million values, without a refiner"
    add("--huge", action="store_true", help=huge)
    add("--limit", type=float, default=3600, help="time limit of a cell in seconds (%(default)s)")
    add("--quick", action="store_true", help="only a few small tables")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    parser.set_defaults(n_cuts=100_000, since=100_000)
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(QUICK)
    for option in ("n", "d", "jobs"):
        setattr(arguments, option, sorted(set(getattr(arguments, option))))
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.cell:
        cap_memory()
        print(json.dumps(measure_cell(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    processes = "one process" if arguments.quick else "one process per cell"
    print(f"k = {K}; {processes}; limit {arguments.limit:g} s")
    results = {"machine": facts}
    for part in PARTS:
        if part in arguments.parts:
            results[part] = PARTS[part](arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
