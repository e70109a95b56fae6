"""What a proven bound says about the groups of a fitted estimator."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import inf

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._utils._numbers import rounded_percent
from sk_microagg._utils._scaling import scale
from sk_microagg._utils._validation import check_number, check_records
from sk_microagg.metrics._bound import loss_bound
from sk_microagg.metrics._loss import information_loss

# A bound is lowered by a billionth for rounding: smaller gaps are reported as this.
SMALLEST_GAP = 1e-6

# Losses that were summed in another order differ by less, relatively.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Certificate:
    """The loss of a partition, and a proven lower bound on that of any partition.

    Attributes
    ----------
    loss : float
        Information loss of the partition.

    bound : float
        What any partition loses at least; 0 if nothing was proven.

    trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the search, and the bound that was proven by then.

    k : int
        Smallest size of a group.
    """

    loss: float
    bound: float
    trace: np.ndarray
    k: int

    @property
    def gap(self):
        """How far the loss may be above the optimum, as a share of the bound."""
        if self.bound > 0:
            return max(self.loss / self.bound - 1.0, 0.0)
        return inf if self.loss > 0 else 0.0

    def verdict(self):
        """What was proven, in a few words."""
        if self.loss == 0:
            return "optimal"
        if self.bound == 0:
            return "nothing was proven"
        if self.gap == 0:
            return "optimal"
        gap = rounded_percent(max(self.gap, SMALLEST_GAP), 3, ROUND_CEILING)
        return f"at most {gap} above the optimum"

    def reason(self):
        """Why the verdict is true, in a few words that follow it."""
        if self.loss == 0:
            return "nothing is lost"
        if self.bound == 0:
            return "the bound on the loss is 0"
        # Rounded down, it is still a bound.
        least = rounded_percent(self.bound, 4, ROUND_FLOOR)
        return (
            f"no partition of the scaled records into groups of at least {self.k} loses less than "
            f"{least}"
        )


def certify(estimator, X, time_limit, verbose=0):
    """Prove how far the loss of a fitted MicroAggregator is from the optimum, at most.

    Parameters
    ----------
    estimator : MicroAggregator
        A fitted estimator.

    X : array-like of shape (n_samples, n_features)
        The records that it was fitted on.

    time_limit : float
        Seconds that the search for the bound may take.

    verbose : int, default=0
        If 1, print a progress line that updates.

    Returns
    -------
    certificate : Certificate
        What was proven. It covers all partitions, even if the estimator worked on blocks.
    """
    scaled = scaled_records(estimator, X)
    proof = loss_bound(
        scaled,
        estimator.k,
        time_limit=time_limit,
        verbose=verbose,
        return_trace=True,
        n_jobs=estimator.n_jobs,
    )
    return Certificate(information_loss(scaled, estimator.labels_), *proof, estimator.k)


def certificate_of(estimator, X, bound, trace):
    """The certificate from what `loss_bound` returned; raise if that is for something else."""
    loss = information_loss(scaled_records(estimator, X), estimator.labels_)
    bound = check_number("bound", bound, at_least=0, at_most=1)
    if bound > loss * (1 + ROUNDING):
        raise ValueError(
            f"bound={bound!r} must be at most the loss of the groups, {loss:.6g}: is it the bound "
            f"for k={estimator.k} and for records that were scaled as the estimator did?"
        )
    return Certificate(loss, bound, check_bound_trace(trace), estimator.k)


def check_can_be_certified(estimator, claim):
    """Raise unless an estimator is a fitted MicroAggregator; `claim` says what has to be one."""
    if not isinstance(estimator, MicroAggregator):
        raise TypeError(
            f"{claim} a fitted MicroAggregator: a bound is proven for numbers without missing "
            "values, in memory."
        )
    check_is_fitted(estimator)


def scaled_records(estimator, X):
    """The records, scaled as the estimator did."""
    X = check_records(X)
    shape = len(estimator.labels_), estimator.n_features_in_
    if X.shape != shape:
        raise ValueError(
            f"X of shape {X.shape} must be what the estimator was fitted on, of shape {shape}."
        )
    return scale(estimator.scaler_, X)


def check_bound_trace(trace):
    """Return the trace of a bound as an array, or raise an error that says what it must be."""
    trace = np.asarray(trace, dtype=np.float64)
    if trace.ndim != 2 or trace.shape[1] != 2:
        raise ValueError(
            f"bound_trace of shape {trace.shape} must have rows of two: seconds and bound, as "
            "sk_microagg.metrics.loss_bound returns them."
        )
    return trace
