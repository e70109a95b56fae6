"""How exactly searches and the bound keep to a time limit, and how soon they answer Ctrl-C.

The data are normal records in ten columns, and the searches start from groups of records that have
nothing in common, which leaves most to do. Each cell runs in a separate process on one thread.
Examples::

    python benchmarks/limits.py --json limits.json
    python benchmarks/limits.py --n 20000 --limits 2 --presses 1

"over" are the seconds from the time limit to the end, negative if it comes earlier; "answered" are
those from Ctrl-C to the end, if it had not ended before. "exact" tells whether the groups were a
power diagram by then. Run it on a machine that does nothing else.
"""

import argparse
import json
import os
import signal
import threading
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone
from sklearn.exceptions import ConvergenceWarning

from sk_microagg.metrics import information_loss, loss_bound
from sk_microagg.refiners import Annealing, Auto, IteratedLocalSearch, Recombination

SEARCHES = {
    "Auto": Auto(),
    "Annealing": Annealing(),
    "IteratedLocalSearch": IteratedLocalSearch(max_iter=10**9),
    "Recombination": Recombination(),
}
BOUND = "loss_bound"
N_COLUMNS = 10

# Seconds after which a cell that does not end is killed.
MOST_SECONDS = 300


def measure_cell(cell):
    """Search or prove in this process, until the time limit or Ctrl-C ends it."""
    cap_memory()
    # Where this was started in the background, Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    n, k, name = cell["n"], cell["k"], cell["what"]
    X = np.random.default_rng([0, n]).normal(size=(n, N_COLUMNS))
    start = np.minimum(np.arange(n) // k, n // k - 1)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(cell.get("press", MOST_SECONDS), press)

    def run():
        timer.start()
        try:
            return search()
        finally:
            timer.cancel()

    def search():
        if name == BOUND:
            return loss_bound(X, k, time_limit=cell.get("limit", MOST_SECONDS))
        refiner = SEARCHES[name]
        if "limit" in cell:
            refiner = refiner.set_params(time_limit=cell["limit"])
        return refiner.refine(X, start, k, random_state=0)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, measured = measure(run, most_runs=1)
    ended = time.perf_counter()
    found = {"seconds": measured["seconds"], "peak_mb": measured["peak_mb"]}
    if pressed:
        found["answered"] = ended - pressed[0]
    if name == BOUND:
        return found | {"bound_percent": 100 * result}
    is_cut_short = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    loss = 100 * information_loss(X, result)
    return found | {"loss_percent": loss, "is_exact": not is_cut_short}


def compare(arguments):
    """Run and print all cells; return them as dicts."""
    print(
        f"{'what':<22}{'n':>8}{'k':>5}{'limit':>8}{'Ctrl-C':>8}{'seconds':>9}{'over':>8}"
        f"{'answered':>10}{'MB':>7}{'loss or bound %':>17}  exact"
    )
    cells = []
    ends = [{"limit": limit} for limit in arguments.limits]
    ends += [{"press": seconds} for seconds in arguments.presses]
    for n, k, end, what in product(arguments.n, arguments.k, ends, arguments.what):
        if what == "Auto" and "limit" in end:  # It has none.
            continue
        task = {"what": what, "n": n, "k": k, **end}
        cell = task | run_alone(__file__, task, MOST_SECONDS)
        if "limit" in cell and "seconds" in cell:
            cell["over"] = cell["seconds"] - cell["limit"]
        cells.append(cell)
        _print(cell)
    return cells


def _print(cell):
    def number(name, width, decimals):
        value = cell.get(name)
        return f"{'' if value is None else f'{value:.{decimals}f}':>{width}}"

    row = f"{cell['what']:<22}{cell['n']:>8}{cell['k']:>5}{number('limit', 8, 1)}"
    row += number("press", 8, 1)
    if "error" in cell:
        print(f"{row}  {cell['error']}", flush=True)
        return
    row += number("seconds", 9, 2) + number("over", 8, 2) + number("answered", 10, 2)
    row += number("peak_mb", 7, 0)
    row += number("bound_percent" if cell["what"] == BOUND else "loss_percent", 17, 3)
    exact = {True: "yes", False: "no"}.get(cell.get("is_exact"), "")
    print(f"{row}  {exact}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--what", nargs="+", choices=[*SEARCHES, BOUND], default=[*SEARCHES, BOUND])
    add("--n", nargs="+", type=int, default=[20_000, 100_000], help="records (%(default)s)")
    add("-k", nargs="+", type=int, default=[5, 200], help="minimum group sizes (%(default)s)")
    add("--limits", nargs="*", type=float, default=[2.0], help="seconds (%(default)s)")
    add(
        "--presses",
        nargs="*",
        type=float,
        default=[0.5, 3.0],
        help="seconds after which Ctrl-C is pressed (%(default)s)",
    )
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.cell:
        print(json.dumps(measure_cell(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    cells = compare(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
