"""Loss of all searches with the same time limit: none should be better than Recombination.

The data are the three reference tables, standardized, normal records and blobs. Each search starts
from MDAV, in a separate process on one thread. Examples::

    python benchmarks/anytime.py --json anytime.json
    python benchmarks/anytime.py --data Census --search 10 30 -k 3 5 --seeds 0 1 2

For each table, k and time limit the mean loss over the seeds is printed, in percent, with the mean
seconds, the peak memory in MB, and "ratio": the loss of Recombination over the least one of the
others. Time limits count seconds: run it on a machine that does nothing else. All cells take an
hour and three quarters.
"""

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
from _measure import machine_facts
from records import run

DATA = ["Tarragona", "Census", "EIA-10", "normal 3000 x 6", "blobs 10000 x 8"]
REFINERS = ["Recombination", "Annealing", "IteratedLocalSearch"]

# Chance decides more of what a short search finds, and more seeds cost little.
SHORT = 3.0
SEEDS_OF_SHORT = range(12)
SEEDS = range(3)


def compare(arguments):
    """Print one row per table, k and time limit; return all cells."""
    print(f"{'data':<17}{'k':>3}{'limit':>7}" + "".join(f"{n:>30}" for n in arguments.refiners))
    cells = []
    for data, k, limit in product(arguments.data, arguments.k, arguments.search):
        row = f"{data:<17}{k:>3}{limit:>7g}"
        losses = []
        for name in arguments.refiners:
            task = {"data": data, "k": k, "limit": limit, "refiner": name}
            seeds = arguments.seeds or (SEEDS_OF_SHORT if limit <= SHORT else SEEDS)
            tasks = [task | {"seed": seed} for seed in seeds]
            found = [one | run(one) for one in tasks]
            cells += found
            loss, seconds, peak = (
                np.mean([cell.get(figure, np.nan) for cell in found])
                for figure in ("loss_percent", "seconds", "peak_mb")
            )
            row += f"{loss:>15.4f}{seconds:>7.1f} s{peak:>6.0f}"
            losses.append(loss)
        ratio = losses[0] / min(losses[1:], default=losses[0])
        print(f"{row}  ratio {ratio:.4f}", flush=True)
    return cells


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", nargs="+", default=DATA, help="tables, or such as 'normal 300 x 2' (%(default)s)")
    add("-k", nargs="+", type=int, default=[5], help="minimum group sizes (%(default)s)")
    add(
        "--search",
        nargs="+",
        type=float,
        default=[0.3, 1, 3, 10, 30, 60],
        help="time limits in seconds (%(default)s)",
    )
    add("--refiners", nargs="+", choices=REFINERS, default=REFINERS)
    add("--seeds", nargs="+", type=int, help="seeds (0 to 2; up to 3 seconds 0 to 11)")
    add("--json", type=Path, help="file to write the results to")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    cells = compare(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
