"""What a model tells about records with known labels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.base import is_classifier

from sk_microagg._utils._typing import Array, Estimator, Floats, TableLike

# Of more classes, only the largest probabilities are of interest.
MOST_PROBABILITIES = 10


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
    if not _has_scores(model):
        return is_right, is_right[:, None]
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


def _has_scores(model):
    return hasattr(model, "classes_") and (
        hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    )


def _scores(model, X, predicted):
    """Probabilities or values of the decision function, a column per class; None without any."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        return np.column_stack([-scores, scores])
    return _per_class(scores, len(model.classes_), _positions(model, predicted))


def _per_class(scores, n_classes, predicted):
    """Scores with a column per class; None if that is not what they are, nor one per pair.

    Three classes have as many pairs as there are classes: what agrees with the predictions is
    right. Nor is it said which sign stands for the first class of a pair.
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
    """Places of labels among the classes of a model; -1 for those that it does not know."""
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
