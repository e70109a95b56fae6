"""Whether `transform` is given the training data, where that is not the release."""

from hashlib import sha256
from warnings import warn

import numpy as np


def digest(records):
    """Fingerprint of a whole table, to know it again.

    Who has it can try tables out, so it is not for anyone else: see `KnowsTrainingData`.
    """
    fingerprint = sha256(str(records.shape).encode())
    fingerprint.update(np.ascontiguousarray(records, dtype=np.float64))
    return fingerprint.hexdigest()[:8]


class KnowsTrainingData:
    """Mixin of estimators with a digest of their training data, which no copy of them has.

    A model is pickled to be shipped, and a digest would tell if a guess at the data is right.
    """

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_training_digest" in state:
            state["_training_digest"] = None
        return state


def warn_if_training_data(records, training_digest):
    """Warn if these are the records with that digest; None stands for no records."""
    if training_digest is not None and digest(records) == training_digest:
        warn(
            "transform was given the training data, but for some of its records it returns what "
            "another group than their own was given: the result need not be k-anonymous. The "
            "release is what fit_transform returns.",
            stacklevel=4,  # scikit-learn wraps transform
        )
