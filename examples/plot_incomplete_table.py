"""
A table with categories and holes
=================================

Real tables have categories, and cells that nobody filled in. Most tools drop every record with a
hole. :class:`~sk_microagg.KAIM` keeps them all: a missing value is the most general one. Released
are nodes of a hierarchy and intervals, which are true of everybody in a group.
"""

# %%
# A table
# -------
# 442 patients with diabetes: age, blood pressure, sex and the weight class of the World Health
# Organization. The table is complete, so one cell in ten is emptied here. The tables that such
# methods are usually compared on, such as Adult, have holes of their own:
# :func:`~sk_microagg.datasets.fetch_adult` downloads it.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sk_microagg import KAIM
from sk_microagg.generalization import Hierarchy, KMember
from sk_microagg.metrics import anonymity_level

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
is_hole = np.random.default_rng(0).random(patients.shape) < 0.1
patients = patients.mask(is_hole)
got_worse = measured["target"] > measured["target"].median()

print(patients.head(8))
print(f"records with a hole: {is_hole.any(axis=1).mean():.0%}")

# %%
# The release
# -----------
# Weight classes have a hierarchy. Numbers are released as intervals, and the sex as itself or as
# ``*``, which stands for anything.
hierarchies = {"weight": Hierarchy.from_nested(CLASSES)}
kaim = KAIM(k=5, hierarchies=hierarchies, random_state=0).set_output(transform="pandas")
release = kaim.fit_transform(patients)

print(release.head(8))
print(f"anonymity level: {anonymity_level(release)}, of {len(release)} records")
print(f"information loss: {kaim.information_loss_:.1%}")

# %%
# Holes into a classifier
# -----------------------
# Has the disease gone farther than that of most, a year later? For a model, numbers are released as
# the middle of their interval, and as NaN for ``*``. The rest of the pipeline is the usual one for
# a table with categories and holes. It is trained on the original table as well, to compare.
classify = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "bp"]),
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "weight"]),
    ),
    LogisticRegression(solver="newton-cholesky"),
)
anonymize = KAIM(hierarchies=hierarchies, output="midpoint", random_state=0)
anonymize.set_output(transform="pandas")  # since the next step chooses columns by name

ks = [2, 3, 5, 10, 20]
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
search = GridSearchCV(make_pipeline(anonymize, classify), {"kaim__k": ks}, cv=folds)
search.fit(patients, got_worse)
original = cross_val_score(classify, patients, got_worse, cv=folds)

# %%
# What it costs
# -------------
# A method that drops incomplete records, such as k-member, has lost a third of this table before it
# starts. KAIM loses what anonymity takes. The classifier notices: a model of intervals is not as
# good as one of the original values, but better than chance by far. The shaded band and the bars
# are one standard deviation over the folds, up and down.
losses = {
    label: [
        method(k, hierarchies=hierarchies, random_state=0).fit(patients).information_loss_
        for k in ks
    ]
    for label, method in {"KAIM": KAIM, "k-member, drops records": KMember}.items()
}
print(pd.DataFrame(losses, index=pd.Index(ks, name="k")).round(3))
accuracy, spread = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))

figure, (left, right) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")
for (label, loss), style, color in zip(
    losses.items(), ["o-", "s--"], ["black", "#777777"], strict=True
):
    left.plot(ks, loss, style, color=color, label=label)
left.set(ylabel="information loss", ylim=(0, None))
right.axhspan(original.mean() - original.std(), original.mean() + original.std(), color="#eeeeee")
right.axhline(original.mean(), color="black", linestyle=":", label="original table, with holes")
right.errorbar(ks, accuracy, spread, fmt="o-", color="black", capsize=3, label="KAIM")
right.axhline(0.5, color="#777777", linestyle="--", label="chance")
right.set(ylabel="accuracy on test folds", ylim=(0.45, 0.85))
for axes in (left, right):
    axes.set(xscale="log", xlabel="k")
    axes.set_xticks(ks, ks)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()
