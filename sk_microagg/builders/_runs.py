"""Runs of records along a path."""

import numpy as np

from sk_microagg._utils._typing import Labels


def labels_of_runs(path: Labels, starts: Labels) -> Labels:
    """Return the labels of groups that are runs of a path.

    Parameters
    ----------
    path : ndarray of shape (n_samples,)
        The records, in the order of the path.

    starts : ndarray of shape (n_groups,)
        Where in the path the runs start, in ascending order.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0 along the path.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.builders._runs import labels_of_runs
    >>> labels_of_runs(np.array([4, 0, 1, 3, 2]), np.array([0, 2]))
    array([0, 1, 1, 1, 0])
    """
    labels = np.empty(len(path), dtype=np.intp)
    labels[path] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(path)))
    return labels
