"""
Anonymize, then train
=====================

What does anonymity cost a model that is trained on the release?
:class:`~sk_microagg.MicroAggregator` is a step of a pipeline, and ``k`` is a parameter like any
other, so a grid search answers.
"""

# %%
# The task
# --------
# Will the disease of a patient go farther than that of most? Somebody outside may know age, sex,
# body mass index and blood pressure of a patient, so these columns are anonymized. Nobody outside
# knows the six blood tests, which stay as they are.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = progression > progression.median()
known = ["age", "sex", "bmi", "bp"]

# %%
# The pipeline
# ------------
# In each fold, the classifier is trained on the release of the training patients. A test patient
# gets the row of the group that he or she falls in, so the classifier never sees an original value
# of an anonymized column. The sex is a number here: for a group of both it is somewhere between.
anonymize = make_column_transformer((MicroAggregator(), known), remainder="passthrough")
# A solver that is fast where columns are few.
classify = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky"))
model = make_pipeline(anonymize, classify)

# %%
# The grid search
# ---------------
# Three repetitions of a cross-validation in five folds, the same folds for every ``k`` and for a
# model of the original table.
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
ks = [2, 3, 5, 10, 20, 50, 100]
some = GridSearchCV(model, {"columntransformer__microaggregator__k": ks}, cv=folds).fit(X, y)
original = cross_val_score(classify, X, y, cv=folds)

# %%
# The same once more with all ten columns anonymized, as if the blood tests were known as well.
model_of_all = make_pipeline(MicroAggregator(), classify)
all_columns = GridSearchCV(model_of_all, {"microaggregator__k": ks}, cv=folds).fit(X, y)

# %%
# What it costs
# -------------
# As long as only those columns are anonymized that have to be, the model hardly suffers: means of
# a few similar patients tell as much as the patients. Groups that have to be alike in ten columns
# are less alike in each of them, and the model notices. So choose the columns with care.
#
# Bars and the shaded band are one standard deviation over the folds, up and down. All models share
# the folds, so the order of the curves is surer than the bars suggest.
searches = {"four columns anonymized": some, "all ten columns anonymized": all_columns}
scores = pd.DataFrame(
    {label: search.cv_results_["mean_test_score"] for label, search in searches.items()}, index=ks
)
print(scores.rename_axis("k").round(3))
print(f"original table: {original.mean():.3f}")

figure, axes = plt.subplots(layout="constrained")
mean, spread = original.mean(), original.std()
axes.axhspan(mean - spread, mean + spread, color="#eeeeee")
axes.axhline(mean, color="black", linestyle=":", label="original table")
# Moved aside a little, so that bars do not hide each other.
looks = [("o-", "black", 0.97), ("s--", "#0072b2", 1.03)]
for (label, search), (style, color, shift) in zip(searches.items(), looks, strict=True):
    axes.errorbar(
        np.multiply(ks, shift),
        scores[label],
        search.cv_results_["std_test_score"],
        fmt=style,
        color=color,
        capsize=3,
        label=label,
    )
axes.set(xscale="log", xlabel="k", ylabel="accuracy on test folds", ylim=(0.55, 0.85))
axes.set_xticks(ks, ks)
axes.minorticks_off()
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower left")
plt.show()
