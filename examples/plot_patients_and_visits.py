"""
Patients, visits and diagnoses
==============================

A hospital publishes its visits: age, body mass index and distance to the hospital of the patient,
and the diagnosis. With ``k = 5`` every row occurs at least five times. Two fears remain. The five
rows may be five visits of one patient, and they may all have the same diagnosis. This example
measures both, removes them, and shows what that costs.
"""

# %%
# The table
# ---------
# 300 patients, drawn at random, with one to twenty visits each. Age and distance stay the same from
# visit to visit, and body mass index nearly so. Most visits of a patient have the same diagnosis,
# which depends on age and body mass index.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sk_microagg import MicroAggregator
from sk_microagg.metrics import closeness, diversity, homogeneity, units_per_group
from sk_microagg.privacy import LDiversity, TCloseness

DIAGNOSES = np.array(["injury", "asthma", "diabetes", "heart failure"])
COLORS = dict(zip(DIAGNOSES, ["#e69f00", "#56b4e9", "#009e73", "#cc79a7"], strict=True))
known = ["age", "bmi", "distance"]

rng = np.random.default_rng(0)
n_patients = 300
n_visits = np.minimum(rng.geometric(0.25, n_patients), 20)
patient = np.repeat(np.arange(n_patients), n_visits)
age = rng.uniform(18, 90, n_patients)
bmi = rng.normal(22 + age / 15, 4)
distance = rng.lognormal(2, 0.7, n_patients)
visits = pd.DataFrame(
    {
        "patient": patient,
        "age": age[patient].round(),
        "bmi": (bmi[patient] + rng.normal(0, 0.3, len(patient))).round(1),
        "distance": distance[patient].round(1),
    }
)
likely = np.column_stack(
    [(50 - age) / 8, (45 - age) / 10, (bmi - 26) / 2, (age - 60) / 6]
) + rng.gumbel(size=(n_patients, 4))
chronic = likely.argmax(axis=1)[patient]
is_other = rng.random(len(patient)) < 0.15
visits["diagnosis"] = DIAGNOSES[np.where(is_other, rng.integers(4, size=len(patient)), chronic)]

print(visits.head(8).to_string(index=False))
print(f"{len(visits)} visits of {n_patients} patients")
print(visits["diagnosis"].value_counts(normalize=True).round(2).to_string())

# %%
# k counts rows
# -------------
# Visits of one patient are similar, so microaggregation puts them into one group. Every row of the
# release occurs at least five times, and yet there are groups of a single patient: whoever knows
# the patient's age, body mass index and distance has found all visits.
by_rows = MicroAggregator(k=5).fit(visits[known])
by_people = MicroAggregator(k=5).fit(visits[known], unit=visits["patient"])


def patients_of_groups(aggregator):
    return visits["patient"].groupby(aggregator.labels_).nunique()


for name, aggregator in {"k counts rows": by_rows, "k counts patients": by_people}.items():
    patients = patients_of_groups(aggregator)
    print(
        f"{name:<18} rows per group at least {aggregator.group_sizes_.min()}, "
        f"patients at least {units_per_group(aggregator.labels_, visits['patient'])}, "
        f"groups of one patient {np.sum(patients == 1)} of {len(patients)}, "
        f"information loss {aggregator.information_loss_:.1%}"
    )

# %%
# With ``unit=`` every group holds visits of at least five patients. A patient's visits may be in
# several groups.
figure, panels = plt.subplots(ncols=2, figsize=(7, 2.8), sharex=True, layout="constrained")
most = max(patients_of_groups(by_rows).max(), patients_of_groups(by_people).max())
for panel, aggregator, title in zip(
    panels, [by_rows, by_people], ["k = 5 rows", "k = 5 patients"], strict=True
):
    numbers = range(1, most + 1)
    counts = [np.sum(patients_of_groups(aggregator) == number) for number in numbers]
    panel.bar(numbers, counts, color=["#d55e00" if number < 5 else "#777777" for number in numbers])
    panel.set(title=title, xlabel="patients in the group", ylabel="groups")
    panel.set_xticks(numbers)
    panel.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What a group shares
