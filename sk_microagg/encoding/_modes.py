"""What groups of codes have in common: the most frequent one, the lowest and the highest."""

import numpy as np

from sk_microagg._utils._missing import n_people
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
    """A record of each group that has its most frequent value."""
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
