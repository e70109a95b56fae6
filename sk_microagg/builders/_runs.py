"""Runs of records along a path."""

import numpy as np

from sk_microagg._utils._typing import Labels


def labels_of_runs(path: Labels, starts: Labels) -> Labels:
    """Return the labels of groups that are runs of a path."""
    labels = np.empty(len(path), dtype=np.intp)
    labels[path] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(path)))
    return labels
