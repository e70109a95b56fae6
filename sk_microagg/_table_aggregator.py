"""The estimator for whole tables: columns with roles in, a released table out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._aggregation import Aggregation, Problem, find_cells
from sk_microagg._bound import Certificate, bound_of
from sk_microagg._model._points import Points, most_of, routing_of, squared_errors, with_values
from sk_microagg._table_roles import (
    TableRoles,
    check_released_names,
    joined_columns,
    replace_columns,
)
from sk_microagg._table_space import encode_table, uses_target
from sk_microagg._utils._estimator import (
    BaseEstimator,
    GroupsReprMixin,
    ReleaseOnlyMixin,
    TrainingDigestMixin,
    __version__,
    all_or_nothing,
    check_has_cells,
    check_is_training_data,
    complete_model,
    digest,
    warn_if_training_data,
)
from sk_microagg._utils._rounding import Rounding
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import Members, loss_share
from sk_microagg._utils._targets import warn_if_homogeneous
from sk_microagg._utils._typing import (
    BuilderLike,
    DataFrame,
    Floats,
    Labels,
    Names,
    Output,
    RandomState,
    RefinerLike,
    TableLike,
)
from sk_microagg._utils._validation import (
    check_n_jobs,
    check_names_alike,
    check_number,
    check_option,
    check_verbose,
)
from sk_microagg.privacy import Constraint, Rules
from sk_microagg.privacy._strata import Strata
from sk_microagg.tables._coding import TableCoding, spread_of
from sk_microagg.tables._domain import IntervalEnds
from sk_microagg.tables._encoder import warn_of_lost_columns, warn_of_similar_texts
from sk_microagg.tables._frames import Frame
from sk_microagg.tables._recoding import recode
from sk_microagg.tables._sampling_weights import (
    about_weights,
    check_weight_release,
    mean_weights,
    warn_of_rare_weights,
    weights_of,
)


class _Released(NamedTuple):
    """What groups are released as: cells, ends of intervals, roundings, and the loss if known."""

    cells: dict[Any, DataFrame]
    ends: dict[Any, IntervalEnds]
    roundings: dict[Any, Rounding]
    loss: float | None


class TableAggregator(
    GroupsReprMixin,
    CallbackSupportMixin,
    TrainingDigestMixin,
    ReleaseOnlyMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Make whole tables k-anonymous: numbers, categories, dates and missing values together.

    The records are partitioned into groups of at least `k`, once for all quasi-identifiers, and
    every record gets the values of its group: the mean of numbers and dates, the most frequent
    category. Other columns are released as they are.

    Parameters
    ----------
    k : int, default=5
        Minimum group size. With 1, the release is the data itself.

    quasi_identifiers : "auto", str or list of str, default="auto"
        The columns to anonymize: everything that an intruder might know about a person. "auto"
        stands for all columns that have no other role. Columns of arrays are named by their
        numbers.

    sensitive : str, list of str or None, default=None
        Columns to which the constraints of `privacy` apply. They are released as they are.

    unit : str or None, default=None
        The column that says to whom a record belongs, if people have several: each group then has
        records of at least `k` different units. It is not released.

    strata : str, list of str or None, default=None
        Columns whose values no group mixes, such as a region. They are released as they are, and
        `transform` needs them, too.

    weight : str or None, default=None
        The column of sampling weights: how many people of the population a record stands for.
        Groups are found without it. Released numbers and dates are then weighted means, and
        categories those with the largest sum of weights. `categories="shares"` is not possible,
        and a warning says so if `k` is below 5.

    weight_release : {"keep", "mean"}, default="keep"
        How weights are released, and with them which totals, sums of weight times value over
        groups, strata and the whole table, are those of the original.

        - "keep" releases them as they are. Totals of unchanged columns are exact, those of
          anonymized numbers without missing values are kept except for rounding. A warning says so
          if most weights are shared by few records.
        - "mean" is for weights that identify people: the mean of the group, with four significant
          digits. Totals of anonymized numbers without missing values are kept to within this
          rounding, those of unchanged columns are not.

    drop : str, list of str or None, default=None
        Columns that are not released, such as names.

    categorical : "from_dtype" or list of str, default="from_dtype"
        Columns of numbers to treat as categories, in addition to columns of a categorical type.
        Integers of 2**53 and more, which floats do not distinguish, are always categories.

    ordinal : dict, list of str or None, default=None
        Columns whose values have an order. Ordered categorical types need not be named.

        - a dict maps columns to all their values, lowest first.
        - a list names columns whose values can be sorted.

        Only values that a dict names, or that at least `k` records share, are released.

    hierarchies : dict or None, default=None
        Maps columns to a :class:`~sk_microagg.tables.Hierarchy`, the path of a CSV file, or
        a nested dict: two categories are nearer the lower their common node is.

    column_weights : dict, "target" or None, default=None
        How much each column counts.

        - a dict maps columns to weights; 1 for those that are not named.
        - "target" weights columns by how well they predict `y`, according to a small forest: a
          release for training models then preserves more of what these need, as with
          :class:`TargetScaler`. Groups become more uniform in `y`, which reveals more about it:
          `privacy=LDiversity(2)` prevents groups of a single class, if `fit` gets `sensitive=y`.
        - None gives all columns the same weight.

    categories : {"mode", "shares", "generalize"}, default="mode"
        How categories are released.

        - "mode" is the most frequent value.
        - "shares" is a column per value, with its share in the group.
        - "generalize" is the lowest common node of their hierarchy, "*" at worst.

    numbers : {"mean", "median", "interval"}, default="mean"
        How numbers, ordinal values and dates are released.

        - "mean" is the mean; for ordinal values, the one nearest to it.
        - "median" of an odd number of values is the value of one person.
        - "interval" is text such as "[30, 39]", and "*" where a value is missing or no end is safe,
          as in :class:`KAIM`: an end is a number that at least `k` people share, or a round number
          beyond those of the group, so coarse that a guess at anybody's number is right at most one
          in `k` times. Ends of ordinal values are values that at least `k` people share.

    intervals : {"overlapping", "disjoint"}, default="overlapping"
        Whether intervals of different groups may overlap, with `numbers="interval"` and
        `categories="generalize"`.

        - "overlapping" intervals are those of groups of similar records, which lose least.
        - "disjoint" ones can be counted and compared: all columns are recoded globally, each value
          in the same way wherever it occurs. Columns are cut at round numbers, or into the nodes
          below a node, one cut at a time, starting with the one that lowers the loss most (in all
          or per part, whichever loses less), as long as every combination still occurs `k` times
          and satisfies the constraints. `transform` recodes new records by their values, too; those
          with a combination that the release lacks get the nearest of its classes. `builder`,
          `refiner` and `block_size` are not used.

    decimals : "auto", int, dict or None, default="auto"
        Number of decimals of released numbers, for all columns or by their names.

        - "auto" rounds means so that an attacker who knows which values are possible cannot compute
          the values of a group: to the typical gap between neighboring values of the column; where
          most values occur once, at least to half of the spread within groups; and never to more
          decimals than the column itself has. Dates are rounded likewise, to one of their units or
          to 10 or 100 days.
        - an integer rounds to that many decimals.
        - None keeps all digits.
        - "day", "hour", "minute", "second", "millisecond", "microsecond" or "nanosecond" is the
          unit to which dates are rounded.

        A warning names the columns of which means are finer than "auto" would make them, and with a
        `weight` they are refused. `rounding_` says how each column was rounded.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size. See :class:`MicroAggregator`.

    builder : str or Builder, default="mdav"
        How the initial partition is built. See :class:`MicroAggregator`.

    refiner : str, Refiner, list or None, default="auto"
        How the partition is improved. See :class:`MicroAggregator`.

    block_size : "auto", int or None, default="auto"
        Maximum number of records that are microaggregated together. See
        :class:`MicroAggregator`.

    random_state : int, RandomState instance or None, default=None
        Source of randomness, passed to the refiner.

    n_jobs : int or None, default=None
        Number of blocks in parallel, and of threads of `transform`.

    verbose : int, default=0
        If 1, print a progress line.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record.

    centroids_ : DataFrame of shape (`n_groups_`, n_released_columns)
        The released values of each group, in the columns of the quasi-identifiers.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    n_blocks_ : int
        Number of blocks.

    sse_ : float
        Sum of squared distances to the centroids, in the space of the encoded columns. A number
        that only one person of a group has counts as half a standard deviation from missing ones,
        whatever it is.

    information_loss_ : float
        `sse_` as a share of the total sum of squares, from 0 to 1.

    column_losses_ : dict
        What each quasi-identifier loses, from 0 to 1: the share of its variance, or, for
        categories, how often two records of the same group differ, relative to any two of the
        table.

    generalization_loss_ : float or None
        Mean loss per cell of a release of intervals and common nodes (`numbers="interval"` with
        `categories="generalize"`), like the `information_loss_` of :class:`KAIM`; None for other
        releases.

    kinds_ : dict
        By the name of each quasi-identifier, what it was treated as: "number", "ordinal", "date",
        "boolean", "category" or "hierarchy".

    rounding_ : dict
        By the name of each column of numbers or dates that is released as averages, how these are
        rounded: `decimals`, and the `reason`; as text such as "1 decimal, the gap between its
        values".

    interval_ends_ : dict
        By the name of each column that is released as intervals, `low`, `high` and `closed`: the
        ends of that of each group as values, and whether the upper one belongs to it.

    exact_transform_ : bool
        Whether `transform` maps every training record to the released values of its own group.

    n_iter_ : int
        Number of iterations performed by the refiner, in all blocks.

    builder_ : Builder or None
        The builder used; None for disjoint intervals.

    refiner_ : Refiner or None
        The refiner used.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of `X`, if they are all strings.

    See Also
    --------
    MicroAggregator : For tables of numbers only.
    KAIM : Generalizes values instead of averaging them.

    Notes
    -----
    Every quasi-identifier becomes coordinates: numbers and dates are standardized, ordinal values
    by their ranks; a category has one coordinate per value, or per node of its hierarchy; and a
    further coordinate says where a value is missing. In all, a column has a variance of 1, and one
    of categories 0.75, since their most frequent value shows less error than their shares would, or
    1 if it is these that are released; times its weight. In this space a table is partitioned as
    :class:`MicroAggregator` does it, and on a table of numbers without missing values the groups
    are the same.

    Anonymize all quasi-identifiers with one estimator. Two of them in a ColumnTransformer make two
    partitions, whose product may single out each record, so that k is 1.

    A released number or date is missing if most values of the group are, or if a single person has
    one. A released category is missing if that is the most frequent entry, or if all values are
    rare. Columns keep their types: integers stay integers, dates stay dates, and categories keep
    their categories, except for rare ones. No category comes out unless at least `k` people of the
    table share it, or two or more of a group, as their most frequent value. A warning names columns
    such as names, of which hardly anything would come out, and those with mostly rare values.

    A fitted model holds what the groups are released as, means in the space of the coordinates,
    means and variances of numbers, which are coarse where values are missing, and the categories
    that at least `k` people share.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_microagg import TableAggregator
    >>> patients = pd.DataFrame(
    ...     {
    ...         "age": [34, 36, None, 51, 58, 55],
    ...         "ward": ["A", "A", "A", "B", "B", "C"],
    ...         "visit": pd.to_datetime(["2024-03-01", "2024-03-05", "2024-03-03"] * 2),
    ...         "stay": [3, 5, 2, 9, 1, 4],
    ...     }
    ... )
    >>> TableAggregator(k=3, sensitive="stay").fit_transform(patients)
        age ward      visit  stay
    0  35.0    A 2024-03-03     3
    1  35.0    A 2024-03-03     5
    2  35.0    A 2024-03-03     2
    3  55.0    B 2024-03-03     9
    4  55.0    B 2024-03-03     1
    5  55.0    B 2024-03-03     4
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
        column_weights: Mapping[Any, float] | Literal["target"] | None = None,
        categories: Literal["mode", "shares", "generalize"] = "mode",
        numbers: Literal["mean", "median", "interval"] = "mean",
        intervals: Literal["overlapping", "disjoint"] = "overlapping",
        decimals: int | Literal["auto"] | Mapping[Any, Any] | None = "auto",
        privacy: Constraint | Sequence[Constraint] | None = None,
        builder: BuilderLike = "mdav",
        refiner: RefinerLike = "auto",
        block_size: int | Literal["auto"] | None = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: TableLike, y: TableLike | None = None, *, sensitive: TableLike | None = None
    ) -> Self:
        """Partition the records into groups.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table.

        y : array-like of shape (n_samples,) or None, default=None
            The target, if `column_weights` is "target"; otherwise it is ignored.

        sensitive : array-like, Series or DataFrame, default=None
            What `privacy` is about, if that is not a column of `X` but, for example, the target.

        Returns
        -------
        self : TableAggregator
            The fitted estimator.
        """
        self._fit(X, y, sensitive)
        return self

    @with_callbacks
    def _fit(self, X: TableLike, y: TableLike | None, sensitive: TableLike | None) -> Frame:
        """Fit; return the frame, for the release."""
        frame = Frame(X, self)
        table = frame.table
        aggregation = Aggregation.from_estimator(self, len(table))
        k = aggregation.method.k
        check_weight_release(self, k)
        self._check_forms()
        roles = self._roles(table)
        weights = None if roles.weight is None else weights_of(table[roles.weight])
        if weights is not None and roles.keeps_weight:
            warn_of_rare_weights(np.unique_counts(weights).counts, k)
        rules = self._rules(table, k, roles, sensitive)
        strata = Strata.checked(roles.strata_of(table), len(table), k, rules)
        records = table[roles.quasi_identifiers]
        encoder, coding, numbers = encode_table(self, records, k, y, rules.units)
        points = encoder.coordinates.points(numbers)
        no_rounding = np.zeros(routing_of(points).shape[1])  # Points are computed cell by cell.
        problem = Problem(points, points, no_rounding, rules, strata)
        method = aggregation.method_for(problem, self.builder)
        task = self._init_callback_context(max_subtasks=1 if strata is None else len(strata))
        task.call_on_fit_task_begin(estimator=self, X=X)
        if self.intervals == "disjoint":
            method = replace(method, builder=None, refiner=None)
            labels, recoding, loss = recode(records, encoder.columns, encoder.k, rules, strata)
            labels, groups, cells = aggregation.fit_labels(problem, labels)
            made = _Released(recoding.released(), recoding.ends(), {}, loss)
        else:
            recoding = None
            labels, groups, cells = aggregation.run(problem, method, task)
            members = Members(labels, rules.units, weights)
            made = self._release(coding, records, numbers, members, roles)
            rare = encoder.coordinates.rare_shares(numbers)
            warn_of_lost_columns(records, made.cells, labels, rare, k)
        released = made.cells
        if uses_target(self):
            warn_if_homogeneous(labels, y, "column_weights='target'")
        if weights is not None and not roles.keeps_weight:
            released[roles.weight] = mean_weights(roles.weight, weights, labels)
        check_released_names(released, roles)
        # Neither means that are kept nor losses reveal the only known value of a group.
        missing = encoder.coordinates.missing(numbers)
        single_values = encoder.coordinates.single_values(missing, labels, rules.units)
        cells, n_moved = cells.with_coordinates(*single_values, points, labels)
        n_moved += cells.n_hidden_rows(joined_columns(released))
        exact_transform = recoding is not None or groups.n_moved == n_moved == 0
        sums = encoder.coordinates.sums_of_squares(numbers, labels, single_values[:2])
        if len(single_values[0]):
            method.forget_traces()
        sse, total = (sum(part) for part in zip(*sums.values(), strict=True))
        column_losses = encoder.losses(records, labels, sums)
        task.call_on_fit_task_end(estimator=self, X=X)

        with all_or_nothing(self):
            validate_data(self, X, skip_check_array=True)
            self.builder_: Any = method.builder
            self.refiner_: Any = method.refiner
            self.labels_: Labels = labels
            self.group_sizes_: Labels = groups.sizes
            self.n_groups_: int = len(groups.sizes)
            self.n_blocks_: int = cells.n_blocks
            self.sse_: float = sse
            self.information_loss_: float = loss_share(sse, total)
            self.column_losses_: dict[Any, float] = column_losses
            self.generalization_loss_: float | None = made.loss
            self.rounding_: dict[Any, Rounding] = made.roundings
            self.interval_ends_: dict[Any, IntervalEnds] = made.ends
            self.kinds_: dict[Any, str] = {column.name: column.kind for column in encoder.columns}
            self.exact_transform_: bool = exact_transform
            self.n_iter_: int = groups.n_iter
            self._table_roles = roles
            self._names = list(table.columns)
            self._encoder = encoder
            self._released = released
            self._cells = cells
            self._recoding = recoding
            self._hidden = single_values[:2]
            self._strata = None if strata is None else strata.names
            self._training_digest = None if exact_transform else digest(routing_of(points))
            self._sk_microagg_version = __version__
        return frame

    def _check_forms(self) -> None:
        check_option("categories", self.categories, ("mode", "shares", "generalize"))
        check_option("numbers", self.numbers, ("mean", "median", "interval"))
        check_option("intervals", self.intervals, ("overlapping", "disjoint"))
        is_generalized = self.numbers == "interval" and self.categories == "generalize"
        if self.intervals == "disjoint" and not is_generalized:
            raise ValueError(
                "intervals='disjoint' needs numbers='interval' and categories='generalize'."
            )

    def _release(
        self,
        coding: TableCoding,
        records: DataFrame,
        numbers: Floats,
        members: Members,
        roles: TableRoles,
    ) -> _Released:
        """What groups are released as."""
        labels = members.labels
        known = coding.without_single(numbers, labels, members.units)
        roundings = coding.find_roundings(known, spread_of(known, labels), roles.weight)
        averages = coding.averages(numbers, members)
        table, loss = coding.released(coding.shown(averages)), None
        if self.numbers == "interval" and self.categories == "generalize":
            loss = float(coding.losses(records, averages, labels).mean())
        return _Released(table.cells(averages), table.ends(averages), roundings, loss)

    def _rules(
        self, table: DataFrame, k: int, roles: TableRoles, sensitive: TableLike | None
    ) -> Rules:
        unit = None
        if sensitive is not None and roles.sensitive:
            raise ValueError(
                f"sensitive={self.sensitive!r} must be None if fit gets sensitive values as well."
            )
        if roles.sensitive and self.privacy is not None:
            sensitive = table[roles.sensitive]
        if roles.unit is not None:
            unit = table[roles.unit]
        # Constraints on amounts may be about any column.
        privacy = about_weights(self.privacy, roles.weight)
        amounts = [each.column for each in privacy if each.is_about_amounts]
        others = [n for n in table.columns if n in amounts and n not in roles.sensitive]
        further = table[others] if others else None
        weights = None if roles.weight is None else table[roles.weight]
        return Rules.of_table(len(table), k, privacy, sensitive, unit, further, weights)

    def _roles(self, table: DataFrame) -> TableRoles:
        """Check the names and the roles of columns, and warn of values that are written alike."""
        check_names_alike(table)
        roles = TableRoles.from_estimator(self, list(table.columns))
        # Rules and strata warn of the others.
        unconstrained = roles.sensitive if self.privacy is None else []
        warn_of_similar_texts(table[[*roles.quasi_identifiers, *unconstrained]])
        return roles

    def fit_transform(
        self, X: TableLike, y: TableLike | None = None, *, sensitive: TableLike | None = None
    ) -> Output:
        """Partition the records and return the release.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table.

        y : array-like of shape (n_samples,) or None, default=None
            The target, as in `fit`.

        sensitive : array-like, Series or DataFrame, default=None
            As in `fit`.

        Returns
        -------
        release : same type as `X`
            The table, with the same rows: in the quasi-identifiers, every combination of values
            occurs at least `k` times.
        """
        frame = self._fit(X, y, sensitive)
        return frame.back(self._assemble(frame.table, self.labels_))

    def fit_predict(
        self, X: TableLike, y: TableLike | None = None, *, sensitive: TableLike | None = None
    ) -> Labels:
        """Partition the records and return the group of each.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table.

        y : array-like of shape (n_samples,) or None, default=None
            The target, as in `fit`.

        sensitive : array-like, Series or DataFrame, default=None
            As in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        return self.fit(X, y, sensitive=sensitive).labels_

    def transform(self, X: TableLike) -> Output:
        """Replace the quasi-identifiers of each record by those of the group that it falls in.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table, usually of new records, with the columns of that in `fit`. To release the
            training data, use `fit_transform`.

        Returns
        -------
        X_new : same type as `X`
            The table.
        """
        frame = self._check_new(X)
        with complete_model(self):
            points = self._points(frame.table)
            warn_if_training_data(routing_of(points), self._training_digest)
            return frame.back(self._assemble(frame.table, self._find(frame.table, points)))

    def format(self, X: TableLike) -> Output:
        """Return records as they are, in the columns of the release.

        A model that was trained on a release with `categories="shares"` needs new records in that
        form: a column per value, with 0 or 1.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table, with the columns of that in `fit`.

        Returns
        -------
        formatted : same type as `X`
            The table.
        """
        check_is_fitted(self)
        if not hasattr(self, "_encoder"):
            check_has_cells(self)
        frame = self._check_columns(X)
        with complete_model(self):
            columns = self._encoder.formatted(
                frame.table[self._table_roles.quasi_identifiers], categories=self.categories
            )
            return frame.back(self._with_columns(frame.table, columns))

    def score(self, X: TableLike, y: TableLike | None = None) -> float:
        """Return the negative information loss of `transform` on `X`.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table.

        y : None
            Ignored.

        Returns
        -------
        score : float
            The negative sum of squared distances to the centroids, as a share of the total sum of
            squares of `X`, in the space of the coordinates; 0 if that is 0. Higher is better.
        """
        frame = self._check_new(X)
        with complete_model(self):
            points = self._points(frame.table)
            groups = self._find(frame.table, points)
            errors, total = squared_errors(points, self._cells.centroids, groups)
        # Subtract, to avoid -0.0.
        return 0.0 - (errors / total if total > 0 else 0.0)

    def certificate(
        self, X: TableLike, *, time_limit: float = 10.0, verbose: int = 0
    ) -> Certificate:
        """Prove how far the loss of the groups is from the optimum, at most.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like
            The table of `fit`, which the model does not hold; another one is an error.

        time_limit : float, default=10.0
            Seconds that the proof may take; the longer, the better.

        verbose : int, default=0
            If 1, print a progress line that updates.

        Returns
        -------
        certificate : sk_microagg.metrics.Certificate
            Its `loss` is `information_loss_`, its `bound` is what any partition of the table into
            groups of at least `k` loses at least, and its `gap` is how far the loss may be above
            the optimum, as a share of the bound. `verdict()` says so in words.

        Examples
        --------
        >>> import pandas as pd
        >>> from sk_microagg import TableAggregator
        >>> table = pd.DataFrame({"age": [30, 32, 60, 63], "sex": ["f", "f", "m", "m"]})
        >>> TableAggregator(k=2).fit(table).certificate(table, time_limit=1).verdict()
        'at most 0.0001% above the optimum'
        """
        time_limit = check_number("time_limit", time_limit, above=0.0)
        check_verbose(verbose)
        return self._prove(X, time_limit, verbose)

    def _prove(
        self,
        X: TableLike,
        time_limit: float,
        verbose: int = 0,
        on_rise: Callable[[float, float], None] | None = None,
    ) -> Certificate:
        """Prove as `certificate` does; `on_rise` is called with seconds and bound as that rises."""
        fitted, n_single = self._fitted_points(X)
        points, share = most_of(fitted)
        with complete_model(self):
            bound, trace = bound_of(
                points,
                self.k,
                time_limit,
                verbose=verbose,
                n_jobs=self.n_jobs,
                on_rise=on_rise and (lambda seconds, bound: on_rise(seconds, share * bound)),
            )
        loss, trace = self.information_loss_, trace * [1.0, share]
        return Certificate(loss, share * bound, trace, self.k, n_single)

    def _fitted_points(self, X: TableLike) -> tuple[Points, int]:
        """The points that the losses are about, and how many cells depend on the groups.

        Raise an error unless X is the table of `fit`.
        """
        frame = self._check_new(X)
        if len(frame.table) != len(self.labels_):
            raise ValueError(
                f"X of {len(frame.table)} records must be what the estimator was fitted on, of "
                f"{len(self.labels_)}."
            )
        with complete_model(self):
            coordinates = self._encoder.coordinates
            numbers = coordinates.numbers(frame.table[self._table_roles.quasi_identifiers])
            sums = coordinates.sums_of_squares(numbers, self.labels_, self._hidden)
            check_is_training_data(self, *map(sum, zip(*sums.values(), strict=True)))
            missing = coordinates.missing(numbers)
            stand_ins = coordinates.stand_ins(missing, self.labels_, *self._hidden)
            return with_values(coordinates.points(numbers), *stand_ins), len(stand_ins[0])

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the columns of the release.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            The names.
        """
        check_is_fitted(self)
        names = []
        for name in self._table_roles.released:
            names += list(self._released[name].columns) if name in self._released else [name]
        # As in scikit-learn, a number stands for "x" and the number.
        names = [f"x{name}" if isinstance(name, int) else str(name) for name in names]
        return np.array(names, dtype=object)

    @property
    def centroids_(self) -> DataFrame:
        """The released values of each group, in the columns of the quasi-identifiers."""
        check_is_fitted(self)
        return joined_columns(self._released)

    def _round(self) -> None:
        roundings, released = {**self.rounding_}, {**self._released}
        for column in self._encoder.columns:
            finer_than = getattr(column, "finer_than", None)
            if finer_than is not None and column.name in roundings:
                cells = released[column.name].iloc[:, 0]
                coarse, roundings[column.name] = copy(column), finer_than
                coarse.rounding = finer_than
                released[column.name] = coarse.released(coarse.numbers(cells), cells).to_frame()
        self.rounding_, self._released = roundings, released

    def _points(self, table: DataFrame) -> Points:
        return self._encoder.points(table[self._table_roles.quasi_identifiers])

    def _find(self, table: DataFrame, points: Points) -> Labels:
        strata = self._table_roles.strata_of(table)
        groups = find_cells(self._cells, points, self.n_jobs, self._strata, strata)
        return groups if self._recoding is None else self._recoding.find(table, groups)

    def _check_new(self, X: TableLike) -> Frame:
        check_is_fitted(self)
        check_has_cells(self)
        return self._check_columns(X)

    def _check_columns(self, X: TableLike) -> Frame:
        """The columns of new rows, in the order of those in `fit`."""
        frame = Frame(X, self)
        names, dropped = {*frame.table.columns}, {*self._table_roles.dropped}
        # New rows need no columns that are not released, such as the number of a patient.
        if names < {*self._names} <= names | dropped:
            frame.table = X = frame.table.reindex(columns=self._names)
        validate_data(self, X, skip_check_array=True, reset=False)
        with complete_model(self):
            check_n_jobs(self.n_jobs)
            if {*frame.table.columns} != {*self._names}:  # One of the tables is an array.
                frame.table = frame.table.set_axis(self._names, axis=1)
        return frame

    def _assemble(self, table: DataFrame, groups: Labels) -> DataFrame:
        rows = {
            name: columns.take(groups).reset_index(drop=True)
            for name, columns in self._released.items()
        }
        return self._with_columns(table, rows)

    def _with_columns(self, table: DataFrame, columns: dict[Any, DataFrame]) -> DataFrame:
        """The table with other columns in the place of the quasi-identifiers."""
        return replace_columns(table, self._table_roles.unchanged, columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
