"""k-member clustering, the baseline."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from sk_microagg._utils._typing import Booleans, Codes, Labels, Names, RandomState
from sk_microagg._utils._validation import check_option, check_seed
from sk_microagg.generalization._base import Generalizer
from sk_microagg.generalization._greedy import farthest_seeds, group_greedily


class KMember(Generalizer):
    """Make tables k-anonymous by k-member clustering [1]_, the usual baseline.

    Groups grow as in :class:`~sk_microagg.KAIM`, each from the record farthest from the first
    record of the previous group. Records with missing values are dropped, as most tools do.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    quasi_identifiers : "auto", str or list of str, default="auto"
        The columns to generalize: all that somebody might know of a person. "auto" stands for all
        columns that have no other role. Columns of arrays are named by their numbers.

    sensitive : str, list of str or None, default=None
        Columns that nobody is assumed to know. They are released unchanged, as all columns are that
        are neither quasi-identifiers nor dropped.

    drop : str, list of str or None, default=None
        Columns that are not released, such as names.

    hierarchies : dict or None, default=None
        Maps columns, by name, or by position in an array, to a :class:`Hierarchy`, the path of a
        CSV file, or a nested dict. By default, numbers are generalized to intervals and categories
        directly to the root.

    grid : "auto", float or None, default="auto"
        Where intervals may end, so that no end reveals the number of a single person. A number that
        at least `k` records of the table share may be an end. Any other end lies beyond the members
        of its group, at a multiple of this step, or of 2, 5, 10, ... times the step where numbers
        are so coarse that one next to the end could be guessed more often than one in `k` times.
        "auto": the step is 1, 2 or 5 times a power of ten, about 1% of the range from the k-th
        smallest to the k-th largest number of the column; where that range is empty, numbers that
        fewer than `k` records share are released as "*". None: the ends are the smallest and the
        largest number of a group, as published, which are often the numbers of single records.

    incomplete : {"drop", "keep"}, default="drop"
        What to do with records that have missing values. "drop": they belong to no group, are
        released as "*" in all columns, and lose everything. Remove them before you publish, since
        there may be fewer than `k` such rows. "keep": a missing value is treated as the root, as in
        :class:`~sk_microagg.KAIM`.

    random_state : int, RandomState instance or None, default=None
        Controls the choice of the first record, and the order in which the last records, fewer than
        `k`, join groups.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record; -1 for dropped records.

    centroids_ : ndarray of shape (`n_groups_`, n_quasi_identifiers)
        The generalized values that each group is released as: text, with "*" for the root.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    information_loss_ : float
        Mean loss per cell, from 0 to 1, as in :class:`~sk_microagg.KAIM`. Each cell of a dropped
        record has the loss 1.

    value_missing_rate_ : float
        Share of the training cells that are missing.

    record_missing_rate_ : float
        Share of the training records with at least one missing value.

    exact_transform_ : bool
        Whether `transform` maps every training record to what its own group is released as.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all of them are strings.

    See Also
    --------
    sk_microagg.KAIM : Keeps all records, and loses less.

    References
    ----------
    .. [1] Byun, Kamra, Bertino and Li (2007). Efficient k-anonymization using clustering
       techniques.

    Examples
    --------
    >>> from sk_microagg.generalization import KMember
    >>> X = [[34, "A"], [36, "A"], [None, "B"], [51, "B"], [58, "B"]]
    >>> KMember(k=2, random_state=0).fit_transform(X)
    array([['[32, 40]', 'A'],
           ['[32, 40]', 'A'],
           ['*', '*'],
           ['[48, 60]', 'B'],
           ['[48, 60]', 'B']], dtype=object)
    """

    def __init__(
        self,
        k: int = 5,
        *,
        quasi_identifiers: Names = "auto",
        sensitive: Names | None = None,
        drop: Names | None = None,
        hierarchies: Mapping[Any, Any] | None = None,
        grid: float | Literal["auto"] | None = "auto",
        incomplete: Literal["drop", "keep"] = "drop",
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.drop = drop
        self.hierarchies = hierarchies
        self.grid = grid
        self.incomplete = incomplete
        self.random_state = random_state

    def _group(
        self, columns: Any, lo: Codes, hi: Codes, missing: Booleans, k: int
    ) -> tuple[Labels, dict[str, Any]]:
        check_option("incomplete", self.incomplete, ("drop", "keep"))
        kept = ~missing.any(axis=1) | (self.incomplete == "keep")
        if kept.sum() < k:
            raise ValueError(
                f"incomplete='drop' leaves {kept.sum()} records, but k={k}: "
                "there must be at least k complete records."
            )
        labels = np.full(len(lo), -1, dtype=np.intp)
        labels[kept] = group_greedily(
            columns,
            lo[kept],
            hi[kept],
            k,
            check_seed(self.random_state),
            seeds=farthest_seeds,
        )
        return labels, {}
