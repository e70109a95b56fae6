"""Power diagrams of one column, in which cells are intervals and walls are points between them.

What records allow is one interval for each wall, independent of all others: the analytic center has
every wall in the middle of its own.
"""

import numpy as np

from sk_microagg._kernels import center_weights

# Squares of smaller numbers have fewer digits, or none.
SMALLEST_GAP = 1e-146


def cells_on_a_line(values, centroids, weights, likely=None):
    """Return the cell of a power diagram of one column that each value lies in.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The values.

    centroids, weights : ndarray of shape (n_groups,)
        Centroid and weight of each cell.

    likely : ndarray of shape (n_samples,) or None, default=None
        Cells to look at first, which changes the time only.

    Returns
    -------
    cells : ndarray of shape (n_samples,) or None
        The cells, ties go to the lowest number; None if not every cell has an interval
        of its own, or if squares of such values vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._model._line import cells_on_a_line
    >>> cells_on_a_line(np.array([3.1, 2.9]), np.array([5.0, 1.0]), np.array([0.0, 0.0]))
    array([0, 1])
    """
    order = np.argsort(centroids, kind="stable")
    centroids, weights = centroids[order], weights[order]
    gaps = np.diff(centroids)
    if (gaps < SMALLEST_GAP).any():
        return None
    walls = centroids[:-1] + gaps / 2.0 - np.diff(weights) / (2.0 * gaps)
    if (walls[1:] <= walls[:-1]).any():
        return None
    place = _place_between(walls, values, None if likely is None else _inverse(order)[likely])
    cells, least = order[place], (values - centroids[place]) ** 2 - weights[place]
    # Next to a wall, a distance that is rounded may be less, or equal, on the other side.
    for step in (-1, 1):
        others = np.clip(place + step, 0, len(order) - 1)
        distances = (values - centroids[others]) ** 2 - weights[others]
        others = order[others]
        is_nearer = (distances < least) | ((distances == least) & (others < cells))
        cells, least = np.where(is_nearer, others, cells), np.minimum(distances, least)
    return cells


def _place_between(walls, values, likely):
    """Return the number of walls below each value; those in `likely` are tried first."""
    if likely is None:
        return np.searchsorted(walls, values)
    bounds = np.r_[-np.inf, walls, np.inf]
    is_elsewhere = (values <= bounds[likely]) | (values > bounds[likely + 1])
    likely[is_elsewhere] = np.searchsorted(walls, values[is_elsewhere])
    return likely


def _inverse(order):
    """Return the place of each number in an order of all of them."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def weights_on_a_line(values, labels, centroids):
    """Compute power weights that put every record of one column into the cell of its own group.

    Identical records in different groups do not affect the wall between these.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column.

    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    centroids : ndarray of shape (n_groups,)
        Means of the groups.

    Returns
    -------
    weights : ndarray of shape (n_groups,) or None
        The weights, the largest of them 0; None if groups overlap or share a centroid.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._model._line import weights_on_a_line
    >>> values, labels = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0]), np.array([0, 0, 0, 1, 1, 1])
    >>> weights_on_a_line(values, labels, np.array([1.0, 5.333]))
    array([-4.,  0.])
    """
    order = np.argsort(centroids, kind="stable")
    place_of_record = _inverse(order)[labels]
    starts = np.cumsum(np.bincount(place_of_record))
    starts, n_values = np.r_[0, starts[:-1]], starts[-1]
    ascending = np.sort(values)
    lowest, highest = ascending[starts], ascending[np.append(starts[1:], n_values) - 1]
    # If groups do not overlap, each has the values at its place of the order.
    is_outside = (values < lowest[place_of_record]) | (values > highest[place_of_record])
    centroids = centroids[order]
    if is_outside.any() or (centroids[1:] <= centroids[:-1]).any():
        return None
    before, after = _around_walls(ascending, starts, n_values, centroids)
    a, b = centroids[:-1], centroids[1:]
    # |x - b|² - |x - a|² of the last record before a wall, and minus that of the first after it.
    most_above = (b - a) * ((b - before) + (a - before))
    most_below = (b - a) * ((after - a) + (after - b))
    centered = np.r_[0.0, np.cumsum((most_above - most_below) / 2.0)]
    weights = np.empty_like(centroids)
    weights[order] = _shortened(most_above, most_below, centered)
    return weights - weights.max()


def _around_walls(values, starts, n_values, centroids):
    """Return the values next to each wall on both sides, leaving out identical records.

    If all other records of a group are identical to some after its other wall, its centroid takes
    their place: both walls then keep to their side of it.
    """
    last, first = values[starts[1:] - 1], values[starts[1:]]
    ends = np.append(starts[1:], n_values)
    is_split = np.r_[False, last == first, False]  # the wall before each group, and a last one
    walls = np.flatnonzero(is_split) - 1
    split = last[walls]

    # The groups before and after these walls.
    left, right = walls, walls + 1
    place = np.searchsorted(values, split, side="left") - 1
    has_own = (place >= starts[left]) & ~(is_split[left] & (values[place] == values[starts[left]]))
    last[walls] = np.where(has_own, values[place], centroids[left])

    place = np.searchsorted(values, split, side="right")
    is_inside = place < ends[right]
    place = np.where(is_inside, place, 0)
    highest = values[ends[right] - 1]
    has_own = is_inside & ~(is_split[right + 1] & (values[place] == highest))
    first[walls] = np.where(has_own, values[place], centroids[right])
    return last, first


def _shortened(most_above, most_below, weights):
    """Return centered weights with as few digits as possible."""
    n_groups = len(weights)
    # By groups, from each to the one before it and to the one after it, if there is one.
    starts = np.clip(2 * np.arange(n_groups + 1) - 1, 0, 2 * (n_groups - 1)).astype(np.int32)
    number = np.arange(n_groups, dtype=np.int32)
    targets = np.stack([number[1:], number[:-1]], axis=1).ravel()
    leaving = np.stack([most_above, most_below], axis=1).ravel()
    entering = np.stack([most_below, most_above], axis=1).ravel()
    return center_weights(starts, targets, leaving, entering, weights, 0)
