"""The methods, releases and models of `train.py`."""

import warnings

import numpy as np
import pandas as pd
from _given_groups import released_groups
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sk_microagg import TableAggregator
from sk_microagg.privacy import LDiversity
from sk_microagg.tables import TableEncoder

try:
    import anonypyx
except ImportError:
    anonypyx = None

METHODS = ("raw", "plain", "target", "diverse", "Mondrian", "tree")

# These read the labels, which nobody may do who anonymizes test rows.
METHODS_WITH_LABELS = ("target", "diverse", "tree")

MODELS = {
    "forest": RandomForestClassifier(
        n_estimators=300, max_depth=10, min_samples_split=5, random_state=10
    ),
    "neighbors": KNeighborsClassifier(10),
    "SVM": LinearSVC(dual=False),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "deep forest": RandomForestClassifier(random_state=10),
}

# Those of Díaz and García, with the defaults of scikit-learn.
DIAZ_MODELS = {
    "forest": RandomForestClassifier(random_state=0),
    "neighbors": KNeighborsClassifier(),
    "AdaBoost": AdaBoostClassifier(random_state=0),
    "gradient boosting": GradientBoostingClassifier(random_state=0),
}


def make_model(model):
    return make_pipeline(MinMaxScaler(), model)


class Release:
    """The release of groups of records, in the same way for all methods.

    Numbers are released as their mean, categories as shares of their values, as TableAggregator
    does it with `categories="shares"`; columns that are no quasi-identifiers as they are.

    Parameters
    ----------
    records : pandas.DataFrame
        The records to release.

    quasi_identifiers : list of str
        The columns to anonymize.

    labels : ndarray of shape (n_records,) or None
        Group of each record; None stands for the records as they are.

    k : int
        Values of categories that fewer records share have no column.
    """

    def __init__(self, records, quasi_identifiers, labels, k):
        self.quasi_identifiers = quasi_identifiers
        known = records[quasi_identifiers]
        self._encoder = TableEncoder(known, k)
        self.rows = self.format(records)
        if labels is not None:
            released = released_groups(known, labels, k, "shares")
            self.rows = self._join(records, {name: f.take(labels) for name, f in released.items()})

    def format(self, records):
        """Records as they are, in the columns of the release."""
        known = records[self.quasi_identifiers]
        return self._join(records, self._encoder.formatted(known, categories="shares"))

    def _join(self, records, columns):
        others = records.columns.drop(self.quasi_identifiers)
        frames = [*columns.values(), *(pd.get_dummies(records[[name]]) for name in others)]
        return np.hstack([frame.to_numpy(dtype=float) for frame in frames])


def form_groups(method, records, quasi_identifiers, y, k):
    """Return the group of each record by one of the methods; None for raw records."""
    known = records[quasi_identifiers].reset_index(drop=True)
    if method == "raw":
        return None
    if method == "Mondrian":
        return mondrian(known, k)
    if method == "tree":
        points = Release(known, quasi_identifiers, None, 1).rows
        leaves = DecisionTreeClassifier(min_samples_leaf=k, random_state=0).fit(points, y)
        return np.unique(leaves.apply(points), return_inverse=True)[1]
    return aggregate(method, known, y, k)


def aggregate(method, known, y, k):
    """Return our groups of records: plain, weighted by the target, and with two labels in each."""
    if method == "plain":
        return TableAggregator(k, categories="shares").fit_predict(known)
    aggregator = TableAggregator(k, categories="shares", column_weights="target")
    if method == "diverse":
        return aggregator.set_params(privacy=LDiversity(2)).fit_predict(known, y, sensitive=y)
    with warnings.catch_warnings():
        # How many there are is measured here.
        warnings.filterwarnings("ignore", message=".*in groups of a single class of y")
        return aggregator.fit_predict(known, y)


def mondrian(known, k):
    """Return the groups of Mondrian by anonypyx."""
    if anonypyx is None:
        raise ImportError("Mondrian needs anonypyx: pip install anonypyx, or choose --methods.")
    anonymiser = anonypyx.Anonymiser(known, k=k, feature_columns=list(known.columns))
    labels = np.empty(len(known), dtype=np.intp)
    for group, members in enumerate(anonymiser.algorithm.partition(anonymiser.parameters)):
        labels[members] = group
    return labels
