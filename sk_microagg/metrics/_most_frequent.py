"""The most frequent of values that count as equal if they are near each other."""

import numpy as np

from sk_microagg._utils._typing import Floats, Labels


def most_frequent_by_class(
    classes: Labels, values: Floats, counts: Labels, tolerance: float
) -> Floats:
    """The most frequent value of each class."""
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    found = values[order[starts]]
    sizes = np.diff(starts, append=len(order))
    for number in np.flatnonzero(sizes > 1):
        rows = order[starts[number] : starts[number] + sizes[number]]
        found[number] = most_frequent(values[rows], counts[rows], tolerance)
    return found


def most_frequent(values: Floats, counts: Labels, tolerance: float) -> float:
    """The value with the most values near it, the lowest of several; NaN if all are missing."""
    is_known = ~np.isnan(values)
    if not is_known.any():
        return np.nan
    order = np.argsort(values[is_known], kind="stable")
    values, counts = values[is_known][order], counts[is_known][order]
    total = np.concatenate([[0], np.cumsum(counts)])
    ends = np.searchsorted(values, values + tolerance, "right")
    starts = np.searchsorted(values, values - tolerance, "left")
    return values[np.argmax(total[ends] - total[starts])]
