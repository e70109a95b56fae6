"""
Your own builder and refiner
============================

A builder makes a partition into groups of at least ``k``, and a refiner improves a partition. Both
are short classes. You write one method for each; the package provides everything else: validation,
scaling, the release, chains and grid searches.
"""

# %%
# The records
# -----------
# Alcohol and malic acid of 178 wines: few records and two columns, so that groups can be drawn.
# Builders and refiners are given records in the space in which distances are measured, so the
# columns are standardized.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator
from sk_microagg.builders import MDAV, Builder
from sk_microagg.metrics import information_loss
from sk_microagg.refiners import Chain, Exchange, Partition, Refiner

wines = load_wine(as_frame=True).data[["alcohol", "malic_acid"]]
X = StandardScaler().fit_transform(wines)
k = 5

# %%
# A builder
# ---------
# This builder sorts the records by their widest column and splits them in two, then each half, and
# so on as long as there are enough records for two groups. Mondrian, a classic algorithm for
# k-anonymity, works in this way.
#
# A builder implements ``_build``, which returns the group of each record. ``X`` and ``k`` have been
# validated. A builder must be deterministic: the same records always give the same groups.


class Halves(Builder):
    """Split the records along their widest column, recursively."""

    def _build(self, X, k):
        labels = np.empty(len(X), dtype=int)
        n_groups, waiting = 0, [np.arange(len(X))]
        while waiting:
            members = waiting.pop()
            if len(members) < 2 * k:
                labels[members] = n_groups
                n_groups += 1
                continue
            widest = np.ptp(X[members], axis=0).argmax()
            members = members[np.argsort(X[members, widest], kind="stable")]
            half = len(members) // (2 * k) * k  # a multiple of k, so that groups are small
            waiting += [members[:half], members[half:]]
        return labels


built = Halves().build(X, k)
print(f"{built.max() + 1} groups of {np.bincount(built).min()} records or more")
print(f"information loss of Halves: {information_loss(X, built):.2%}")
print(f"information loss of MDAV:   {information_loss(X, MDAV().build(X, k)):.2%}")

# %%
# A refiner
# ---------
# This refiner looks for two records in different groups that should be swapped. Let :math:`x` be
# one of :math:`m` records with centroid :math:`a`, and :math:`y` one of :math:`n` records with
# centroid :math:`b`. If they are swapped, the sum of squared errors falls by
#
# .. math:: 2 (y - x) \cdot (a - b) + \left(\frac{1}{m} + \frac{1}{n}\right) |y - x|^2 .
#
# A refiner implements ``_refine``. The groups that it is given are numbered from 0 and have been
# validated. The result must not lose more, and its groups must again have at least ``k`` records;
# swaps do not change the sizes of groups. The parameters are those of ``__init__``, as in every
# estimator of scikit-learn.
# :class:`~sk_microagg.refiners.Partition` keeps the members, sizes and centroids of the groups.


class Swaps(Refiner):
    """Swap every record with the one that lowers the loss most."""

    def __init__(self, max_iter=20):
        self.max_iter = max_iter

    def _refine(self, X, labels, k, random_state):
        partition = Partition(X, labels, k)
        for _ in range(self.max_iter):
            before = partition.labels()
            for x in range(len(X)):
                labels, centroids = partition.labels(), partition.all_centroids()
                own, sizes = labels[x], np.bincount(labels)
                steps = X - X[x]
                shares = 1 / sizes[own] + 1 / sizes[labels]
                gains = 2 * np.sum(steps * (centroids[own] - centroids[labels]), axis=1)
                gains = np.where(labels == own, 0, gains + shares * np.sum(steps**2, axis=1))
                if gains.max() > 1e-9:  # smaller gains may be rounding errors
                    partition.swap(x, gains.argmax())
            if np.array_equal(partition.labels(), before):
                break
        return partition.labels()


swapped = Swaps().refine(X, built, k)
print(f"information loss after Swaps: {information_loss(X, swapped):.2%}")

# %%
# Together
# --------
# Your own classes can be used wherever those of the package can. ``MicroAggregator`` validates what
# they return: a group smaller than ``k`` is an error, and never released. In a
# :class:`~sk_microagg.refiners.Chain`, refiners run one after another. Here the last one is
# :class:`~sk_microagg.refiners.Exchange`, which moves records in cycles through more than two
# groups, and makes ``transform`` exact.
chain = Chain([("swaps", Swaps()), ("exchange", Exchange())])
models = {
    "Halves": MicroAggregator(k, builder=Halves(), refiner=None),
    "Halves, Swaps": MicroAggregator(k, builder=Halves(), refiner=Swaps()),
    "Halves, Swaps, Exchange": MicroAggregator(k, builder=Halves(), refiner=chain),
    "MDAV, Exchange": MicroAggregator(k, refiner="exchange"),
}
for name, model in models.items():
    model.fit(wines)
    exact = "exact" if model.exact_transform_ else "not exact"
    print(f"{name:>23}: loss {model.information_loss_:.2%}, transform is {exact}")

# %%
# Every line leads from a record to the centroid of its group. Splitting often makes long and thin
# groups; swaps make them compact.
figure, axes = plt.subplots(
    ncols=2, figsize=(7.5, 4.5), sharex=True, sharey=True, layout="constrained"
)
for panel, name in zip(axes, ["Halves", "Halves, Swaps"], strict=True):
    model = models[name]
    lines = np.stack([wines.to_numpy(), model.centroids_[model.labels_]], axis=1)
    panel.add_collection(LineCollection(lines, color="#888888", linewidth=1))
    panel.plot(*wines.to_numpy().T, ".", color="#0072b2", markersize=5, label="record")
    panel.plot(*model.centroids_.T, "o", color="black", markersize=5, label="centroid")
    panel.set_title(f"{name}: {model.information_loss_:.2%}", fontsize="medium", loc="left")
    panel.set_xlabel("alcohol")
    panel.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("malic acid")
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, frameon=False
)
plt.show()

# %%
# Parameters of a refiner are parameters of the estimator, so a grid search can tune them. The score
# is the negative information loss of the test records.
folds = KFold(
    n_splits=5, shuffle=True, random_state=0
)  # shuffled, since the wines are sorted by grower
search = GridSearchCV(models["Halves, Swaps"], {"refiner__max_iter": [1, 2, 5]}, cv=folds)
search.fit(wines)
print("information loss of test records:", -search.cv_results_["mean_test_score"].round(4))
