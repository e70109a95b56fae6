"""Local search: swaps and shifts of records between pairs of groups."""

import numpy as np

from sk_microagg._kernels import Descent, Partition
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_count
from sk_microagg.privacy import Rules
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._decompose import split_large_groups


class LocalSearch(Refiner):
    """Swap and shift records between pairs of groups until no such move lowers the loss [1]_.

    A swap exchanges two records of different groups. A shift moves one record from a group of more
    than k records to one of fewer than 2k - 1; with constraints beyond k, to a group of any size.
    The first sweep visits all pairs of groups in order; later sweeps visit, in random order, only
    the pairs with a group that has changed.

    Parameters
    ----------
    max_iter : int or None, default=None
        Maximum number of iterations. An iteration is one sweep over pairs of groups. None means no
        limit.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations performed that improved the partition.

    See Also
    --------
    Exchange : Cycles of several groups as well, until the partition is a power diagram.
    IteratedLocalSearch : Many local searches, from perturbed partitions.

    References
    ----------
    .. [1] Bierman (2020). Improvements to iterated local search for microaggregation.
       Dissertation, Nova Southeastern University.

    Examples
    --------
    >>> from sk_microagg.refiners import LocalSearch
    >>> X = [[0.0], [1.0], [8.0], [9.0], [2.0], [7.0]]
    >>> LocalSearch().refine(X, [0, 1, 1, 0, 0, 1], k=3, random_state=0)
    array([0, 0, 1, 1, 0, 1])
    """

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    keeps_rules = True
    takes_codes = True

    def _refine(
        self,
        X: Floats,
        labels: Labels,
        k: int,
        random_state: np.random.RandomState,
        rules: Rules | None = None,
    ) -> Labels:
        max_iter = check_count("max_iter", self.max_iter, or_none=True)
        partition = Partition(X, split_large_groups(X, labels, k, rules=rules), k)
        seed = random_state.randint(np.iinfo(np.int32).max)
        descent = Descent(partition, seed=seed, guards=rules.guards() if rules else None)
        self.n_iter_: int = descent.run(partition.groups(), max_sweeps=max_iter)
        return partition.labels()
