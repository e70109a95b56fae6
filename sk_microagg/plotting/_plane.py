"""Records in a plane, and the outlines of their groups."""

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from sklearn.decomposition import PCA

from sk_microagg._utils._numbers import percent
from sk_microagg._utils._typing import Floats


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
