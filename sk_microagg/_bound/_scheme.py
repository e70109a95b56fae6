"""The bound, step by step: what each record pays at least."""

import numpy as np

from sk_microagg._bound._margin import safe_sum
from sk_microagg._bound._proof import Proof
from sk_microagg._bound._records import MOST_NEIGHBOURS, near_records, scaled, sums_of_nearest
from sk_microagg._groups import total_sum_of_squares


def prove(X, k, time_limit, tol, verbose):
    """Prove a lower bound on the information loss of any partition into groups of at least k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records, at least 2k, not all equal.

    k : int
        Smallest size of a group, at least 2.

    time_limit : float
        Seconds after which to stop.

    tol : float
        Stop when the bound can rise by less than this share of it.

    verbose : int
        Whether to print a line that updates.

    Returns
    -------
    proof : Proof
        The bound, and when it rose.
    """
    total = total_sum_of_squares(X)
    records, exponent = scaled(X)
    proof = Proof(total, float(np.ldexp(total, -2 * exponent)), X.size, time_limit, verbose)
    try:
        share(records, k, proof)
    finally:
        proof.finish()
    return proof


def share(records, k, proof):
    """Let each record pay its share of the distances to its k - 1 nearest others."""
    _, distances = near_records(records, min(k, MOST_NEIGHBOURS))
    prices = sums_of_nearest(distances, k)[:, -1] / (2 * k)
    proof.note(safe_sum(prices))
    return prices
