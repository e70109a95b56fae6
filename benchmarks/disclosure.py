"""What releases and models give away: the figures of the pages on threats and on transform.

- subtraction: complete records of Census that can be computed from its releases at k = 5 and 6;
- linkage: records of Census that are nearest to their own row of the release at k = 3;
- ends: cells of Census that intervals show as they are, if they end at numbers of members
  (`grid=None`) and by default; and the loss of both, also on Adult;
- attributes: how well columns of Census are guessed from a release of four fifths of it at k = 3,
  of its records and of the others, on average;
- membership: how well an intruder recognizes the records of Adult that a forest was trained on, as
  they are or as a release; half of the complete records are members;
- walls: the share of records among the points that an attack on a fitted model claims, with
  potentials as they are found, and with the weights of a fitted model (`tests/attacks`);
- nearest: records whose nearest centroid is that of another group of MDAV.

Each part can be run alone::

    python benchmarks/disclosure.py --json disclosure.json
    python benchmarks/disclosure.py --parts subtraction linkage
"""

import argparse
import json
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
from _measure import machine_facts
from published import DATASETS, standardized
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sk_microagg import KAIM, MicroAggregator, TableAggregator, TrainOnRelease
from sk_microagg._model import _power
from sk_microagg.builders import MDAV
from sk_microagg.datasets import fetch_adult, fetch_census
from sk_microagg.metrics import attribute_inference, membership_inference, record_linkage

# The attacks are part of the tests.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from attacks.lattice import TABLES, diagrams, precisions, tight_on_a_line

K = 5


def measure_subtraction():
    X = fetch_census(return_X=True)
    small, large = MicroAggregator(K).fit(X), MicroAggregator(K + 1).fit(X)
    differences = (K + 1) * large.centroids_[:, None] - K * small.centroids_
    found = {tuple(row) for row in differences.reshape(-1, X.shape[1]).round(4)}
    return {"records": len(found & {tuple(row) for row in X.round(4)})}


def measure_linkage():
    X = fetch_census(return_X=True)
    release = MicroAggregator(3).fit_transform(X)
    return {"linked_percent": 100 * record_linkage(X, release).linked}


def measure_attributes():
    X, others = train_test_split(fetch_census(return_X=True), test_size=0.2, random_state=0)
    release = MicroAggregator(3).fit_transform(X)
    found = [attribute_inference(release, X, j, control=others) for j in range(X.shape[1])]
    return {
        "success_percent": 100 * np.mean([column.success for column in found]),
        "control_percent": 100 * np.mean([column.control for column in found]),
    }


def measure_ends():
    """Measure intervals that end at numbers of members, and those that do not."""
    X = fetch_census(return_X=True)
    adult = fetch_adult(as_frame=True)
    people = adult.data.drop(columns="salary-class")
    found = {}
    for grid in (None, "auto"):
        kaim = KAIM(K, grid=grid, random_state=0).fit(X)
        shown = shown_numbers(X, kaim.fit_transform(X))
        losses = KAIM(K, grid=grid, hierarchies=adult.hierarchies, random_state=0).fit(people)
        found[str(grid)] = shown | {
            "loss_percent": 100 * kaim.information_loss_,
            "adult_loss_percent": 100 * losses.information_loss_,
        }
    return found


def shown_numbers(X, release):
    """Return the shares of cells in percent that show their own number, and rare ones."""
    shares = []
    for column, cells in zip(X.T, release.T, strict=True):
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        is_shown = np.array(
            [
                number in map(float, re.findall(r"-?[\d.]+(?:e[+-]?\d+)?", str(cell)))
                for number, cell in zip(column, cells, strict=True)
            ]
        )
        n_owners = counts[place]
        shares.append([is_shown, is_shown & (n_owners < K), is_shown & (n_owners == 1)])
    own, rare, unique = 100 * np.mean(shares, axis=(0, 2))
    return {"own_percent": own, "rare_percent": rare, "unique_percent": unique}


def measure_membership():
    """Attack forests that were trained on Adult as it is, and on its release at k = 10."""
    people = fetch_adult(as_frame=True).data.dropna()
    salary = people.pop("salary-class")
    halves = train_test_split(people, salary, test_size=0.5, random_state=0)
    known, others, y, y_others = halves
    found = {}
    for name, depth in (("deep", None), ("depth 10", 10)):
        encoder = make_column_transformer(
            ("passthrough", ["age"]),
            remainder=OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        )
        forest = make_pipeline(encoder, RandomForestClassifier(max_depth=depth, random_state=0))
        models = {"original": forest}
        if depth is None:
            models["release"] = TrainOnRelease(forest, TableAggregator(10))
        for data, model in models.items():
            attack = membership_inference(
                model.fit(known, y), known, y, others, y_others, random_state=0
            )
            found[f"{name}, {data}"] = {
                "confidence": attack.advantage,
                "trained": attack.trained_advantage,
            }
    return found


def measure_walls():
    """Return the share of records in percent among the claims of the second attack."""
    found = {"tight": {}, "fitted": {}}
    for name, X in TABLES.items():
        if not name.endswith("unique"):
            continue
        for weights in found:
            with ExitStack() as stack:
                if weights == "tight":
                    stack.enter_context(mock.patch.object(_power, "_centered", keep_weights))
                    stack.enter_context(mock.patch.object(_power, "_shortened", tight_on_a_line))
                aggregator = MicroAggregator(K, refiner="exchange").fit(X)
            _, share = precisions(diagrams(aggregator), X)
            found[weights][name.removesuffix(", unique")] = 100 * float(share)
    return found


def keep_weights(walls, weights):
    return weights


def measure_nearest():
    """Return the shares of records in percent that are nearer to another centroid."""
    found = {}
    for name in DATASETS:
        X = standardized(name)
        for k in (3, 5, 10):
            labels = MDAV().build(X, k)
            centroids = np.array(
                [X[labels == group].mean(axis=0) for group in range(labels.max() + 1)]
            )
            nearest = ((X[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
            found[f"{name}, k = {k}"] = 100 * float((nearest != labels).mean())
    return found


PARTS = {
    "subtraction": measure_subtraction,
    "linkage": measure_linkage,
    "attributes": measure_attributes,
    "ends": measure_ends,
    "membership": measure_membership,
    "walls": measure_walls,
    "nearest": measure_nearest,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, help="file to write the results to")
    arguments = parser.parse_args()
    results = {"machine": machine_facts()}
    for part in arguments.parts:
        results[part] = PARTS[part]()
        print(f"\n{part}")
        for name, value in results[part].items():
            print(f"{name:<32}{value}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
