"""
Explanations by shallow trees on groups
=======================================

A forest that was trained on the records of people is asked to explain its decisions. A small tree
can be read, but one tree for all records is a poor copy of the forest. One small tree for each
group of near records is a better one, and since no group has fewer than k records, no explanation
is about a single person. This is the idea of Blanco-Justicia, Domingo-Ferrer, Martínez and Sánchez
(2020), *Machine learning explainability via microaggregation and shallow decision trees*,
Knowledge-Based Systems 194.
"""

# %%
# The model to explain
# --------------------
# The records are made up, of two classes: those near the middle, and those around them. A forest
# learns the border well.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_gaussian_quantiles
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, export_text

from sk_microagg import MicroAggregator

X, y = make_gaussian_quantiles(n_samples=3000, n_features=3, n_classes=2, random_state=0)
X_train, X_new, y_train, y_new = train_test_split(X, y, stratify=y, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy of the forest on new records: {forest.score(X_new, y_new):.3f}")

# %%
# A tree for each group
# ---------------------
# The trees copy what the forest says, not what is true. Groups are those of
# :class:`~sk_microagg.MicroAggregator`, and a new record belongs to the group whose row
# ``transform`` gives it.


def small_tree(X):
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, forest.predict(X))


def trees_on_groups(k):
    aggregator = MicroAggregator(k).fit(X_train)
    members = [X_train[aggregator.labels_ == group] for group in range(aggregator.n_groups_)]
    return aggregator, [small_tree(group) for group in members]


def groups_of(aggregator, X):
    number = {tuple(row): group for group, row in enumerate(aggregator.centroids_)}
    return np.array([number[tuple(row)] for row in aggregator.transform(X)])


def fidelity(k):
    aggregator, trees = trees_on_groups(k)
    groups = groups_of(aggregator, X_new)
    said = [trees[group].predict(X_new[[i]])[0] for i, group in enumerate(groups)]
    return np.mean(said == forest.predict(X_new))


# %%
# How faithful they are
# ---------------------
# One small tree for all records misses every third answer of the forest. The smaller the groups,
# the more faithful their trees, and the more trees there are to read.
ks = [10, 20, 50, 100, 200, 500]
agreement = [fidelity(k) for k in ks]
one_tree = np.mean(small_tree(X_train).predict(X_new) == forest.predict(X_new))
figure, axes = plt.subplots(layout="constrained")
axes.plot(ks, agreement, "o-", color="black")
axes.axhline(one_tree, color="#d55e00", linestyle="--")
axes.text(10, one_tree, "one tree for all records", color="#d55e00", va="bottom")
axes.set(xscale="log", xlabel="k", ylabel="agreement with the forest on new records")
axes.set_xticks(ks, ks)
for k, share in zip(ks, agreement, strict=True):
    print(f"k = {k:3}: the trees agree with the forest on {share:.1%} of new records")

# %%
# An explanation
# --------------
# Why did the forest decide as it did for the record below? Among its 100 or more nearest relatives,
# it went by these limits. They lie between records of the group, so they are numbers from the data:
# read :doc:`what a model reveals </threat_model>` before you publish them.
aggregator, trees = trees_on_groups(100)
groups = groups_of(aggregator, X_new)
said = np.array([trees[group].predict(X_new[[i]])[0] for i, group in enumerate(groups)])
is_split = np.array([trees[group].get_depth() == 2 for group in groups])
first = np.flatnonzero(is_split & (said == forest.predict(X_new)))[0]
print(f"record {X_new[first].round(2)}, class {forest.predict(X_new[[first]])[0]}")
print(f"a group of {aggregator.group_sizes_[groups[first]]} records")
print(export_text(trees[groups[first]]))
plt.show()
