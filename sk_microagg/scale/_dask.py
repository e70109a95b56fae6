"""The estimator for tables larger than memory: parameters, state and the order of the steps."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_microagg._aggregation import check_block_size
from sk_microagg._microaggregate import Method, make_builder, make_refiner, warn_of_one_group
from sk_microagg._model._points import n_dense_coordinates, routing_of
from sk_microagg._table_roles import TableRoles, check_released_names
from sk_microagg._utils._deadline import ProgressLine
from sk_microagg._utils._estimator import (
    BaseEstimator,
    GroupsReprMixin,
    __version__,
    all_or_nothing,
    complete_model,
)
from sk_microagg._utils._places import found_in
from sk_microagg._utils._rounding import Rounding
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._typing import (
    BuilderLike,
    FilePath,
    Labels,
    Names,
    RandomState,
    RefinerLike,
)
from sk_microagg._utils._validation import (
    check_count,
    check_k,
    check_option,
    check_seed,
    check_verbose,
    warn_if_k_is_1,
)
from sk_microagg.privacy import Constraint
from sk_microagg.refiners._base import check_keeps_rules
from sk_microagg.scale._bundles import Assign, Grouping, check_rows, round_model, without
from sk_microagg.scale._dask_table import DaskTable, is_path
from sk_microagg.scale._engine import PartedTable, Shuffle
from sk_microagg.scale._group_constraints import GroupConstraints, find_constraints
from sk_microagg.scale._parquet import Release, read
from sk_microagg.scale._parts import NewRows, Parts, Sample, learn_columns
from sk_microagg.scale._stratum_columns import are_one_group, classes_of, fit_router
from sk_microagg.scale._transit import check_memory, largest_block, limit_block_size
from sk_microagg.tables._sampling_weights import check_weight_release

# The location and spread of the columns, and the cuts, come from the sample. In a smaller one, they
# would disclose single rows.
SMALLEST_SAMPLE = 1000
SMALLEST_SAMPLE_IN_GROUPS = 20


class DaskTableAggregator(GroupsReprMixin, BaseEstimator):
    """Make tables larger than memory k-anonymous, on Dask.

    It is :class:`~sk_microagg.TableAggregator` in blocks: a kd-tree fitted on a sample assigns each
    row to a block, and each block is microaggregated on its own, by any worker. It runs on the
    current :class:`dask.distributed.Client`, or in threads of this process if there is none.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    quasi_identifiers : "auto", str or list of str, default="auto"
        The columns to anonymize: all that somebody might know about a person. "auto" stands for all
        columns that have no other role. Numbers and dates are released as means, categories,
        booleans and text as the most frequent value of the group. Values may be missing.

    sensitive : str, list of str or None, default=None
        Columns that `privacy` is about. They are released unchanged.

    unit : str or None, default=None
        The column that says who a row belongs to, if people have several: each group then has rows
        of at least `k` distinct units. It is not released.

    strata : str, list of str or None, default=None
        Columns that define the stratum of a row, such as its region: no group has rows of two
        strata. A stratum needs at least `k` rows, or units. They are released unchanged, and
        `transform` also needs them.

    weight : str or None, default=None
        The column of sampling weights: see :class:`~sk_microagg.TableAggregator`.

    weight_release : {"keep", "mean"}, default="keep"
        How weights are released: unchanged, or as the mean of the group.

    drop : str, list of str or None, default=None
        Columns that are not released, such as names.

    categorical : "from_dtype" or list of str, default="from_dtype"
        Columns of numbers to treat as categories, in addition to those whose type says so. Integers
        of 2**53 and more, which floats do not distinguish, must be named.

    ordinal : dict, list of str or None, default=None
        Columns whose values have an order: a dict of all values, lowest first, or a list of columns
        whose values can be sorted. Ordered categorical types need not be named. Only values that a
        dict names, or that at least `k` people share, are released.

    hierarchies : dict or None, default=None
        Maps columns to hierarchies: see :class:`~sk_microagg.TableAggregator`.

    column_weights : dict or None, default=None
        Weights of columns by their names; 1 for those that are not named.

    categories : {"mode", "shares", "generalize"}, default="mode"
        How categories are released: as the most frequent value of the group, as a column per value
        with its share in the group, or as the lowest common node of their hierarchy, "*" at worst.

    numbers : {"mean", "median", "interval"}, default="mean"
        How numbers, ordinal values and dates are released: as means, as medians, or as intervals
        that reveal nobody's value, as in :class:`~sk_microagg.TableAggregator`. With intervals, all
        distinct numbers must fit into memory.

    intervals : {"overlapping"}, default="overlapping"
        The only kind on Dask: disjoint intervals need all rows at once.

    decimals : "auto", int, dict or None, default="auto"
        Number of decimals of released numbers, for all columns or by their names, as in
        :class:`~sk_microagg.TableAggregator`. "auto" looks at the gaps between values in the
        sample.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size: :class:`~sk_microagg.privacy.LDiversity`, or
        :class:`~sk_microagg.privacy.TCloseness`, of a column in `sensitive`;
        :class:`~sk_microagg.privacy.UnitShare` of `unit`; or a constraint on amounts, such as
        :class:`~sk_microagg.privacy.Dominance`, for which the contributions of all units must fit
        into memory. Groups are compared with the distribution in the whole table. Blocks are larger
        where smaller ones could not satisfy the constraints.

    builder : str or Builder, default="mdav"
        Makes the groups of a block: see :class:`~sk_microagg.MicroAggregator`. The groups of a
        single column of numbers are optimal in each block, whatever the builder and the refiner.

    refiner : str, Refiner, list or None, default="auto"
        Improves the groups of a block: see :class:`~sk_microagg.MicroAggregator`. A time limit
        applies to each block.

    block_size : "auto", int or None, default="auto"
        Largest number of rows of a block: see :class:`~sk_microagg.MicroAggregator`. It is
        estimated from the sample, so blocks may be a little larger. A block holds at least k rows
        of the sample, so small blocks may need a larger sample.

    sample_size : int, default=250000
        Number of rows, sampled uniformly, on which means, spreads and the kd-tree are fitted: at
        least 1000 and at least 20 `k`, since a smaller sample would disclose single rows. If the
        table has no more rows than the sample, the release is that of
        :class:`~sk_microagg.TableAggregator`.

    shuffle : {"auto", "disk", "memory"}, default="auto"
        How rows travel to their blocks and back. The release is the same.

        - "disk": by files in `folder`.
        - "memory": by Dask's shuffle, which without a client may leave files of its own among the
          temporary files.
        - "auto": in the memory of the client's workers, if it is large enough.

    folder : path or None, default=None
        The folder for rows in transit, which are removed on arrival, and for the fitted model,
        which stays. Every worker must be able to reach it. None for a temporary folder on this
        machine, which is removed with the estimator and the release.

    random_state : int, RandomState instance or None, default=None
        Controls the sample and the refiner. An int makes the release reproducible, on any number of
        workers; None stands for 0.

    verbose : int, default=0
        If 1, print a line after each step.

    Attributes
    ----------
    n_rows_ : int
        Number of rows.

    n_groups_ : int
        Number of groups.

    n_blocks_ : int
        Number of blocks.

    block_sizes_ : ndarray of shape (`n_blocks_`,)
        Number of rows in each block: at least 2k, unless it is the only one (of its stratum).

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of rows in each group, at least `k`, block by block.

    sse_ : float
        Sum of squared distances to the centroids, in the space of the encoded columns, as in
        :class:`~sk_microagg.TableAggregator`.

    information_loss_ : float
        `sse_` as a share of the total sum of squares in that space, from 0 to 1.

    exact_transform_ : bool
        Whether `transform` maps every training row to the released row of its own group.

    n_iter_ : int
        Number of iterations of the refiner, over all blocks.

    rounding_ : dict
        By the name of each column of numbers or dates that is released as averages, how these are
        rounded.

    kinds_ : dict
        What each quasi-identifier, by its name, was treated as: "number", "ordinal", "date",
        "boolean", "category" or "hierarchy".

    builder_ : Builder
        The builder used.

    refiner_ : Refiner or None
        The refiner used.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of `X`.

    See Also
    --------
    sk_microagg.TableAggregator : For tables that fit into memory.
    sk_microagg.MicroAggregator : For tables of numbers that fit into memory.

    Notes
    -----
    The rows of each block are counted before any is released, and a block with fewer than 2k is
    merged with its sibling. The last step measures the anonymity level of the whole release, with
    the strata if there are any; nothing is released if it is below `k`.

    A first pass finds the decimals of numbers and the precision of dates, and counts how many
    people share each value of a category: rows, or units if there are any. Values that fewer than
    `k` people share do not enter a model. All distinct values must fit into memory, with hashes of
    up to `k` units of each. A category travels to its block as a number.

    Results depend on the data, the order of the partitions and the seed, not on workers that come
    and go: files appear only when they are complete, and running a task twice changes nothing.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sk_microagg.metrics import anonymity_level
    >>> from sk_microagg.scale import DaskTableAggregator
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.integers(18, 90, size=1000)})
    >>> table["ward"] = rng.choice(["north", "south"], size=1000)
    >>> table["visits"] = rng.poisson(3, size=1000)
    >>> ddf = dd.from_pandas(table, npartitions=4)
    >>> aggregator = DaskTableAggregator(k=5, sensitive="visits")
    >>> release = aggregator.fit_transform(ddf)
    >>> release.npartitions, list(release.columns)
    (4, ['age', 'ward', 'visits'])
    >>> anonymity_level(release[["age", "ward"]]) >= 5
    True
    """

    def __init__(
        self,
        k: int = 5,
        *,
        quasi_identifiers: Names = "auto",
        sensitive: Names | None = None,
        unit: Hashable = None,
        strata: Names | None = None,
        weight: Hashable = None,
        weight_release: Literal["keep", "mean"] = "keep",
        drop: Names | None = None,
        categorical: Names = "from_dtype",
        ordinal: Mapping[Any, Sequence[Any]] | Names | None = None,
        hierarchies: Mapping[Any, Any] | None = None,
        column_weights: Mapping[Any, float] | None = None,
        categories: Literal["mode", "shares", "generalize"] = "mode",
        numbers: Literal["mean", "median", "interval"] = "mean",
        intervals: Literal["overlapping"] = "overlapping",
        decimals: int | Literal["auto"] | Mapping[Any, Any] | None = "auto",
        privacy: Constraint | Sequence[Constraint] | None = None,
        builder: BuilderLike = "mdav",
        refiner: RefinerLike = "auto",
        block_size: int | Literal["auto"] | None = "auto",
        sample_size: int = 250_000,
        shuffle: Literal["auto", "disk", "memory"] = "auto",
        folder: FilePath | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.unit = unit
        self.strata = strata
        self.weight = weight
        self.weight_release = weight_release
        self.drop = drop
        self.categorical = categorical
        self.ordinal = ordinal
        self.hierarchies = hierarchies
        self.column_weights = column_weights
        self.categories = categories
        self.numbers = numbers
        self.intervals = intervals
        self.decimals = decimals
        self.privacy = privacy
        self.builder = builder
        self.refiner = refiner
        self.block_size = block_size
        self.sample_size = sample_size
        self.shuffle = shuffle
        self.folder = folder
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Partition the rows into groups.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, or the Parquet folder that holds it.

        y : None
            Ignored.

        Returns
        -------
        self : DaskTableAggregator
            The fitted estimator.
        """
        self._fit(self._table(X))
        return self

    def fit_transform(
        self,
        X: Any,
        y: object = None,
        *,
        path: FilePath | None = None,
        npartitions: int | None = None,
    ) -> Any:
        """Partition the rows and return the release.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, or the Parquet folder that holds it.

        y : None
            Ignored.

        path : path or None, default=None
            A Parquet folder to write the release to. It must not exist, and appears when the
            release is complete and k-anonymous. If `X` is a path, those who cannot read `X` cannot
            read the release.

        npartitions : int or None, default=None
            Number of partitions of the release; None for those of `X`.

        Returns
        -------
        release : dask DataFrame
            The released table, with its rows in the order of `X`: every combination of values of
            the quasi-identifiers occurs at least `k` times.
        """
        return self._fit_transform(X, Release(path, npartitions, X if is_path(X) else None))

    def _fit_transform(self, X: Any, release: Release) -> Any:
        """As `fit_transform`, with a `Release` that may write and check in its own way."""
        with release.draft() as folder:
            table = self._table(X)
            release.check_names(table.meta)
            parts, shuffle = self._fit(table)
            written = release.write(self._replaced(parts, shuffle), folder, parts)
            names = [name for rows in self._coding.empty().values() for name in rows.columns]
            anonymized = [name for name in names if name != parts.roles.weight]
            classes = classes_of(table, written, anonymized, self._strata)
            level = release.check(written, classes, self.k)
            self._say(f"released: every combination of the columns occurs at least {level} times")
        return written if release.path is None else read(release.path)

    def transform(
        self, X: Any, *, path: FilePath | None = None, npartitions: int | None = None
    ) -> Any:
        """Replace the quasi-identifiers of each row by those of the group in whose cell it falls.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, usually of new rows, or the Parquet folder that holds it. It needs the
            quasi-identifiers and the strata, and each stratum must be one of those in `fit`.

        path : path or None, default=None
            A Parquet folder to write the result to. It must not exist, and appears when it is
            complete.

        npartitions : int or None, default=None
            Number of partitions of the result; None for those of `X`.

        Returns
        -------
        X_new : dask DataFrame
            The table, with values exactly as in the release, in the columns of the release.
        """
        check_is_fitted(self)
        release = Release(path, npartitions, X if is_path(X) else None)
        with release.draft() as folder, complete_model(self), found_in(None):
            table = self._table(X)
            release.check_names(table.meta)
            roles = self._table_roles
            for name in (*roles.quasi_identifiers, *roles.strata):
                if name not in table.meta.columns:
                    raise ValueError(f"X has no column {name!r}, which it had in fit.")
            constraints = GroupConstraints(strata=self._strata)
            coding = NewRows(self._space, self._coding.n_released)
            parts = Parts(table, roles, coding, constraints)
            shuffle = self._make_shuffle(sum(parts.lengths()), parts)
            shuffle.route(parts, self._space, self._router)
            work = Assign(self._space, self._model, parts.format)
            shuffle.work(work, self._bundles, np.arange(self.n_blocks_ + 1))
            written = release.write(self._replaced(parts, shuffle), folder, parts)
        return written if path is None else read(path)

    def _table(self, X: Any) -> PartedTable:
        """The table of the user; another engine has another one."""
        return DaskTable.of(X)

    @found_in(None)
    def _fit(self, table: PartedTable) -> tuple[Parts, Shuffle]:
        """Find the groups; return the table, and the shuffle that brings the released rows back."""
        roles = TableRoles.from_estimator(self, list(table.meta.columns))
        size = self._check_parameters()
        method = Method(None, make_builder(self.builder), make_refiner(self.refiner))  # type: ignore[arg-type]
        seed = self._draw_seed()
        constraints = self._find_constraints(table, roles, method)
        self._say("looking at the values of all columns")
        coding, weights = learn_columns(table, self, roles, check_k(self.k, math.inf))
        parts = Parts(table, roles, coding, constraints)
        sample = parts.sample(seed, size)
        sizes = np.array(constraints.sizes or [sample.n_rows])  # of strata
        check_rows(coding.n_rows, sample.n_rows)
        check_rows(sizes.sum(), sample.n_rows)
        records, rules = parts.format.records(sample.rows), parts.format.rules(sample.rows)
        k = check_k(self.k, sample.n_rows)
        warn_if_k_is_1(k, self.privacy)
        method = Method(k, method.builder, method.refiner)
        space = coding.fit_space(records, weights, rules.units, sample.n_rows)
        points = space.points(records)
        method = (
            method.with_constraints(rules, self.builder)
            if rules
            else method.for_columns(points.shape[1])
        )
        router = self._find_blocks(parts, sample, points, sizes, method, rules)
        self._say(f"{sample.n_rows} rows, {len(sample.rows)} sampled")

        grouping = Grouping(
            parts,
            space,
            points.shape[1],
            method,
            seed,
            sample.n_rows,
            self.folder,
            self._make_shuffle,
            self._say,
        )
        grouped = grouping.run(router)
        summary = grouped.summary
        if rules and np.any(are_one_group(sizes, summary.group_sizes) & (sizes >= 2 * k)):
            warn_of_one_group(within_strata=constraints.strata is not None)
        known = [*map(without, coding.averaged(records), summary.hidden)]
        roundings = coding.find_roundings(known, summary.spread, roles.weight)
        released = coding.released(summary.shown)
        check_released_names(released.empty(), roles)
        if self.numbers == "median":
            table.compute(table.each(grouped.bundles, round_model, grouped.model, coding))
        if self.folder is not None:
            grouped.model.keep()
        self._say("groups are made")

        with all_or_nothing(self):
            self.n_features_in_ = table.meta.shape[1]
            self.feature_names_in_ = np.array([*table.meta.columns, None], dtype=object)[
                :-1
            ]  # Some are tuples.
            self.builder_: Any = method.builder
            self.refiner_: Any = method.refiner
            self.rounding_: dict[Any, Rounding] = roundings
            self.kinds_: dict[Any, str] = {column.name: column.kind for column in coding.columns}
            self.n_rows_: int = sample.n_rows
            self.n_blocks_: int = grouped.router.n_blocks
            self.block_sizes_: Labels = grouped.sizes
            self.n_groups_: int = len(summary.group_sizes)
            self.group_sizes_: Labels = summary.group_sizes
            self.sse_: float = summary.sse
            self.information_loss_: float = loss_share(summary.sse, summary.moments.sum_of_squares)
            self.exact_transform_: bool = summary.n_moved == 0
            self.n_iter_: int = summary.n_iter
            self._space = space
            self._coding = released
            self._table_roles = roles
            self._strata = constraints.strata
            self._figures = rules.told(summary.figures)
            self._router = grouped.router
            self._bundles = grouped.bundles
            self._model = grouped.model
            self._sk_microagg_version = __version__
        return parts, grouped.shuffle

    def _draw_seed(self) -> Any:
        # From two releases in different partitions, groups could be intersected.
        seed: Any = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, Integral):
            # Drawn once: work that a worker does again is to give the same.
            seed = check_seed(seed).randint(np.iinfo(np.int32).max)
        return seed

    def _find_constraints(
        self, table: PartedTable, roles: TableRoles, method: Method
    ) -> GroupConstraints:
        """Take what constraints need from the whole table."""
        if (self.privacy is not None or roles.unit is not None) and method.refiner is not None:
            check_keeps_rules(method.refiner)
        if self.privacy is not None or roles.unit is not None or roles.strata:
            self._say("looking at the columns that constraints and strata are about")
        return find_constraints(table, check_k(self.k, math.inf), self.privacy, roles)

    def _find_blocks(
        self, parts: Parts, sample: Sample, points: Any, sizes: Labels, method: Method, rules: Any
    ) -> Any:
        """Cut the sample into blocks; raise an error if workers lack the memory for one."""
        k, strata = method.k, parts.format.strata(sample.rows)
        n_coordinates = n_dense_coordinates(points, method.takes_codes)
        block_size = check_block_size(self.block_size, k)
        if self.block_size == "auto" and len(sample.rows) < sample.n_rows:
            block_size = limit_block_size(block_size, n_coordinates, k)
        router = fit_router(points, strata, sizes, block_size, method, rules)
        n_rows_of_block = largest_block(router, routing_of(points), strata, sizes)
        check_memory(self.block_size, n_rows_of_block, n_coordinates, sample, parts)
        return router

    def _check_parameters(self) -> int:
        """Check those that are about the release, and return the size of the sample."""
        check_verbose(self.verbose)
        check_option("categories", self.categories, ("mode", "shares", "generalize"))
        check_option("numbers", self.numbers, ("mean", "median", "interval"))
        if self.intervals != "overlapping":
            raise ValueError(
                f"intervals={self.intervals!r} must be 'overlapping' on Dask. For disjoint ones, "
                "use TableAggregator, or cut numbers into bins first and name these `categorical`."
            )
        size, k = check_count("sample_size", self.sample_size), check_k(self.k, math.inf)
        check_weight_release(self, k)
        least = max(SMALLEST_SAMPLE, SMALLEST_SAMPLE_IN_GROUPS * k)
        if size < least:
            raise ValueError(
                f"sample_size={size} must be at least {least}, the larger of {SMALLEST_SAMPLE} and "
                f"{SMALLEST_SAMPLE_IN_GROUPS} k: a smaller sample would disclose single rows."
            )
        return size

    def _make_shuffle(self, n_rows: int, parts: Parts) -> Shuffle:
        check_option("shuffle", self.shuffle, ("auto", "disk", "memory"))
        return parts.table.shuffle(self.shuffle, self.folder, n_rows, parts.format.width)

    def _replaced(self, parts: Parts, shuffle: Shuffle) -> Any:
        """The table with the rows that a shuffle brings back in its columns."""
        return parts.with_released(shuffle.released(), self._coding, self._model)

    def _say(self, what: str) -> None:
        if self.verbose:
            ProgressLine().say(f"DaskTableAggregator: {what}")
