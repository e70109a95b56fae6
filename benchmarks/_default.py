"""The default refiner compared with Exchange alone: loss, processor seconds and peak memory."""

import time

import numpy as np
from _measure import measure, run_alone
from published import standardized
from sklearn.datasets import load_breast_cancer, load_diabetes, make_blobs
from sklearn.preprocessing import scale

from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss
from sk_microagg.refiners import Auto, Exchange

REAL = ["Census", "Tarragona", "EIA-10", "EIA-11"]
TOYS = {"diabetes": load_diabetes, "breast cancer": load_breast_cancer}
NORMAL = ["normal 10000 x 4", "normal 25000 x 4", "normal 25000 x 10"]
CELLS = [(data, k) for data in REAL for k in (3, 5, 10)]
CELLS += [(data, 5) for data in (*TOYS, *NORMAL, "blobs 10000 x 8")]


def load(data):
    if data in REAL:
        return standardized(data)
    if data in TOYS:
        return scale(TOYS[data]().data)
    _, n, _, d = data.split()
    n, d = int(n), int(d)
    if data.startswith("blobs"):
        return scale(make_blobs(n, d, centers=20, random_state=0)[0])
    return np.random.default_rng([0, n, d]).normal(size=(n, d))


def measure_task(task):
    """Refine with both in this process."""
    X, k = load(task["data"]), task["k"]
    start = MDAV().build(X, k)
    found = {}
    for name, refiner in (("exchange", Exchange()), ("auto", Auto())):
        began = time.process_time()
        labels, measured = measure(lambda refiner=refiner: refiner.refine(X, start, k), most_runs=1)
        found[name] = {
            "loss_percent": 100 * information_loss(X, labels),
            "seconds": time.process_time() - began,
            "peak_mb": measured["peak_mb"],
        }
    return found


def run(script, limit):
    """Measure and print all cells; return them as dicts."""
    print(
        f"{'data':<20}{'k':>3}{'Exchange %':>12}{'Auto %':>10}{'ratio':>8}"
        f"{'Exchange s':>12}{'Auto s':>9}{'ratio':>8}{'MB':>7}{'MB':>7}"
    )
    cells = []
    for data, k in CELLS:
        task = {"task": "default", "data": data, "k": k}
        cell = task | run_alone(script, task, limit)
        if "error" in cell:
            print(f"{data:<20}{k:>3}  {cell['error']}", flush=True)
            continue
        one, auto = cell["exchange"], cell["auto"]
        cell["loss_ratio"] = auto["loss_percent"] / one["loss_percent"]
        cell["seconds_ratio"] = auto["seconds"] / one["seconds"]
        print(
            f"{data:<20}{k:>3}{one['loss_percent']:>12.4f}{auto['loss_percent']:>10.4f}"
            f"{cell['loss_ratio']:>8.4f}{one['seconds']:>12.3f}{auto['seconds']:>9.3f}"
            f"{cell['seconds_ratio']:>8.2f}{one['peak_mb']:>7.0f}{auto['peak_mb']:>7.0f}",
            flush=True,
        )
        cells.append(cell)
    print(f"mean ratio of losses {np.mean([cell['loss_ratio'] for cell in cells]):.4f}")
    return cells
