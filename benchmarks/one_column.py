"""One column: time, peak memory and loss, compared with microagg1d.

Each cell of the table (a method on one column at one k) runs in a separate process on one thread.
Then both partition many small columns with ties, large offsets and k up to n / 2, and their losses
are compared. microagg1d (pip install microagg1d) is left out if it is not installed; its method
"wilber" is the one that always finds the optimum. Examples::

    python benchmarks/one_column.py --json one_column.json
    python benchmarks/one_column.py --n 100000 --k 5 --data ages --cases 0
"""

import argparse
import json
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
from _measure import cap_memory, machine_facts, measure, run_alone

# Losses of both packages may differ by this share of the loss.
TOLERANCE = 1e-9


def load_microaggregate():
    from sk_microagg import microaggregate

    return lambda X, k: microaggregate(X, k)


def load_fit():
    from sk_microagg import MicroAggregator

    return lambda X, k: MicroAggregator(k, scaler=None).fit(X).labels_


def load_microagg1d():
    from microagg1d import univariate_microaggregation

    return lambda X, k: univariate_microaggregation(X[:, 0], k, method="wilber")


METHODS = {
    "microagg1d": load_microagg1d,
    "microaggregate": load_microaggregate,
    "MicroAggregator.fit": load_fit,
}


def normal(rng, n):
    return rng.normal(size=n)


def incomes(rng, n):
    """Integers with a long tail; many occur more than once."""
    return np.round(rng.lognormal(10.0, 0.7, size=n))


def ages(rng, n):
    """A hundred different values."""
    return np.floor(100 * rng.beta(2, 3, size=n))


DATA = {"normal": normal, "incomes": incomes, "ages": ages}


def measure_cell(cell):
    """Run one method on one column in this process."""
    from sk_microagg.metrics import information_loss

    cap_memory()
    rng = np.random.default_rng([cell["seed"], cell["n"]])
    X = DATA[cell["data"]](rng, cell["n"])[:, None]
    group = METHODS[cell["method"]]()
    group(X[: 20 * cell["k"]].copy(), cell["k"])  # Exclude imports and compilation at first use.
    labels, measured = measure(lambda: group(X, cell["k"]))
    return measured | {
        "loss_percent": 100 * information_loss(X, labels),
        "smallest_group": int(np.bincount(labels).min()),
    }


def run_cells(arguments, methods):
    """Run and print all cells; return them as a list of dicts."""
    print(f"{'data':<9}{'n':>9}{'k':>7}  {'method':<21}", end="")
    print(f"{'seconds':>9}{'cpu':>9}{'MB':>8}{'loss %':>14}{'s/microagg1d':>14}")
    cells = []
    for data, n, k in product(arguments.data, arguments.n, arguments.k):
        theirs = None
        for method in methods:
            cell = {"method": method, "data": data, "n": n, "k": k, "seed": arguments.seed}
            cell |= run_alone(__file__, cell, timeout=arguments.limit)
            if method == "microagg1d":
                theirs = cell
            elif theirs and "seconds" in theirs and "seconds" in cell:
                cell["seconds_to_microagg1d"] = cell["cpu_seconds"] / theirs["cpu_seconds"]
                cell["loss_to_microagg1d"] = 1.0 + _excess(
                    cell["loss_percent"], theirs["loss_percent"]
                )
            cells.append(cell)
            print_row(cell)
    return cells


def print_row(cell):
    start = f"{cell['data']:<9}{cell['n']:>9}{cell['k']:>7}  {cell['method']:<21}"
    if "seconds" not in cell:
        print(start + cell["error"], flush=True)
        return
    ratio = cell.get("seconds_to_microagg1d")
    numbers = f"{cell['seconds']:>9.3f}{cell['cpu_seconds']:>9.3f}{cell['peak_mb']:>8.0f}"
    numbers += f"{cell['loss_percent']:>14.8g}" + (f"{ratio:>14.3f}" if ratio else "")
    print(start + numbers, flush=True)


def random_case(rng):
    """A small column, and k: ties, offsets and heavy tails."""
    n = int(rng.integers(2, 2_000))
    values = [
        rng.normal(size=n),
        rng.integers(0, rng.integers(1, 200), size=n).astype(float),
        rng.lognormal(10.0, 1.0, size=n).round(),
        rng.standard_t(1.5, size=n),
        rng.choice(rng.normal(size=max(n // 5, 1)), size=n),
    ][rng.integers(5)]
    largest = max(n // 2, 1)
    k = int(rng.integers(1, largest + 1) if rng.random() < 0.4 else rng.integers(1, 12))
    return values + rng.choice([0.0, 1e9, -1e6]), min(k, largest)


def compare_cases(n_cases, seed):
    """Compare losses on random cases; return the largest shares by which they are apart.

    At large offsets microagg1d loses digits, and may even return groups that are too small. It is
    compared on centered values, and how often it fails as they are is counted.
    """
    from sk_microagg.metrics import sse

    rng = np.random.default_rng([seed, n_cases])
    ours, theirs = load_microaggregate(), load_microagg1d()
    above, below, n_failures = 0.0, 0.0, 0
    for _ in range(n_cases):
        values, k = random_case(rng)
        X = values[:, None]
        centered = X - np.median(X)
        error, other = sse(centered, ours(X, k)), sse(centered, theirs(centered, k))
        above, below = max(above, _excess(error, other)), max(below, _excess(other, error))
        labels = theirs(X, k)
        is_too_small = np.bincount(labels).min() < k
        n_failures += bool(is_too_small or _excess(sse(centered, labels), error) > TOLERANCE)
    return {
        "cases": n_cases,
        "ours_above": above,
        "theirs_above": below,
        "theirs_fails_as_they_are": n_failures,
    }


def _excess(one, other):
    return one / other - 1.0 if other else one


def print_cases(found):
    verdict = "equal" if found["ours_above"] <= TOLERANCE else "HIGHER"
    print(f"\nLoss in {found['cases']} random cases: {verdict}.", end=" ")
    print(f"Ours is at most {found['ours_above']:.1e} above theirs,", end=" ")
    print(f"theirs at most {found['theirs_above']:.1e} above ours on centered values.")
    n_failures = found["theirs_fails_as_they_are"]
    print(f"On values as they are, theirs is higher or has too small groups in {n_failures}.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--n", type=int, nargs="+", default=[1_000_000], help="numbers of records")
    add("--k", type=int, nargs="+", default=[3, 5, 10, 100, 1000], help="minimum group sizes")
    add("--data", nargs="+", choices=DATA, default=list(DATA), help="kinds of data")
    add("--cases", type=int, default=200, help="number of random cases (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the data (%(default)s)")
    add("--limit", type=float, default=120, help="time limit of a cell in seconds (%(default)s)")
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
    methods = list(METHODS)
    if not find_spec("microagg1d"):
        methods.remove("microagg1d")
        print("microagg1d is not installed: nothing to compare with.")
    results = {"machine": facts, "cells": run_cells(arguments, methods)}
    if arguments.cases and "microagg1d" in methods:
        results["cases"] = compare_cases(arguments.cases, arguments.seed)
        print_cases(results["cases"])
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
