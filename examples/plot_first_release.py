"""
A first release, and a model trained on it
==========================================

A hospital wants to publish a table of measurements, and to train a model on what it has published.
First the table is made 5-anonymous. Then a grid search shows what anonymity costs the model: the
microaggregator is a step of a pipeline, and `k` is a parameter like any other.
"""

# %%
# The release
# -----------
# `fit_transform` returns the release: every row is the centroid of a group of at least `k` records,
# in the units of the table.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator
from sk_microagg.metrics import anonymity_level

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
aggregator = MicroAggregator(k=5).set_output(transform="pandas")
release = aggregator.fit_transform(X)

print(f"{len(X)} records in {aggregator.n_groups_} groups")
print(f"anonymity level: {anonymity_level(release)}")
print(f"information loss: {aggregator.information_loss_:.1%}")
print(release.iloc[:5, :4].round(2))

# %%
# Anonymise, then train
# ---------------------
# In each fold of the cross-validation the model sees centroids only: those of the training records'
# groups when it is fitted, and those of the groups that the test records fall in when it predicts.
# With `k = 1` every training record is a group of its own.
pipeline = make_pipeline(MicroAggregator(), StandardScaler(), LogisticRegression())
ks = [1, 2, 3, 5, 10, 20, 50]
search = GridSearchCV(pipeline, {"microaggregator__k": ks}, scoring="accuracy", cv=5)
search.fit(X, y)
accuracy = search.cv_results_["mean_test_score"]

# %%
# What it costs
# -------------
# Information loss grows steadily with `k`. Accuracy falls far more slowly: the average of a few
# similar patients still tells the two classes apart.
loss = [MicroAggregator(k=k).fit(X).information_loss_ for k in ks]

figure, axes = plt.subplots(layout="constrained")
axes.plot(ks, accuracy, "o-", color="black", label="accuracy, cross-validated")
axes.plot(ks, loss, "s--", color="grey", label="information loss")
axes.set(xscale="log", xticks=ks, xticklabels=ks, xlabel="k", ylim=(0, 1), ylabel="share")
axes.legend(loc="center left")
plt.show()

for k, score, lost in zip(ks, accuracy, loss, strict=True):
    print(f"k = {k:>2}: accuracy {score:.3f}, information loss {lost:.3f}")
