"""Time, peak memory and information loss of the builders, compared with other software.

Each cell of the table (a method on one data set) runs in a separate process on one thread. A
method is skipped if its smaller runs predict that it would exceed the time limit. anonypyx and
k-means-constrained are included if they are installed. Examples::

    python benchmarks/builders.py --json builders.json
    python benchmarks/builders.py --n 50000 --d 2 4 10 30 --data normal --methods MDAV oracle
    python benchmarks/builders.py --n 1000000 --d 4 --data normal --methods MDAV --limit 300

The columns have comparable units and are not rescaled, except that anonypyx always standardizes
them. On tables without a categorical column anonypyx 0.2.11 does not run MDAV as published: its
distances to the centroid are all NaN, so that the first remaining record is taken for the farthest
one. Its loss is therefore not that of MDAV.
"""

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _measure import cap_memory, growth, machine_facts, measure, predict_seconds, run_alone


class Method(NamedTuple):
    """How to load a function (X, k) -> labels, how its time grows, and its package."""

    load: callable
    growth: float = 1.0  # Seconds grow at least like n to this power.
    package: str = "sk_microagg"


def builder(name):
    def load():
        from sk_microagg import builders

        return getattr(builders, name)().build

    return Method(load)


def load_oracle():
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
    from oracles.builders import mdav
    from oracles.pool import ScanPool

    # The oracle sums exactly, because of ties in tests. A plain scan would not need that time.
    ScanPool.centroid = lambda pool: pool.columns.mean(axis=1)
    return mdav


def load_anonypyx():
    import pandas as pd
    from anonypyx import Anonymiser

    def mdav_generic(X, k):
        # Only the groups: `anonymise` would also compute a table.
        groups = Anonymiser(pd.DataFrame(X), k=k, algorithm="MDAV-generic").algorithm.partition(k)
        labels = np.empty(len(X), dtype=np.intp)
        for number, members in enumerate(groups):
            labels[members] = number
        return labels

    return mdav_generic


