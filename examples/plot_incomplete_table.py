"""
Generalized values of an incomplete table
=========================================

Real tables have categories and missing values. Many tools drop every incomplete record.
:class:`~sk_microagg.KAIM` keeps them all: it treats a missing value as the most general one. It
releases nodes of a hierarchy and intervals, which are true of everybody in a group. For models,
which prefer means, there is :class:`~sk_microagg.TableAggregator`; both are compared.
"""

# %%
# A table
# -------
# 442 patients with diabetes: age, blood pressure, sex, and the weight class as defined by the World
# Health Organization. The table is complete, so about one in ten cells is deleted at random here.
# The usual benchmark table, Adult, has missing values of its own;
# :func:`~sk_microagg.datasets.fetch_adult` downloads it.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sk_microagg import KAIM, TableAggregator
from sk_microagg.generalization import KMember
from sk_microagg.metrics import anonymity_level
from sk_microagg.tables import Hierarchy

CLASSES = {
    "not obese": ["underweight", "normal", "overweight"],
    "obese": ["obese I", "obese II", "obese III"],
}
LIMITS = [0, 18.5, 25, 30, 35, 40, 100]

measured = load_diabetes(as_frame=True, scaled=False).frame
names = [name for branch in CLASSES.values() for name in branch]
patients = pd.DataFrame(
    {
        "age": measured["age"],
        "bp": measured["bp"],
        "sex": measured["sex"].map({1: "sex 1", 2: "sex 2"}),
        "weight": pd.cut(measured["bmi"], LIMITS, labels=names, right=False).astype(object),
    }
)
is_missing = np.random.default_rng(0).random(patients.shape) < 0.1
patients = patients.mask(is_missing)
got_worse = measured["target"] > measured["target"].median()

print(patients.head(8))
print(f"incomplete records: {is_missing.any(axis=1).mean():.0%}")

# %%
# The release
# -----------
# Weight classes have a hierarchy. Numbers are released as intervals, and sex is released unchanged
# or as ``*``, which stands for any value.
hierarchies = {"weight": Hierarchy.from_nested(CLASSES)}
kaim = KAIM(k=5, hierarchies=hierarchies, random_state=0).set_output(transform="pandas")
release = kaim.fit_transform(patients)

print(release.head(8))
print(f"anonymity level: {anonymity_level(release)}, of {len(release)} records")
print(f"information loss: {kaim.information_loss_:.1%}")

# %%
# Training a classifier
# ---------------------
# Has the disease progressed further than that of most patients after one year? For a model, numbers
# are released as the midpoints of intervals, and ``*`` as NaN; ``TableAggregator`` releases means
# and most frequent values. The rest of the pipeline is the usual one for a table with categories
# and missing values. For comparison, it is also trained on the original table.
classify = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "bp"]),
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "weight"]),
    ),
    LogisticRegression(solver="newton-cholesky"),
)
kaim = KAIM(hierarchies=hierarchies, output="midpoint", random_state=0)
kaim.set_output(transform="pandas")  # The next step selects columns by name.
aggregator = TableAggregator(hierarchies=hierarchies)

ks = [2, 3, 5, 10, 20]
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
searches = {
    type(anonymize).__name__: GridSearchCV(
        Pipeline([("anonymize", anonymize), ("classify", classify)]), {"anonymize__k": ks}, cv=folds
    ).fit(patients, got_worse)
    for anonymize in (kaim, aggregator)
}
original = cross_val_score(classify, patients, got_worse, cv=folds)

# %%
# The cost of anonymity
# ---------------------
# A method that drops incomplete records, such as k-member, loses a third of this table before it
# starts. KAIM loses only what anonymity requires. A classifier trained on intervals is less
# accurate than one trained on the original values, but better than chance. Trained on means and
# most frequent values, it is nearly as accurate as on the original ones: that is the release for a
# model. The shaded band and the error bars show one standard deviation over the folds in each
# direction.
losses = {
    label: [
        method(k, hierarchies=hierarchies, random_state=0).fit(patients).information_loss_
        for k in ks
    ]
    for label, method in {"KAIM": KAIM, "k-member, drops records": KMember}.items()
}
print(pd.DataFrame(losses, index=pd.Index(ks, name="k")).round(3))

figure, (left, right) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")
for (label, loss), style, color in zip(
    losses.items(), ["o-", "s--"], ["black", "#777777"], strict=True
):
    left.plot(ks, loss, style, color=color, label=label)
left.set(ylabel="information loss", ylim=(0, None))
right.axhspan(original.mean() - original.std(), original.mean() + original.std(), color="#eeeeee")
right.axhline(original.mean(), color="black", linestyle=":", label="original table, incomplete")
for (label, search), style, color in zip(
    searches.items(), ["o-", "D-"], ["black", "#0072b2"], strict=True
):
    accuracy, spread = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
    right.errorbar(ks, accuracy, spread, fmt=style, color=color, capsize=3, label=label)
right.axhline(0.5, color="#777777", linestyle="--", label="chance")
right.set(ylabel="accuracy on test folds", ylim=(0.45, 0.92))
for axes in (left, right):
    axes.set(xscale="log", xlabel="k")
    axes.set_xticks(ks, ks)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()
