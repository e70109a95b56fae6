"""The optimal partition of a single column."""

import numpy as np

from sk_microagg._kernels import optimal_runs
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import Builder


class Optimal1D(Builder):
    """The optimum for a single column [1]_: no other groups have a smaller squared error.

    In an optimal partition, each group is a run of k to 2k - 1 successive values. The best runs are
    found by dynamic programming, in time proportional to n log n.

    See Also
    --------
    PathOptimal : The same program along a path through several columns.

    Notes
    -----
    Groups of one and the same value are merged, which changes neither the release nor its loss.

    References
    ----------
    .. [1] S. L. Hansen, S. Mukherjee (2003). A polynomial algorithm for optimal univariate
       microaggregation. IEEE Transactions on Knowledge and Data Engineering 15, 1043–1044.

    Examples
    --------
    >>> from sk_microagg.builders import Optimal1D
    >>> Optimal1D().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([0, 0, 1, 1, 0])
    """

    def _build(self, X: Floats, k: int) -> Labels:
        if X.shape[1] != 1:
            raise ValueError(
                f"X has {X.shape[1]} columns: the builder Optimal1D takes a single column. Use "
                "PathOptimal, or any other builder."
            )
        order = _order(X[:, 0])
        values = X[order]
        return labels_of_runs(order, _merged(values[:, 0], optimal_runs(values, k)))


def _order(values: Floats) -> Labels:
    """Return the order of the values; identical ones are in the order of the records."""
    order = np.argsort(values)
    ascending = values[order]
    if (ascending[1:] == ascending[:-1]).any():
        # A stable sort takes several times as long.
        order = np.argsort(values, kind="stable")
    return order


def _merged(values: Floats, starts: Labels) -> Labels:
    """Remove the starts between runs of one and the same value."""
    lowest, highest = values[starts], values[np.append(starts[1:], len(values)) - 1]
    is_more_of_the_same = lowest[:-1] == highest[1:]
    return np.delete(starts, 1 + np.flatnonzero(is_more_of_the_same))


def labels_of_runs(path: Labels, starts: Labels) -> Labels:
    labels = np.empty(len(path), dtype=np.intp)
    labels[path] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(path)))
    return labels
