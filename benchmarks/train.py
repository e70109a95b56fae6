"""What models lose that are trained on a release, and what they give away.

Four tables (adult, cahousing, cmc, mgm) and five models: a random forest of depth 10, 10 neighbors,
a linear SVM, gradient boosting (HistGradientBoosting, where the publication has XGBoost), and a
forest with scikit-learn's defaults, whose trees grow until they know their records. Parts:

- honest: only the training rows are anonymized, test rows are raw; ten splits 70/30, and nobody
  sees labels of test rows;
- published: the protocol of Slijepčević, Henzl, Klausner, Dam, Kieseberg and Zeppelzauer (2021),
  k-Anonymity in practice, Computers & Security 111, 102488: the whole table is anonymized, then
  split 70/30 once, so that test rows are anonymized, too. Their figures are in
  `published_train.csv`;
- diaz: the protocol of Díaz and García (2023), Study of the impact of k-anonymity, l-diversity,
  t-closeness and δ-disclosure on machine learning, arXiv 2305.07415: six quasi-identifiers of Adult
  are anonymized with k = 5, then the table is split 75/25, stratified;
- seconds: `TrainOnRelease(HistGradientBoostingClassifier(), TableAggregator(k=10))` on Adult.

Methods: raw; plain (`TableAggregator`); target (with `column_weights="target"`, honest part only);
diverse (target with `LDiversity(2)` on the labels, honest part only); Mondrian (`pip install
anonypyx`); and tree: the leaves of a decision tree on the labels with at least k records per leaf,
the idea of IBM's toolkit (honest part only). Groups of all methods are released in the same way, as
means and as shares of categories. "pure" is the share of records in groups of one label, "member"
the advantage of an intruder who infers from the confidence of each of the two forests who was in
its training data, in the first three splits. Examples::

    python benchmarks/train.py --json train.json --plot doc/train.png
    python benchmarks/train.py --json train.json --tables cmc mgm --ks 10 100 --splits 3
    python benchmarks/train.py --json train.json --parts

The data are in the folder that `SK_MICROAGG_DATA` names. The JSON file is written after each cell,
and what it holds is not measured again: without parts, its tables are printed.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np
from _measure import machine_facts
from _train_methods import (
    DIAZ_MODELS,
    METHODS,
    METHODS_WITH_LABELS,
    MODELS,
    Release,
    form_groups,
    make_model,
)
from _train_summary import plot_accuracies, print_summary
from _train_tables import DIAZ_QUASI_IDENTIFIERS, TABLES, load
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sk_microagg import TableAggregator, TrainOnRelease
from sk_microagg.metrics import homogeneity, membership_inference
from sk_microagg.privacy import LDiversity, TCloseness

PARTS = ("honest", "published", "diaz", "seconds")
KS = (2, 5, 10, 25, 50, 100)
PUBLISHED_SEED = 42
N_ATTACKED_SPLITS = 3


def split_rows(n, part, split):
    """Return training and test rows."""
    seed = PUBLISHED_SEED if part == "published" else split
    return train_test_split(np.arange(n), test_size=0.3, random_state=seed)


def measure_groups(task, models):
    """Anonymize a table in one way, and train models on the release."""
    records, target, quasi_identifiers = load(task["table"])
    train, test = split_rows(len(records), task["part"], task["split"])
    is_honest = task["part"] == "honest"
    given = train if is_honest else np.arange(len(records))
    start = time.process_time()
    anonymized, y, k = records.iloc[given], target[given], task["k"]
    labels = form_groups(task["method"], anonymized, quasi_identifiers, y, k)
    cell = {"cpu_seconds": time.process_time() - start}
    if labels is not None:
        cell |= {"pure_percent": 100 * homogeneity(labels, y)}
        cell |= {"smallest_group": int(np.bincount(labels).min())}
    release = Release(anonymized, quasi_identifiers, labels, k)
    if is_honest:
        rows, new = release.rows, release.format(records.iloc[test])
        members = release.format(anonymized) if task["split"] < N_ATTACKED_SPLITS else None
    else:
        rows, new, members = release.rows[train], release.rows[test], None
    return cell | train_models(models, rows, target[train], new, target[test], members)


def train_models(models, rows, y, new, y_new, members):
    """Return accuracies in percent and, for forests, how well members are recognized."""
    found = {"accuracy": {}, "member": {}}
    for name, model in models.items():
        fitted = make_model(clone(model)).fit(rows, y)
        found["accuracy"][name] = 100 * fitted.score(new, y_new)
        if "forest" in name and members is not None:
            attack = membership_inference(fitted, members, y, new, y_new, random_state=0)
            found["member"][name] = {
                "confidence": attack.advantage,
                "trained": attack.trained_advantage,
            }
    return found


def is_measured(model, part, split):
    """Whether a model is trained; the forest that knows its records is there to be attacked."""
    return model != "deep forest" or (part == "honest" and split < N_ATTACKED_SPLITS)


def run_groups(part, arguments, results, save):
    """Measure the cells of the first two parts that are not yet there."""
    n_splits = arguments.splits if part == "honest" else 1
    grid = product(range(n_splits), arguments.ks, arguments.tables, arguments.methods)
    for split, k, table, method in grid:
        if method in METHODS_WITH_LABELS and part == "published":
            continue
        k = 1 if method == "raw" else k
        task = {"part": part, "table": table, "split": split, "k": k, "method": method}
        cell = next((c for c in results["cells"] if c.items() >= task.items()), None)
        known = (cell or {}).get("accuracy", {})
        missing = [
            name
            for name in arguments.models
            if name not in known and is_measured(name, part, split)
        ]
        if not missing:
            continue
        measured = measure_groups(task, {name: MODELS[name] for name in missing})
        if cell is None:
            results["cells"].append(task | measured)
        else:
            cell["accuracy"] |= measured["accuracy"]
            cell["member"] |= measured["member"]
        shown = "  ".join(f"{name} {value:.2f}" for name, value in measured["accuracy"].items())
        print(f"{part} {table} split {split} k {k} {method:<9} {shown}", flush=True)
        save()


def run_diaz(arguments, results, save):
    """Measure the release of six quasi-identifiers, with constraints on the salary class."""
    records, target, _ = load("adult")
    # An identifier, in their study.
    records = records.drop(columns="race")
    privacy = {"raw": None, "k = 5": None, "k = 5, l = 2": LDiversity(2)}
    privacy |= {"k = 5, t = 0.7": TCloseness(0.7)}
    train, test = train_test_split(
        np.arange(len(records)), test_size=0.25, stratify=target, random_state=PUBLISHED_SEED
    )
    for name, constraint in privacy.items():
        if any(cell["release"] == name for cell in results["diaz"]):
            continue
        known = records[DIAZ_QUASI_IDENTIFIERS].assign(salary=target)
        aggregator = TableAggregator(5, sensitive="salary", privacy=constraint, categories="shares")
        labels = None if name == "raw" else aggregator.fit_predict(known)
        k = 1 if name == "raw" else 5
        rows = Release(records, DIAZ_QUASI_IDENTIFIERS, labels, k).rows
        sets = rows[train], target[train], rows[test], target[test]
        cell = {"release": name} | train_models(DIAZ_MODELS, *sets, members=None)
        if labels is not None:
            cell["pure_percent"] = 100 * homogeneity(labels, target)
        results["diaz"].append(cell)
        save()


def run_seconds(arguments, results, save):
    """Measure what a user waits for."""
    records, target, _ = load("adult")
    model = TrainOnRelease(
        HistGradientBoostingClassifier(categorical_features="from_dtype"), TableAggregator(k=10)
    )
    start = time.perf_counter(), time.process_time()
    model.fit(records, target)
    spent = time.perf_counter() - start[0], time.process_time() - start[1]
    results["seconds"] = {"seconds": spent[0], "cpu_seconds": spent[1], "n": len(records)}
    save()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    add("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    add("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    add("--models", nargs="+", choices=MODELS, default=list(MODELS))
    add("--ks", nargs="+", type=int, default=KS, help="minimum group sizes (%(default)s)")
    add("--splits", type=int, default=10, help="number of splits (%(default)s)")
    add("--json", type=Path, help="file to read results from, and to write them to")
    add("--plot", type=Path, help="file for a figure of accuracies over k")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    results = {"machine": machine_facts(), "cells": [], "diaz": []}
    if arguments.json and arguments.json.exists():
        results |= json.loads(arguments.json.read_text())

    def save():
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")

    for part in arguments.parts:
        if part == "diaz":
            run_diaz(arguments, results, save)
        elif part == "seconds":
            run_seconds(arguments, results, save)
        else:
            run_groups(part, arguments, results, save)
    print_summary(results)
    if arguments.plot:
        plot_accuracies(results["cells"], arguments.plot)


if __name__ == "__main__":
    main()
