"""
Risk and utility
================

With a larger ``k`` people are safer, and the release is worth less. No ``k`` is right for every
table, so look at both sides on your own. This example measures risk and utility over ``k``, and
then looks at what one release does to columns and groups.
"""

# %%
# Measure
# -------
# 442 patients with diabetes, and three columns that an intruder may know: age, body mass index and
# blood pressure. :func:`~sk_microagg.metrics.risk_utility` releases the table with each ``k`` and
# attacks the release. The intruder has the original table, takes for each patient the nearest row
# of the release, and guesses who it is of those who share this row.
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
# On the left, risk against loss. Nearly all patients are linked to the right row, but there they
# hide among others: no more than one in ``k`` is identified, as promised. A larger ``k`` helps much
# at first and little later, while loss goes on growing. Most statistical agencies choose 3 to 10.
#
# On the right is what anonymity does not promise. *Who* somebody is stays hidden, but an intruder
# who knows the group of a patient knows about how large the values are. A value counts as disclosed
# if it is within a tenth of a standard deviation of the released one.
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
# The distribution of each column before and after, for ``k = 5``. Means draw the tails in: nobody
# in the release is as old as the oldest patient. With ``at_least=5`` the picture can be published:
# whatever is drawn stands for five patients or more.
aggregator = MicroAggregator(k=5).fit(patients)
AttributeDisplay.from_estimator(aggregator, patients, at_least=5)
plt.show()

# %%
# Groups
# ------
# The groups in the plane of the first two principal components. They are small where patients are
# many, and wide at the rim: those who are far from all others pay for their safety. This picture
# shows original records, so it is not for publication.
PartitionDisplay.from_estimator(aggregator, patients)
plt.show()
