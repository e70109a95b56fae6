"""How well an intruder tells records that a model was trained on from others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import column_or_1d
from threadpoolctl import threadpool_limits  # of scikit-learn

from sk_microagg._utils._seeds import check_seed
from sk_microagg._utils._typing import Array, Booleans, Estimator, Floats, RandomState, TableLike
from sk_microagg._utils._validation import check_count, own_copy
from sk_microagg.metrics._confidence import confidence_of

LARGEST_SEED = np.iinfo(np.int32).max


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
      of a regressor, its prediction and its error.

    Parameters
    ----------
    model : classifier or regressor
        The fitted model. Of a classifier with neither `predict_proba` nor `decision_function`, the
        intruder only learns whether it is right. Decisions between pairs of classes ("ovo") count
        as the pairs that a class wins, and by how much.

    X_in : array-like or DataFrame of shape (n_in, n_features)
        Records that the model was trained on, as an intruder knows them: of a model that was
        trained on a release, the original records, not the released ones.

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
        an AUC of about 0.5 and an advantage of about 0, both possibly below.

    See Also
    --------
    attribute_inference : How well an intruder guesses a column from a release.
    record_linkage : How well an intruder links records to released rows.

    Notes
    -----
    The largest difference of the two shares over all thresholds is positive by chance, even if the
    model has never seen any of the records: about 0.06 on average with 250 records on either side.
    Therefore thresholds are chosen, and classifiers trained, on all folds but one, and tested on
    the records of that one. What is left is noise around 0, with a standard deviation of about
    `sqrt(1 / n_in + 1 / n_out) / 2`: 0.045 with 250 records on either side.

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

    A forest knows its training records by heart; one that is trained on a release does not:

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
    n_folds = _check_folds(cv, len(y_in), len(y_out))
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
            threshold = _best_threshold(confidence[train], is_member[train])
            is_confident[test] = confidence[test] >= threshold
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


def _check_folds(cv: int, n_in: int, n_out: int) -> int:
    n_folds = check_count("cv", cv)
    if not 2 <= n_folds <= min(n_in, n_out):
        raise ValueError(
            f"cv={cv!r} must be at least 2 and at most the number of records on either side, "
            f"{min(n_in, n_out)}."
        )
    return n_folds


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


def _best_threshold(confidence: Floats, is_member: Booleans) -> float:
    """The threshold from which on members are most frequent, compared with others."""
    others, members, thresholds = roc_curve(is_member, confidence, drop_intermediate=False)
    return thresholds[np.argmax(members - others)]


def _advantage(is_taken_for_member: Booleans, is_member: Booleans) -> float:
    return float(is_taken_for_member[is_member].mean() - is_taken_for_member[~is_member].mean())
