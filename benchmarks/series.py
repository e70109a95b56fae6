"""What a series of releases loses, compared with one release: batches of newcomers, and `hold`.

The rows of each table arrive in equal batches, in random order, and a release is made of each. The
loss is that of the last release, in which everybody is, in percent of the table's; with `hold`, the
last release holds nobody. Seconds are CPU seconds of all releases. Example::

    python benchmarks/series.py --json series.json --plot doc/series.png
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import machine_facts

from sk_microagg import ReleaseSeries, TableAggregator
from sk_microagg.datasets import fetch_census, fetch_eia, fetch_tarragona


def normal():
    return np.random.default_rng(0).normal(size=(20_000, 4))


TABLES = {
    "Census": lambda: fetch_census(return_X=True),
    "Tarragona": lambda: fetch_tarragona(return_X=True),
    "EIA-10": lambda: fetch_eia(10, return_X=True),
    "normal 20 000 x 4": normal,
}
BATCHES = [1, 2, 5, 10]
HOLDS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def measure(X, k, n_batches, hold):
    """Return the loss in percent of a series, and its CPU seconds."""
    order = np.random.default_rng(0).permutation(len(X))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).iloc[order]
    frame = frame.reset_index(drop=True).reset_index(names="person")
    aggregator = TableAggregator(k, unit="person", random_state=0)
    series = ReleaseSeries(aggregator, hold=hold)
    ends = np.linspace(0, len(X), n_batches + 1).astype(int)[1:]
    start, n_waiting = time.process_time(), 0
    for end in ends:
        series.hold = hold if end < len(X) else 0.0
        release = series.release(frame[:end])
        n_waiting = max(n_waiting, len(series.waiting_))
    seconds = time.process_time() - start
    original = frame.drop(columns="person")
    released = release.set_axis(series.units_).loc[frame["person"]]
    errors = ((original.to_numpy() - released.to_numpy()) ** 2).mean(axis=0)
    loss = float(np.mean(errors / original.to_numpy().var(axis=0)))
    return {"loss_percent": 100 * loss, "seconds": seconds, "most_waiting": n_waiting / len(X)}


def plot(cells, path):
    """Draw the loss over `hold`, a line for each table, as a share of that without."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6))
    for (name, held), marker in zip(
        pd.DataFrame(cells).query("batches == 5").groupby("data", sort=False), "osD^", strict=False
    ):
        first = held["loss_percent"].iloc[0]
        axes.plot(held["hold"], held["loss_percent"] / first, marker=marker, label=name)
    axes.set(xlabel="hold: share of newcomers that may wait", ylabel="loss compared with hold=0")
    axes.set_ylim(0, 1.05)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--data", nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES)
    parser.add_argument("--hold", nargs="+", type=float, default=HOLDS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    cells = []
    for name in options.data:
        X = TABLES[name]()
        settings = [(n, 0.0) for n in options.batches]
        settings += [(5, hold) for hold in options.hold if hold]
        for n_batches, hold in settings:
            about = {"data": name, "k": options.k, "batches": n_batches, "hold": hold}
            cells.append(about | measure(X, options.k, n_batches, hold))
            print(
                "{data}: {batches} batches, hold={hold}: {loss_percent:.2f} %".format(**cells[-1])
            )
    if options.json:
        facts = {"machine": machine_facts(), "cells": cells}
        options.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        plot(cells, options.plot)


if __name__ == "__main__":
    main()
