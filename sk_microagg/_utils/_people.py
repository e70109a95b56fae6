"""How many people records belong to."""

import numpy as np

from sk_microagg._utils._typing import Array, Booleans, Labels


def n_people(groups: Array, n_groups: int, units: Array | None = None) -> Labels:
    """Number of people in each of some groups."""
    if units is not None and len(units):
        n_units = int(units.max()) + 1
        groups = np.unique(groups * n_units + units) // n_units
    return np.bincount(groups, minlength=n_groups)


def take_units(units: Array | None, mask: Booleans) -> Array | None:
    """The units of some records; None if there are none."""
    return None if units is None else units[mask]
