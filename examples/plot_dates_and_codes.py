"""
Patients with dates, codes and missing values
=============================================

The table of a hospital has everything at once: dates of birth and admission, ZIP codes, diagnoses
by their codes, a severity with an order, and blank cells.
:class:`~sk_microagg.TableAggregator` forms one partition of all of it. Dates stay dates, codes stay
codes, and every combination of values occurs at least five times.
"""

# %%
# The table
# ---------
# 2000 admissions of 1400 patients, drawn at random. ZIP codes are text, or else their zeros would
# be lost. Diagnoses are codes of ICD-10, whose first letter gives the chapter.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sk_microagg import TableAggregator
from sk_microagg.metrics import anonymity_level

CODES = {
    "E: metabolic": {"diabetes": ["E10", "E11", "E14"], "thyroid": ["E03", "E05"]},
    "I: circulation": {"heart": ["I20", "I21", "I25", "I50"], "brain": ["I61", "I63", "I64"]},
    "J: lungs": {"infection": ["J15", "J18", "J20"], "chronic": ["J44", "J45"]},
    "S: injuries": {"leg": ["S72", "S82", "S83"], "arm": ["S42", "S52"], "head": ["S06"]},
}
SEVERITIES = ["minor", "moderate", "major", "extreme"]

rng = np.random.default_rng(0)
n_patients, n_admissions = 1400, 2000
patient = np.append(np.arange(n_patients), rng.integers(n_patients, size=600))
age = np.clip(rng.normal(60, 18, n_patients), 1, 98)
zip_code = rng.choice(["01002", "01003", "01040", "01060", "02138", "02139"], n_patients)
leaves = np.array(
    [code for chapter in CODES.values() for codes in chapter.values() for code in codes]
)
is_injury = rng.random(n_admissions) < np.clip(0.9 - age[patient] / 80, 0.1, 0.9)
code = np.where(
    is_injury, rng.choice(leaves[-6:], n_admissions), rng.choice(leaves[:-6], n_admissions)
)
day = pd.Timestamp("2024-01-01")

admissions = pd.DataFrame(
    {
        "patient": patient,
        "birth": day - pd.to_timedelta((365.25 * age[patient]).astype(int), unit="D"),
        "zip": zip_code[patient],
        "admission": day + pd.to_timedelta(rng.integers(366, size=n_admissions), unit="D"),
        "code": code,
        "severity": rng.choice(SEVERITIES, n_admissions, p=[0.4, 0.3, 0.2, 0.1]),
        "smoker": pd.array(rng.random(n_patients) < 0.25, dtype="boolean")[patient],
        "costs": rng.lognormal(8, 1, n_admissions).round(-1).astype(int),
    }
)
known = ["birth", "zip", "admission", "code", "severity", "smoker"]
for name, share in {"zip": 0.03, "severity": 0.05, "smoker": 0.2}.items():
    admissions.loc[rng.random(n_admissions) < share, name] = None

print(admissions.head(6).to_string(index=False))

# %%
# The release
# -----------
# All columns but the costs may be known to somebody. Costs are released as they are. A patient with
# several admissions counts once: every group holds at least five patients, and the column that says
# who they are is left out. The severity has an order that its names do not show.
roles = {"unit": "patient", "sensitive": "costs", "ordinal": {"severity": SEVERITIES}}
release = TableAggregator(k=5, **roles).fit_transform(admissions)

print(release.head(6).to_string(index=False))
print("anonymity level:", anonymity_level(release[known]))
print(release.dtypes.to_string())

# %%
# Where most members of a group have no value, neither has the release. Births and admissions are
# means of their groups, so that both ends of the year, and of the century, move inward. In
# between, counts are close to the original ones.


def count(table):
    return (
        table["birth"].dt.year.floordiv(10).mul(10).value_counts().sort_index(),
        table["admission"].dt.month.value_counts().sort_index(),
    )


figure, panels = plt.subplots(ncols=2, figsize=(9, 3.2), layout="constrained")
titles = ["decade of birth", "month of admission"]
for panel, before, after, title in zip(
    panels, count(admissions), count(release), titles, strict=True
):
    places = np.arange(len(before))
    panel.bar(places - 0.2, before, 0.4, color="#bbbbbb", label="original")
    panel.bar(
        places + 0.2,
        after.reindex(before.index, fill_value=0),
        0.4,
        color="#0072b2",
        label="release",
    )
    panel.set(xlabel=title, ylabel="admissions")
    panel.set_xticks(places, before.index, rotation=45 if len(str(before.index[0])) > 2 else 0)
    panel.spines[["top", "right"]].set_visible(False)
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# Codes that are near each other
# ------------------------------
# To the release above, two codes are equal or not. With a hierarchy, codes with a common node are
# nearer to each other than others: where a group has several codes, they are more often of one
# block or of one chapter. ``column_weights`` makes codes count more than other columns, at the
# expense of these.
block_of = {
    c: block for chapter in CODES.values() for block, codes in chapter.items() for c in codes
}
settings = {
    "equal or not": {},
    "hierarchy": {"hierarchies": {"code": CODES}},
    "hierarchy, weight 2": {"hierarchies": {"code": CODES}, "column_weights": {"code": 2}},
}
fates, losses = {}, {}
for name, parameters in settings.items():
    aggregator = TableAggregator(k=5, **roles, **parameters)
    old, new = admissions["code"], aggregator.fit_transform(admissions)["code"]
    same_code, same_block = old == new, old.map(block_of) == new.map(block_of)
    same_chapter = old.str[0] == new.str[0]
    fates[name] = {
        "same code": same_code.mean(),
        "same block": (same_block & ~same_code).mean(),
        "same chapter": (same_chapter & ~same_block).mean(),
        "other chapter": (~same_chapter).mean(),
    }
    losses[name] = aggregator.column_losses_
fates = pd.DataFrame(fates).T
print("loss of each column:")
print(pd.DataFrame(losses).round(2).to_string())

# %%
figure, axes = plt.subplots(figsize=(8, 2.4), layout="constrained")
left = np.zeros(len(fates))
for fate, color in zip(fates, ["#0072b2", "#56b4e9", "#bbdff3", "#d55e00"], strict=True):
    bars = axes.barh(fates.index, fates[fate], left=left, color=color, label=fate)
    shares = [f"{share:.0%}" if share > 0.03 else "" for share in fates[fate]]
    axes.bar_label(bars, shares, label_type="center", color="white" if left.sum() == 0 else "black")
    left += fates[fate].to_numpy()
axes.invert_yaxis()
axes.xaxis.set_major_formatter("{x:.0%}")
axes.set(xlabel="admissions", xlim=(0, 1))
axes.spines[["top", "right", "left"]].set_visible(False)
axes.tick_params(axis="y", length=0)
figure.legend(loc="outside upper center", ncols=4, frameon=False)
plt.show()

# %%
# A node instead of a code
# ------------------------
# The most frequent code of a group is not everybody's. Where that matters,
# ``categories="generalize"`` releases the lowest node above all codes of the group, which is true
# of every member, and ``*`` where they have nothing in common or one of them is missing. Dates and
# the severity are means as before.
generalized = TableAggregator(
    k=5, categories="generalize", **roles, **settings["hierarchy, weight 2"]
).fit_transform(admissions)

print(generalized.head(6).to_string(index=False))
print(generalized["code"].value_counts().head(8).to_string())
