"""Constraints beyond k: what they cost in time and memory, and what is lost under t-closeness.

The first table has normal records with and without constraints. t-closeness and l-diversity are
about a column that depends on the first quasi-identifier. Units have 4 records in the mean: at
random, or visits, which are much alike. The second table has t-closeness on Census, k = 2, with two
quasi-identifiers and with all others: t-closeness first, which is algorithm 3 of Soria-Comas et al.
(2015), the default refiner, and annealing. Each cell runs in a separate process on one thread.
Examples::

    python benchmarks/constraints.py --json constraints.json
    python benchmarks/constraints.py --n 5000 --sensitive FICA --t 0.13 --seconds 3
"""

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone

from sk_microagg import MicroAggregator
from sk_microagg.datasets import fetch_census
from sk_microagg.metrics import closeness, diversity, units_per_group
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing

K = 5
MEAN_SIZE = 4

# Data, constraint, and the largest ratio of seconds to those without a constraint that we aim at.
COSTS = [
    ("normal", "none", None),
    ("normal", "t = 0.1", 5.0),
    ("normal", "l = 3", None),
    ("normal", "unit", 3.0),
    ("visits", "none", None),
    ("visits", "unit", 3.0),
]

CENSUS_K = 2
TWO_COLUMNS = ["TAXINC", "POTHVAL"]
METHODS = ["t-closeness first", "default", "annealing"]


def make_table(data, n, d, seed):
    """Return records, a sensitive column and units."""
    rng = np.random.default_rng([seed, n, d])
    sizes = rng.geometric(1 / MEAN_SIZE, size=n)
    units = np.repeat(np.arange(n), sizes)[:n]
    X = rng.normal(size=(n, d))
    if data == "visits":
        X = 0.9 * rng.normal(size=(n, d))[units] + np.sqrt(1 - 0.9**2) * X
    sensitive = X[:, 0] + rng.normal(size=n)
    return X, sensitive, units


def measure_cost(cell):
    """Fit normal records under one constraint in this process."""
    X, sensitive, units = make_table(cell["data"], cell["n"], cell["d"], cell["seed"])
    kinds = np.digitize(sensitive, [-2, -1, 0, 1, 2])
    privacy, given, check = {
        "none": (None, {}, lambda labels: True),
        "t = 0.1": (
            TCloseness(0.1),
            {"sensitive": sensitive},
            lambda labels: closeness(labels, sensitive) <= 0.1,
        ),
        "l = 3": (
            LDiversity(3),
            {"sensitive": kinds},
            lambda labels: diversity(labels, kinds) >= 3,
        ),
        "unit": (None, {"unit": units}, lambda labels: units_per_group(labels, units) >= K),
    }[cell["constraint"]]
    aggregator = MicroAggregator(K, privacy=privacy)
    _, measured = measure(lambda: aggregator.fit(X, **given), most_runs=1)
    return measured | described(aggregator, check(aggregator.labels_))


def measure_census(cell):
    """Fit Census by one method in this process."""
    census = fetch_census(as_frame=True).data
    sensitive = census[cell["sensitive"]]
    others = census.columns.drop(cell["sensitive"])
    X = census[TWO_COLUMNS if cell["columns"] == 2 else others].to_numpy()
    refiner = {
        "t-closeness first": None,
        "default": "auto",
        "annealing": Annealing(time_limit=cell["seconds_allowed"]),
    }[cell["method"]]
    aggregator = MicroAggregator(
        CENSUS_K,
        builder="t_closeness_first",
        refiner=refiner,
        privacy=TCloseness(cell["t"]),
        random_state=0,
    )
    _, measured = measure(lambda: aggregator.fit(X, sensitive=sensitive), most_runs=1)
    return measured | described(aggregator, closeness(aggregator.labels_, sensitive) <= cell["t"])


def described(aggregator, is_met):
    return {
        "loss_percent": 100 * aggregator.information_loss_,
        "n_groups": int(aggregator.n_groups_),
        "smallest_group": int(aggregator.group_sizes_.min()),
        "is_met": bool(is_met),
    }


