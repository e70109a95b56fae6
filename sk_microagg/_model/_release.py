"""The release, from what a fitted model holds."""

from sk_microagg._utils._tables import MISSING
from sk_microagg._utils._typing import Array, Labels


def release_of(centroids: Array, labels: Labels) -> Array:
    """The row of the release for each record.

    Parameters
    ----------
    centroids : ndarray of shape (n_groups, n_features)
        The values that each group is released as.

    labels : ndarray of shape (n_samples,)
        Group of each record; -1 for a suppressed one.

    Returns
    -------
    release : ndarray of shape (n_samples, n_features)
        The rows; those of suppressed records are missing in all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._model._release import release_of
    >>> release_of(np.array([[1.0], [9.0]]), np.array([0, 1, 0])).ravel()
    array([1., 9., 1.])
    """
    release = centroids[labels]
    suppressed = labels < 0
    if suppressed.any():
        release[suppressed] = MISSING
    return release
