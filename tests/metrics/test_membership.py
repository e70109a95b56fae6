from dataclasses import FrozenInstanceError, astuple

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sk_microagg import MicroAggregator, TrainOnRelease
from sk_microagg.metrics import membership_inference
from sk_microagg.metrics._membership_inference import confidence_of

pytestmark = pytest.mark.usefixtures("few_steps")


def halves(n=400, n_classes=2, seed=0):
    """Records with labels that are hard to predict: members, and others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=n), np.linspace(-1, 1, n_classes + 1)[1:-1])
    return (X[: n // 2], y[: n // 2]), (X[n // 2 :], y[n // 2 :])


class OnlyPredicts:
    """A model that tells nothing but labels, and is no estimator of scikit-learn."""

    def __init__(self, model):
        self._model = model

    def predict(self, X):
        return self._model.predict(X)


# Attacks


@pytest.mark.slow
@in_one_case("n_classes", [2, 4])
def test_a_tree_that_knows_its_records_by_heart(n_classes):
    members, others = halves(n_classes=n_classes)
    tree = DecisionTreeClassifier(random_state=0).fit(*members)
    found = membership_inference(tree, *members, *others, random_state=0)
    # It is right about all members, and about others at its accuracy.
    expected = 1 - tree.score(*others)
    assert found.advantage == pytest.approx(expected)
    assert found.auc == pytest.approx(0.5 + expected / 2)
    assert found.trained_advantage == pytest.approx(expected, abs=0.1)
    assert found.trained_auc > 0.5 + expected / 3


def test_a_model_that_ignores_its_records_gives_nothing_away():
    members, others = halves()
    found = membership_inference(DummyClassifier().fit(*members), *members, *others)
    assert found.auc == pytest.approx(0.5, abs=0.06)
    assert abs(found.advantage) < 0.12


@pytest.mark.slow
def test_chance_has_no_advantage_on_average():
    """The best threshold for the same records would have about 0.1 with 100 on either side."""
    model = LogisticRegression().fit(*halves(seed=1000)[0])
    advantages = []
    for seed in range(20):
        members, others = halves(n=200, seed=seed)
        estimator = LogisticRegression()
        found = membership_inference(
            model, *members, *others, estimator=estimator, random_state=seed
        )
        advantages.append([found.advantage, found.trained_advantage])
    # The standard error of these means is about 0.017.
    assert np.all(np.abs(np.mean(advantages, axis=0)) < 0.04)


@pytest.mark.slow
def test_a_model_of_a_release_gives_less_away():
    members, others = halves(800)
    raw = RandomForestClassifier(30, random_state=0).fit(*members)
    release = MicroAggregator(k=10).fit_transform(members[0])
    released = RandomForestClassifier(30, random_state=0).fit(release, members[1])
    found = [membership_inference(m, *members, *others, random_state=0) for m in (raw, released)]
    assert found[1].advantage < found[0].advantage / 2
    assert found[1].trained_advantage < found[0].trained_advantage / 2


@pytest.mark.slow
@in_one_case("model", [DecisionTreeRegressor(), RandomForestRegressor(20)])
def test_regressors_are_attacked_by_their_squared_error(model):
    members, others = halves()
    members, others = ((X, X[:, 0] + np.sin(9 * X[:, 1])) for X, _ in (members, others))
    model.set_params(random_state=0).fit(*members)
    found = membership_inference(model, *members, *others, random_state=0)
    errors = [(model.predict(X) - y) ** 2 for X, y in (members, others)]
    expected = roc_auc_score(np.repeat([1, 0], 200), -np.concatenate(errors))
    assert found.auc == pytest.approx(expected)
    assert found.advantage > 0.2
    assert found.trained_advantage > 0.2


def test_a_constant_regressor():
    members, others = halves()
    found = membership_inference(DummyRegressor().fit(*members), *members, *others, random_state=0)
    assert abs(found.advantage) < 0.15


def test_other_numbers_of_members_and_others():
    members, others = halves(900)
    tree = DecisionTreeClassifier(random_state=0).fit(*members)
    few = others[0][:60], others[1][:60]
    found = membership_inference(tree, *members, *few, random_state=0)
    assert found.advantage == pytest.approx(1 - tree.score(*few))
    assert found.trained_advantage == pytest.approx(1 - tree.score(*few), abs=0.1)


# What a model tells


def test_probability_of_the_true_label():
    members, _ = halves(n_classes=3)
    model = KNeighborsClassifier(7).fit(*members)
    confidence, features = confidence_of(model, *members, "X")
    probabilities = model.predict_proba(members[0])
    expected = [row[label] for row, label in zip(probabilities, members[1], strict=True)]
    np.testing.assert_array_equal(confidence, expected)
    np.testing.assert_array_equal(features[:, 3:], np.sort(probabilities)[:, ::-1])


@in_one_case("n_classes", [2, 3])
def test_margins_without_probabilities(n_classes):
    members, _ = halves(n_classes=n_classes)
    model = SVC(decision_function_shape="ovr").fit(*members)
    confidence, features = confidence_of(model, *members, "X")
    scores = model.decision_function(members[0])
    if n_classes == 2:
        np.testing.assert_allclose(confidence, 2 * np.where(members[1] == 1, scores, -scores))
    else:
        others = [max(np.delete(row, label)) for row, label in zip(scores, members[1], strict=True)]
        np.testing.assert_allclose(confidence, scores[np.arange(200), members[1]] - others)
    assert features.shape == (200, 3 + n_classes)


@in_one_case("n_classes", [3, 4, 5])
def test_decisions_between_pairs_of_classes_tell_as_much_as_those_of_classes(n_classes):
    """With three classes there are as many pairs as classes."""
    members, others = halves(n_classes=n_classes)
    by_pair, by_class = (
        SVC(decision_function_shape=shape, C=10).fit(*members) for shape in ("ovo", "ovr")
    )
    n_columns = n_classes * (n_classes - 1) // 2
    assert by_pair.decision_function(others[0]).shape == (len(others[0]), n_columns)
    for known in (members, others):
        found = confidence_of(by_pair, *known, "X")
        for some, expected in zip(found, confidence_of(by_class, *known, "X"), strict=True):
            assert_allclose(some, expected, atol=1e-12)


class OtherSigns(SVC):
    """A model whose decisions are below 0 where the first of two classes is likelier."""

    def decision_function(self, X):
        return -super().decision_function(X)


def test_signs_of_decisions_are_recognized():
    members, _ = halves(n_classes=3)
    found, expected = (
        confidence_of(kind(decision_function_shape="ovo").fit(*members), *members, "X")[0]
        for kind in (OtherSigns, SVC)
    )
    assert_allclose(found, expected)


class OddDecisions(SVC):
    """A model whose decisions are neither for classes nor for pairs."""

    def decision_function(self, X):
        return super().decision_function(X)[:, :2]


def test_decisions_that_are_not_understood():
    members, _ = halves(n_classes=4)
    model = OddDecisions().fit(*members)
    confidence, features = confidence_of(model, *members, "X")
    is_right = model.predict(members[0]) == members[1]
    assert_array_equal(confidence, is_right)
    assert features.shape == (len(is_right), 1)


@pytest.mark.slow
def test_a_model_of_pairs_that_is_trained_on_a_release():
    members, others = halves(n_classes=3)
    models = [
        TrainOnRelease(SVC(decision_function_shape=shape), MicroAggregator(k=5)).fit(*members)
        for shape in ("ovo", "ovr")
    ]
    found = [membership_inference(model, *members, *others, random_state=0) for model in models]
    assert astuple(found[0]) == pytest.approx(astuple(found[1]))


def test_labels_in_another_form_than_those_of_the_model():
    members, others = halves()
    model = LogisticRegression().fit(*members)
    with pytest.raises(ValueError, match=r"^y_in .*classes"):
        membership_inference(model, members[0], members[1].astype(str), *others)


@in_one_case("model", [LogisticRegression(), LinearSVC()])
def test_the_model_is_never_confident_of_a_label_that_it_does_not_know(model):
    members, _ = halves()
    model.fit(*members)
    unknown = np.full(200, 9)
    confidence = confidence_of(model, members[0], unknown, "X")[0]
    known = confidence_of(model, *members, "X")[0]
    assert confidence.max() <= known.max()
    assert (confidence <= 0).all()


@pytest.mark.slow
def test_labels_alone_tell_whether_the_model_is_right():
    (X, y), others = halves()
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = membership_inference(OnlyPredicts(tree), X, y, *others, random_state=0)
    assert found.advantage == pytest.approx(1 - tree.score(*others))
    # Text is compared as text.
    text = DecisionTreeClassifier(random_state=0).fit(X, y.astype(str))
    answers = OnlyPredicts(text)
    found = membership_inference(answers, X, y.astype(str), others[0], others[1].astype(str))
    assert found.auc == pytest.approx(1 - tree.score(*others) / 2)


@pytest.mark.slow
def test_frames_and_text_labels():
    members, others = halves()
    frames = [pd.DataFrame(X, columns=list("abc")) for X, _ in (members, others)]
    labels = [np.where(y, "yes", "no") for _, y in (members, others)]
    forest = RandomForestClassifier(10, random_state=0)
    found = membership_inference(
        forest.fit(*members), members[0], members[1], others[0], others[1], random_state=3
    )
    of_frames = membership_inference(
        forest.fit(frames[0], labels[0]),
        frames[0],
        pd.Series(labels[0], index=range(7, 207)),
        frames[1],
        labels[1].tolist(),
        random_state=3,
    )
    assert of_frames == found


@pytest.mark.slow
def test_a_seed_gives_the_same_result():
    members, others = halves()
    forest = RandomForestClassifier(10, random_state=0).fit(*members)
    first, second = (
        membership_inference(forest, *members, *others, random_state=5) for _ in range(2)
    )
    assert first == second
    assert {type(value) for value in astuple(first)} == {float}
    with pytest.raises(FrozenInstanceError):
        first.auc = 0.0


@in_one_case(
    ("options", "error", "message"),
    [
        ({"cv": 1}, ValueError, r"^cv=1\b"),
        ({"cv": 201}, ValueError, r"^cv=201\b"),
        ({"cv": 2.5}, TypeError, r"^cv=2\.5\b"),
        ({"estimator": 3}, TypeError, r"^estimator=3\b"),
    ],
)
def test_bad_options(options, error, message):
    members, others = halves()
    tree = DecisionTreeClassifier().fit(*members)
    with pytest.raises(error, match=message):
        membership_inference(tree, *members, *others, **options)


def test_what_is_no_model_raises():
    members, others = halves()
    with pytest.raises(TypeError, match=r"^model=3\b"):
        membership_inference(3, *members, *others)
    tree = DecisionTreeClassifier().fit(*members)
    with pytest.raises(ValueError, match=r"X_out .*shape"):
        membership_inference(tree, *members, others[0], others[1][:-1])
