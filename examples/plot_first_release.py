"""
A first release
===============

A hospital wants to publish a table of its patients. Names have been removed, but age, body mass
index and blood pressure may still reveal who somebody is, since few people share all three. This
example releases the table in such a way that every patient shares them with at least four others.
"""

# %%
# The table
# ---------
# 442 patients with diabetes. Three columns are *quasi-identifiers*: other people may know them. The
# last column is the reason for publishing the table: the progression of the disease in one year.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator
from sk_microagg.metrics import anonymity_level, uniqueness

patients = load_diabetes(as_frame=True, scaled=False).frame
patients = patients[["age", "bmi", "bp", "target"]].rename(columns={"target": "progression"})
known = ["age", "bmi", "bp"]

print(patients.head())
print(f"patients with unique values: {uniqueness(patients[known]):.0%}")

# %%
# The release
# -----------
# Similar patients are put into groups of at least ``k``, and every patient gets the means of the
# group. ``fit_transform`` returns the release, in the units of the table.
aggregator = MicroAggregator(k=5).set_output(transform="pandas")
release = patients.copy()
release[known] = aggregator.fit_transform(patients[known])

print(release.head().round(1))
print(f"{len(release)} patients in {aggregator.n_groups_} groups")

# %%
# In a notebook, a fitted estimator shows what became of the table: the groups, their sizes, and
# what each column has lost.
aggregator

# %%
# Protection
# ----------
# An intruder who looks for a patient finds at least five rows that match, and no unique one.
print(f"anonymity level: {anonymity_level(release[known])}")
print(f"patients with unique values: {uniqueness(release[known]):.0%}")

# %%
# Cost
# ----
# Information loss is the share of the variance that lies within groups, and is therefore lost. The
# means of all columns are unchanged, and correlations with the progression nearly so.
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
# Every line leads from a patient to the released row. Patients in the center move little, since
# there are many similar ones. Those at the edge move farther, and they are the ones who would have
# been recognized most easily.
#
# This figure shows original records, so it must not be published.
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
# A later patient gets the row of the group that he or she falls into. This group already has five
# members, so the release remains as anonymous as before.
print(aggregator.transform(patients[known].head(1) + 0.5).round(1))