def run_costs(arguments):
    """Measure and print what constraints cost; return the cells as dicts."""
    print(f"\n{arguments.n} x {arguments.d}, k = {K}")
    print(
        f"{'data':<10}{'constraint':<12}{'loss %':>9}{'groups':>8}{'seconds':>9}{'cpu':>8}", end=""
    )
    print(f"{'MB':>7}{'s/none':>8}{'aim':>6}")
    cells, free = [], {}
    for data, constraint, aim in COSTS:
        cell = {"table": "cost", "data": data, "constraint": constraint}
        cell |= {"n": arguments.n, "d": arguments.d, "seed": arguments.seed, "aim": aim}
        cell |= run_alone(__file__, cell, timeout=arguments.limit)
        if constraint == "none":
            free[data] = cell
        elif "error" not in cell and "error" not in free[data]:
            for name in ("cpu_seconds", "loss_percent"):
                cell[f"{name}_ratio"] = cell[name] / free[data][name]
        cells.append(cell)
        print_cost(cell)
    return cells


def print_cost(cell):
    start = f"{cell['data']:<10}{cell['constraint']:<12}"
    if "error" in cell:
        print(start + cell["error"], flush=True)
        return
    numbers = f"{cell['loss_percent']:>9.4f}{cell['n_groups']:>8}{cell['seconds']:>9.2f}"
    numbers += f"{cell['cpu_seconds']:>8.2f}{cell['peak_mb']:>7.0f}"
    if "cpu_seconds_ratio" in cell:
        numbers += f"{cell['cpu_seconds_ratio']:>8.2f}"
        numbers += f"{cell['aim']:>6.0f}" if cell["aim"] else ""
    print(start + numbers + verdict(cell), flush=True)


def verdict(cell):
    return "" if cell["is_met"] else "  VIOLATED"


def run_census(arguments):
    """Measure and print all cells of the Census table; return them as dicts."""
    print(f"\nCensus, k = {CENSUS_K}, t-closeness: loss in percent, and seconds of the processor")
    print(f"{'sensitive':<11}{'t':>5}{'columns':>9}", end="")
    print("".join(f"{method:>20}{'s':>7}" for method in METHODS) + f"{'default/first':>15}")
    cells = []
    for sensitive, t, columns in product(arguments.sensitive, arguments.t, arguments.columns):
        cell = {"table": "census", "sensitive": sensitive, "t": t, "columns": columns}
        cell["seconds_allowed"] = arguments.seconds
        row = [
            cell
            | {"method": method}
            | run_alone(__file__, cell | {"method": method}, arguments.limit)
            for method in METHODS
        ]
        cells += row
        print_census_row(row)
    return cells


def print_census_row(row):
    line = f"{row[0]['sensitive']:<11}{row[0]['t']:>5}{row[0]['columns']:>9}"
    for cell in row:
        if "error" in cell:
            print(f"{line}  {cell['method']}: {cell['error']}", flush=True)
            return
        line += f"{cell['loss_percent']:>20.3f}{cell['cpu_seconds']:>7.2f}"
    first, default, _ = row
    line += f"{default['loss_percent'] / first['loss_percent']:>15.3f}"
    print(line + "".join(map(verdict, row)), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--n", type=int, default=20_000, help="number of normal records (%(default)s)")
    add("--d", type=int, default=6, help="number of their columns (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the data (%(default)s)")
    add("--sensitive", nargs="*", default=["FEDTAX", "FICA"], help="sensitive columns of Census")
    add("--t", type=float, nargs="+", default=[0.05, 0.13, 0.25], help="limits of t-closeness")
    add("--columns", type=int, nargs="+", choices=[2, 12], default=[2, 12], help="how many others")
    add("--seconds", type=float, default=10, help="time limit of the annealing (%(default)s)")
    add("--limit", type=float, default=300, help="time limit of a cell in seconds (%(default)s)")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.cell:
        cap_memory()
        measure_cell = {"cost": measure_cost, "census": measure_census}[arguments.cell["table"]]
        print(json.dumps(measure_cell(arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    results = {"machine": facts, "costs": run_costs(arguments), "census": run_census(arguments)}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
