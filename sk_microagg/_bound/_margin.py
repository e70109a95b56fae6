"""What rounding may have done to a bound, and how it is taken off."""

import numpy as np

# Sums of rounded terms, one a pair in a set of k, none of them much larger than the largest price:
# each price is taken to be wrong by so much of that.
ERROR_OF_A_PRICE = 1e-12

# The squared errors of a partition and the total sum of squares are sums over all records.
ERROR_OF_A_SHARE = 1e-9

# Squares below the range of normal numbers lose digits, each by this at most.
ERROR_OF_A_TINY_SQUARE = 5e-324


def safe_sum(prices):
    """The sum of prices, lowered by all that rounding may have added."""
    largest = np.abs(prices).max(initial=0.0)
    return float(np.sum(prices)) - ERROR_OF_A_PRICE * len(prices) * largest


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
    tiny = n_values * ERROR_OF_A_TINY_SQUARE / total
    return float(min(max(share * (1.0 - ERROR_OF_A_SHARE) - tiny, 0.0), 1.0))
