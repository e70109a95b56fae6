"""Counts of intervals in bins."""

import numpy as np

from sk_microagg._utils._typing import Floats


def count_in_bins(low: Floats, high: Floats, edges: Floats, are_integers: bool) -> Floats:
    """Number of intervals in each bin, in proportion to the parts of them that lie in it."""
    is_point = low == high
    places = np.digitize(low[is_point], edges[1:-1])
    counts = np.bincount(places, minlength=len(edges) - 1).astype(np.float64)
    intervals, n_equal = np.unique(
        np.column_stack([low, high])[~is_point], axis=0, return_counts=True
    )
    half = 0.5 if are_integers else 0.0
    covered = np.clip(intervals + np.array([-half, half]), edges[0], edges[-1])
    overlaps = np.minimum(covered[:, 1:], edges[1:]) - np.maximum(covered[:, :1], edges[:-1])
    overlaps = np.maximum(overlaps, 0.0)
    totals = overlaps.sum(axis=1)
    is_outside = totals == 0
    places = np.digitize(intervals[is_outside].mean(axis=1), edges[1:-1])
    counts += np.bincount(places, weights=n_equal[is_outside], minlength=len(counts))
    return counts + (n_equal[~is_outside] / totals[~is_outside]) @ overlaps[~is_outside]
