"""
Builders and refiners compared
==============================

A builder forms the groups, a refiner improves them, and any two can be combined. This example
tries all pairs to see how much information they lose and how long they take.
"""

# %%
# All pairs
# ---------
# 569 patients with ten measurements each are put into groups of at least five.
from time import process_time

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter
from sklearn.datasets import load_breast_cancer

from sk_microagg import MicroAggregator
from sk_microagg.builders import CBFS, DBFS, GSMS, MDAV, TFRP
from sk_microagg.plotting import ConvergenceDisplay
from sk_microagg.refiners import IteratedLocalSearch

X = load_breast_cancer(as_frame=True).data.iloc[:, :10]

builders = [MDAV(), MDAV(growth="nc"), CBFS(), CBFS(growth="nc"), TFRP(), GSMS(), DBFS()]
refiners = {
    "none": None,
    "decompose": "decompose",
    "decompose_shrink": "decompose_shrink",
    "local_search": "local_search",
    "exchange": "exchange",
    "auto": "auto",
    "iterated_local_search": IteratedLocalSearch(max_iter=1000),
}


def aggregate(builder, refiner):
    return MicroAggregator(k=5, builder=builder, refiner=refiner, random_state=0).fit(X)


losses = pd.DataFrame(
    {
        name: [aggregate(builder, refiner).information_loss_ for builder in builders]
        for name, refiner in refiners.items()
    },
    index=list(map(str, builders)),
)
print("information loss in percent:")
print((100 * losses).round(2).to_string())

# %%
# CPU seconds of the refiners after the default builder, the minimum of three runs. They depend less
# on other programs on the machine than wall-clock time.


def minimum_seconds(refiner, n_runs=3):
    runs = []
    for _ in range(n_runs):
        start = process_time()
        aggregate(MDAV(), refiner)
        runs.append(process_time() - start)
    return min(runs)


seconds = {name: minimum_seconds(refiner) for name, refiner in refiners.items()}
for name in refiners:
    print(f"{name:>21}: {seconds[name]:.3f} seconds")

# %%
# Loss and time
# -------------
# The losses of the builders differ by less than a tenth. The better a refiner searches, the less it
# matters where it started: after the iterated search there is hardly any difference between
# builders. The default, "auto", loses as little, and takes less time.
figure, (top, bottom) = plt.subplots(
    nrows=2, sharex=True, figsize=(7.5, 6.5), height_ratios=(3, 2), layout="constrained"
)
marks = "ov^sD*P"
fills = ["white", "#dddddd", "#aaaaaa", "#777777", "#56b4e9", "#0072b2", "black"]
for name, mark, fill in zip(refiners, marks, fills, strict=True):
    style = {"marker": mark, "color": fill, "markeredgecolor": "black", "markersize": 8}
    top.plot(losses[name], losses.index, linestyle="none", label=name, **style)
    bottom.plot(losses.loc["MDAV()", name], seconds[name], **style)
top.invert_yaxis()
top.set_ylabel("builder")
bottom.set(xlabel="information loss", yscale="log", ylabel="seconds after MDAV()")
bottom.xaxis.set_major_locator(MultipleLocator(0.005))
bottom.xaxis.set_major_formatter("{x:.1%}")
bottom.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
bottom.yaxis.set_major_formatter("{x:g}")
bottom.yaxis.set_minor_formatter(NullFormatter())
for axes in (top, bottom):
    axes.grid(axis="y", color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside upper center", ncols=3, frameon=False, title="refiner")
plt.show()

# %%
# Several starts
# --------------
# An iterated search gains most in its early iterations. Once it is stuck, a new start helps more
# than further iterations. ``n_init`` sets the number of starts, of which the best is kept; with
# ``n_jobs`` they run in parallel. The figure shows the best of six.
search = IteratedLocalSearch(max_iter=1000, n_init=6)
aggregator = aggregate(MDAV(), search)
# sphinx_gallery_thumbnail_number = 2
ConvergenceDisplay.from_estimator(aggregator, x="iteration")
plt.show()

print(f"information loss: {aggregator.information_loss_:.2%}")
