"""The groups of a release in a plane, of which nothing is known but the release."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from sklearn.decomposition import PCA

from sk_microagg._model._points import routing_of
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._tables import columns_of, import_extra
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_records
from sk_microagg.encoding import TableEncoder
from sk_microagg.generalization._grid import with_midpoints
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._mixed import are_numbers, standard_deviations

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
        plane = Plane(scaled[_some(len(scaled), ROWS_FOR_THE_PLANE, rng)])
        first_rows = np.unique(classes, return_index=True)[1]
        shown = groups[_some(len(groups), MOST_GROUPS, rng)]
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
        return routing_of(TableEncoder(release, 1).points(release))
    release = check_records(release, name="release")
    spreads = standard_deviations(release)
    return (release - release.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)


def _some(n: int, most: int, rng: np.random.RandomState) -> Labels:
    """Sorted indices: all n, or a random sample of `most` of them."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


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