# -------------------
# Now the diagnosis. If all visits in a group have the same one, nobody needs to know which of them
# is whose. :class:`~sk_microagg.privacy.LDiversity` requires several different diagnoses per group,
# :class:`~sk_microagg.privacy.TCloseness` that their shares are similar to those in the whole
# table. Each is measured, whether or not it was required.
constraints = {
    "5 rows": {},
    "5 patients": {},
    "l = 2": {"privacy": LDiversity(l=2)},
    "l = 3": {"privacy": LDiversity(l=3)},
    "t = 0.4": {"privacy": TCloseness(t=0.4)},
    "t = 0.2": {"privacy": TCloseness(t=0.2)},
}
fitted, table = {}, {}
for name, parameters in constraints.items():
    unit = None if name == "5 rows" else visits["patient"]
    aggregator = MicroAggregator(k=5, **parameters)
    aggregator.fit(visits[known], sensitive=visits["diagnosis"], unit=unit)
    labels = aggregator.labels_
    fitted[name] = labels
    table[name] = {
        "groups": aggregator.n_groups_,
        "patients": units_per_group(labels, visits["patient"]),
        "homogeneity": homogeneity(labels, visits["diagnosis"]),
        "diversity": diversity(labels, visits["diagnosis"]),
        "closeness": closeness(labels, visits["diagnosis"]),
        "loss": aggregator.information_loss_,
    }
table = pd.DataFrame(table).T
print(table.astype({"groups": int, "patients": int, "diversity": int}).round(2).to_string())

# %%
# Each bar is a group, and its colors are the shares of the diagnoses in it; the last bar of each
# panel is the whole table. With k alone many bars have one color. l-diversity forbids that, but a
# bar may still be of one color but for a thin line. t-closeness makes all bars resemble the last.
figure, panels = plt.subplots(ncols=3, figsize=(9, 3), sharey=True, layout="constrained")
overall = visits["diagnosis"].value_counts(normalize=True)[DIAGNOSES]
for panel, name in zip(panels, ["5 rows", "l = 2", "t = 0.2"], strict=True):
    shares = pd.crosstab(fitted[name], visits["diagnosis"], normalize="index")[DIAGNOSES]
    shares = shares.sort_values([*DIAGNOSES], ascending=False).to_numpy()
    edges = np.append(np.arange(len(shares)) / len(shares), 1.06)
    widths = np.append(np.full(len(shares), 1 / len(shares)), 0.1)
    bottom = np.zeros(len(edges))
    for diagnosis, heights in zip(DIAGNOSES, np.vstack([shares, overall]).T, strict=True):
        panel.bar(
            edges, heights, widths, bottom, align="edge", color=COLORS[diagnosis], label=diagnosis
        )
        bottom += heights
    panel.set(title=name, xticks=[0.5, 1.11], yticks=[0, 0.5, 1])
    panel.set_xticklabels([f"{len(shares)} groups", "all"])
    panel.yaxis.set_major_formatter("{x:.0%}")
    panel.spines[["top", "right", "left", "bottom"]].set_visible(False)
    panel.tick_params(length=0)
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()

# %%
# Cost
# ----
# The price is information about age, body mass index and distance, since groups now reach farther
# for members. The diagnosis itself is released unchanged. A constraint that the table cannot meet
# is an error, and before anything is released, every group is checked again.
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
bars = axes.barh(table.index, table["loss"], color="#777777")
axes.bar_label(bars, [f" {loss:.1%}" for loss in table["loss"]])
axes.invert_yaxis()
axes.set(
    xlabel="information loss", xlim=(0, 1.15 * table["loss"].max()), xticks=[0, 0.05, 0.1, 0.15]
)
axes.xaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What remains
# ------------
# Groups say nothing of patients who are not in the table, and a release cannot be taken back: a
# second release of the same patients can be intersected with this one. Leave the column ``patient``
# out of the release, since it would join the visits of one patient again.
