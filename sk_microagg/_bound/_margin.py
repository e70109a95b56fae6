"""Rounding errors of a bound, estimated from above and subtracted.

Unlike `Settings`, these numbers matter for the validity of the bound.
"""

import numpy as np

# Relative to the largest dual: a dual constraint compares sums of rounded terms, one per pair in a
# set of k, none of them more than a few dozen times the largest dual.
ERROR_PER_DUAL = 1e-12

# Relative: the SSE of a partition and the total sum of squares are sums over all records.
ERROR_OF_SHARE = 1e-9

# Absolute: squares below the range of normal numbers are wrong by this at most.
ERROR_PER_TINY_SQUARE = 5e-324


def safe_sum(duals):
    """The sum of duals, lowered by the largest amount that rounding may have added."""
    largest = np.abs(duals).max(initial=0.0)
    return float(np.sum(duals)) - ERROR_PER_DUAL * len(duals) * largest


def safe_share(share, total, n_values):
    """A share of the total sum of squares that is not above what `information_loss` computes.

    Parameters
    ----------
    share : float
        The share that was proven, by sums that round.

    total : float
        The total sum of squares.

    n_values : int
        Number of values in the table.
    """
    tiny = n_values * ERROR_PER_TINY_SQUARE / total
    return float(min(max(share * (1.0 - ERROR_OF_SHARE) - tiny, 0.0), 1.0))
