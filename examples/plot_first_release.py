"""
A first release
===============

A hospital wants to publish a table of its patients. Names are gone, but age, body mass index and
blood pressure may still tell who somebody is: few people share all three. This example releases the
table such that every patient shares them with at least four others.
"""

# %%
# The table
# ---------
# 442 patients with diabetes. Three columns are *quasi-identifiers*: somebody else may know them.
# The last one is what the table is published for: how far the disease went in a year.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator
from sk_microagg.metrics import anonymity_level, uniqueness

patients = load_diabetes(as_frame=True, scaled=False).frame
patients = patients[["age", "bmi", "bp", "target"]].rename(columns={"target": "progression"})
known = ["age", "bmi", "bp"]

print(patients.head())
print(f"patients who are alone with their values: {uniqueness(patients[known]):.0%}")

# %%
# The release
# -----------
# The patients are put into groups of at least ``k`` who resemble each other, and everybody gets the
# means of the group. ``fit_transform`` returns the release, in the units of the table.
aggregator = MicroAggregator(k=5).set_output(transform="pandas")
release = patients.copy()
release[known] = aggregator.fit_transform(patients[known])

print(release.head().round(1))
print(f"{len(release)} patients in {aggregator.n_groups_} groups")

# %%
# What it protects
# ----------------
# Whoever looks for a patient finds at least five that fit, and none who is alone.
print(f"anonymity level: {anonymity_level(release[known])}")
print(f"patients who are alone with their values: {uniqueness(release[known]):.0%}")

# %%
# What it costs
# -------------
# Information loss is the share of the variance that lies within groups, and so is gone. The means
# of all columns stay as they were, and correlations with the progression nearly so.
print(f"information loss: {aggregator.information_loss_:.1%}")
print(
    pd.DataFrame(
        {
            "mean before": patients[known].mean(),
            "mean after": release[known].mean(),
            "correlation before": patients[known].corrwith(patients["progression"]),
            "correlation after": release[known].corrwith(release["progression"]),
        }
    ).round(2)
)

# %%
# Every line leads from a patient to the row that is released instead. Rows in the middle move
# little, since there are many similar patients. Those at the rim have to move farther, and they are
# the ones whom everybody would have recognized.
#
# Such a picture shows original records: it is for you, not for publication.
figure, axes = plt.subplots(figsize=(6.4, 5), layout="constrained")
for before, after in zip(patients[known].to_numpy(), release[known].to_numpy(), strict=True):
    axes.plot([before[0], after[0]], [before[1], after[1]], color="#aaaaaa", linewidth=0.8)
axes.plot(patients["age"], patients["bmi"], ".", color="#0072b2", markersize=4, label="patient")
axes.plot(release["age"], release["bmi"], "o", color="black", markersize=5, label="released row")
axes.set(xlabel="age in years", ylabel="body mass index")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()

# %%
# New patients
# ------------
# A patient who comes later gets the row of the group that he or she falls in. This group has five
# members already, so the release stays as anonymous as it was.
print(aggregator.transform(patients[known].head(1) + 0.5).round(1))
