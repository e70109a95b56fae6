"""Where a part of the records is cut in two, by a number that tells of no single record.

A cut halfway between two values gives one of them to whoever knows the other. So a cut is chosen
given the k-th value on either side of the middle only, wherever the records between these two are,
and is as coarse a number as the two allow.
"""

from fractions import Fraction
from math import frexp

import numpy as np

# A cut that leaves this share of the records on its smaller side is as good as one at the median.
BALANCED = 0.4


def best_cut(X, smallest, k):
    """Column and place of the cut: through the widest column that can be cut in the middle.

    Or of the most even cut, if no column can; None if no cut leaves `smallest` on both sides.
    """
    best_share, best = 0.0, (None, None)
    for column in np.argsort(-X.std(axis=0), kind="stable"):
        for cut in _cuts_next_to_the_median(X[:, column], k):
            n_left = np.count_nonzero(X[:, column] <= cut)
            n_smaller = min(n_left, len(X) - n_left)
            if n_smaller >= smallest and n_smaller / len(X) > best_share:
                best_share, best = n_smaller / len(X), (column, cut)
            if best_share >= BALANCED:
                return best
    return best


def _cuts_next_to_the_median(values, k):
    """Cuts between the k-th value below the middle and the k-th one above it.

    The middle is on either side of the median where k values or more are equal to it, first where
    it is more even. There is no cut where fewer than `k` values are on a side.
    """
    n_values = len(values)
    n_left = (n_values + 1) // 2
    median = np.partition(values, n_left - 1)[n_left - 1]
    n_below, n_up_to = np.count_nonzero(values < median), np.count_nonzero(values <= median)
    middles = [n_left]
    if n_up_to - n_below >= k:
        middles = sorted((n_up_to, n_below), key=lambda n_left: abs(2 * n_left - n_values))
    for n_left in middles:
        if k <= n_left <= n_values - k:
            places = [n_left - k, n_left + k - 1]
            low, high = np.partition(values, places)[places].tolist()
            cut = coarsest_between(low, high)
            if cut is not None:
                yield cut


def coarsest_between(low, high):
    """The coarsest number that is strictly between two others; None if there is none.

    It is a multiple of a third of a power of two, of the largest power that has one, and the lowest
    if there are two. Multiples of the power itself are left out: so no number that ends after some
    digits, decimal or binary, is a cut. Thus hardly any record lies on a cut, and no record has to
    be looked at to avoid it, which would tell where that record is.

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
    # A third of this is beyond both.
    power = Fraction(2) ** (frexp(max(abs(low), abs(high)))[1] + 2)
    while 8 * power > width:
        first = 3 * exact_low // power + 1
        for thirds in range(first, first + 3):
            between = float(thirds * power / 3)
            if thirds % 3 and low < between < high:
                return between
        power /= 2
    return None
