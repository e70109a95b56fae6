"""The lowest losses known to us, their computing times, and bounds on their optimality gaps.

The data are Tarragona, Census and EIA (10 and 11 columns), standardized, with those k for which a
loss is published: 3, 4, 5, 6 and 10, and 3 for EIA with 11 columns. For each cell and seed,
:class:`Recombination` searches from MDAV on one core; for each cell a lower bound is proven. Both
have a time limit::

    python benchmarks/records.py --json records.json
    python benchmarks/records.py --data Census -k 5 --seeds 0

"gap" is the increase of the loss over the bound, and thus an upper bound on its increase over the
optimum. "record" tells whether the loss, rounded as published, is at or below the best published
one: Bierman (2020), Improvements to iterated local search for microaggregation, dissertation, Nova
Southeastern University, and the works cited there; for Tarragona, Census and EIA-11 with k = 3 the
partitions by column generation of Aloise, Hansen, Rocha and Santi (2014), evaluated again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _default import load
from _measure import machine_facts, measure, run_alone

from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss, loss_bound
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination

# In percent, by data set and k, with the decimals that are known.
PUBLISHED_BEST = {
    "Tarragona": {3: "14.4697", 4: "17.10", 5: "20.17", 6: "23.50", 10: "30.14"},
    "Census": {3: "4.6771", 4: "6.12", 5: "7.37", 6: "8.33", 10: "11.46"},
    "EIA-10": {3: "0.36", 4: "0.51", 5: "0.76", 6: "0.94", 10: "1.85"},
    "EIA-11": {3: "0.35367"},
}


def make_refiner(name, seconds):
    if name == "IteratedLocalSearch":
        return IteratedLocalSearch(max_iter=10**9, time_limit=seconds)
    return {"Annealing": Annealing, "Recombination": Recombination}[name](time_limit=seconds)


def measure_task(task):
    """Search or prove in this process."""
    X, k = load(task["data"]), task["k"]
    if "refiner" not in task:
        bound, measured = measure(lambda: loss_bound(X, k, time_limit=task["limit"]), most_runs=1)
        return {
            "bound_percent": 100 * bound,
            "proof_seconds": measured["seconds"],
            "proof_mb": measured["peak_mb"],
        }
    start = MDAV().build(X, k)
    refiner = make_refiner(task["refiner"], task["limit"])
    labels, measured = measure(
        lambda: refiner.refine(X, start, k, random_state=task["seed"]), most_runs=1
    )
    return {
        "loss_percent": 100 * information_loss(X, labels),
        "smallest_group": int(np.bincount(labels).min()),
        "seconds": measured["seconds"],
        "peak_mb": measured["peak_mb"],
    }


def run(task):
    return run_alone(__file__, task, timeout=2 * task["limit"] + 60)


def cells_to_search(arguments):
    """Return pairs of a data set and a k."""
    return [(data, k) for data in arguments.data for k in arguments.k or PUBLISHED_BEST[data]]


def search_records(arguments):
    """Search and prove each cell; print one row per search, and return them as dicts."""
    print(
        f"{'data':<12}{'k':>3}{'seed':>6}{'published':>11}{'loss %':>10}{'seconds':>9}{'MB':>7}"
        f"{'bound %':>10}{'gap %':>8}{'seconds':>9}{'MB':>7}  record"
    )
    cells = []
    for data, k in cells_to_search(arguments):
        proof = run({"data": data, "k": k, "limit": arguments.prove})
        for seed in arguments.seeds:
            task = {"data": data, "k": k, "seed": seed, "refiner": "Recombination"}
            cell = task | proof | run(task | {"limit": arguments.search})
            cell["published_best"] = best = PUBLISHED_BEST[data].get(k)
            if "error" not in cell:
                cell["gap_percent"] = 100 * (cell["loss_percent"] / cell["bound_percent"] - 1)
                cell["is_record"] = is_record(cell["loss_percent"], best)
            print_record(cell)
            cells.append(cell)
    for seed in arguments.seeds:
        of_seed = [cell for cell in cells if cell["seed"] == seed]
        n_records = sum(cell.get("is_record", False) for cell in of_seed)
        print(f"seed {seed}: {n_records} of {len(of_seed)} at or below the published best")
    return cells


def is_record(loss_percent, best):
    """Whether a loss, rounded to the decimals of the best published one, is at or below it."""
    return best is None or round(loss_percent, len(best.split(".")[1])) <= float(best)


def print_record(cell):
    start = f"{cell['data']:<12}{cell['k']:>3}{cell['seed']:>6}{cell['published_best'] or '–':>11}"
    if "error" in cell:
        print(f"{start}  {cell['error']}", flush=True)
        return
    print(
        f"{start}{cell['loss_percent']:>10.4f}{cell['seconds']:>9.1f}{cell['peak_mb']:>7.0f}"
        f"{cell['bound_percent']:>10.4f}{cell['gap_percent']:>8.2f}{cell['proof_seconds']:>9.1f}"
        f"{cell['proof_mb']:>7.0f}  {'yes' if cell['is_record'] else 'no'}",
        flush=True,
    )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", nargs="+", choices=PUBLISHED_BEST, default=list(PUBLISHED_BEST))
    add("-k", nargs="+", type=int, help="minimum group sizes (those with a published loss)")
    add(
        "--seeds",
        nargs="+",
        type=int,
        default=[0, 1, 2],
        help="seeds of searches (%(default)s)",
    )
    add("--search", type=float, default=60, help="time limit of a search in seconds (%(default)s)")
    add("--prove", type=float, default=10, help="time limit of a proof in seconds (%(default)s)")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.cell:
        print(json.dumps(measure_task(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    cells = search_records(arguments)
    if arguments.json:
        results = {"machine": facts, "seconds": arguments.search, "cells": cells}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
