"""The partitions in which iterated searches start."""

from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders import MDAV
from sk_microagg.privacy import Rules
from sk_microagg.refiners._decompose_shrink import decompose_and_shrink
from sk_microagg.refiners._split import split_large_groups

# Share of the time limit that each kind of start may take.
SHARE_OF_A_START = 0.25


def starts_of(
    X: Floats, labels: Labels, k: int, n_init: int, deadline: Deadline, rules: Rules | None
) -> list[Labels]:
    """Return the partitions in which searches start, which take turns in them."""
    # Only the given groups are known to satisfy rules.
    if rules or deadline.is_over():
        return [split_large_groups(X, labels, k, deadline, rules)]
    return [
        start(X, labels, k, deadline.within(SHARE_OF_A_START * deadline.seconds_left()))
        for start in STARTS[:n_init]
    ]


def grown_around_centroids(X: Floats, labels: Labels, k: int, deadline: Deadline | None) -> Labels:
    """Ignore the partition, and build another one; if that takes too long, keep the partition."""
    built = MDAV(growth="nc")._build(X, k, deadline)
    return split_large_groups(X, labels, k, deadline) if built is None else built


# Searches take turns in these starts: different ones end in different local optima. The first one
# dissolves badly placed groups, which perturbations would remove only slowly.
STARTS = (decompose_and_shrink, split_large_groups, grown_around_centroids)
