"""The estimator for tables larger than memory: parameters, state and the order of the steps."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_microagg._aggregation import check_block_size
from sk_microagg._microaggregate import Method, make_builder, make_refiner, warn_of_one_group
from sk_microagg._model._points import routing_of
from sk_microagg._utils._base import BaseEstimator, __version__, complete_model
from sk_microagg._utils._notebook import GroupsReprMixin
from sk_microagg._utils._progress import ProgressLine
from sk_microagg._utils._space import ScaledSpace, make_scaler
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._typing import (
    Array,
    BuilderLike,
    FilePath,
    Labels,
    Names,
    RandomState,
    RefinerLike,
    ScalerLike,
)
from sk_microagg._utils._validation import (
    check_count,
    check_k,
    check_seed,
    check_verbose,
    warn_if_k_is_1,
)
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._rules import split_constraints
from sk_microagg.refiners._base import check_keeps_rules
from sk_microagg.scale._bundles import Assign, Grouping, check_rows
from sk_microagg.scale._coding import ColumnOptions, TableCoding
from sk_microagg.scale._memory import check_memory, largest_block, limit_block_size
from sk_microagg.scale._parts import Parts, as_list, is_path
from sk_microagg.scale._release import Release, read
from sk_microagg.scale._roles import Roles, check_known, constraints_by_column, find_roles
from sk_microagg.scale._shuffle import make_shuffle
from sk_microagg.scale._strata import are_one_group, classes_of, fit_router

# The location and spread of the columns, and the cuts, come from the sample. In a smaller one, they
# would disclose single rows.
SMALLEST_SAMPLE = 1000
SMALLEST_SAMPLE_IN_GROUPS = 20


class DaskMicroAggregator(GroupsReprMixin, BaseEstimator):
    """Make columns of a table larger than memory k-anonymous, on Dask.

    It works as :class:`~sk_microagg.MicroAggregator` does in blocks, and for columns of other kinds
    than numbers as :class:`~sk_microagg.TableAggregator` does: a kd-tree of cuts, fitted on a
    sample, assigns each row to a block, and each block is microaggregated on its own, by any
    worker. It runs on the current :class:`dask.distributed.Client`, or in threads of this process
    if there is none.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    columns : list or None, default=None
        The columns to anonymize, the quasi-identifiers. Other columns are released unchanged. None
        for all columns. If all of them have numeric types, the release has their means. Otherwise
        all keep their types: numbers and dates are means, rounded, and categories, booleans and
        text the most frequent value of the group. Values may be missing.

    categorical : "from_dtype" or list, default="from_dtype"
        Columns of numbers to treat as categories, in addition to those whose type says so.

    ordinal : dict, list of str or None, default=None
        Columns whose values have an order: a dict of all values, lowest first, or a list of columns
        whose values can be sorted. Ordered categorical types need not be named. Only values that a
        dict names, or that at least `k` people share, are released.

    column_weights : dict or None, default=None
        How much columns count, by their names; 1 for those that are not named.

    decimals : "auto", int, dict or None, default="auto"
        Number of decimals of released numbers, for all columns or by their names. "auto" stands for
        those that the column itself has, None for all digits. If all columns have numeric types,
        and nothing is said about any of them, means have all digits.

    builder : str or Builder, default="mdav"
        Makes the groups of a block, as in :class:`~sk_microagg.MicroAggregator`. The groups of a
        single column are optimal in each block, whatever builder and refiner are.

    refiner : str, Refiner, list or None, default="auto"
        Improves the groups of a block, as there. A time limit applies to each block.

    scaler : "standard", transformer or None, default="standard"
        The space in which rows are compared, as there, but fitted on the sample. It must be
        "standard" for columns of other kinds than numbers, and with `column_weights` or
        `decimals`.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size, as there:
        :class:`~sk_microagg.privacy.LDiversity`, or :class:`~sk_microagg.privacy.TCloseness`
        without a hierarchy, of a column that `fit` receives as `sensitive`, or
        :class:`~sk_microagg.privacy.UnitShare` of its `unit`. Groups are compared
        with the distribution of the whole table. Blocks are larger where smaller ones could not
        satisfy it.

    block_size : "auto", int or None, default="auto"
        Largest number of rows of a block, as there. It is estimated from the sample, so blocks may
        be a little larger. A block holds at least k rows of the sample, so small blocks may need a
        larger sample.

    sample_size : int, default=250000
        Number of rows, drawn uniformly, on which scaler and cuts are fitted: at least 1000 and at
        least 20 `k`, since a smaller sample would disclose single rows. If the table has no more
        rows than that, the release is that of :class:`~sk_microagg.MicroAggregator`, or of
        :class:`~sk_microagg.TableAggregator`.

    shuffle : {"auto", "disk", "memory"}, default="auto"
        How rows travel to their blocks and back: by files in `folder`, or by Dask's shuffle, which
        without a client may leave files of its own among the temporary files. "auto" uses the
        memory of the client's workers if it is large enough. The release is the same.

    folder : path or None, default=None
        The folder of rows in transit, which are removed on arrival, and of the fitted model, which
        stays. Every worker must reach it. None for a temporary folder on this machine, which is
        removed with the estimator and the release.

    random_state : int, RandomState instance or None, default=None
        For the sample and the refiner. An int makes the release reproducible, on any number of
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
        Number of rows in each block: at least 2k, unless there is one block, or one of a stratum.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of rows in each group, at least `k`, block by block.

    sse_ : float
        Sum of squared distances to the centroids, in the scaled space, as in
        :class:`~sk_microagg.MicroAggregator`.

    information_loss_ : float
        `sse_` as a share of the total sum of squares in the scaled space, from 0 to 1.

    exact_transform_ : bool
        Whether `transform` gives every training row the centroid of its own group.

    n_iter_ : int
        Number of iterations of the refiner, over all blocks.

    kinds_ : dict
        By the name of each column that is anonymized, what it was treated as: "number", "ordinal",
        "date", "boolean" or "category".

    builder_, refiner_, scaler_ : objects
        The builder, the refiner and the fitted scaler used; None if there is none. Columns of other
        kinds than numbers have no scaler.

    n_features_in_ : int
        Number of columns that are anonymized.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names.

    See Also
    --------
    sk_microagg.MicroAggregator : For tables of numbers that fit into memory.
    sk_microagg.TableAggregator : For tables of any kind that fit into memory.

    Notes
    -----
    The rows of each block are counted before any is released, and a block with fewer than 2k is
    merged with its sibling. The last step counts the level of anonymity of the whole release, with
    the strata if there are any; nothing is released if it is below `k`.

    For columns of other kinds than numbers, one more pass counts how many people share each value:
    rows, or units if there are any. Values that fewer than `k` people share have no place in a
    model. All different values must fit into memory, with hashes of up to `k` units of each. A
    category travels to its block as a number.

    Results depend on the data, the order of the partitions and the seed, not on workers that come
    and go: files appear only when they are complete, and a task that runs twice gives the same.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sk_microagg.metrics import anonymity_level
    >>> from sk_microagg.scale import DaskMicroAggregator
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["age", "income"])
    >>> table["visits"] = rng.poisson(3, size=1000)
    >>> ddf = dd.from_pandas(table, npartitions=4)
    >>> aggregator = DaskMicroAggregator(k=5, columns=["age", "income"])
    >>> release = aggregator.fit_transform(ddf)
    >>> release.npartitions, list(release.columns)
    (4, ['age', 'income', 'visits'])
    >>> anonymity_level(release[["age", "income"]])
    5
    """

    if TYPE_CHECKING:  # what `fit` sets
        n_rows_: int
        n_groups_: int
        n_blocks_: int
        block_sizes_: Labels
        group_sizes_: Labels
        sse_: float
        information_loss_: float
        exact_transform_: bool
        n_iter_: int
        kinds_: dict[Any, str]
        builder_: Any
        refiner_: Any
        scaler_: Any
        n_features_in_: int
        feature_names_in_: Array

    def __init__(
        self,
        k: int = 5,
        *,
        columns: Sequence[Hashable] | None = None,
        categorical: Names = "from_dtype",
        ordinal: Mapping[Any, Sequence[Any]] | Names | None = None,
        column_weights: Mapping[Any, float] | None = None,
        decimals: int | Literal["auto"] | Mapping[Any, Any] | None = "auto",
        builder: BuilderLike = "mdav",
        refiner: RefinerLike = "auto",
        scaler: ScalerLike = "standard",
        privacy: Constraint | Sequence[Constraint] | None = None,
        block_size: int | Literal["auto"] | None = "auto",
        sample_size: int = 250_000,
        shuffle: Literal["auto", "disk", "memory"] = "auto",
        folder: FilePath | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.columns = columns
        self.categorical = categorical
        self.ordinal = ordinal
        self.column_weights = column_weights
        self.decimals = decimals
        self.builder = builder
        self.refiner = refiner
        self.scaler = scaler
        self.privacy = privacy
        self.block_size = block_size
        self.sample_size = sample_size
        self.shuffle = shuffle
        self.folder = folder
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive: Names | None = None,
        unit: Hashable = None,
        strata: Names | None = None,
    ) -> Self:
        """Partition the rows into groups.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, or the Parquet folder that holds it.

        y : None
            Ignored.

        sensitive : str or list of str, default=None
            Columns of `X` that `privacy` is about. They are released unchanged.

        unit : str, default=None
            The column of `X` that says who a row belongs to, if people have several: each group
            then has rows of at least `k` different units. It is not released.

        strata : str or list of str, default=None
            Columns of `X` that name the stratum of a row, such as its region: no group has rows of
            two strata. A stratum needs at least `k` rows, or units. They are released unchanged.

        Returns
        -------
        self : DaskMicroAggregator
            The fitted estimator.
        """
        roles = _roles(sensitive, unit, strata)
        self._fit(self._parts(X, self.columns, None, **roles), **roles)
        return self

    def fit_transform(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive: Names | None = None,
        unit: Hashable = None,
        strata: Names | None = None,
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

        sensitive, unit, strata : str, or list of str, default=None
            As in `fit`.

        path : path or None, default=None
            A Parquet folder to write the release to. It must not exist, and appears when the
            release is complete and k-anonymous. If `X` is a path, those who cannot read `X` cannot
            read the release.

        npartitions : int or None, default=None
            Number of partitions of the release; None for those of `X`.

        Returns
        -------
        release : dask DataFrame
            The table, row by row, with `columns` replaced by the centroid of the row's group, and
            without the column `unit`.
        """
        release = Release(path, npartitions, X if is_path(X) else None)
        return self._fit_transform(X, release, **_roles(sensitive, unit, strata))

    def _fit_transform(self, X: Any, release: Release, **roles: Any) -> Any:
        """As `fit_transform`, with a `Release` that may write and check in its own way."""
        with release.draft() as folder:
            parts = self._parts(X, self.columns, folder, **roles)
            frame = self._replaced(parts, self._fit(parts, **roles))
            written = release.write(frame, folder, parts)
            classes = classes_of(written, list(self.feature_names_in_), self._strata)
            level = release.check(written, classes, self.k)
            self._say(f"released: every combination of the columns occurs at least {level} times")
        return written if folder is None else read(release.path)

    def transform(
        self, X: Any, *, path: FilePath | None = None, npartitions: int | None = None
    ) -> Any:
        """Replace the columns of each row by the centroid of the group whose cell it falls in.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, usually of new rows, or the Parquet folder that holds it. It needs the
            columns that were `strata` in `fit`, and each stratum must be one of those.

        path : path or None, default=None
            A Parquet folder to write the result to. It must not exist, and appears when it is
            complete.

        npartitions : int or None, default=None
            Number of partitions of the result; None for those of `X`.

        Returns
        -------
        X_new : dask DataFrame
            The table with a centroid in each row, exactly as in the release. A column that was the
            `unit` in `fit` does not come out.
        """
        check_is_fitted(self)
        release = Release(path, npartitions, X if is_path(X) else None)
        with release.draft() as folder, complete_model(self):
            strata = [] if self._strata is None else self._strata.columns
            parts = self._parts(X, list(self.feature_names_in_), folder, strata=strata)
            parts = parts.without(self._unit).with_roles(Roles(strata=self._strata))
            parts = parts.with_coding(self._coding.for_new_rows(parts, self._space))
            shuffle = self._make_shuffle(sum(parts.lengths()), parts)
            shuffle.route(parts, self._space, self._router)
            work = Assign(self._space, self._model, parts.format)
            shuffle.work(work, self._bundles, np.arange(self.n_blocks_ + 1))
            written = release.write(self._replaced(parts, shuffle), folder, parts)
        return written if folder is None else read(path)

    def _fit(self, parts: Parts, **roles: Any) -> Any:
        """Find the groups; return the shuffle that brings the released rows back."""
        check_verbose(self.verbose)
        size = self._check_sample_size()
        method = Method(None, make_builder(self.builder), make_refiner(self.refiner))  # type: ignore[arg-type]
        scaler = make_scaler(self.scaler)
        # From two releases in different partitions, groups could be intersected.
        seed: Any = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, Integral):
            # Drawn once: work that a worker does again is to give the same.
            seed = check_seed(seed).randint(np.iinfo(np.int32).max)

        parts = parts.with_roles(self._find_roles(parts.frame, method, **roles))
        parts = parts.with_coding(self._find_coding(parts, roles.get("unit")))
        sample = parts.sample(seed, size)
        sizes = np.array(parts.roles.sizes or [sample.n_rows])  # of strata
        check_rows(sizes.sum(), sample.n_rows)
        records, rules = parts.format.records(sample.rows), parts.format.rules(sample.rows)
        method = Method(self._check_k(sample.n_rows), method.builder, method.refiner)
        space, points, rounding = parts.coding.fit_space(
            scaler, records, method.k, rules.units, sample.n_rows
        )
        router = self._find_blocks(parts, sample, points, sizes, method.k, rules)
        method = (
            method.with_constraints(rules, self.builder)
            if rules
            else method.for_columns(len(rounding))
        )
        self._say(f"{sample.n_rows} rows, {len(sample.rows)} sampled")

        grouping = Grouping(parts, space, rounding, method, seed, sample.n_rows, self.folder)
        grouped = grouping.run(router, self._make_shuffle, self._say)
        summary = grouped.summary
        if rules and np.any(are_one_group(sizes, summary.group_sizes) & (sizes >= 2 * method.k)):
            warn_of_one_group(within_strata=parts.roles.strata is not None)
        if self.folder is not None:
            grouped.model.keep()
        self._say("groups are made")

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        self.n_features_in_ = len(parts.columns)
        self.feature_names_in_ = np.array(parts.columns, dtype=object)
        self.builder_ = method.builder
        self.refiner_ = method.refiner
        self.scaler_ = scaler if isinstance(space, ScaledSpace) else None
        self.kinds_ = parts.coding.kinds(parts.columns)
        self.n_rows_ = sample.n_rows
        self.n_blocks_ = grouped.router.n_blocks
        self.block_sizes_ = grouped.sizes
        self.n_groups_ = len(summary.group_sizes)
        self.group_sizes_ = summary.group_sizes
        self.sse_ = summary.sse
        self.information_loss_ = loss_share(summary.sse, summary.moments.sum_of_squares)
        self.exact_transform_ = summary.n_moved == 0
        self.n_iter_ = summary.n_iter
        self._space = space
        self._coding = parts.coding.as_released(summary.shown)
        self._unit = parts.unit
        self._strata = parts.roles.strata
        self._figures = summary.figures
        self._router = grouped.router
        self._bundles = grouped.bundles
        self._model = grouped.model
        self._sk_microagg_version = __version__
        return grouped.shuffle

    def _find_roles(
        self, frame: Any, method: Method, sensitive: list[Any], unit: Hashable, strata: list[Any]
    ) -> Roles:
        """Take what roles need from the whole table."""
        on_units, constraints = split_constraints(self.privacy)
        if on_units and unit is None:
            raise ValueError(f"privacy={self.privacy!r} needs units: pass unit=, a column's name.")
        if constraints and not sensitive:
            raise ValueError(
                f"privacy={self.privacy!r} needs sensitive values: pass sensitive=, the name of "
                "one or several columns."
            )
        has_rules = constraints or unit is not None
        if not has_rules and not strata:
            return Roles()
        if has_rules and method.refiner is not None:
            check_keeps_rules(method.refiner)
        for constraint in (*on_units, *constraints):
            check_known(constraint)
        constraints = constraints_by_column(constraints, sensitive, frame.dtypes)
        self._say("looking at the columns that constraints and strata are about")
        return find_roles(frame, check_k(self.k, math.inf), constraints, unit, strata, on_units)

    def _find_coding(self, parts: Parts, unit: Hashable) -> Any:
        """Take what the encoding of columns of any kind needs from the whole table."""
        options = ColumnOptions.of(self, parts.columns)
        if parts.coding is not None and not options:
            return parts.coding
        if not (isinstance(self.scaler, str) and self.scaler == "standard"):
            raise ValueError(
                f"scaler={self.scaler!r} must be 'standard' for columns of other kinds than "
                "numbers, and with column_weights or decimals."
            )
        self._say("looking at the values of all columns")
        k = check_k(self.k, math.inf)
        return TableCoding.of(parts.frame, parts.columns, unit, k, options)

    def _find_blocks(
        self, parts: Parts, sample: Any, points: Any, sizes: Labels, k: int, rules: Any
    ) -> Any:
        """Cut the sample into blocks; raise an error if workers lack the memory for one."""
        n_coordinates, strata = points.shape[1], parts.format.strata(sample.rows)
        block_size = check_block_size(self.block_size, k)
        if self.block_size == "auto" and len(sample.rows) < sample.n_rows:
            block_size = limit_block_size(block_size, n_coordinates, k)
        router = fit_router(points, strata, sizes, block_size, k, rules)
        n_rows_of_block = largest_block(router, routing_of(points), strata, sizes)
        check_memory(self.block_size, n_rows_of_block, n_coordinates, sample, parts)
        return router

    def _check_k(self, n_rows: int) -> int:
        k = check_k(self.k, n_rows)
        warn_if_k_is_1(k, self.privacy)
        return k

    def _check_sample_size(self) -> int:
        size, k = check_count("sample_size", self.sample_size), check_k(self.k, math.inf)
        least = max(SMALLEST_SAMPLE, SMALLEST_SAMPLE_IN_GROUPS * k)
        if size < least:
            raise ValueError(
                f"sample_size={size} must be at least {least}, the larger of {SMALLEST_SAMPLE} and "
                f"{SMALLEST_SAMPLE_IN_GROUPS} k: a smaller sample would disclose single rows."
            )
        return size

    def _make_shuffle(self, n_rows: int, parts: Parts) -> Any:
        return make_shuffle(self.shuffle, self.folder, n_rows, parts.format.width)

    def _parts(self, X: Any, columns: Any, folder: Any, **roles: Any) -> Parts:
        parts = Parts.of(X, columns, **roles)
        if folder is not None:
            parts.check_names()
        return parts

    def _replaced(self, parts: Parts, shuffle: Any) -> Any:
        """The table with the rows that a shuffle brings back in its columns."""
        return parts.with_released(shuffle.released(), self._coding, self._model)

    def _say(self, what: str) -> None:
        if self.verbose:
            ProgressLine().say(f"DaskMicroAggregator: {what}")


def _roles(sensitive: Names | None, unit: Hashable, strata: Names | None) -> dict[str, Any]:
    """Columns by their role, as lists of names, but for the unit."""
    names = {"sensitive": sensitive, "strata": strata}
    names = {role: [] if name is None else as_list(name) for role, name in names.items()}
    if strata is not None and not names["strata"]:
        raise ValueError(f"strata={strata!r} must name at least one column.")
    return names | {"unit": unit}
