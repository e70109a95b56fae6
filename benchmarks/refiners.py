"""Information loss, time and peak memory of all combinations of builders and refiners.

The data are Tarragona, Census and EIA (10 columns), standardized, and normal records. Each cell (a
builder and a refiner on one data set) runs in a separate process on one thread. Examples::

    python benchmarks/refiners.py --json refiners.json --plot refiners.png
    python benchmarks/refiners.py --data Census --builders MDAV -k 3 --prove 10
    python benchmarks/refiners.py --speed
    python benchmarks/refiners.py --default

On normal records GSMS and DBFS run only on request: with 100 000 records and 10 columns they take
about a minute and half a minute to build the groups, again for every refiner. The iterated search
has 5000 iterations on the real data. On 100 000 records that would be one for every fourth group,
so it gets a time limit instead, as does annealing; recombination has it everywhere. With --prove,
a lower bound of the loss of any partition is proven in so many seconds.
"""

import argparse
import json
from itertools import product
from pathlib import Path

import _default
import _speed
import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone
from published import standardized

from sk_microagg import builders, refiners
from sk_microagg.metrics import information_loss, loss_bound, sse

# The others are compared with the first builder and the first refiner.
BUILDERS = ["MDAV", "CBFS", "TFRP", "GSMS", "DBFS"]
REFINERS = ["none", "Decompose", "DecomposeShrink", "LocalSearch", "Exchange", "Auto"]
REFINERS += ["IteratedLocalSearch", "Annealing", "Recombination"]
SEARCHES = REFINERS[-3:]

REAL = ["Tarragona", "Census", "EIA-10"]
NORMAL = {f"normal {n} x {d}": (n, d) for n in (25_000, 100_000) for d in (4, 10)}
QUICK = {"normal 300 x 2": (300, 2)}
SLOW_ON_MANY = ("GSMS", "DBFS")

# Maximum number of points of a curve.
N_POINTS = 200


def load(data):
    if data in REAL:
        return standardized(data)
    n, d = (NORMAL | QUICK)[data]
    return np.random.default_rng([0, n, d]).normal(size=(n, d))


def make_refiner(name, time_limit):
    if name == "none":
        return None
    refiner = getattr(refiners, name)()
    if time_limit:
        refiner.set_params(time_limit=time_limit)
        if name == "IteratedLocalSearch":
            refiner.set_params(max_iter=10**9)
    return refiner


def measure_cell(cell):
    """Build and refine groups on one data set in this process; or prove a bound."""
    cap_memory()
    X, k = load(cell["data"]), cell["k"]
    if "prove" in cell:
        return {"bound_percent": 100 * loss_bound(X, k, time_limit=cell["prove"])}
    build = getattr(builders, cell["builder"])().build
    build(X[: 20 * k], k)  # Exclude imports at first use from the measurement.
    labels, built = measure(lambda: build(X, k))
    found = {"builder_seconds": built["seconds"], "builder_peak_mb": built["peak_mb"]}
    found |= {"seconds": 0.0, "peak_mb": 0.0}
    refiner = make_refiner(cell["refiner"], cell["time_limit"])
    if refiner is not None:
        start = labels
        (labels, trace), measured = measure(lambda: refine(refiner, X, start, k))
        found |= {"seconds": measured["seconds"], "peak_mb": measured["peak_mb"]}
        if cell["refiner"] == "IteratedLocalSearch":
            found["trace"] = curve(trace, X, start, k)
            found["n_iter"] = refiner.n_iter_
    return found | {
        "loss_percent": 100 * information_loss(X, labels),
        "smallest_group": int(np.bincount(labels).min()),
    }


def refine(refiner, X, labels, k):
    """Return the labels and the trace of this run, which a later run would overwrite."""
    return refiner.refine(X, labels, k, random_state=0), getattr(refiner, "trace_", None)


def curve(trace, X, labels, k):
    """Return seconds and loss in percent, evenly spaced in log time, including both ends."""
    # The trace starts after the decomposition; only its last row includes the time for that.
    _, opening = measure(lambda: refiners.DecomposeShrink(max_iter=1).refine(X, labels, k))
    _, seconds, errors = trace.T
    seconds[:-1] = np.minimum(seconds[:-1] + opening["seconds"], seconds[-1])
    times = np.geomspace(seconds[0], seconds[-1], N_POINTS)
    rows = np.searchsorted(seconds, times, side="right") - 1
    rows = np.unique(np.clip([0, *rows, len(trace) - 1], 0, None))
    losses = 100 * errors / sse(X, np.zeros(len(X), dtype=int))
    return np.column_stack([seconds, losses])[rows].tolist()


