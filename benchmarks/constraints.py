"""Constraints beyond k: what they cost in time and memory, and what is lost under t-closeness.

The first table has normal records with and without constraints. t-closeness and l-diversity are
about a column that depends on the first quasi-identifier. Units have 4 records in the mean: at
random, or visits, which are much alike. The second table has t-closeness on Census, k = 2, with two
quasi-identifiers and with all others: t-closeness first, which is algorithm 3 of Soria-Comas et al.
(2015), the default refiner, and annealing. The third table has dominance and p percent on
Tarragona: groups of MDAV that violate them are merged with the nearest ones until none is left, in
comparison with the default. The fourth table merges nearly all groups of one block under
l-diversity: by adding the counts of merged groups, and by looking at all of their members again, as
is done for constraints that are not counted. Each cell runs in a separate process on one thread.
Examples::

    python benchmarks/constraints.py --json constraints.json
    python benchmarks/constraints.py --n 5000 --sensitive FICA --t 0.13 --seconds 3
"""

import argparse
import json
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone

from sk_microagg import MicroAggregator
from sk_microagg.builders import MDAV
from sk_microagg.builders._merging import merge_until_met
from sk_microagg.datasets import fetch_census, fetch_tarragona
from sk_microagg.metrics import closeness, diversity, information_loss, units_per_group
from sk_microagg.privacy import Dominance, LDiversity, PPercent, Rules, TCloseness
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

BUSINESS = {"dominance": Dominance(0.5), "p percent": PPercent(10)}
BUSINESS_COLUMNS = ["FIXED.ASSETS", "PAID.UP.CAPITAL", "SALES"]


# Records in one block, and how many of 100 values, some of them rare, each of its groups needs.
MERGING = [(25_000, 90), (100_000, 95)]


class Recounted(LDiversity):
    """l-diversity whose groups are looked at as a whole after each merge."""

    needs = "records"


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


def measure_merging(cell):
    """Merge the groups of MDAV under l-diversity, in both ways, in this process."""
    rng = np.random.default_rng(cell["seed"])
    X, values = rng.normal(size=(cell["n"], 4)), (100 * rng.random(cell["n"]) ** 0.5).astype(int)
    built = MDAV().build(X, K)
    found = {}
    for name, constraint in (("counted", LDiversity(cell["l"])), ("again", Recounted(cell["l"]))):
        rules = Rules.of_table(len(X), K, constraint, values)
        labels, measured = measure(partial(merge_until_met, X, built, rules), most_runs=1)
        found[name] = labels, measured["cpu_seconds"]
    return {
        "counted_seconds": found["counted"][1],
        "again_seconds": found["again"][1],
        "n_built": int(built.max() + 1),
        "n_groups": int(found["counted"][0].max() + 1),
        "is_met": bool(np.array_equal(found["counted"][0], found["again"][0])),
    }


def run_merging(arguments):
    """Measure and print how long merging takes; return the cells as dicts."""
    print(f"\nMerging, k = {K}, l-diversity: seconds of the processor")
    print(f"{'records':>8}{'l':>4}{'built':>8}{'left':>7}{'counted':>9}{'again':>8}{'ratio':>8}")
    cells = []
    for n, l in MERGING:  # noqa: E741
        cell = {"table": "merging", "n": n, "l": l, "seed": arguments.seed}
        cell |= run_alone(__file__, cell, arguments.limit)
        cells.append(cell)
        if "error" in cell:
            print(f"{n:>8}{l:>4}  {cell['error']}", flush=True)
            continue
        counted, again = cell["counted_seconds"], cell["again_seconds"]
        line = f"{n:>8}{l:>4}{cell['n_built']:>8}{cell['n_groups']:>7}{counted:>9.2f}{again:>8.2f}"
        print(f"{line}{counted / again:>8.2f}{verdict(cell)}", flush=True)
    return cells


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


def measure_business(cell):
    """Fit Tarragona under a constraint on one of its columns in this process."""
    table = fetch_tarragona(as_frame=True).data
    X = (table / table.std(ddof=0)).to_numpy()
    amounts, k = table[cell["column"]].to_numpy(), cell["k"]
    built = MDAV().build(X, k)
    merged, n_violating = merge_violating(X, built, amounts, cell["constraint"])
    aggregator = MicroAggregator(k, privacy=BUSINESS[cell["constraint"]])
    _, measured = measure(lambda: aggregator.fit(table, sensitive=amounts), most_runs=1)
    longer = MicroAggregator(
        k, privacy=BUSINESS[cell["constraint"]], refiner=Annealing(time_limit=2), random_state=0
    ).fit(table, sensitive=amounts)
    labels = aggregator.labels_
    groups = [amounts[labels == group] for group in range(labels.max() + 1)]
    is_met = not any(violates(group, cell["constraint"]) for group in groups)
    return (
        measured
        | described(aggregator, is_met)
        | {
            "n_violating": int(n_violating),
            "n_built": int(built.max() + 1),
            "mdav_percent": 100 * information_loss(X, built),
            "annealed_percent": 100 * longer.information_loss_,
            "merged_percent": 100 * information_loss(X, merged),
        }
    )


