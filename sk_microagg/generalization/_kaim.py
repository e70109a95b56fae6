"""KAIM: k-anonymity for incomplete mixed data."""

import numpy as np
from sklearn.utils import check_random_state

from sk_microagg._utils._validation import check_n_jobs, check_number, check_option, check_verbose
from sk_microagg.generalization._base import Generalizer
from sk_microagg.generalization._greedy import group_greedily
from sk_microagg.generalization._refine import make_policy, refine


class KAIM(Generalizer):
    """Make tables with categories, numbers and holes k-anonymous by generalization [1]_.

    The records are partitioned into groups of at least `k`. In each column, a group is released as
    the smallest node of a hierarchy, or an interval, that covers its members. A missing value is
    the most general one, so that no record need be dropped.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    hierarchies : dict or None, default=None
        For columns, by name or in an array by position, a :class:`Hierarchy`, the path of a CSV
        file, or a nested dict. Other columns get intervals if they hold numbers, and else a root
        above all values.

    distance : {"ncp", "entropy"}, default="ncp"
        What is to be least when a record joins a group: how much more is lost by then, where
        missing values have nothing to lose; or, as published, the rates at which all are
        generalized, by entropy.

    c : "own" or float, default="own"
        For the entropy: what is added to the information of a value before dividing by it. "own":
        -p log p, with p the value's frequency.

    grid : "auto", float or None, default="auto"
        Where the ends of intervals may be, so that none of them is the number of one person. A
        number that at least `k` records of the table share may be an end. Any other end lies beyond
        the members of its group, at a multiple of this step, or of 2, 5, 10, ... times it in
        columns whose numbers are as coarse as it is: they would follow from the ends. "auto": in
        each column 1, 2 or 5 times a power of ten, about 1 % of the range from the k-th smallest to
        the k-th largest number, and coarser than the numbers are themselves; where that range is
        empty, numbers that fewer than `k` records share are released as "*". None: the ends are the
        least and the largest number of a group, as published, which are often the numbers of single
        records.

    output : {"interval", "midpoint"}, default="interval"
        How numbers are released: as text such as "[30, 39]", or as the number in the middle, with
        NaN for the root. Categories are text in any case.

    refiner : {"local_search", "iterated_local_search"}, LocalSearch, IteratedLocalSearch or None, \
            default="local_search"
        Lowers the loss of the groups by moving and swapping records. The iterated search does so
        again and again after dissolving or distilling a group, takes longer and loses less; it
        starts from the greedy groups, and has no other refiner before or after it.

    weights : array-like of shape (n_features,) or None, default=None
        How much the loss in each column counts; by default all count 1.

    random_state : int, RandomState instance or None, default=None
        For the order in which records start groups, and for the refiner.

    n_jobs : int or None, default=None
        Number of parallel jobs of a refiner that has this parameter and leaves it at None. The
        result does not depend on it.

    verbose : int, default=0
        Verbosity of a refiner that has the parameter and leaves it at 0.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record.

    centers_ : ndarray of shape (`n_groups_`, `n_features_in_`)
        What each group is released as: text, with "*" for the root; floats if `output` is
        "midpoint" and all columns hold numbers.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    information_loss_ : float
        Mean loss of a cell, from 0 to 1, weighted by `weights`. A cell that is released as it was,
        known or missing, loses nothing; a category loses the share of leaves below its node, a
        number the share of the range of all released intervals of the column that is in its own.
        It follows from the release and from which cells are missing.

    value_missing_rate_ : float
        Share of the training cells that are missing.

    record_missing_rate_ : float
        Share of the training records in which something is missing.

    exact_transform_ : bool
        Whether `transform` gives every training record what its own group is released as.

    n_iter_ : int
        Iterations that the refiner reports; 0 without one.

    refiner_ : LocalSearch, IteratedLocalSearch or None
        The refiner that was used.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if `X` has names that are all strings.

    See Also
    --------
    MicroAggregator : For complete tables of numbers, with means instead of intervals.
    KMember : The method that others are compared with.
    sk_microagg.metrics.generalization_loss : The loss of any release.

    Notes
    -----
    `fit_transform` is the release: every row occurs in it at least `k` times. `transform` sends a
    record, usually a new one, to the group whose center it raises least: whose loss would grow
    least if it covered the record too; if there are centers that cover it already, to the one of
    these that loses least. That need not be the record's own group for the training data, so
    `exact_transform_` is False in general, and `transform` warns if it is given them. A value that
    its hierarchy does not have counts as missing there, and a number beyond all released intervals
    counts as their last end. With `output="midpoint"` the model knows the midpoints only: a number
    counts as the nearest of them.

    Widths of intervals count integers: [30, 39] is 10 wide. In a column with other numbers the
    width is the difference of the ends.

    A fitted model holds what the groups are released as: nodes, and intervals or their midpoints.
    It holds no record, and no value of the table that its release does not show. What the `trace_`
    of an iterated `refiner_` tells are losses as multiples of the last one.

    Integers beyond 2**53, which a float does not tell apart, are taken for categories.

    References
    ----------
    .. [1] Gong, Yang and Luo (2013). KAIM: data anonymization for incomplete microdata. Journal of
       Software 24(12).

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_microagg import KAIM
    >>> patients = pd.DataFrame(
    ...     {"age": [34, 36, None, 51, 58], "ward": ["A", "A", "B", "B", "C"]}
    ... )
    >>> kaim = KAIM(k=2, random_state=0).set_output(transform="pandas")
    >>> kaim.fit_transform(patients)
            age ward
    0  [30, 40]    A
    1  [30, 40]    A
    2         *    *
    3         *    *
    4         *    *
    """

    def __init__(
        self,
        k=5,
        *,
        hierarchies=None,
        distance="ncp",
        c="own",
        grid="auto",
        output="interval",
        refiner="local_search",
        weights=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.k = k
        self.hierarchies = hierarchies
        self.distance = distance
        self.c = c
        self.grid = grid
        self.output = output
        self.refiner = refiner
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _group(self, columns, lo, hi, missing, k):
        check_option("distance", self.distance, ("ncp", "entropy"))
        check_option("output", self.output, ("interval", "midpoint"))
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        policy = make_policy(self.refiner, n_jobs=self.n_jobs, verbose=self.verbose)
        random_state = check_random_state(self.random_state)
        labels = group_greedily(columns, lo, hi, k, random_state, distance=self.distance)
        total = len(lo) * self._weights(lo.shape[1]).sum()
        labels = refine(columns, lo, hi, labels, k, total, policy, random_state)
        return labels, {"refiner_": policy, "n_iter_": getattr(policy, "n_iter_", 0)}

    def _weights(self, n_columns):
        if self.weights is None:
            return np.ones(n_columns)
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (n_columns,) or not np.all((weights >= 0) & (weights < np.inf)):
            raise ValueError(
                f"weights={self.weights!r} must be {n_columns} finite numbers of at least 0, one a "
                "column, or None."
            )
        if not weights.any():
            raise ValueError(f"weights={self.weights!r} must not all be 0.")
        # Their unit does not matter, but for rounding.
        return weights / weights.max()

    def _constant(self):
        if self.c == "own":
            return -1.0
        return check_number("c", self.c, at_least=0, or_option="own")

    def _write(self, centers):
        if self.output == "interval":
            return super()._write(centers)
        centers = centers.in_the_middle()
        return centers, centers.middles()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.output == "midpoint":
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
