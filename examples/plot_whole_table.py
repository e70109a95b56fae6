"""
A whole table, released in two ways
===================================

Adult, the benchmark table of the field, has an age, seven columns of categories and missing values.
:class:`~sk_microagg.TableAggregator` releases it as means and most frequent values: a table like
the original, for statistics and models. :class:`~sk_microagg.KAIM` releases intervals and nodes of
hierarchies: vaguer, but true of everybody. This example shows what each of them keeps.
"""

# %%
# The table
# ---------
# 6000 people of Adult. If the data can neither be found nor downloaded, people are drawn at random.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sk_microagg import KAIM, TableAggregator
from sk_microagg.datasets import fetch_adult
from sk_microagg.metrics import anonymity_level, generalization_loss

SCHOOLS = {"school": ["9th", "11th", "HS-grad"], "college": ["Bachelors", "Masters", "Doctorate"]}
N_PEOPLE = 6000


def draw_people(rng):
    """Return some people who resemble those of Adult, and a hierarchy for their education."""
    age = np.clip(rng.gamma(8, 5, N_PEOPLE), 17, 90).astype(int)
    schools = [school for branch in SCHOOLS.values() for school in branch]
    people = pd.DataFrame(
        {
            "age": age,
            "education": rng.choice(schools, N_PEOPLE, p=[0.1, 0.1, 0.4, 0.25, 0.1, 0.05]),
            "marital-status": np.where(rng.random(N_PEOPLE) < age / 70, "married", "single"),
            "occupation": rng.choice(["Sales", "Craft-repair", "Tech-support", None], N_PEOPLE),
            "sex": rng.choice(["Female", "Male"], N_PEOPLE),
        }
    )
    return people, {"education": SCHOOLS}


try:
    adult = fetch_adult(as_frame=True)
    people = adult.data.drop(columns="salary-class").sample(N_PEOPLE, random_state=0)
    hierarchies = adult.hierarchies
except OSError:
    print("Adult is not at hand: people are drawn at random.")
    people, hierarchies = draw_people(np.random.default_rng(0))

print(people.head(6).to_string())
print(f"missing cells: {people.isna().mean().mean():.1%}, ", end="")
print(f"incomplete records: {people.isna().any(axis=1).mean():.1%}")

# %%
# Means and most frequent values
# ------------------------------
# The release has the columns, the types and the index of the table. Ages are whole numbers, and
# every category is one that occurs.
aggregator = TableAggregator(k=5)
release = aggregator.fit_transform(people)

print(release.head(6).to_string())
print("anonymity level:", anonymity_level(release))
print(f"information loss: {aggregator.information_loss_:.1%}")
print(pd.DataFrame({"kind": aggregator.kinds_, "loss": aggregator.column_losses_}).round(3))

# %%
# Generalized values
# ------------------
# KAIM's groups are as large. What it releases of a group is true of each member, and a missing
# value is ``*``.
kaim = KAIM(k=5, hierarchies=hierarchies, random_state=0).set_output(transform="pandas")
generalized = kaim.fit_transform(people)

print(generalized.head(6).to_string())
print("anonymity level:", anonymity_level(generalized))
loss = generalization_loss(people, generalized, hierarchies=hierarchies)
print(f"loss of generalization: {loss:.1%}")

# %%
# What is left
# ------------
# The share of cells that are exactly what they were, for each column and over k. Most categories
# survive as the most frequent value of their group. KAIM releases a value unchanged only if it is
# that of the whole group, and an age hardly ever. That is the price of a release that is never
# wrong.


def share_unchanged(release):
    # As text, since the ages of KAIM are text; a missing cell is unchanged if it is still missing.
    old, new = (
        table.astype(object).where(table.notna(), "*").astype(str) for table in (people, release)
    )
    return (old == new).mean()


ks = [2, 5, 10, 20]
unchanged = {
    "TableAggregator": {5: share_unchanged(release)},
    "KAIM": {5: share_unchanged(generalized)},
}
years = {5: (release["age"] - people["age"]).abs().mean()}
for k in (2, 10, 20):
    released = TableAggregator(k=k).fit_transform(people)
    unchanged["TableAggregator"][k] = share_unchanged(released)
    unchanged["KAIM"][k] = share_unchanged(kaim.set_params(k=k).fit_transform(people))
    years[k] = (released["age"] - people["age"]).abs().mean()
print("mean absolute error of age, in years:")
print(pd.Series(years).sort_index().round(2).to_string())

figure, (left, right) = plt.subplots(
    ncols=2, figsize=(9, 3.8), layout="constrained", width_ratios=[3, 2]
)
places = np.arange(people.shape[1])
colors = {"TableAggregator": "#0072b2", "KAIM": "#e69f00"}
for offset, (name, shares) in zip([-0.2, 0.2], unchanged.items(), strict=True):
    left.barh(places + offset, shares[5], 0.4, color=colors[name], label=name)
    means = [shares[k].drop("age").mean() for k in ks]
    right.plot(ks, means, "o-", color=colors[name], label=name)
left.set_yticks(places, people.columns)
left.invert_yaxis()
left.set(xlabel="unchanged cells, k = 5", xlim=(0, 1))
left.xaxis.set_major_formatter("{x:.0%}")
right.set(xscale="log", xlabel="k", ylabel="unchanged categories", ylim=(0, 1))
right.set_xticks(ks, ks)
right.minorticks_off()
right.yaxis.set_major_formatter("{x:.0%}")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# New people
# ----------
# ``transform`` assigns a new person to a group that already holds five, and may be given people
# whose values are missing or were never seen.
new = people.head(2).assign(age=[25, 80], occupation=["astronaut", None])
print(aggregator.transform(new).to_string())
