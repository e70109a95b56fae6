"""KAIM: k-anonymity for incomplete mixed data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._kernels import RangeDescent, RangePartition
from sk_microagg._microaggregate import make_refiner
from sk_microagg._utils._deadline import ProgressLine, interruptible, warn_if_interrupted
from sk_microagg._utils._estimator import PAGE
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels, Names, RandomState
from sk_microagg._utils._validation import (
    check_count,
    check_n_jobs,
    check_number,
    check_option,
    check_seed,
    check_verbose,
)
from sk_microagg.generalization._generalizer import GeneralizedGroups, Generalizer, Ranges
from sk_microagg.generalization._k_member import group_greedily, merge_violating
from sk_microagg.privacy import Constraint, Rules
from sk_microagg.privacy._strata import Strata
from sk_microagg.refiners import IteratedLocalSearch, LocalSearch
from sk_microagg.tables._domain import IntervalEnds


class KAIM(Generalizer):
    """Make tables of numbers, dates, categories and missing values k-anonymous by generalization.

    The method is that of [1]_.

    The records are partitioned into groups of at least `k`. In each column, a group is released as
    the lowest node of a hierarchy that covers its members, or as an interval around them. A missing
    value is treated as the root, the most general value, so that no record has to be dropped.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    quasi_identifiers : "auto", str or list of str, default="auto"
        The columns to generalize: all that somebody might know about a person. "auto" stands for
        all columns that have no other role. Columns of arrays are named by their numbers.

    sensitive : str, list of str or None, default=None
        Columns that nobody is assumed to know. They are released unchanged, as are all columns that
        are neither quasi-identifiers nor dropped. `privacy` is about them.

    unit : str or None, default=None
        The column that says who a record belongs to, if people have several: each group then has
        records of at least `k` distinct units. It is not released.

    strata : str, list of str or None, default=None
        Columns such as a region, whose values are never mixed in a group. They are released
        unchanged, and `transform` also needs them.

    drop : str, list of str or None, default=None
        Columns that are not released, such as names.

    hierarchies : dict or None, default=None
        Maps columns, by name, or by position in an array, to a
        :class:`~sk_microagg.tables.Hierarchy`, the path of a CSV file, or a nested dict. By
        default, numbers and dates are generalized to intervals, categories directly to the root.

    distance : {"ncp", "entropy"}, default="ncp"
        The criterion by which the next record of a group is chosen. "ncp": the smallest increase in
        the loss, which missing values do not contribute to. "entropy": the smallest generalization
        rate by entropy, as published.

    c : "own" or float, default="own"
        Only for `distance="entropy"`: a constant that is added to the information of a value before
        dividing by it. "own": -p log p, where p is the relative frequency of the value.

    grid : "auto", float or None, default="auto"
        Where intervals may end, so that no end reveals the number of a single person. A number may
        be an end if at least `k` records of the table share it. Any other end lies beyond the
        members of its group, at a multiple of this step, or of 2, 5, 10, ... times the step where
        numbers are so coarse that the one next to the end could be guessed with a probability above
        1 / `k`. "auto": the step is 1, 2 or 5 times a power of ten, about 1% of the range from the
        k-th smallest to the k-th largest number of the column; if that range is empty, numbers that
        fewer than `k` records share are released as "*". None: the ends are the smallest and the
        largest number of a group, as published, which are often the numbers of single records. For
        dates, steps are in days.

    output : {"interval", "midpoint"}, default="interval"
        How numbers are released: as text such as "[30, 39]", or as the midpoint of the interval,
        with NaN for the root. Categories are always text, and so are dates: ISO dates such as
        "[2024-03-01, 2024-03-21]", in local time.

    refiner : {"local_search", "iterated_local_search"}, LocalSearch, IteratedLocalSearch or None, \
            default="local_search"
        Lowers the loss of the groups by moving and swapping records. The iterated search repeats
        this after dissolving a group or forming one from excess records; it takes longer and loses
        less. It starts from the greedy groups and cannot be combined with other refiners.

    weights : array-like of shape (n_quasi_identifiers,) or None, default=None
        Weight of each quasi-identifier in the loss, in the order of the table; by default, all
        weights are 1.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size, such as
        :class:`~sk_microagg.privacy.LDiversity`. The refiner ignores constraints and `unit`: groups
        that violate one are merged afterward. :class:`TableAggregator` with `numbers="interval"`
        and `categories="generalize"` searches for groups that satisfy them.

    random_state : int, RandomState instance or None, default=None
        Controls the order in which records start groups, and the refiner.

    n_jobs : int or None, default=None
        Number of parallel jobs, passed to a refiner whose own `n_jobs` is None. The result does not
        depend on it.

    verbose : int, default=0
        If 1, print progress lines while groups are built and refined. It is passed to a refiner
        whose own `verbose` is 0.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record.

    centroids_ : ndarray of shape (`n_groups_`, n_quasi_identifiers)
        The generalized values of each group, as released: text, with "*" for the root; floats if
        `output` is "midpoint" and all columns hold numbers.

    interval_ends_ : dict
        By the name of each column that is released as intervals, `low`, `high` and `closed`: the
        ends of that of each group as values, and whether the upper one belongs to it.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    information_loss_ : float
        Mean loss per cell, from 0 to 1, weighted by `weights`. A cell that is released unchanged,
        known or missing, loses nothing. The loss of a category is the share of leaves below its
        node; the loss of a number is the width of its interval as a share of the range of all
        released intervals of the column. It can be computed from the release and from which cells
        are missing.

    value_missing_rate_ : float
        Share of the training cells that are missing.

    record_missing_rate_ : float
        Share of the training records with at least one missing value.

    exact_transform_ : bool
        Whether `transform` maps every training record to the released row of its own group.

    n_iter_ : int
        Number of iterations that the refiner reports; 0 without a refiner.

    refiner_ : LocalSearch, IteratedLocalSearch or None
        The refiner that was used.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all of them are strings.

    See Also
    --------
    TableAggregator : Means and most frequent values instead of intervals and nodes.
    sk_microagg.generalization.KMember : The usual baseline.
    sk_microagg.metrics.generalization_loss : The loss of any release.

    Notes
    -----
    `fit_transform` returns the release, in which every row occurs at least `k` times. `transform`
    assigns a record, usually a new one, to the group whose loss would grow least if it covered the
    record too; if some groups already cover it, to the one of them with the smallest loss. For a
    training record, this need not be its own group, so `exact_transform_` is usually False, and
    `transform` then warns if it is given the training data. In `transform`, a value that is not in
    its hierarchy counts as missing, and a number beyond all released intervals counts as the
    nearest end of an interval. With `output="midpoint"`, the model knows only the midpoints, and a
    number counts as the nearest midpoint.

    In a column of integers, the width of an interval is the number of integers in it: [30, 39] has
    width 10. In a column with other numbers, it is the difference of the ends.

    A fitted model holds the released values of the groups: nodes, and intervals or their midpoints.
    It holds no record, and no value of the table that the release does not show. The `trace_` of an
    iterated `refiner_` holds losses as multiples of the last one.

    Integers beyond 2**53, which floats do not distinguish, are treated as categories.

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
    0  [32, 40]    A
    1  [32, 40]    A
    2         *    *
    3         *    *
    4         *    *

    Other columns are released unchanged, or not at all:

    >>> patients["name"], patients["stay"] = ["Ann", "Bob", "Cem", "Dee", "Eva"], [3, 5, 2, 9, 1]
    >>> KAIM(k=2, drop="name", sensitive="stay", random_state=0).fit_transform(patients)
            age ward  stay
    0  [32, 40]    A     3
    1  [32, 40]    A     5
    2         *    *     2
    3         *    *     9
    4         *    *     1
    """

    # It is public in the package itself, too, where its page is.
    _doc_link_template = PAGE.replace("{estimator_module}", "sk_microagg")

    if TYPE_CHECKING:  # what `fit` sets
        n_iter_: int
        refiner_: LocalSearch | IteratedLocalSearch | None

    def __init__(
        self,
        k: int = 5,
        *,
        quasi_identifiers: Names = "auto",
        sensitive: Names | None = None,
        unit: Hashable = None,
        strata: Names | None = None,
        drop: Names | None = None,
        hierarchies: Mapping[Any, Any] | None = None,
        distance: Literal["ncp", "entropy"] = "ncp",
        c: float | Literal["own"] = "own",
        grid: float | Literal["auto"] | None = "auto",
        output: Literal["interval", "midpoint"] = "interval",
        refiner: str | LocalSearch | IteratedLocalSearch | None = "local_search",
        weights: ArrayLike | None = None,
        privacy: Constraint | Sequence[Constraint] | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.unit = unit
        self.strata = strata
        self.drop = drop
        self.hierarchies = hierarchies
        self.distance = distance
        self.c = c
        self.grid = grid
        self.output = output
        self.refiner = refiner
        self.weights = weights
        self.privacy = privacy
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _group(
        self, records: Ranges, missing: Booleans, k: int, rules: Rules, strata: Strata | None
    ) -> tuple[Labels, dict[str, Any]]:
        check_option("distance", self.distance, ("ncp", "entropy"))
        check_option("output", self.output, ("interval", "midpoint"))
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        policy = make_policy(self.refiner, n_jobs=self.n_jobs, verbose=self.verbose)
        random_state = check_seed(self.random_state)
        labels = np.empty(len(records), dtype=np.intp)
        n_groups = n_iter = 0
        for rows in [slice(None)] if strata is None else strata.rows_of_all():
            part, verbose = records[rows], self.verbose
            own = group_greedily(part, k, random_state, distance=self.distance, verbose=verbose)
            total = len(own) * self._weights(missing.shape[1]).sum()
            own = refine(part, own, k, total, policy, random_state, verbose)
            if rules:
                own = merge_violating(part, own, rules.subset(rows))
            labels[rows] = n_groups + own
            n_groups += own.max() + 1
            n_iter += getattr(policy, "n_iter_", 0)
        if strata is not None and hasattr(policy, "trace_"):
            del policy.trace_  # It is that of the last stratum.
        return labels, {"refiner_": policy, "n_iter_": n_iter}

    def _weights(self, n_columns: int) -> Floats:
        if self.weights is None:
            return np.ones(n_columns)
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (n_columns,) or not np.all((weights >= 0) & (weights < np.inf)):
            raise ValueError(
                f"weights={self.weights!r} must be {n_columns} finite numbers of at least 0, one "
                "per column, or None."
            )
        if not weights.any():
            raise ValueError(f"weights={self.weights!r} must not all be 0.")
        # Their scale matters only for rounding.
        return weights / weights.max()

    def _constant(self) -> float:
        c = check_number("c", self.c, at_least=0, or_option="own")
        return -1.0 if c == "own" else c

    def _write(self, groups: GeneralizedGroups) -> tuple[GeneralizedGroups, Array]:
        if self.output == "interval":
            return super()._write(groups)
        groups = groups.with_midpoints()
        return groups, groups.midpoints()

    def _shown(self, ends: dict[Any, IntervalEnds]) -> dict[Any, IntervalEnds]:
        return ends if self.output == "interval" else {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.output == "midpoint":
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


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
    records: Ranges,
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

    def begin(
        number: int, seed: int, rng: np.random.RandomState
    ) -> tuple[RangePartition, RangeDescent, None]:
        # The first sweep visits groups by number: a random order makes the searches differ.
        start = rng.permutation(labels.max() + 1)[labels]
        partition = RangePartition(records.columns, records.lo, records.hi, start, k)
        return partition, RangeDescent(partition, seed=seed), None

    if isinstance(policy, IteratedLocalSearch):
        policy.check_parameters()
        with interruptible():
            labels, trace, n_iter = policy._run_searches(
                begin, total, random_state, policy.deadline()
            )
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
