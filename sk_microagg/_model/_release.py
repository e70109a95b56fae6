"""The release, from what a fitted model holds."""

from sk_microagg._utils._tables import MISSING
from sk_microagg._utils._typing import Array, Labels


def release_of(centroids: Array, labels: Labels) -> Array:
    """The row of the release for each record."""
    release = centroids[labels]
    suppressed = labels < 0
    if suppressed.any():
        release[suppressed] = MISSING
    return release
