"""Speed of the refiners, of the default fit and of transform: `refiners.py --speed`.

Each figure is measured in a separate process on one thread, in CPU seconds, which depend little on
other load of the machine. Ratios are of times in the same process.
"""

import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from _measure import measure, run_alone
from published import standardized

from sk_microagg import MicroAggregator
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Exchange, IteratedLocalSearch, LocalSearch

# The oracles are part of the tests.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

# The fastest of three runs, unless they take long.
THREE_RUNS = {"enough_seconds": 60.0, "most_runs": 3}


def measure_task(task):
    """Run one of the functions below in this process."""
    arguments = dict(task)
    return TASKS[arguments.pop("task")](**arguments)


def time_search(data, k, max_iter):
    X = standardized(data)
    labels = MDAV().build(X, k)
    search = IteratedLocalSearch(max_iter=max_iter)
    return measure(lambda: search.refine(X, labels, k, random_state=0), **THREE_RUNS)[1]


def search_against_oracle(data, n, k, max_iter, oracle_max_iter):
    """Compare the time per iteration with the oracle's, without the start of the search."""
    from oracles.iterated import iterated_local_search as oracle

    X = standardized(data)[:n]
    labels = MDAV().build(X, k)

    def ours(X, labels, k, max_iter, seed):
        return IteratedLocalSearch(max_iter=max_iter).refine(X, labels, k, random_state=seed)

    def seconds_per_iteration(search, n):
        one, more = (cpu_seconds(lambda m=m: search(X, labels, k, m, 0)) for m in (1, n + 1))
        return (more - one) / n

    return side_by_side(
        seconds_per_iteration(oracle, oracle_max_iter), seconds_per_iteration(ours, max_iter)
    )


def refiner_against_oracle(refiner, n, k):
    """Compare a refiner with the oracle of local search, which visits all pairs of groups.

    There is no oracle of the exchange. At least, it must do a local search and verify that no cycle
    is left, so the oracle does both.
    """
    from oracles.refiners import local_search, negative_cycle_free

    X = standardized("Census")[:n]
    labels = MDAV().build(X, k)

    def oracle():
        found = local_search(X, labels, k)
        return refiner == "LocalSearch" or negative_cycle_free(X, found, k)

    ours = {"LocalSearch": LocalSearch, "Exchange": Exchange}[refiner]()
    return side_by_side(
        cpu_seconds(oracle), cpu_seconds(lambda: ours.refine(X, labels, k, random_state=0))
    )


