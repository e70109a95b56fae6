"""Whether the rows of two tables correspond, or one of the tables was shuffled."""

import numpy as np
import pandas as pd

from sk_microagg._utils._validation import LARGEST_VALUE

# Means of columns that agree as a whole differ by less than this, in standard deviations.
LARGEST_MEAN_CHANGE = 0.1

# A release of means has a slope of exactly 1, a shuffled one a slope around 0.
SMALLEST_SLOPE = 0.5

# In standard errors of the slope of shuffled rows: the least distance of 1 from 0 at which the two
# cases can be distinguished, and the largest deviation that is attributed to chance.
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
        False if columns agree as a whole, but not row by row. Numbers decide; if they are too few,
        values that are released unchanged do.
    """
    correspond = _numbers_correspond(
        before[numeric].to_numpy(dtype=np.float64), after[numeric].to_numpy(dtype=np.float64)
    )
    if correspond is None:
        correspond = not any(_is_shuffled(before[name], after[name]) for name in before)
    return correspond


def _numbers_correspond(X, release):
    """Whether released numbers correspond to the original ones; None if that is undecidable.

    The mean of a group is the conditional mean of its members. So the regression of the original on
    the release has slope 1, whatever the sizes of the groups and the information loss. If the rows
    were shuffled, the slope is random, with mean 0 and a known variance.
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
    # Variance of the sum of products of rows, over all orders of one of the two tables.
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