def violates(amounts, constraint):
    """Whether the values of a group violate a constraint, by plain code."""
    *others, _, first = sorted([0.0, *amounts])
    if constraint == "dominance":
        return first > 0.5 * amounts.sum() * (1 + 1e-9)
    return sum(others) < 0.1 * first * (1 - 1e-9)


def merge_violating(X, labels, amounts, constraint):
    """Merge the first violating group with the nearest one until none is left."""
    groups = [np.flatnonzero(labels == group) for group in range(labels.max() + 1)]
    n_violating = sum(violates(amounts[group], constraint) for group in groups)
    while True:
        bad = [i for i, group in enumerate(groups) if violates(amounts[group], constraint)]
        if not bad:
            break
        members = groups.pop(bad[0])
        centers = np.array([X[group].mean(axis=0) for group in groups])
        nearest = int(((centers - X[members].mean(axis=0)) ** 2).sum(axis=1).argmin())
        groups[nearest] = np.concatenate([groups[nearest], members])
    merged = np.empty(len(X), dtype=int)
    for number, members in enumerate(groups):
        merged[members] = number
    return merged, n_violating


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


def run_business(arguments):
    """Measure and print dominance and p percent on Tarragona; return the cells as dicts."""
    print(
        "\nTarragona: loss in percent of MDAV, its groups merged, the default, and 2 s of annealing"
    )
    print(f"{'k':>3}  {'constraint':<12}{'column':<18}{'violating':>14}", end="")
    print(f"{'MDAV':>8}{'merged':>8}{'default':>9}{'2 s':>8}{'cpu':>7}")
    cells = []
    for k, constraint in product(arguments.k, BUSINESS):
        for column in BUSINESS_COLUMNS:
            cell = {"table": "business", "k": k, "constraint": constraint, "column": column}
            cell |= run_alone(__file__, cell, arguments.limit)
            cells.append(cell)
            print_business(cell)
    for k in arguments.k:
        own = [cell for cell in cells if cell["k"] == k and "error" not in cell]
        if own:
            ours, annealed, merged = (
                sum(cell[f"{name}_percent"] for cell in own)
                for name in ("loss", "annealed", "merged")
            )
            print(
                f"k = {k}: mean loss {ours / merged:.3f} of that of merging, and "
                f"{annealed / merged:.3f} with 2 s of annealing"
            )
    return cells


def print_business(cell):
    start = f"{cell['k']:>3}  {cell['constraint']:<12}{cell['column']:<18}"
    if "error" in cell:
        print(start + cell["error"], flush=True)
        return
    violating = f"{cell['n_violating']} of {cell['n_built']}"
    numbers = f"{violating:>14}{cell['mdav_percent']:>8.2f}{cell['merged_percent']:>8.2f}"
    numbers += f"{cell['loss_percent']:>9.2f}{cell['annealed_percent']:>8.2f}"
    print(start + numbers + f"{cell['cpu_seconds']:>7.2f}" + verdict(cell), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--n", type=int, default=20_000, help="number of normal records (%(default)s)")
    add("--d", type=int, default=6, help="number of their columns (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the data (%(default)s)")
    add("--sensitive", nargs="*", default=["FEDTAX", "FICA"], help="sensitive columns of Census")
    add("--t", type=float, nargs="+", default=[0.05, 0.13, 0.25], help="limits of t-closeness")
    add("--columns", type=int, nargs="+", choices=[2, 12], default=[2, 12], help="how many others")
    add("--k", type=int, nargs="*", default=[3, 5, 10], help="k of dominance and p percent")
    add("--seconds", type=float, default=10, help="time limit of the annealing (%(default)s)")
    add("--limit", type=float, default=300, help="time limit of a cell in seconds (%(default)s)")
    add("--only-business", action="store_true", help="leave out the first two tables")
    add("--json", type=Path, help="file to write the results to")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.cell:
        cap_memory()
        kinds = {"cost": measure_cost, "census": measure_census, "business": measure_business}
        kinds["merging"] = measure_merging
        print(json.dumps(kinds[arguments.cell["table"]](arguments.cell)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    results = {"machine": facts, "business": run_business(arguments)}
    if not arguments.only_business:
        results |= {"costs": run_costs(arguments), "census": run_census(arguments)}
        results["merging"] = run_merging(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