def run_cells(arguments):
    """Run and print all cells; return them as a list of dicts."""
    cells = []
    for data, builder in product(arguments.data, arguments.builders or BUILDERS):
        if data in NORMAL and builder in SLOW_ON_MANY and not arguments.builders:
            continue
        print_header()
        built = None
        for refiner in arguments.refiners:
            cell = {"data": data, "k": arguments.k, "builder": builder, "refiner": refiner}
            is_limited = refiner == "Recombination" or (data in NORMAL and refiner in SEARCHES)
            cell |= {"time_limit": arguments.time_limit if is_limited else None}
            cell |= run_alone(__file__, cell, arguments.limit)
            if refiner == "none":
                built = cell.get("loss_percent")
            if built and "loss_percent" in cell:
                cell["loss_to_built"] = cell["loss_percent"] / built
            print_row(cell)
            cells.append(cell)
    return cells


def run_proofs(arguments):
    """Prove and print a lower bound of the loss on each of the data sets, if asked for."""
    bounds = []
    for data in arguments.data:
        if arguments.prove:
            cell = {"data": data, "k": arguments.k, "prove": arguments.prove}
            cell |= run_alone(__file__, cell, arguments.limit)
            print(f"{data:<20}{'lower bound':<29}{cell.get('bound_percent', float('nan')):10.4f}")
            bounds.append(cell)
    return bounds


# Title, key and format of each column.
COLUMNS = [
    ("loss %", "loss_percent", "10.4f"),
    ("of built", "loss_to_built", "10.4f"),
    ("build s", "builder_seconds", "10.3f"),
    ("refine s", "seconds", "10.3f"),
    ("build MB", "builder_peak_mb", "10.1f"),
    ("refine MB", "peak_mb", "10.1f"),
]


def print_header():
    titles = "".join(f"{title:>10}" for title, _, _ in COLUMNS)
    print(f"\n{'data':<20}{'builder':<9}{'refiner':<20}{titles}")


def print_row(cell):
    numbers = "".join(
        f"{cell[key]:{form}}" if key in cell else f"{'–':>10}" for _, key, form in COLUMNS
    )
    start = f"{cell['data']:<20}{cell['builder']:<9}{cell['refiner']:<20}"
    print(f"{start}{numbers}  {cell.get('error', '')}".rstrip(), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    every_data = [*REAL, *NORMAL]
    add("--data", nargs="+", choices=every_data, default=every_data)
    add("--builders", nargs="+", choices=BUILDERS)
    add("--refiners", nargs="+", choices=REFINERS, default=REFINERS)
    add("-k", type=int, default=5, help="minimum group size (%(default)s)")
    add(
        "--time-limit",
        type=float,
        default=60,
        help="seconds of a search in normal records, and of each recombination (%(default)s)",
    )
    add("--prove", type=float, help="seconds of a proof for each of the data sets")
    add("--limit", type=float, default=900, help="time limit of a cell in seconds (%(default)s)")
    add("--quick", action="store_true", help="only a small data set, from one builder")
    add("--speed", action="store_true", help="only the speed, compared with oracles and over sizes")
    add("--default", action="store_true", help="only the default compared with Exchange")
    add("--json", type=Path, help="file to write the results to")
    add("--plot", type=Path, help="file for the plot of loss over time")
    add("--cell", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.data, arguments.builders = list(QUICK), BUILDERS[:1]
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.cell:
        task = arguments.cell
        measure_it = measure_cell
        if "task" in task:
            measure_it = (_default if task["task"] == "default" else _speed).measure_task
        print(json.dumps(measure_it(task)))
        return
    facts = machine_facts()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    results = {"machine": facts}
    if arguments.default:
        results["default"] = _default.run(__file__, arguments.limit)
    elif arguments.speed:
        results["speed"] = _speed.run(__file__, arguments.limit)
    else:
        print(f"k = {arguments.k}; one process and one thread per cell")
        results |= {"cells": run_cells(arguments), "bounds": run_proofs(arguments)}
        if arguments.plot:
            from _plot import plot_losses

            plot_losses(results["cells"], arguments.plot)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
