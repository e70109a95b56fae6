"""
Risk and utility
================

A larger ``k`` makes people safer and the release less useful. No ``k`` is right for every table, so
compare risk and utility on your own. This example measures both for several ``k``, and then shows
the columns and the groups of one release.
"""

# %%
# Measure
# -------
# 442 patients with diabetes, and three columns that an intruder may know: age, body mass index and
# blood pressure. :func:`~sk_microagg.metrics.risk_utility` releases the table with each ``k`` and
# attacks the release. The intruder knows the original table, links each patient to the nearest row
# of the release, and guesses which of the records that share this row is the patient's.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator
from sk_microagg.metrics import risk_utility
from sk_microagg.plotting import AttributeDisplay, PartitionDisplay, RiskUtilityDisplay

patients = load_diabetes(as_frame=True, scaled=False).data[["age", "bmi", "bp"]]
patients = patients.rename(columns={"bmi": "body mass index", "bp": "blood pressure"})
table = pd.DataFrame(risk_utility(patients, [2, 3, 4, 5, 7, 10, 15, 20, 30]))
columns = ["k", "information_loss", "linked", "expected_matches", "interval_disclosure"]
print(table[columns].round(3).to_string(index=False))

# %%
# Choose
# ------
# The left panel shows risk against loss. Nearly all patients are linked to the right row, but they
# share it with others: at most one in ``k`` is re-identified, as promised. A larger ``k`` helps a
# lot at first and little later, while the loss keeps growing. Most statistical agencies choose 3 to
# 10.
#
# The right panel shows what anonymity does not promise. *Who* somebody is remains hidden, but an
# intruder who knows the group of a patient knows the approximate values. A value counts as
# disclosed if it is within a tenth of a standard deviation of the released one.
figure, (left, right) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")
RiskUtilityDisplay.from_data(table, ax=left)
left.margins(x=0.15)  # room for the first label
curves = {
    "interval_disclosure": ("o-", "black", "values disclosed"),
    "information_loss": ("s--", "#0072b2", "information loss"),
    "correlation_change": ("^:", "#777777", "change of correlations"),
}
for name, (style, color, label) in curves.items():
    right.plot(table["k"], table[name], style, color=color, label=label)
right.set(xscale="log", xlabel="k", ylim=(0, None))
right.set_xticks(table["k"], table["k"])
right.minorticks_off()
right.yaxis.set_major_formatter("{x:.0%}")
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False)
plt.show()

# %%
# Columns
# -------
# The distribution of each column before and after, for ``k = 5``. Averaging shortens the tails:
# nobody in the release is as old as the oldest patient. With ``at_least=5`` the figure can be
# published, since everything in it stands for at least five patients.
aggregator = MicroAggregator(k=5).fit(patients)
AttributeDisplay.from_estimator(aggregator, patients, at_least=5)
plt.show()

# %%
# Groups
# ------
# The groups in the plane of the first two principal components. They are small where there are many
# patients and wide at the edge: protecting outliers costs the most information. This figure shows
# original records, so it must not be published.
PartitionDisplay.from_estimator(aggregator, patients)
plt.show()
