"""Groups in a plane: those of records, and those of a release of which nothing else is known."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError
from sklearn.decomposition import PCA
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sk_microagg._model._points import routing_of
from sk_microagg._model._router import as_array
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._statistics import group_means, group_sizes
from sk_microagg._utils._tables import column_names, columns_of, import_extra
from sk_microagg._utils._typing import Axes, Estimator, Floats, Labels, TableLike
from sk_microagg._utils._validation import check_count, check_records
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._attribute_inference import draw_records
from sk_microagg.metrics._pairs import are_numbers, standard_deviations
from sk_microagg.plotting._common import BLUE, FILL, INK, SOFT, Display, points_of
from sk_microagg.tables import TableEncoder
from sk_microagg.tables._grid import with_midpoints

# More groups would show nothing more, and more rows would not change the plane.
MOST_GROUPS = 600
ROWS_FOR_THE_PLANE = 20_000


@dataclass(frozen=True)
class ReleasedGroups:
    """Groups of a release, each a point in the plane of the first two principal components."""

    points: Floats
    sizes: Labels
    axis_names: tuple[str, ...]
    n_groups: int
    largest: int

    @classmethod
    def from_release(cls, release: Any, k: int) -> Self | None:
        """Place the groups of a release; None if there are fewer than two groups or columns."""
        if not are_numbers(release) and find_spec("pandas") is None:
            return None  # Categories become points in pandas' frames only.
        classes = row_classes(release, "release")
        sizes = np.bincount(classes)
        groups = np.flatnonzero(sizes >= max(k, 2))
        scaled = _standardized(release)
        if len(groups) < 2 or scaled.shape[1] < 2:
            return None
        rng = np.random.RandomState(0)
        plane = Plane(scaled[draw_records(len(scaled), ROWS_FOR_THE_PLANE, rng)])
        first_rows = np.unique(classes, return_index=True)[1]
        shown = groups[draw_records(len(groups), MOST_GROUPS, rng)]
        return cls(
            plane.place(scaled[first_rows[shown]]),
            sizes[shown],
            plane.axis_names("component"),
            len(groups),
            sizes.max(),
        )


def _standardized(release: Any) -> Floats:
    """The rows of a release as points."""
    if not are_numbers(release):
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        columns = [with_midpoints(column) for column in columns_of(release, "release")]
        release = pandas.DataFrame(dict(enumerate(columns)))
        return as_array(routing_of(TableEncoder(release, 1).points(release)))
    release = check_records(release, name="release")
    spreads = standard_deviations(release)
    return (release - release.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)


class Plane:
    """The plane of the first two principal components of a table."""

    def __init__(self, X: Floats) -> None:
        self.center = X.mean(axis=0)
        self.axes = np.zeros((2, X.shape[1]))
        self.shares: tuple[float, ...] = (0.0, 0.0)
        centered = X - self.center
        total = centered.var(axis=0).sum()
        if len(X) > 1 and total > 0:
            self.axes = PCA(n_components=2, svd_solver="covariance_eigh").fit(centered).components_
            shares = (centered @ self.axes.T).var(axis=0) / total
            self.shares = tuple(float(share) for share in shares)

    def place(self, X: Floats) -> Floats:
        """Records in the plane, shape (n_samples, 2)."""
        return (X - self.center) @ self.axes.T

    def axis_names(self, name: str = "principal component") -> tuple[str, ...]:
        """Labels of the axes, with their shares of the variance."""
        return tuple(
            f"{which} {name}, {percent(share)} of variance"
            for which, share in zip(("first", "second"), self.shares, strict=True)
        )


def outline(points: Floats) -> Floats:
    """Vertices of the convex hull: one if all points are equal, two if they are collinear."""
    corners = np.unique(points, axis=0)
    if len(corners) < 3:
        return corners
    try:
        return corners[ConvexHull(corners).vertices]
    except QhullError:
        # Collinear, or so nearly that the difference is invisible.
        along = corners - corners.mean(axis=0)
        direction = np.linalg.svd(along, full_matrices=False)[2][0]
        order = np.argsort(along @ direction)
        return corners[order[[0, -1]]]


@dataclass(kw_only=True, eq=False, repr=False)
class PartitionDisplay(Display):
    """The groups of a partition, in the plane of the first two principal components.

    Points are records, crosses are centroids, and outlines are the convex hulls of groups. With
    more than two columns, groups that are separate in space may overlap in the plane. A single
    column is drawn as it is, against the rank of the group's centroid.

    The plot shows original records: do not publish it. A :func:`report
    <sk_microagg.report.make_report>` has a plot of the groups without records.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The records in the plane.

    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    axis_names : tuple of two str
        Labels of the axes.

    is_plane : bool, default=True
        Whether both axes have the same scale, so that distances can be compared.

    max_groups : int, default=200
        Maximum number of groups to draw: those nearest to the mean of all records.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.

    figure_ : matplotlib Figure
        The figure that contains the axes.

    records_ : matplotlib Line2D
        The records that are drawn.

    centroids_ : matplotlib Line2D
        The centroids of the groups that are drawn.

    hulls_ : matplotlib PolyCollection
        The outlines: a line if the records of a group are collinear, a point if they are equal.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.plotting import PartitionDisplay
    >>> X = np.random.RandomState(0).normal(size=(60, 3))
    >>> aggregator = MicroAggregator(k=5).fit(X)
    >>> display = PartitionDisplay.from_estimator(aggregator, X)
    >>> len(display.hulls_.get_paths()) == aggregator.n_groups_
    True
    >>> plt.close(display.figure_)
    """

    points: Floats
    labels: Labels
    axis_names: tuple[str, ...]
    is_plane: bool = True
    max_groups: int = 200

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: TableLike, ax: Axes | None = None, max_groups: int = 200
    ) -> Self:
        """Draw the groups of a fitted estimator, in the space in which it compared records.

        Parameters
        ----------
        estimator : MicroAggregator or TableAggregator
            A fitted estimator.

        X : array-like of shape (n_samples, n_features)
            The records that the estimator was fitted on.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        max_groups : int, default=200
            Maximum number of groups to draw.

        Returns
        -------
        display : PartitionDisplay
            The display, after plotting.
        """
        if not hasattr(estimator, "scaler") and not isinstance(estimator, TableAggregator):
            raise TypeError(
                f"estimator={estimator!r} must be a fitted MicroAggregator or TableAggregator. For "
                "the groups of others, use PartitionDisplay.from_data(X, estimator.labels_) with "
                "numeric X."
            )
        check_is_fitted(estimator, "labels_")
        if not (estimator.n_features_in_ == 1 and are_numbers(X)):
            X = points_of(estimator, X)
        return cls.from_data(X, estimator.labels_, ax=ax, max_groups=max_groups)

    @classmethod
    def from_data(
        cls, X: TableLike, labels: ArrayLike, ax: Axes | None = None, max_groups: int = 200
    ) -> Self:
        """Draw groups of records.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, in the space in which they are compared.

        labels : array-like of shape (n_samples,)
            Group of each record.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        max_groups : int, default=200
            Maximum number of groups to draw.

        Returns
        -------
        display : PartitionDisplay
            The display, after plotting.
        """
        check_count("max_groups", max_groups)
        table, X = X, check_records(X)
        labels = column_or_1d(labels)
        check_consistent_length(X, labels)
        _, labels = np.unique(labels, return_inverse=True)
        if X.shape[1] == 1:
            means = group_means(X, labels)[:, 0]
            place = np.argsort(np.argsort(means, kind="stable"))
            points = np.column_stack([X[:, 0], 1 + place[labels]])
            axis_names = (column_names(table)[0], "group, ordered by centroid")
        else:
            plane = Plane(X)
            points, axis_names = plane.place(X), plane.axis_names()
        display = cls(
            points=points,
            labels=labels,
            axis_names=axis_names,
            is_plane=X.shape[1] > 1,
            max_groups=max_groups,
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.collections import PolyCollection

        centroids = group_means(self.points, self.labels)
        shown = self._groups_to_show(centroids)
        rows = np.flatnonzero(np.isin(self.labels, shown))
        rows = rows[np.argsort(self.labels[rows], kind="stable")]
        ends = np.cumsum(group_sizes(self.labels)[shown])
        groups = np.split(self.points[rows], ends[:-1])
        self.hulls_ = ax.add_collection(
            PolyCollection(
                [outline(group) for group in groups],
                facecolor=(FILL, 0.4),
                edgecolor=SOFT,
                linewidth=0.8,
            )
        )
        (self.records_,) = ax.plot(
            *self.points[rows].T, ".", color=BLUE, markersize=5, markeredgewidth=0, label="record"
        )
        (self.centroids_,) = ax.plot(
            *centroids[shown].T, "+", color=INK, markersize=6, label="centroid of a group"
        )
        n_groups = len(centroids)
        title = f"{n_groups:,} groups" if n_groups > 1 else "1 group"
        if len(shown) < n_groups:
            title = f"{len(shown):,} of {n_groups:,} groups, those nearest to the center"
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        ax.set_title(title, fontsize="medium", loc="left")
        if self.is_plane:
            # Distances are comparable in every direction.
            ax.set_aspect("equal", adjustable="datalim")
        ax.autoscale_view()
        ax.legend(frameon=False, loc="best", fontsize="small")

    def _groups_to_show(self, centroids: Floats) -> Labels:
        if len(centroids) <= self.max_groups:
            return np.arange(len(centroids))
        distances = np.linalg.norm(centroids - self.points.mean(axis=0), axis=1)
        return np.sort(np.argsort(distances, kind="stable")[: self.max_groups])
