"""What fitted estimators release."""

from sk_microagg.generalization._labels import ROOT


def release_of(estimator, centers=None):
    """What a fitted estimator releases for the records that it was fitted on.

    Parameters
    ----------
    estimator : MicroAggregator, KAIM or KMember
        The fitted estimator.

    centers : ndarray of shape (n_groups, n_features) or None, default=None
        What groups are released as, if not as the estimator does.

    Returns
    -------
    release : ndarray of shape (n_samples, n_features)
        The rows of the release; suppressed records are the root in all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg._release import release_of
    >>> X = np.array([[0.0], [2.0], [8.0], [10.0]])
    >>> release_of(MicroAggregator(k=2).fit(X)).ravel()
    array([1., 1., 9., 9.])
    """
    if centers is None:
        has_centroids = hasattr(estimator, "centroids_")
        centers = estimator.centroids_ if has_centroids else estimator.centers_
    release = centers[estimator.labels_]
    suppressed = estimator.labels_ < 0
    if suppressed.any():
        release[suppressed] = ROOT
    return release
