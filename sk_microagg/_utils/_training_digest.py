"""Recognition of the training data: where `transform` is not the release, and for certificates."""

from hashlib import sha256
from math import isclose
from typing import Any
from warnings import warn

import numpy as np

from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._typing import Array

# The errors of the same records differ by less, relatively.
ROUNDING = 1e-6


def digest(records: Array) -> str:
    """Return a fingerprint of a whole table, by which to recognize it.

    With it, guesses at the table can be tested, so it must not leave the process: see
    `TrainingDigestMixin`.
    """
    fingerprint = sha256(str(records.shape).encode())
    fingerprint.update(np.ascontiguousarray(records, dtype=np.float64).data)
    return fingerprint.hexdigest()[:8]


class TrainingDigestMixin:
    """Mixin for estimators with a digest of their training data, which copies do not contain.

    Models are pickled to be distributed, and the digest would confirm a correct guess at the data.
    """

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_training_digest" in state:
            state["_training_digest"] = None
        return state


def warn_if_training_data(records: Array, training_digest: str | None) -> None:
    """Warn if the records have the given digest; None means no digest."""
    if training_digest is not None and digest(records) == training_digest:
        warn(
            "transform was given the training data, but it maps some records to centroids of other "
            "groups than their own: the result need not be k-anonymous. The release is what "
            "fit_transform returns.",
            stacklevel=4,  # scikit-learn wraps transform
        )


def check_is_training_data(estimator: Any, sse: float, total: float) -> None:
    """Raise unless records lose what the estimator lost, given their errors in its groups."""
    pairs = (sse, estimator.sse_), (loss_share(sse, total), estimator.information_loss_)
    if not all(isclose(*pair, rel_tol=ROUNDING, abs_tol=1e-12 * total) for pair in pairs):
        raise ValueError(
            "X must be what the estimator was fitted on: its groups lose something else in this "
            "table, so that a bound would say nothing about them."
        )