def time_iteration(n, d, k, n_iterations):
    """Time windows of 250 iterations, on records of constant density.

    The minimum shows the cost of an iteration; the median includes the effect of a busy machine.
    """
    X = np.random.default_rng([0, n, d]).uniform(0, n ** (1 / d), size=(n, d))
    labels = MDAV().build(X, k)
    # Proportional to the number of groups, so that all sizes reach the same stage of the search.
    search = IteratedLocalSearch(max_iter=n // 16)
    times = []
    # Makes the trace use CPU seconds.
    with mock.patch("time.monotonic", time.process_time):
        for seed in range(-(-n_iterations // search.max_iter)):
            search.refine(X, labels, k, random_state=seed)
            # Exclude the first descent and the final exchange, which occur once per search.
            iterations, seconds, _ = search.trace_[:-1].T
            ends = np.linspace(0, iterations[-1], max(round(iterations[-1] / 250), 1) + 1)
            times.extend(np.diff(np.interp(ends, iterations, seconds)) / np.diff(ends))
    return {"ms": 1e3 * min(times), "median_ms": 1e3 * np.median(times)}


def time_fit(n, d):
    X = np.random.default_rng([0, n, d]).normal(size=(n, d))
    return measure(lambda: MicroAggregator(k=5).fit(X), **THREE_RUNS)[1]


def time_transform(n, d, n_groups):
    """Time transform with more groups than could be fitted in reasonable time.

    A model of fewer groups gets normal random centroids. Each has the weight of the nearest group
    of the original model, scaled down like the squared distances between groups.
    """
    rng = np.random.default_rng([0, n, d])
    model = MicroAggregator(k=5).fit(rng.normal(size=(min(5 * n_groups, 20_000), d)))
    spread = model.centroids_.std(axis=0)
    model.centroids_ = rng.normal(size=(n_groups, d)) * spread
    scaled = model.scaler_.transform(model.centroids_)
    denser = (len(model.weights_) / n_groups) ** (2 / d)
    weights = model.weights_[model._cells.find(scaled)] * denser
    model._cells = replace(
        model._cells, starts=np.array([0, n_groups]), centroids=scaled, weights=weights
    )
    X = rng.normal(size=(n, d))
    return measure(lambda: model.transform(X))[1]


def cpu_seconds(call):
    return measure(call, **THREE_RUNS)[1]["cpu_seconds"]


def side_by_side(oracle, ours):
    return {"oracle_ms": 1e3 * oracle, "ms": 1e3 * ours, "ratio": oracle / ours}


TASKS = {
    "search": time_search,
    "search against oracle": search_against_oracle,
    "refiner against oracle": refiner_against_oracle,
    "iteration": time_iteration,
    "fit": time_fit,
    "transform": time_transform,
}


class Figure(NamedTuple):
    """What to measure, the unit of the result, and the target."""

    what: str
    unit: str
    task: dict
    target: str = ""


# The key of the result for each unit.
KEYS = {"s": "cpu_seconds", "ms": "ms", "times faster": "ratio"}

SEARCHES = [("Census", 3), ("Census", 10), ("Tarragona", 10)]
SEARCHES += [("EIA-10", 3), ("EIA-10", 5), ("EIA-10", 10)]
SIZES = [4_000, 16_000, 64_000]


def figures():
    for data, k in SEARCHES:
        task = {"task": "search", "data": data, "k": k, "max_iter": 5000}
        yield Figure(f"5000 iterations, {data}, k = {k}", "s", task)
    task = {"task": "search against oracle", "data": "Census", "n": 1080, "k": 3}
    task |= {"max_iter": 5000, "oracle_max_iter": 20}
    target = "at least 100"
    yield Figure("an iteration against the oracle, Census, k = 3", "times faster", task, target)
    for refiner in ("LocalSearch", "Exchange"):
        task = {"task": "refiner against oracle", "refiner": refiner, "n": 300, "k": 3}
        yield Figure(f"{refiner} against the oracle, 300 of Census, k = 3", "times faster", task)
    for d, n in product((2, 3), SIZES):
        task = {"task": "iteration", "n": n, "d": d, "k": 5, "n_iterations": 4000}
        yield Figure(f"an iteration, {n} x {d} of one density, k = 5", "ms", task)
    for n, d, most in ((25_000, 4, None), (100_000, 4, 20), (10_000, 10, 5)):
        task = {"task": "fit", "n": n, "d": d}
        target = f"below {most}" if most else ""
        yield Figure(f"MicroAggregator(k=5).fit, {n} x {d}", "s", task, target)
    task = {"task": "transform", "n": 1_000_000, "d": 8, "n_groups": 200_000}
    yield Figure("transform of 1000000 x 8 to 200000 groups", "s", task, "below 60")


def growths():
    """Yield ratios of the times of two tasks: (what, key, smaller, larger, target)."""
    for d, (key, name) in product((2, 3), (("ms", "fastest"), ("median_ms", "median"))):
        small, large = (f"an iteration, {n} x {d} of one density, k = 5" for n in SIZES[::2])
        what = f"an iteration, {SIZES[-1]} to {SIZES[0]} records, d = {d}, {name}"
        yield what, key, small, large, "at most 2"
    small, large = (f"MicroAggregator(k=5).fit, {n} x 4" for n in (25_000, 100_000))
    what = "MicroAggregator(k=5).fit, 100000 to 25000 records, d = 4"
    yield what, "cpu_seconds", small, large, "at most 6"


def run(script, limit):
    """Measure and print everything; return the rows as a list of dicts."""
    rows = {}
    for what, unit, task, target in figures():
        row = {"what": what, "unit": unit, "target": target} | task
        row |= run_alone(script, task, limit)
        rows[what] = row | {"value": row.get(KEYS[unit])}
        print_row(rows[what])
    for what, key, small, large, target in growths():
        if key in rows[small] and key in rows[large]:
            value = rows[large][key] / rows[small][key]
            rows[what] = {"what": what, "unit": "times", "target": target, "value": value}
            print_row(rows[what])
    return list(rows.values())


def print_row(row):
    value = row["error"] if "error" in row else f"{row['value']:.3g} {row['unit']}"
    target = f"({row['target']})" if row["target"] else ""
    print(f"{row['what']:<64}{value:<22}{target}".rstrip(), flush=True)
