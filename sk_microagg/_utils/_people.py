"""How many people records belong to."""

import numpy as np

from sk_microagg._utils._typing import Array, Booleans, Labels


def n_people(groups: Array, n_groups: int, units: Array | None = None) -> Labels:
    """Number of people in each of some groups.

    Parameters
    ----------
    groups : ndarray of shape (n_records,), int
        Group of each record, numbered from 0.

    n_groups : int
        Number of groups.

    units : ndarray of shape (n_records,), int, or None, default=None
        Who each record belongs to, numbered from 0; None if each belongs to somebody else.

    Returns
    -------
    n_people : ndarray of shape (n_groups,)
        The numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._utils._people import n_people
    >>> n_people(np.array([0, 0, 1]), 2, np.array([7, 7, 7]))
    array([1, 1])
    """
    if units is not None and len(units):
        n_units = int(units.max()) + 1
        groups = np.unique(groups * n_units + units) // n_units
    return np.bincount(groups, minlength=n_groups)


def some(units: Array | None, mask: Booleans) -> Array | None:
    """The units of some records; None if there are none."""
    return None if units is None else units[mask]
