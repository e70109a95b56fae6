"""
Anonymize, then train
=====================

How much accuracy does a model lose if it is trained on the release?
:class:`~sk_microagg.MicroAggregator` can be a step of a pipeline, and ``k`` is a parameter like any
other, so a grid search gives the answer.
"""

# %%
# The task
# --------
# Will the disease of a patient progress further than that of most patients? An outsider may know
# the age, sex, body mass index and blood pressure of a patient, so these columns are anonymized. No
# outsider knows the six blood tests, which are left unchanged.
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
# gets the row of the group that he or she falls into, so the classifier never sees an original
# value of an anonymized column. Sex is coded as a number, so in a mixed group it lies in between.
anonymize = make_column_transformer((MicroAggregator(), known), remainder="passthrough")
# A solver that is fast for few columns.
classify = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky"))
model = make_pipeline(anonymize, classify)

# %%
# The grid search
# ---------------
# Five-fold cross-validation, repeated three times, with the same folds for every ``k`` and for a
# model of the original table.
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
ks = [2, 3, 5, 10, 20, 50, 100]
some = GridSearchCV(model, {"columntransformer__microaggregator__k": ks}, cv=folds).fit(X, y)
original = cross_val_score(classify, X, y, cv=folds)

# %%
# Now the same with all ten columns anonymized, as if the blood tests were known as well.
model_of_all = make_pipeline(MicroAggregator(), classify)
all_columns = GridSearchCV(model_of_all, {"microaggregator__k": ks}, cv=folds).fit(X, y)

# %%
# The cost of anonymity
# ---------------------
# If only the columns that have to be anonymized are, the model hardly suffers: the means of a few
# similar patients are almost as informative as the patients. Groups that have to be similar in ten
# columns are less similar in each of them, and accuracy drops. So choose the columns with care.
#
# Error bars and the shaded band show one standard deviation over the folds in each direction. All
# models share the folds, so the order of the curves is more certain than the bars suggest.
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
# Shifted a little, so that error bars do not overlap.
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
