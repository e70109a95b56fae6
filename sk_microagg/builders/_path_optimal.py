"""The optimal division of a path through the records."""

from typing import Literal

import numpy as np

from sk_microagg._kernels import Pool, optimal_runs
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_option
from sk_microagg.builders._base import Builder
from sk_microagg.builders._cbfs import CBFS
from sk_microagg.builders._mdav import MDAV
from sk_microagg.builders._optimal_1d import labels_of_runs

GROUPS = {"mdav": MDAV, "cbfs": CBFS}


class PathOptimal(Builder):
    """Optimal runs of k to 2k - 1 records along a path through all records [1]_.

    Along a path, the best runs are found by the dynamic program that solves a single column [2]_.
    Their quality depends on the path.

    Parameters
    ----------
    path : {"mdav", "cbfs", "nearest"}, default="mdav"
        The path. "mdav" and "cbfs": through the groups of this builder, from each to the one with
        the nearest centroid, and in each group from the side of the previous group to that of the
        next. The loss is at most that of the groups themselves. "nearest": from each record to the
        nearest one that is left. Both start far from the centroid of all records.

    See Also
    --------
    Optimal1D : The optimum for a single column.

    Notes
    -----
    The time is that of the builder plus O(n k d). Methods of this kind were published as MDAV-MHM,
    CBFS-MHM and NPN-MHM; their paths through groups are not the same.

    References
    ----------
    .. [1] J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz, F. Sebé (2006). Efficient
       multivariate data-oriented microaggregation. The VLDB Journal 15, 355–369.
    .. [2] S. L. Hansen, S. Mukherjee (2003). A polynomial algorithm for optimal univariate
       microaggregation. IEEE Transactions on Knowledge and Data Engineering 15, 1043–1044.

    Examples
    --------
    >>> from sk_microagg.builders import PathOptimal
    >>> X = [[0.0, 0.0], [1.0, 0.0], [9.0, 5.0], [11.0, 5.0], [4.0, 2.0]]
    >>> PathOptimal().build(X, k=2)
    array([1, 1, 0, 0, 1])
    """

    def __init__(self, path: Literal["mdav", "cbfs", "nearest"] = "mdav") -> None:
        self.path = path

    def _build(self, X: Floats, k: int) -> Labels:
        check_option("path", self.path, (*GROUPS, "nearest"))
        if self.path == "nearest":
            path = nearest_next(X)
        else:
            path = path_through_groups(X, GROUPS[self.path]()._run(X, k))
        return labels_of_runs(path, optimal_runs(X[path], k))


def nearest_next(X: Floats) -> Labels:
    """Return a path: from the record farthest from the centroid, always to the nearest one left."""
    pool = Pool(X)
    path = np.empty(len(X), dtype=np.intp)
    record = pool.farthest(pool.centroid())
    for step in range(len(X)):
        path[step] = record
        pool.remove(path[step : step + 1])
        if pool.size:
            record = pool.nearest(X[record], 1)[0]
    return path


def path_through_groups(X: Floats, labels: Labels) -> Labels:
    """Return a path through the records, group by group, from each to the one nearest to it."""
    centroids = group_means(X, labels)
    tour = nearest_next(centroids)
    # The direction of the path in each group: from the previous group to the next.
    around = centroids[np.r_[tour[0], tour, tour[-1]]]
    direction = np.empty_like(centroids)
    direction[tour] = around[2:] - around[:-2]
    along = np.einsum("ij,ij->i", X - centroids[labels], direction[labels])
    place = np.empty(len(tour), dtype=np.intp)
    place[tour] = np.arange(len(tour))
    return np.lexsort((along, place[labels]))
