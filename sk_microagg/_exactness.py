"""Whether `transform` is given the training data, where that is not the release."""

from hashlib import sha256
from warnings import warn

import numpy as np


def digest(records):
    """Fingerprint of a whole table, to know it again.

    It is so short that trying tables out cannot tell which one it was; another one has the same by
    chance once in four billion.
    """
    fingerprint = sha256(str(records.shape).encode())
    fingerprint.update(np.ascontiguousarray(records, dtype=np.float64))
    return fingerprint.hexdigest()[:8]


def warn_if_training_data(records, training_digest):
    """Warn if these are the records with that digest; None stands for no records."""
    if training_digest is not None and digest(records) == training_digest:
        warn(
            "transform was given the training data, but for some of its records it returns what "
            "another group than their own was given: the result need not be k-anonymous. The "
            "release is what fit_transform returns.",
            stacklevel=4,  # scikit-learn wraps transform
        )
