"""The decimals with which floats were written; without pyarrow, which `demo` does not need."""

import numpy as np

# Beyond this number of decimals, floats have digits that nobody wrote.
MOST_DECIMALS = 15


def decimals_of(floats):
    """The smallest number of decimals with which floats are written exactly; None if too many.

    Parameters
    ----------
    floats : ndarray
        The floats, maybe with NaN.

    Returns
    -------
    decimals : int or None
        Number of decimals.
    """
    known = floats[np.isfinite(floats)]
    wide = known.astype(np.float64)
    for decimals in range(MOST_DECIMALS // (1 if known.dtype.itemsize > 4 else 2)):
        if np.array_equal(np.round(wide, decimals).astype(known.dtype), known):
            return decimals
    return None
