"""How long to search: loss and gap of the default and of searches with time limits.

For each table, the default and `Recombination` with each time limit form groups of at least k
people, and a lower bound on the loss of any partition is proven. Examples::

    python benchmarks/how_long.py --json how_long.json
    python benchmarks/how_long.py --tables visits --search 1 10 60

"gap" is the increase of the loss over the bound, and thus an upper bound on what any further search
could gain. Time limits count seconds on one thread: run it on a machine that does nothing else.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import machine_facts, measure
from sklearn.datasets import load_diabetes

from sk_microagg import TableAggregator
from sk_microagg.datasets import load_visits
from sk_microagg.refiners import Recombination


def normal(n, d):
    values = np.random.default_rng(0).normal(size=(n, d))
    return pd.DataFrame(values, columns=[f"c{number}" for number in range(d)])


TABLES = {
    "visits": lambda: load_visits()[["age", "sex", "town", "income"]],
    "diabetes": lambda: load_diabetes(as_frame=True, scaled=False).data,
    "normal 25000 x 4": lambda: normal(25_000, 4),
}


def measure_table(name, k, limits, prove):
    """Measure the default and all searches on one table."""
    table = TABLES[name]()
    cells = []
    for limit in (None, *limits):
        refiner = "auto" if limit is None else Recombination(time_limit=limit)
        aggregator = TableAggregator(k, refiner=refiner, random_state=0)
        _, measured = measure(lambda fitted=aggregator: fitted.fit(table), most_runs=1)
        loss_percent = 100 * aggregator.information_loss_
        cells.append({"limit": limit, "loss_percent": loss_percent} | measured)
    # The bound is that of the table, whatever the groups.
    bound_percent = 100 * aggregator.certificate(table, time_limit=prove).bound
    for cell in cells:
        gap_percent = 100 * (cell["loss_percent"] / bound_percent - 1)
        cell |= {"table": name, "bound_percent": bound_percent, "gap_percent": gap_percent}
    return cells


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", type=int, default=5, help="minimum group size (%(default)s)")
    add("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    add("--search", nargs="+", type=float, default=[1, 10], help="time limits of the searches")
    add("--prove", type=float, default=10, help="time limit of a proof in seconds (%(default)s)")
    add("--json", type=Path, help="file to write the results to")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"\n{'table':<22}{'search':>9}{'CPU s':>8}{'loss %':>9}{'bound %':>9}{'gap %':>8}")
    cells = []
    for name in arguments.tables:
        for cell in measure_table(name, arguments.k, arguments.search, arguments.prove):
            search = "default" if cell["limit"] is None else f"{cell['limit']:g} s"
            numbers = f"{cell['loss_percent']:9.3f}{cell['bound_percent']:9.3f}"
            print(f"{name:<22}{search:>9}{cell['cpu_seconds']:8.1f}{numbers}", end="")
            print(f"{cell['gap_percent']:8.2f}", flush=True)
            cells.append(cell)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
