"""Whether the rows of two tables belong together, or one of the tables was shuffled."""

import numpy as np
import pandas as pd

from sk_microagg._utils._validation import LARGEST_VALUE

# Means of columns that agree as a whole differ by less than this, in standard deviations.
LARGEST_MEAN_CHANGE = 0.1

# A release of means has a slope of exactly 1, a shuffled one a slope around 0.
SMALLEST_SLOPE = 0.5

# In standard errors of the slope of shuffled rows: how far 1 must be from 0 to tell the two cases
# apart, and how far chance goes.
SMALLEST_POWER = 5.0
LARGEST_CHANCE = 5.0


def rows_correspond(before, after, numeric):
    """Whether rows of a release seem to be in the order of the original.

    Parameters
    ----------
    before, after : pandas.DataFrame
        The columns that both tables have. They have the same number of rows.

    numeric : list of str
        Columns that hold numbers only, in both tables.

    Returns
    -------
    correspond : bool
        False if columns agree as a whole, but not row by row: in numbers, or if these are too few
        to tell, in values that are released as they are.
    """
    correspond = _numbers_correspond(
        before[numeric].to_numpy(dtype=np.float64), after[numeric].to_numpy(dtype=np.float64)
    )
    if correspond is None:
        correspond = not any(_is_shuffled(before[name], after[name]) for name in before)
    return correspond


def _numbers_correspond(X, release):
    """Whether released numbers go with the original ones; None if that cannot be told.

    In the mean of a group lies all that is known of its members. So the regression of the original
    on the release has the slope 1, in however large groups and with whatever loss. If the rows were
    shuffled, it is a random number with the mean 0 and a known variance.
    """
    is_fit = np.all((np.abs(X) <= LARGEST_VALUE) & (np.abs(release) <= LARGEST_VALUE), axis=0)
    X, release = X[:, is_fit], release[:, is_fit]
    spreads, means = X.std(axis=0), X.mean(axis=0)
    varies = (np.ptp(X, axis=0) > 0) & (np.ptp(release, axis=0) > 0)
    agrees = np.abs(release.mean(axis=0) - means) <= LARGEST_MEAN_CHANGE * spreads
    columns = varies & agrees
    if not columns.any():
        return None
    X = (X - means)[:, columns] / spreads[columns]
    release = (release - release.mean(axis=0))[:, columns] / spreads[columns]
    released_squares = np.sum(release**2)
    slope = np.sum(X * release) / released_squares
    # Of the sum of products of rows, under all orders of one of the two.
    variance = np.sum((X.T @ X) * (release.T @ release)) / (len(X) - 1)
    standard_error = np.sqrt(variance) / released_squares
    if standard_error * SMALLEST_POWER > 1:
        return None
    return bool(slope >= SMALLEST_SLOPE or slope > LARGEST_CHANCE * standard_error)


def _is_shuffled(before, after):
    """Whether two columns hold the same values equally often, but not row by row."""
    codes, _ = pd.factorize(pd.concat([before, after], ignore_index=True))
    old, new = np.split(codes + 1, 2)  # 0 stands for missing
    n_values = codes.max() + 2
    counts = [np.bincount(column, minlength=n_values) for column in (old, new)]
    return np.array_equal(*counts) and not np.array_equal(old, new)
