"""
The largest k that costs nothing
================================

The larger ``k``, the safer the people in a table, and the less a model can learn from it. ``k`` of
a :class:`~sk_microagg.TrainOnRelease` is a parameter like any other, so a grid search can choose
the largest one whose accuracy cannot be told from the best.
"""

# %%
# The rule
# --------
# A grid search takes the best mean by default, which would usually be the smallest ``k``. ``refit``
# may be a function of the results instead. This one takes the largest ``k`` whose accuracy is at
# most one standard error below the best.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator, TrainOnRelease


def standard_errors(results, n_folds=10):
    return results["std_test_score"] / np.sqrt(n_folds - 1)


def largest_k(results):
    means, ks = results["mean_test_score"], results["param_anonymizer__k"].astype(int)
    best = np.argmax(means)
    is_good = means >= means[best] - standard_errors(results)[best]
    return np.argmax(np.where(is_good, ks, 0))


# %%
# The search
# ----------
# Is a tumor benign? The first ten columns are means of measurements of cells. Nearest neighbors
# suffer most from large groups, whose members are all in the same place.
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
ks = [2, 5, 10, 20, 40, 80, 160]
classify = make_pipeline(StandardScaler(), KNeighborsClassifier())
search = GridSearchCV(
    TrainOnRelease(classify, MicroAggregator(refiner="exchange")),
    {"anonymizer__k": ks},
    cv=StratifiedKFold(10, shuffle=True, random_state=0),
    refit=largest_k,
)
search.fit(X, y)
k = search.best_params_["anonymizer__k"]
n_groups = search.best_estimator_.anonymizer_.n_groups_
print(f"k = {k}: the model was trained on {n_groups} different rows")

# %%
# The result
# ----------
# The band is one standard error below the best accuracy. Note that ``k`` was chosen by looking at
# all records: the accuracy of the chosen model has to be measured on others, and a ``k`` that the
# law or a policy demands is not to be searched for at all.
means, errors = search.cv_results_["mean_test_score"], standard_errors(search.cv_results_)
best = np.argmax(means)
figure, axes = plt.subplots(layout="constrained")
axes.axhspan(means[best] - errors[best], means[best], color="#eeeeee")
axes.errorbar(ks, means, errors, fmt="o-", color="black", capsize=3)
axes.plot(k, means[ks.index(k)], "o", color="#d55e00", markersize=12, label=f"chosen: k = {k}")
axes.set(xscale="log", xlabel="k", ylabel="accuracy on test folds")
axes.set_xticks(ks, ks)
axes.minorticks_off()
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
