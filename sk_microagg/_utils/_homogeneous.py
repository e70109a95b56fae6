"""A warning of groups in which all people have the same label."""

from typing import Any
from warnings import warn

import numpy as np

from sk_microagg._utils._deadline import user_stacklevel
from sk_microagg._utils._targets import as_target, has_classes
from sk_microagg._utils._typing import Labels

# Standard errors by which a share must exceed that of shuffled labels.
N_STANDARD_ERRORS = 2.0


def warn_if_homogeneous(labels: Labels, y: Any, parameter: str) -> None:
    """Warn if more records than by chance are in groups of one class, since `y` was used for them."""
    y = as_target(y)
    if y.ndim > 1 or not has_classes(y):
        return
    share, chance, error = homogeneous_share(labels, np.unique(y, return_inverse=True)[1])
    if share > chance + N_STANDARD_ERRORS * error:
        warn(
            f"{parameter}: {share:.0%} of the records are in groups of a single class of y "
            f"({chance:.0%} would be by chance), which can be told of each of their members. "
            "privacy=LDiversity(2) prevents it, with sensitive=y in fit.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def homogeneous_share(labels: Labels, classes: Labels) -> tuple[float, float, float]:
    """Share of records in groups of one class, and what it would be if classes were shuffled."""
    sizes = np.bincount(labels)
    lowest = np.full(len(sizes), len(labels))
    np.minimum.at(lowest, labels, classes)
    highest = np.zeros(len(sizes), dtype=np.intp)
    np.maximum.at(highest, labels, classes)
    proportions = np.bincount(classes) / len(classes)
    distinct, size_of = np.unique(sizes, return_inverse=True)
    by_chance = np.sum(proportions ** distinct[:, None], axis=1)[size_of]
    share = np.sum(sizes[lowest == highest]) / len(labels)
    chance = np.sum(sizes * by_chance) / len(labels)
    error = np.sqrt(np.sum(sizes**2 * by_chance * (1.0 - by_chance))) / len(labels)
    return float(share), float(chance), float(error)
