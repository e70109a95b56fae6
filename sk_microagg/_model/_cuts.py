"""Cuts that divide records in two without revealing the value of any single record.

A cut halfway between two values would reveal one of them to anyone who knows the other. A cut
therefore depends only on the k-th value on either side of the middle, not on the records in
between, and it is the coarsest number between these two values. If people have several records, the
values up to these two are those of k people.
"""

from fractions import Fraction
from math import frexp

import numpy as np

# A cut with at least this share of the records on its smaller side counts as balanced.
BALANCED_SHARE = 0.4


def best_cut(X, smallest, k, units=None, may_cut=None):
    """Return column and value of the cut: in the widest column that has a balanced cut.

    If no column has one, the most even cut is returned; (None, None) if no cut leaves at least
    `smallest` records on both sides. `units` are who the records belong to; None if each belongs to
    somebody else. `may_cut` receives which records are on the left, and says whether that will do.
    """
    best_share, best = 0.0, (None, None)
    for column in np.argsort(-X.std(axis=0), kind="stable"):
        for cut in _cuts_near_median(X[:, column], k, units):
            is_left = X[:, column] <= cut
            n_left = np.count_nonzero(is_left)
            n_smaller = min(n_left, len(X) - n_left)
            if (
                n_smaller >= smallest
                and n_smaller / len(X) > best_share
                and (may_cut is None or may_cut(is_left))
            ):
                best_share, best = n_smaller / len(X), (column, cut)
            if best_share >= BALANCED_SHARE:
                return best
    return best


def _cuts_near_median(values, k, units):
    """Yield cuts between the k-th value below the middle and the k-th value above it.

    If k or more values equal the median, the middle is next to all of them, first on the side that
    gives the more even cut. There is no cut with fewer than `k` values, or units, on a side.
    """
    n_values = len(values)
    n_left = (n_values + 1) // 2
    median = np.partition(values, n_left - 1)[n_left - 1]
    n_below, n_up_to = np.count_nonzero(values < median), np.count_nonzero(values <= median)
    middles = [n_left]
    if n_up_to - n_below >= k:
        middles = sorted((n_up_to, n_below), key=lambda n_left: abs(2 * n_left - n_values))
    for n_left in middles:
        if not k <= n_left <= n_values - k:
            continue
        if units is None:
            ranks = [n_left - k, n_left + k - 1]
            low, high = np.partition(values, ranks)[ranks].tolist()
        else:
            order = np.argsort(values, kind="stable")
            below = _nearest_of_units(units, order[:n_left][::-1], k)
            above = _nearest_of_units(units, order[n_left:], k)
            if below is None or above is None:
                continue
            low, high = values[[below, above]].tolist()
        cut = coarsest_between(low, high)
        if cut is not None:
            yield cut


def _nearest_of_units(units, records, k):
    """Return the first of some records up to which they are of `k` units; None if there is none."""
    _, first = np.unique(units[records], return_index=True)
    return records[np.sort(first)[k - 1]] if len(first) >= k else None


def coarsest_between(low, high):
    """Return the coarsest number strictly between two others, or None if there is none.

    It is a multiple of a third of a power of two: of the largest such power possible, and the
    lowest such multiple. Multiples of the power itself are excluded, so that no cut is a finite
    decimal or binary fraction. Hardly any record lies on such a cut, and no record has to be
    inspected to avoid that, which would reveal where it is.

    Parameters
    ----------
    low, high : float
        The two numbers.

    Returns
    -------
    between : float or None
        The number.

    Examples
    --------
    >>> from sk_microagg._model._cuts import coarsest_between
    >>> 3 * coarsest_between(0.41, 1.9), 3 * coarsest_between(-7.2, -6.9)
    (4.0, -21.5)
    """
    exact_low, width = Fraction(low), Fraction(high) - Fraction(low)
    # A third of this exceeds both numbers.
    power = Fraction(2) ** (frexp(max(abs(low), abs(high)))[1] + 2)
    while 8 * power > width:
        first = 3 * exact_low // power + 1
        for thirds in range(first, first + 3):
            between = float(thirds * power / 3)
            if thirds % 3 and low < between < high:
                return between
        power /= 2
    return None
