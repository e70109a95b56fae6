"""The tables of `train.py`, their quasi-identifiers, and the published figures about them."""

import csv
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

# Quasi-identifiers, those of them that are categories, and the target, as in Slijepčević et al.
# (2021). Other columns stay as they are, and models get them, too.
ROLES = {
    "adult": (
        "age workclass education marital-status occupation race sex native-country",
        "workclass education marital-status occupation race sex native-country",
        "salary-class",
    ),
    "cahousing": (
        "longitude latitude housing_median_age median_income median_house_value",
        "",
        "ocean_proximity",
    ),
    "cmc": ("age Weducation children", "Weducation", "method"),
    "mgm": (
        "bi_rads_assessment age shape margin density",
        "bi_rads_assessment shape margin density",
        "severity",
    ),
}
TABLES = tuple(ROLES)
NAMES = {
    "adult": "Adult",
    "cahousing": "California housing",
    "cmc": "contraceptive methods",
    "mgm": "mammographic masses",
}

# The study used the first complete records.
N_ADULT = 30_162

# Names of our models in the published figures. Gradient boosting is HistGradientBoosting here, and
# XGBoost there.
PUBLISHED_MODELS = {"forest": "rf", "neighbors": "knn", "SVM": "svm", "boosting": "xgb"}

# Accuracies on Adult published by Díaz and García (2023): k = 5 with ARX, six quasi-identifiers.
DIAZ_MODELS = ("forest", "neighbors", "AdaBoost", "gradient boosting")
DIAZ_QUASI_IDENTIFIERS = ["age", "education", "marital-status", "occupation", "sex"]
DIAZ_QUASI_IDENTIFIERS += ["native-country"]
DIAZ_PUBLISHED = {
    "raw": (83.34, 80.56, 83.50, 83.52),
    "k = 5": (82.08, 81.99, 81.97, 82.21),
    "k = 5, l = 2": (80.25, 78.94, 80.17, 80.25),
    "k = 5, t = 0.7": (82.18, 81.64, 82.18, 82.10),
}


class Table(NamedTuple):
    """Records with their target; columns of categories have a categorical type."""

    records: pd.DataFrame
    target: np.ndarray
    quasi_identifiers: list


def data_folder():
    """Return the folder that the environment names, or the usual one beside the repository."""
    named = os.environ.get("SK_MICROAGG_DATA")
    return Path(named).expanduser() if named else Path(__file__).parents[2] / "shared" / "data"


@cache
def load(name):
    """Return a table in the order in which the study split it."""
    quasi_identifiers, categorical, target = ROLES[name]
    if name == "adult":
        frame = pd.read_csv(data_folder() / "adult.csv", na_values="?").dropna().head(N_ADULT)
    else:
        frame = pd.read_csv(data_folder() / "train" / f"{name}.csv", sep=";")
        frame = frame.sort_values("ID").drop(columns="ID")
    frame = frame.reset_index(drop=True)
    classes = frame.pop(target).astype("category").cat.codes.to_numpy()
    frame = frame.astype(dict.fromkeys(categorical.split(), "category"))
    return Table(frame, classes, quasi_identifiers.split())


@cache
def published_accuracies():
    """Return the published accuracies in percent, by table, model and k: a dict of methods."""
    figures = {}
    ours = {theirs: name for name, theirs in PUBLISHED_MODELS.items()}
    with open(Path(__file__).with_name("published_train.csv"), newline="") as file:
        for row in csv.DictReader(file):
            cell = row["data"], ours[row["classifier"]], int(row["k"])
            figures.setdefault(cell, {})[row["method"]] = float(row["accuracy"])
    return figures
