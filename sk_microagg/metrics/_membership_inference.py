"""How well an intruder tells records that a model was trained on from others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import column_or_1d
from threadpoolctl import threadpool_limits  # of scikit-learn

from sk_microagg._utils._typing import Array, Booleans, Estimator, Floats, RandomState, TableLike
from sk_microagg._utils._validation import check_seed, own_copy
from sk_microagg.metrics._changes import LARGEST_SEED, check_folds

# Of more classes, only the largest probabilities are of interest.
MOST_PROBABILITIES = 10


@dataclass(frozen=True)
class MembershipInference:
    """How well two attacks tell records that a model was trained on from others.

    The advantage of an attack is the share of the members that it recognizes, minus the share of
    the others that it takes for members: 0 for an intruder who guesses, 1 for one who is always
    right.

    Attributes
    ----------
    auc : float
        Area under the ROC curve of the attack that takes a record for a member if the model is
        confident of its true label.

    advantage : float
        The advantage of this attack.

    trained_auc : float
        Area under the ROC curve of a classifier that was trained to recognize members.

    trained_advantage : float
        The advantage of this classifier.

    Examples
    --------
    >>> from sk_microagg.metrics import MembershipInference
    >>> found = MembershipInference(
    ...     auc=0.6, advantage=0.15, trained_auc=0.65, trained_advantage=0.2
    ... )
    >>> found.advantage
    0.15
    """

    auc: float
    advantage: float
    trained_auc: float
    trained_advantage: float


def membership_inference(
    model: Estimator,
    X_in: TableLike,
    y_in: TableLike,
    X_out: TableLike,
    y_out: TableLike,
    *,
    estimator: Estimator = None,
    cv: int = 5,
    random_state: RandomState = None,
) -> MembershipInference:
    """How well an intruder recognizes the records that a model was trained on.

    The intruder holds records with their true labels and may ask the model about them. Two attacks,
    neither of which needs to train models like the one that is attacked (shadow models):

    - by confidence [1]_: a record counts as a member if the model's probability of its true label
      is above a threshold, that is, if its loss is below one; for regressors, if the squared error
      is below one;
    - trained [2]_: a classifier learns from records whose membership is known. It sees the sorted
      probabilities, the probability of the true label, the label, and whether the model is right;
      for a regressor, its prediction and its error.

    Parameters
    ----------
    model : classifier or regressor
        The fitted model. From a classifier with neither `predict_proba` nor `decision_function`,
        the intruder only learns whether it is right. Decisions between pairs of classes ("ovo") are
        reduced to the number of pairs that each class wins, and by how much.

    X_in : array-like or DataFrame of shape (n_in, n_features)
        Records that the model was trained on, as an intruder knows them: if it was trained on a
        release, the original records, not the released ones.

    y_in : array-like of shape (n_in,)
        Their labels.

    X_out : array-like or DataFrame of shape (n_out, n_features)
        Records of the same population that the model was not trained on.

    y_out : array-like of shape (n_out,)
        Their labels.

    estimator : classifier or None, default=None
        The classifier that is trained to recognize members: any with `predict_proba`. None is
        gradient-boosted trees.

    cv : int, default=5
        Number of folds, see Notes.

    random_state : int, RandomState instance or None, default=None
        Controls the folds and the default classifier.

    Returns
    -------
    found : MembershipInference
        `auc`, `advantage`, `trained_auc` and `trained_advantage`. An attack that does not work has
        an AUC of about 0.5 and an advantage of about 0, possibly slightly below.

    See Also
    --------
    attribute_inference : How well an intruder guesses a column from a release.
    record_linkage : How well an intruder links records to released rows.

    Notes
    -----
    The largest difference of the two shares over all thresholds is positive by chance, even if the
    model has never seen any of the records: about 0.06 on average with 250 records on either side.
    Therefore thresholds are chosen, and classifiers trained, on all folds but one, and tested on
    that one. What remains is noise around 0 with a standard deviation of about `sqrt(1 / n_in + 1 /
    n_out) / 2`, which is 0.045 with 250 records on either side.

    `trained_auc` is the mean over the folds. The classifier takes a record for a member if its
    probability exceeds the share of members among the records that it was trained on, which is
    the best threshold if the probability is right, however many members there are.

    References
    ----------
    .. [1] S. Yeom, I. Giacomelli, M. Fredrikson and S. Jha, "Privacy risk in machine learning:
       analyzing the connection to overfitting", IEEE Computer Security Foundations Symposium, 2018.
    .. [2] R. Shokri, M. Stronati, C. Song and V. Shmatikov, "Membership inference attacks against
       machine learning models", IEEE Symposium on Security and Privacy, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.metrics import membership_inference
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X[:, 0] + rng.normal(size=600) > 0
    >>> members, others = (X[:300], y[:300]), (X[300:], y[300:])

    A forest memorizes its training records; one that is trained on a release has never seen them:

    >>> forest = RandomForestClassifier(random_state=0).fit(*members)
    >>> round(membership_inference(forest, *members, *others, random_state=0).advantage, 1)
    0.4
    >>> release = MicroAggregator(k=10).fit_transform(members[0])
    >>> forest = RandomForestClassifier(random_state=0).fit(release, members[1])
    >>> membership_inference(forest, *members, *others, random_state=0).advantage < 0.2
    True
    """
    y_in, y_out = (
        column_or_1d(y, input_name=name) for name, y in (("y_in", y_in), ("y_out", y_out))
    )
    n_folds = check_folds(cv, min(len(y_in), len(y_out)), " on either side")
    random = check_seed(random_state)
    seed = random.randint(LARGEST_SEED)
    estimator = _make_attack(estimator, len(y_in) + len(y_out), random.randint(LARGEST_SEED))

    confidence, features = (
        np.concatenate(both)
        for both in zip(
            confidence_of(model, X_in, y_in, "X_in"),
            confidence_of(model, X_out, y_out, "X_out"),
            strict=True,
        )
    )
    _check_labels(model, y_in)
    is_member = np.repeat([True, False], [len(y_in), len(y_out)])
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(features, is_member)
    is_confident, is_recognized = (np.empty(len(is_member), dtype=bool) for _ in range(2))
    aucs = []
    with threadpool_limits(1):  # The folds are small: threads would only wait for each other.
        for train, test in folds:
            others, members, thresholds = roc_curve(
                is_member[train], confidence[train], drop_intermediate=False
            )
            # From the best threshold on, members are most frequent, compared with others.
            is_confident[test] = confidence[test] >= thresholds[np.argmax(members - others)]
            trained = clone(estimator).fit(features[train], is_member[train])
            probability = trained.predict_proba(features[test])[:, 1]
            is_recognized[test] = probability > is_member[train].mean()
            aucs.append(roc_auc_score(is_member[test], probability))
    return MembershipInference(
        auc=float(roc_auc_score(is_member, confidence)),
        advantage=_advantage(is_confident, is_member),
        trained_auc=float(np.mean(aucs)),
        trained_advantage=_advantage(is_recognized, is_member),
    )


def _check_labels(model: Estimator, y_in: Array) -> None:
    classes = getattr(model, "classes_", None)
    if classes is not None and not {*np.asarray(classes).tolist()} & {*y_in.tolist()}:
        raise ValueError(
            "y_in has none of the classes of the model: it must have the labels that the model was "
            "trained on, in the same form."
        )


def _make_attack(estimator: Estimator, n_samples: int, seed: int) -> Estimator:
    if estimator is None:
        # Few features and a weak signal: small trees suffice, and more of them would learn noise.
        estimator = HistGradientBoostingClassifier(
            max_iter=50,
            max_leaf_nodes=15,
            early_stopping=False,
            min_samples_leaf=max(1, min(20, n_samples // 20)),
            random_state=seed,
        )
    return own_copy("estimator", estimator, ("fit", "predict_proba"), "None or ")


def _advantage(is_taken_for_member: Booleans, is_member: Booleans) -> float:
    return float(is_taken_for_member[is_member].mean() - is_taken_for_member[~is_member].mean())


def confidence_of(model: Estimator, X: TableLike, y: Array, name: str) -> tuple[Floats, Floats]:
    """How confident a model is of the labels of records, and what else its answers are."""
    if not callable(getattr(model, "predict", None)) or isinstance(model, type):
        raise TypeError(f"model={model!r} must be a fitted classifier or regressor.")
    predicted = np.asarray(model.predict(X))
    if predicted.shape != y.shape:
        raise ValueError(
            f"The model's predictions for {name} have the shape {predicted.shape}: they must have "
            f"that of the labels, {y.shape}."
        )
    if _predicts_numbers(model, y):
        errors = y - predicted
        return -(errors**2), np.column_stack([predicted, errors, np.abs(errors)])
    is_right = (predicted == y).astype(np.float64)
    scores = _scores(model, X, predicted)
    if scores is None:
        return is_right, is_right[:, None]
    labels = _positions(model, y)
    confidence = _of_true_label(scores, labels, hasattr(model, "predict_proba"))
    largest = -np.sort(-scores, axis=1)[:, :MOST_PROBABILITIES]
    return confidence, np.column_stack([confidence, is_right, labels, largest])


def _predicts_numbers(model, y):
    if hasattr(model, "classes_") or y.dtype.kind not in "iuf":
        return False
    # A model of another package has no tags. Labels 0 and 1 are as good as numbers then.
    return not (hasattr(model, "__sklearn_tags__") and is_classifier(model))


def _scores(model, X, predicted):
    """Probabilities or values of the decision function, a column per class; None without any."""
    if not hasattr(model, "classes_"):
        return None
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    if not hasattr(model, "decision_function"):
        return None
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        return np.column_stack([-scores, scores])
    return _per_class(scores, len(model.classes_), _positions(model, predicted))


def _per_class(scores, n_classes, predicted):
    """Scores with a column per class; None if that is not what they are, nor one per pair.

    Three classes have as many pairs as there are classes: what agrees with the predictions is
    right. Nor is it documented which sign stands for the first class of a pair.
    """
    readings = []
    if scores.shape[1] == n_classes:
        readings.append(scores)
    if n_classes > 2 and scores.shape[1] == n_classes * (n_classes - 1) // 2:
        readings += [_of_pairs(scores, n_classes), _of_pairs(-scores, n_classes)]
    agreement = [np.mean(reading.argmax(axis=1) == predicted) for reading in readings]
    return readings[np.argmax(agreement)] if readings else None


def _of_pairs(scores, n_classes):
    """Scores of classes: the pairs that each wins, and by how much in all, which decides ties."""
    wins, margins = np.zeros((2, len(scores), n_classes))
    for scores_of_pair, (first, second) in zip(
        scores.T, combinations(range(n_classes), 2), strict=True
    ):
        wins[:, first] += scores_of_pair > 0
        wins[:, second] += scores_of_pair <= 0
        margins[:, first] += scores_of_pair
        margins[:, second] -= scores_of_pair
    return wins + margins / (3.0 * (np.abs(margins) + 1.0))  # less than a win


def _positions(model, y):
    """Places of labels among the classes of a model; -1 for unknown ones."""
    places = {label: place for place, label in enumerate(np.asarray(model.classes_).tolist())}
    return np.array([places.get(label, -1) for label in y.tolist()])


def _of_true_label(scores, labels, are_probabilities):
    """Score of the true label; without probabilities, by how much it is above all others."""
    rows = np.arange(len(scores))
    is_unknown = labels < 0
    if are_probabilities:
        return np.where(is_unknown, 0.0, scores[rows, labels])
    own = np.where(is_unknown, scores.min(axis=1), scores[rows, labels])
    others = scores.copy()
    others[rows[~is_unknown], labels[~is_unknown]] = -np.inf
    return own - others.max(axis=1)