def load_k_means_constrained():
    from k_means_constrained import KMeansConstrained

    def k_means(X, k):
        return KMeansConstrained(n_clusters=len(X) // k, size_min=k, random_state=0).fit_predict(X)

    return k_means


# MDAV must be the first: the others are compared with it.
METHODS = {
    name: builder(name) for name in ("MDAV", "CBFS", "TFRP", "GSMS", "DBFS", "PathOptimal")
} | {
    "oracle": Method(load_oracle, growth=2.0),
    "anonypyx": Method(load_anonypyx, growth=2.0, package="anonypyx"),
    "k-means-constrained": Method(load_k_means_constrained, 2.0, "k_means_constrained"),
}


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def blobs(rng, n, d):
    centers = rng.uniform(-10, 10, size=(20, d))
    return centers[rng.integers(20, size=n)] + rng.normal(size=(n, d))


DATA = {"normal": normal, "blobs": blobs}


def measure_cell(cell):
    """Run one method on one data set in this process."""
    from sk_microagg.metrics import information_loss

    cap_memory()
    n, d, k = cell["n"], cell["d"], cell["k"]
    X = DATA[cell["data"]](np.random.default_rng([cell["seed"], n, d]), n, d)
    build = METHODS[cell["method"]].load()
    build(X[: 20 * k], k)  # Exclude imports at first use from the measurement.
    labels, measured = measure(lambda: build(X, k))
    _, first, group, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    # Groups are identified by their first record, so that equal partitions have equal digests.
    digest = hashlib.sha256(first[group].astype("<i8")).hexdigest()[:16]
    return measured | {
        "loss_percent": 100 * information_loss(X, labels),
        "smallest_group": int(sizes.min()),
        "digest": digest,
    }


def run_cells(arguments, methods):
    """Run and print all cells within the time limit; return them as a list of dicts."""
    cells = []
    for data, d in product(arguments.data, arguments.d):
        print_header()
        past = defaultdict(list)
        for n in sorted(set(arguments.n)):
            mdav = None
            for method in methods:
                cell = {"method": method, "data": data, "n": n, "d": d}
                cell |= {"k": arguments.k, "seed": arguments.seed}
                cell |= run_or_skip(cell, past[method], arguments.limit)
                if method == "MDAV":
                    mdav = cell
                cell |= compare(cell, mdav)
                past[method].append(cell)
                cells.append(cell)
                print_row(cell)
    return cells


def run_or_skip(cell, past, limit):
    if any("error" in smaller for smaller in past):
        return {"skipped": "failed at a smaller n"}
    predicted = predict_seconds(cell["n"], past, METHODS[cell["method"]].growth)
    if predicted > limit:
        return {"skipped": f"predicted {predicted:.0f} s"}
    return run_alone(__file__, cell, timeout=3 * limit)


def compare(cell, mdav):
    """Compare a cell with that of our MDAV on the same data, if both were run."""
    if mdav is None or "seconds" not in cell or "seconds" not in mdav:
        return {}
    return {
        "seconds_to_mdav": cell["seconds"] / mdav["seconds"],
        "loss_to_mdav": cell["loss_percent"] / mdav["loss_percent"],
        "mdav_partition": cell["digest"] == mdav["digest"],
    }


# Title, key and format of each column.
COLUMNS = [
    ("seconds", "seconds", "10.4f"),
    ("MB", "peak_mb", "10.1f"),
    ("loss %", "loss_percent", "10.4f"),
    ("s/MDAV", "seconds_to_mdav", "10.2f"),
    ("loss/MDAV", "loss_to_mdav", "10.4f"),
]


def print_header():
    titles = "".join(f"{title:>10}" for title, _, _ in COLUMNS)
    print(f"\n{'data':<7}{'d':>3}{'n':>9}  {'method':<20}{titles}")


def print_row(cell):
    numbers = "".join(
        f"{cell[key]:{form}}" if key in cell else f"{'–':>10}" for _, key, form in COLUMNS
    )
    start = f"{cell['data']:<7}{cell['d']:>3}{cell['n']:>9}  {cell['method']:<20}"
    print(f"{start}{numbers}  {remark(cell)}".rstrip(), flush=True)


def remark(cell):
    if "seconds" not in cell:
        return cell.get("skipped") or cell["error"]
    if cell["smallest_group"] < cell["k"]:
        return f"smallest group has {cell['smallest_group']} records"
    if cell["method"] == "oracle" and "mdav_partition" in cell:
        return "same partition" if cell["mdav_partition"] else "ANOTHER PARTITION"
    return ""


def growth_table(cells):
    """Return the growth of each method on each kind of data, as a list of dicts."""
    series = defaultdict(list)
    for cell in cells:
        series[cell["method"], cell["data"], cell["d"]].append(cell)
    return [
        {"method": method, "data": data, "d": d, "growth": growth(past)}
        for (method, data, d), past in series.items()
        if growth(past) is not None
    ]


def print_growth(table):
    print("\nGrowth: seconds ~ n^growth, between the two largest n run")
    kinds = list(dict.fromkeys((row["data"], row["d"]) for row in table))
    print(f"{'':<20}" + "".join(f"{f'{data} {d}':>11}" for data, d in kinds))
    for method in dict.fromkeys(row["method"] for row in table):
        found = {(r["data"], r["d"]): f"{r['growth']:.2f}" for r in table if r["method"] == method}
        print(f"{method:<20}" + "".join(f"{found.get(kind, '–'):>11}" for kind in kinds))


def print_agreement(cells):
    same = [c["mdav_partition"] for c in cells if c["method"] == "oracle" and "mdav_partition" in c]
    if same:
        print(f"\nMDAV's partition is the oracle's in {sum(same)} of {len(same)} cells.")


def installed(methods):
    """Return the methods whose package is installed, and print the names of the others."""
    missing = [name for name in methods if not find_spec(METHODS[name].package)]
    for name in missing:
        print(f"{name} is not installed: skipped.")
    return [name for name in METHODS if name in methods and name not in missing]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    # 300 is for k-means-constrained, which is too slow for more than one of the larger sizes.
    sizes = [300, 1_000, 3_000, 10_000, 30_000, 100_000]
    add("--n", type=int, nargs="+", default=sizes, help="numbers of records")
    add("--d", type=int, nargs="+", default=[2, 4, 10], help="numbers of columns")
    add("--data", nargs="+", choices=DATA, default=list(DATA), help="kinds of data")
    add("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    add("--k", type=int, default=5, help="minimum group size (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the data (%(default)s)")
    add("--limit", type=float, default=60, help="time limit of a cell in seconds (%(default)s)")
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
    print(f"k = {arguments.k}; one process and one thread per cell; limit {arguments.limit:g} s")
    cells = run_cells(arguments, installed(arguments.methods))
    table = growth_table(cells)
    if table:
        print_growth(table)
    print_agreement(cells)
    if arguments.json:
        results = {"machine": facts, "cells": cells, "growth": table}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
