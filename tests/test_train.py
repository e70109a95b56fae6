"""TrainOnRelease: a model of the release, used on rows as they are."""

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn_checks import with_checks

from sk_microagg import MicroAggregator, TargetScaler, TrainOnRelease

CHECKED = [TrainOnRelease(LogisticRegression()), TrainOnRelease(Ridge(), MicroAggregator(k=3))]


@with_checks(CHECKED)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@with_checks([TargetScaler()])
def test_scikit_learn_check_of_the_scaler(estimator, check):
    check(estimator)


@with_checks([MicroAggregator(scaler="target")])
def test_scikit_learn_check_of_target_weights(estimator, check):
    check(estimator)
