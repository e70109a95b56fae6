"""Our information losses beside the published ones: every builder, growth, data set and k.

The published figures are in `published.csv`, with their sources:

- Khomnotai2018: L. Khomnotai, J.-L. Lin, Z.-Q. Peng, A. S. Santra (2018). Iterative group
  decomposition for refining microaggregation solutions. Symmetry 10(7), 262.
- Chang2007: C.-C. Chang, Y.-C. Li, W.-H. Huang (2007). TFRP: an efficient microaggregation
  algorithm for statistical disclosure control. Journal of Systems and Software 80, 1866–1878.
- Bierman2020: Bierman (2020). Improvements to iterated local search for microaggregation.
  Dissertation, Nova Southeastern University.

Where nobody has published a figure, ours stands alone.
"""

import argparse
import csv
import json
import time
from functools import cache, partial
from pathlib import Path

from sklearn.preprocessing import StandardScaler

from sk_microagg.builders import CBFS, DBFS, GSMS, MDAV, TFRP
from sk_microagg.datasets import fetch_census, fetch_eia, fetch_tarragona
from sk_microagg.metrics import information_loss

DATASETS = {
    "Tarragona": fetch_tarragona,
    "Census": fetch_census,
    "EIA-11": partial(fetch_eia, 11),
    "EIA-10": partial(fetch_eia, 10),
}

# By the names of the publications.
METHODS = {
    "MDAV-NN": MDAV(growth="nn"),
    "MDAV-NC": MDAV(growth="nc"),
    "CBFS-NN": CBFS(growth="nn"),
    "CBFS-NC": CBFS(growth="nc"),
    "TFRP-NN": TFRP(growth="nn"),
    "TFRP-NC": TFRP(growth="nc"),
    "TFRP(global) phase I": TFRP(growth="nn", reference="global"),
    "TFRP(global)-NC": TFRP(growth="nc", reference="global"),
    "GSMS-NN": GSMS(),
    "DBFS-NN": DBFS(growth="nn"),
    "DBFS-NC": DBFS(growth="nc"),
}

# In percent; the publications print three digits behind the point.
TOLERANCE = 0.0015

# Two records are equally far, and the publication took the other one.
TIES = {("Census", "CBFS-NN", 10)}


def published_figures():
    """Published losses in percent, by data set, method and k."""
    with open(Path(__file__).with_name("published.csv"), newline="") as file:
        return {
            (row["dataset"], row["method"], int(row["k"])): float(row["il_percent"])
            for row in csv.DictReader(file)
        }


@cache
def standardised(dataset):
    return StandardScaler().fit_transform(DATASETS[dataset](return_X=True))


def measure(dataset, method, k):
    """Our loss in percent, and the seconds that building took."""
    X = standardised(dataset)
    start = time.perf_counter()
    labels = METHODS[method].build(X, k)
    return 100 * information_loss(X, labels), time.perf_counter() - start


def run(ks):
    published = published_figures()
    print(f"{'data set':<11}{'method':<21}{'k':>3}{'ours':>10}{'published':>11}", end="")
    print(f"{'difference':>12}{'seconds':>9}")
    for dataset in DATASETS:
        for method in METHODS:
            for k in ks:
                cell = {"dataset": dataset, "method": method, "k": k}
                cell["ours"], cell["seconds"] = measure(dataset, method, k)
                cell["published"] = published.get((dataset, method, k))
                print_row(cell)
                yield cell


def print_row(cell):
    start = f"{cell['dataset']:<11}{cell['method']:<21}{cell['k']:>3}{cell['ours']:>10.4f}"
    if cell["published"] is None:
        print(f"{start}{'–':>11}{'':>12}{cell['seconds']:>9.3f}")
        return
    difference = cell["ours"] - cell["published"]
    print(f"{start}{cell['published']:>11.4f}{difference:>+12.4f}{cell['seconds']:>9.3f}", end="")
    print("" if agrees(cell) else f"  differs{' (a tie)' if is_tie(cell) else ''}")


def agrees(cell):
    return abs(cell["ours"] - cell["published"]) <= TOLERANCE


def is_tie(cell):
    return (cell["dataset"], cell["method"], cell["k"]) in TIES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--json", type=Path, help="file to write the results to")
    arguments = parser.parse_args()
    cells = list(run(arguments.k))
    known = [cell for cell in cells if cell["published"] is not None]
    print(
        f"\n{sum(map(agrees, known))} of {len(known)} published figures agree within {TOLERANCE}."
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(cells, indent=1) + "\n")


if __name__ == "__main__":
    main()
