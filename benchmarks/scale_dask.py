"""DaskTableAggregator on Parquet tables larger than the memory of the workers.

    python benchmarks/scale_dask.py --runs none:20000000 exchange:2000000 --workers 2 --memory 1GiB
    python benchmarks/scale_dask.py --runs auto:3000000 --columns 3 --values 229

Each run is a refiner and a number of rows. It creates the table if the folder does not contain it
yet, releases it, and verifies the release: it must be k-anonymous, with the same ids in the same
order and all other columns unchanged. Prints the time, the peak memory of the workers and the size
of the model.
"""

import argparse
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from _measure import machine_facts
from distributed import Client, LocalCluster

from sk_microagg.metrics import anonymity_level
from sk_microagg.scale import DaskTableAggregator

ROWS_PER_FILE = 500_000


def make_table(folder, n_rows, n_columns, n_values):
    """Write normal rows with an id and a column to be kept, one file at a time.

    With `n_values`, there are two columns of text, whose values have Zipf's distribution.
    """
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        n = min(ROWS_PER_FILE, n_rows - start)
        rng = np.random.default_rng([0, n_rows, number])
        table = pd.DataFrame(rng.normal(size=(n, n_columns)), columns=names(n_columns))
        frequencies = 1 / np.arange(1, n_values + 1)
        for name in text_names(n_values):
            codes = rng.choice(n_values, n, p=frequencies / frequencies.sum())
            table[name] = np.array([f"value {code}" for code in range(n_values)])[codes]
        table["id"] = np.arange(start, start + n)
        table["kept"] = table["id"] * 7919 % 1000
        table.to_parquet(folder / f"part.{number:06d}.parquet")


def names(n_columns):
    return [f"x{j}" for j in range(n_columns)]


def text_names(n_values):
    return ["country", "job"] if n_values else []


class PeakMemory:
    """The peak memory of any worker process, sampled ten times a second."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.peak = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.stopped.set()
        self.thread.join()

    def _watch(self):
        while not self.stopped.wait(0.1):
            for pid in worker_pids(self.cluster):
                try:
                    self.peak = max(self.peak, psutil.Process(pid).memory_info().rss)
                except psutil.NoSuchProcess:
                    continue


def worker_pids(cluster):
    return [worker.pid for worker in cluster.workers.values() if worker.pid is not None]


def check(table, release, columns):
    """Compare a release with its table, part by part; return the number of parts that differ."""

    def compare(before, after):
        kept = [name for name in before.columns if name not in columns]
        return list(before.columns) == list(after.columns) and before[kept].equals(after[kept])

    same = dask.compute(
        *(
            dask.delayed(compare)(before, after)
            for before, after in zip(table.to_delayed(), release.to_delayed(), strict=True)
        )
    )
    return same.count(False)


def kill_a_worker(cluster, seconds):
    """Kill one worker process after some seconds."""

    def kill():
        time.sleep(seconds)
        os.kill(worker_pids(cluster)[0], signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()


def run(refiner, n_rows, arguments):
    columns = names(arguments.columns) + text_names(arguments.values)
    source = arguments.folder / f"table-{n_rows}x{arguments.columns}-{arguments.values}"
    target, work = arguments.folder / "release", arguments.folder / "work"
    if not source.exists():
        make_table(source, n_rows, arguments.columns, arguments.values)
    for folder in (target, work):
        shutil.rmtree(folder, ignore_errors=True)
    aggregator = DaskTableAggregator(
        5,
        quasi_identifiers=columns,
        refiner=None if refiner == "none" else refiner,
        shuffle=arguments.shuffle,
        folder=work,
        random_state=0,
        verbose=1,
    )
    cluster = LocalCluster(
        n_workers=arguments.workers,
        threads_per_worker=1,
        memory_limit=arguments.memory,
        dashboard_address=None,
    )
    with cluster, Client(cluster), PeakMemory(cluster) as memory:
        if arguments.kill_after:
            kill_a_worker(cluster, arguments.kill_after)
        start = time.perf_counter()
        release = aggregator.fit_transform(source, path=target)
        seconds = time.perf_counter() - start
        level = anonymity_level(release[columns])
        table = dd.read_parquet(source, blocksize=None)
        n_wrong = check(table, dd.read_parquet(target, blocksize=None), columns)
    return {
        "rows": n_rows,
        "columns": arguments.columns,
        "values": arguments.values,
        "refiner": refiner,
        "shuffle": arguments.shuffle,
        "workers": arguments.workers,
        "memory_limit": arguments.memory,
        "seconds": seconds,
        "peak_worker_mb": memory.peak / 1e6,
        # Rows in transit are gone: what is left is the model.
        "model_bytes": sum(path.stat().st_size for path in work.rglob("*") if path.is_file()),
        "loss_percent": 100 * aggregator.information_loss_,
        "blocks": aggregator.n_blocks_,
        "anonymity_level": level,
        "parts_out_of_line": n_wrong,
    }


def parse_run(text):
    refiner, _, n_rows = text.partition(":")
    return refiner, int(n_rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--runs", nargs="+", type=parse_run, default=[("none", 20_000_000)], help="refiner:rows")
    add("--columns", type=int, default=8)
    add("--values", type=int, default=0, help="of each of two further columns of text; 0 for none")
    add("--shuffle", default="auto")
    add("--workers", type=int, default=2)
    add("--memory", default="1GiB")
    add("--kill-after", type=float, help="kill a worker after this many seconds")
    add("--folder", type=Path, help="working folder; a temporary one by default")
    add("--json", type=Path)
    arguments = parser.parse_args()
    cells = []
    with tempfile.TemporaryDirectory() as temporary:
        arguments.folder = arguments.folder or Path(temporary)
        for refiner, n_rows in arguments.runs:
            cell = run(refiner, n_rows, arguments)
            for name, value in cell.items():
                shown = f"{value:.4g}" if isinstance(value, float) else value
                print(f"{name:<20}{shown}", flush=True)
            cells.append(cell)
    if arguments.json:
        results = {"machine": machine_facts(), "cells": cells}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
