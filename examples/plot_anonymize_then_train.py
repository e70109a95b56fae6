"""
Anonymize, then train
=====================

How much accuracy does a model lose if it is trained on the release? Three lines give the answer:
:class:`~sk_microagg.TrainOnRelease` fits a model on the release of the training data, and predicts
on original rows.
"""

# %%
# The task
# --------
# How far will the disease of a patient progress within a year? The table has ten measurements of
# 442 patients, and outsiders may know all of them.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sk_microagg import MicroAggregator, TrainOnRelease

X, y = load_diabetes(return_X_y=True, as_frame=True)

# %%
# Three lines to the result
# -------------------------
# In each fold, the model learns from groups of at least ten patients, and predicts from the
# original values of new patients.
model = TrainOnRelease(RidgeCV(), MicroAggregator(k=10))
scores = cross_val_score(model, X, y)
print(
    f"R² {scores.mean():.3f}, on the original table {cross_val_score(RidgeCV(), X, y).mean():.3f}"
)

# %%
# What it is not: a Pipeline
# --------------------------
# In a Pipeline, the patients to be predicted are anonymized as well: each is replaced by the group
# that he or she falls into. That is right if those who run the model must not see the original
# values, and it costs accuracy. Groups that are more alike in the columns that predict the target
# best (``scaler="target"``) make no difference to this linear model, which is as good as one
# trained on the original table; other models gain from them.
candidates = {
    "original table": RidgeCV(),
    "TrainOnRelease": model,
    "TrainOnRelease,\nscaler='target'": TrainOnRelease(
        RidgeCV(), MicroAggregator(k=10, scaler="target")
    ),
    "Pipeline": make_pipeline(MicroAggregator(k=10), RidgeCV()),
}
results = {name: cross_val_score(candidate, X, y) for name, candidate in candidates.items()}

figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for name, values in reversed(results.items()):
    color = "black" if name == "original table" else "#0072b2"
    axes.barh(name, values.mean(), xerr=values.std() / len(values) ** 0.5, color=color, alpha=0.8)
axes.set(xlabel="R² on test folds, with standard errors")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
