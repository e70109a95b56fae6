"""What groups of codes have in common: the most frequent one, the lowest and the highest."""

import numpy as np

from sk_microagg._utils._people import n_people
from sk_microagg._utils._typing import Array, Labels


def mode_positions(
    codes: Labels,
    in_table: Labels,
    labels: Labels,
    n_groups: int,
    k: int,
    units: Array | None = None,
    people_in_table: Labels | None = None,
) -> Labels:
    """A record of each group that has its most frequent value.

    Parameters
    ----------
    codes : ndarray of shape (n_records,)
        The values; the last code is that of missing ones.

    in_table : ndarray of shape (n_codes,)
        How many records of the table have each value.

    labels : ndarray of shape (n_records,)
        Group of each record, numbered from 0.

    n_groups : int
        Number of groups.

    k : int
        Smallest size of a group.

    units : ndarray of shape (n_records,) or None, default=None
        Who each record belongs to, numbered from 0; None if each belongs to somebody else.

    people_in_table : ndarray of shape (n_values,) or None, default=None
        How many people of the table have each value that is not missing; None if the records are
        the whole table.

    Returns
    -------
    positions : ndarray of shape (n_groups,)
        Position of the first such record of each group; -1 if most values are missing, or if no
        value may be released.
    """
    n_codes = len(in_table)
    pairs, first, in_group = np.unique(
        labels * n_codes + codes, return_index=True, return_counts=True
    )
    group, code = np.divmod(pairs, n_codes)
    people = in_group
    if units is not None:
        people = n_people(np.searchsorted(pairs, labels * n_codes + codes), len(pairs), units)
    if people_in_table is None:
        people_in_table = in_table if units is None else n_people(codes, n_codes, units)
    is_shared = np.append(people_in_table[: n_codes - 1] >= k, True)  # missing values may be shown
    may_be_released = (people > 1) | is_shared[code]
    order = np.lexsort((code, -in_table[code], -in_group, group))
    order = order[may_be_released[order]]
    found, best = np.unique(group[order], return_index=True)
    positions = np.full(n_groups, -1)
    chosen = order[best]
    positions[found] = np.where(code[chosen] == n_codes - 1, -1, first[chosen])
    return positions


def ends_of(codes: Labels, labels: Labels, n_groups: int) -> tuple[Labels, Labels]:
    """Lowest and highest code of each group."""
    lowest = np.full(n_groups, np.iinfo(np.intp).max)
    highest = np.full(n_groups, -1)
    np.minimum.at(lowest, labels, codes)
    np.maximum.at(highest, labels, codes)
    return lowest, highest
