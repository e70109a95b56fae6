"""Local search for generalized groups: the numeric refiners with the loss of generalization."""

from typing import Any

import numpy as np

from sk_microagg._kernels import RangeDescent, RangePartition
from sk_microagg._microaggregate import make_refiner
from sk_microagg._utils._deadline import interruptible, warn_if_interrupted
from sk_microagg._utils._progress import ProgressLine
from sk_microagg._utils._typing import Codes, Labels
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners import IteratedLocalSearch, LocalSearch


def make_policy(refiner: Any, **defaults: Any) -> Any:
    """Return a new refiner from a name or an object, or None."""
    is_policy = refiner is None or isinstance(refiner, LocalSearch | IteratedLocalSearch)
    is_name = isinstance(refiner, str) and refiner in ("local_search", "iterated_local_search")
    if not (is_policy or is_name):
        raise ValueError(
            f"refiner={refiner!r} must be None, 'local_search', 'iterated_local_search', a "
            "LocalSearch or an IteratedLocalSearch."
        )
    return make_refiner(refiner, **defaults)


def refine(
    columns: Any,
    lo: Codes,
    hi: Codes,
    labels: Labels,
    k: int,
    total: float,
    policy: Any,
    random_state: np.random.RandomState,
    verbose: int = 0,
) -> Labels:
    """Lower the loss of a partition of generalized records."""
    if policy is None:
        return labels

    def begin(number, seed, rng):
        # The first sweep visits groups by number: a random order makes the searches differ.
        start = rng.permutation(labels.max() + 1)[labels]
        partition = RangePartition(columns, lo, hi, start, k)
        return partition, RangeDescent(partition, seed=seed), None

    if isinstance(policy, IteratedLocalSearch):
        policy.check_parameters()
        with interruptible():
            labels, trace, n_iter = policy.search(begin, total, random_state, policy.deadline())
            warn_if_interrupted("the groups are the best found so far")
        if trace[-1, 2] > 0:
            # Costs would reveal the widths of columns, which the release may not show.
            trace[:, 2] /= trace[-1, 2]
        policy.trace_ = trace
        policy.n_iter_ = n_iter
        return labels
    max_iter = check_count("max_iter", policy.max_iter, or_none=True)
    seed = random_state.randint(np.iinfo(np.int32).max)
    partition, descent, _ = begin(0, seed, random_state)
    line = ProgressLine()
    if verbose and line.is_due():
        line.draw(f"local search, information loss {partition.cost / total:.4%}")
    policy.n_iter_ = descent.run(partition.groups(), max_sweeps=max_iter)
    if verbose:
        line.draw(f"local search, information loss {partition.cost / total:.4%}, 0 s left")
        line.end()
    return partition.labels()
