"""Models of diabetes: trained on the original table, on a release, and in a Pipeline.

R² in five folds at k = 5, for gradient boosting and five nearest neighbors: trained on the original
data; in a Pipeline, where test rows are anonymized, too; with TrainOnRelease, which takes test rows
as they are; and the same with columns weighted by what they tell of the target. Example::

    python benchmarks/pipelines.py --json pipelines.json
"""

import argparse
import json
from pathlib import Path

from _measure import machine_facts
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from sk_microagg import MicroAggregator, TrainOnRelease

K = 5
MODELS = {
    "boosting": HistGradientBoostingRegressor(random_state=0),
    "neighbors": KNeighborsRegressor(),
}


def versions(model):
    """Return the ways to train a model, by name."""
    return {
        "original": model,
        "pipeline": make_pipeline(MicroAggregator(K), model),
        "release": TrainOnRelease(model, MicroAggregator(K)),
        "target": TrainOnRelease(model, MicroAggregator(K, scaler="target")),
    }


def measure():
    """Print and return the mean R² by model and way to train it."""
    X, y = load_diabetes(return_X_y=True)
    found = {}
    for name, model in MODELS.items():
        found[name] = {
            version: float(cross_val_score(candidate, X, y).mean())
            for version, candidate in versions(model).items()
        }
        print(f"{name:<12}" + "".join(f"{way:>12} {r2:.3f}" for way, r2 in found[name].items()))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to write the results to")
    arguments = parser.parse_args()
    results = {"machine": machine_facts(), "r2": measure()}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
