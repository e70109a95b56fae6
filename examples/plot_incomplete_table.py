"""
A table with categories and holes
=================================

Real tables have categories, and cells that nobody filled in. Most tools drop every record with a
hole. :class:`KAIM` keeps them all: a missing value is the most general one. What is released in its
place are nodes of a hierarchy and intervals, which are true of every record in the group.
"""

# %%
# A table
# -------
# Visits to clinics, in which one cell in twelve is missing.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sk_microagg import KAIM
from sk_microagg.generalization import Hierarchy, KMember
from sk_microagg.metrics import anonymity_level

TOWNS = {"coast": ["Bari", "Genoa", "Naples"], "inland": ["Milan", "Rome", "Turin"]}

rng = np.random.default_rng(0)
n = 600
age = rng.integers(18, 90, n)
town = rng.choice([*TOWNS["coast"], *TOWNS["inland"]], n)
ward = rng.choice(["surgery", "medicine", "eyes"], n)
stays = rng.random(n) < 1 / (1 + np.exp(-(age - 55) / 10 - 2 * (ward == "surgery")))
visits = pd.DataFrame({"age": age.astype(float), "town": town, "ward": ward})
visits = visits.mask(rng.random(visits.shape) < 1 / 12)
print(visits.head())

# %%
# The release
# -----------
# Towns have a hierarchy. Ages are released as intervals, and wards as themselves or as "*".
hierarchies = {"town": Hierarchy.from_nested(TOWNS)}
kaim = KAIM(k=5, hierarchies=hierarchies, random_state=0).set_output(transform="pandas")
release = kaim.fit_transform(visits)

print(release.head())
print(f"anonymity level: {anonymity_level(release)}, of {len(release)} records")
print(f"information loss: {kaim.information_loss_:.1%}")

# %%
# Anonymise, then train
# ---------------------
# The release is a table of categories, so the next step of the pipeline makes columns of them.
model = make_pipeline(
    KAIM(k=5, hierarchies=hierarchies, random_state=0),
    OneHotEncoder(handle_unknown="ignore"),
    LogisticRegression(),
)
print(f"accuracy of a model of the release: {cross_val_score(model, visits, stays).mean():.1%}")

# %%
# What the holes cost
# -------------------
# A method that drops incomplete records loses all of what they tell.
ks = [2, 3, 5, 10, 20]
methods = {"KAIM": KAIM, "k-member, which drops them": KMember}
figure, axes = plt.subplots(layout="constrained")
for name, method in methods.items():
    losses = [
        method(k, hierarchies=hierarchies, random_state=0).fit(visits).information_loss_ for k in ks
    ]
    axes.plot(ks, losses, "o-", label=name)
axes.set(xlabel="k", ylabel="information loss", ylim=(0, None))
axes.legend()
plt.show()
