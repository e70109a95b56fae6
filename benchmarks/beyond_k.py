"""What constraints beyond k cost, on real tables: loss, homogeneity, closeness and seconds.

Census (12 columns; the federal tax is sensitive), breast cancer (30 columns; the diagnosis) and the
first 5000 records of Adult (age and seven categories, one-hot; the salary class), at k = 5. First
come l-diversity and t-closeness, then units (people with several rows) and strata; with --builders,
the published builders without a refiner, and what is left after refinement, over t; with --plot,
also as a figure. Examples::

    python benchmarks/beyond_k.py --json beyond_k.json
    python benchmarks/beyond_k.py --data "breast cancer"
    python benchmarks/beyond_k.py --builders --plot doc/beyond_k.png
    python benchmarks/beyond_k.py --homogeneity

With --homogeneity, the shares of records in groups that share one sensitive value are measured in
releases that know nothing of it: breast cancer by MicroAggregator, and all of Adult by KAIM.
Seconds are CPU seconds on one thread. Census and Adult are fetched, or found as their fetchers say.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from _measure import machine_facts
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sk_microagg import KAIM, MicroAggregator
from sk_microagg.builders import MDAV
from sk_microagg.datasets import fetch_adult, fetch_census
from sk_microagg.metrics import closeness, homogeneity, units_per_group
from sk_microagg.privacy import LDiversity, TCloseness

K = 5
N_ADULT = 5000
UNIT_SIZE = 4
TS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
METHODS = {
    "merge": {"builder": MDAV(), "refiner": None},
    "k-anonymity first": {"builder": "k_anonymity_first", "refiner": None},
    "t-closeness first": {"builder": "t_closeness_first", "refiner": None},
    "default": {},
}


def census():
    frame = fetch_census(as_frame=True).data
    return frame.drop(columns="FEDTAX").to_numpy(), frame["FEDTAX"]


def breast_cancer():
    X, diagnosis = load_breast_cancer(return_X_y=True)
    return X, np.array(["malignant", "benign"])[diagnosis]


def adult():
    frame = fetch_adult(as_frame=True).data.head(N_ADULT)
    salary = frame.pop("salary-class")
    categories = OneHotEncoder(sparse_output=False).fit_transform(frame.drop(columns="age"))
    return np.hstack([StandardScaler().fit_transform(frame[["age"]]), categories]), salary


TABLES = {"Census": census, "breast cancer": breast_cancer, "Adult": adult}
CONSTRAINTS = [
    None,
    LDiversity(2),
    LDiversity(1.5, kind="entropy"),
    LDiversity(2, kind="recursive", c=4),
    *(TCloseness(t) for t in (0.3, 0.2, 0.1, 0.05)),
]


def fit(X, *, name, sensitive=None, unit=None, strata=None, **parameters):
    """Fit, print a line with `name`, and return what was measured."""
    aggregator = MicroAggregator(K, **parameters)
    # One-hot columns are already scaled.
    if X.shape[1] > 50:
        aggregator.set_params(scaler=None)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All records are in one group")
        aggregator.fit(X, sensitive=sensitive, unit=unit, strata=strata)
    cell = {"name": name, "loss_percent": 100 * aggregator.information_loss_}
    cell |= {"cpu_seconds": time.process_time() - start, "groups": int(aggregator.n_groups_)}
    line = f"{name:<52}{cell['loss_percent']:>8.2f}{cell['cpu_seconds']:>8.2f}{cell['groups']:>8}"
    if sensitive is not None:
        cell["homogeneity_percent"] = 100 * homogeneity(aggregator.labels_, sensitive)
        cell["closeness"] = closeness(aggregator.labels_, sensitive)
        line += f"{cell['homogeneity_percent']:>8.1f}{cell['closeness']:>8.3f}"
    if unit is not None:
        line += f"  at least {units_per_group(aggregator.labels_, unit)} units"
    print(line, flush=True)
    return cell


def print_head(title):
    print(f"\n{title:<52}{'loss %':>8}{'s':>8}{'groups':>8}{'homog.':>8}{'close.':>8}")


def measure_constraints(tables):
    cells = []
    for table in tables:
        X, sensitive = TABLES[table]()
        print_head(f"{table}, {len(X)} x {X.shape[1]}")
        for constraint in CONSTRAINTS:
            cell = fit(X, name=str(constraint), sensitive=sensitive, privacy=constraint)
            cells.append({"table": table, **cell})
    return cells


def measure_units_and_strata():
    """Units of four rows: any four, or four that resemble each other like visits of one person."""
    X, _ = census()
    print_head("Census, units and strata")
    units = {
        "none": None,
        "four rows drawn at random": np.random.RandomState(0).permutation(len(X)) // UNIT_SIZE,
        "four similar rows": MDAV().build(StandardScaler().fit_transform(X), UNIT_SIZE),
    }
    cells = [fit(X, name=f"unit: {name}", unit=unit) for name, unit in units.items()]
    for n_strata in (2, 10):
        strata = np.random.RandomState(0).permutation(len(X)) % n_strata
        cells.append(fit(X, name=f"strata: {n_strata}, drawn at random", strata=strata))
        score = PCA(1).fit_transform(StandardScaler().fit_transform(X))[:, 0]
        strata = score.argsort().argsort() * n_strata // len(X)
        cells.append(fit(X, name=f"strata: {n_strata}, along the first component", strata=strata))
    return cells


def measure_builders(tables):
    """Return losses in percent over t, by table and method."""
    losses = {}
    for table in tables:
        X, sensitive = TABLES[table]()
        print_head(table)
        losses[table] = {"k alone": [fit(X, name="k alone")["loss_percent"]]}
        for method, parameters in METHODS.items():
            given = parameters | {"sensitive": sensitive}
            losses[table][method] = [
                fit(X, name=f"{method}, t = {t}", privacy=TCloseness(t), **given)["loss_percent"]
                for t in TS
            ]
    return losses


def below_the_best(losses):
    """Return the shares in percent by which the default loses less than the best other method."""
    shares = []
    for curves in losses.values():
        others = zip(*(curves[method] for method in METHODS if method != "default"), strict=True)
        pairs = zip(curves["default"], others, strict=True)
        shares += [100 * (1 - own / min(theirs)) for own, theirs in pairs]
    print(f"\nThe default loses {min(shares):.1f}% to {max(shares):.1f}% less than the best other")
    return {"least": min(shares), "most": max(shares)}


def plot_losses(losses, path):
    import matplotlib.pyplot as plt

    styles = [("v--", "#999999"), ("s--", "#999999"), ("^--", "#999999"), ("o-", "black")]
    figure, panels = plt.subplots(
        ncols=len(losses), figsize=(7.5, 3), sharey=True, squeeze=False, layout="constrained"
    )
    for panel, (table, curves) in zip(panels[0], losses.items(), strict=True):
        for method, (style, color) in zip(METHODS, styles, strict=True):
            panel.plot(TS, curves[method], style, color=color, label=method, markersize=5)
        panel.axhline(curves["k alone"][0], color="black", linestyle=":", label="k alone")
        panel.set(title=f"{table}, k = {K}", xlabel="t", ylim=(0, 104))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("information loss (%)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.savefig(path, dpi=110)


def measure_homogeneity():
    """Return the shares of records in homogeneous groups in percent, by what was released."""
    X, diagnosis = breast_cancer()
    shares = {
        f"breast cancer, k = {k}": 100 * homogeneity(MicroAggregator(k).fit_predict(X), diagnosis)
        for k in (3, 5, 10)
    }
    data = fetch_adult(as_frame=True)
    salary = data.data["salary-class"]
    known = data.data.drop(columns="salary-class")
    for seed in range(3):
        kaim = KAIM(10, hierarchies=data.hierarchies, random_state=seed)
        # Groups with equal rows are one group to an intruder.
        share = 100 * homogeneity(kaim.fit_transform(known), salary)
        shares[f"Adult, KAIM, k = 10, seed {seed}"] = share
    for name, share in shares.items():
        print(f"{name:<32}{share:>8.1f}%")
    return shares


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", nargs="+", choices=TABLES, help="the tables")
    add("--builders", action="store_true", help="compare builders over t")
    add("--homogeneity", action="store_true", help="measure what k alone leaves")
    add("--plot", type=Path, help="file for the figure of --builders")
    add("--json", type=Path, help="file to write the results to")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    results = {"machine": machine_facts()}
    if arguments.homogeneity:
        results["homogeneity"] = measure_homogeneity()
    elif arguments.builders:
        losses = measure_builders(arguments.data or ["Census", "breast cancer"])
        results |= {"t": TS, "losses": losses, "below_the_best_percent": below_the_best(losses)}
        if arguments.plot:
            plot_losses(losses, arguments.plot)
    else:
        tables = arguments.data or list(TABLES)
        results["constraints"] = measure_constraints(tables)
        if "Census" in tables:
            results["units and strata"] = measure_units_and_strata()
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
