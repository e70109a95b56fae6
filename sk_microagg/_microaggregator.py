"""The estimator: parameters, fitted state and transform. Builders and refiners do the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._aggregation import Aggregation, Problem, find_cells
from sk_microagg._model._fitted_groups import release_of
from sk_microagg._model._points import squared_errors, with_values
from sk_microagg._table_roles import check_decimals
from sk_microagg._utils._estimator import (
    BaseEstimator,
    GroupsReprMixin,
    ReleaseOnlyMixin,
    TrainingDigestMixin,
    __version__,
    all_or_nothing,
    check_has_cells,
    complete_model,
    digest,
    warn_if_training_data,
)
from sk_microagg._utils._rounding import (
    Rounding,
    choose_roundings,
    finer_than,
    rounded,
    roundings_of,
)
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._space import ScaledSpace, fewest_known, make_scaler
from sk_microagg._utils._statistics import (
    group_means,
    loss_share,
    share_of_total,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg._utils._tables import own_names
from sk_microagg._utils._target_scaler import has_target_scaler
from sk_microagg._utils._targets import warn_if_homogeneous
from sk_microagg._utils._typing import (
    Array,
    BuilderLike,
    Floats,
    Labels,
    Output,
    RandomState,
    RefinerLike,
    ScalerLike,
    TableLike,
)
from sk_microagg._utils._validation import (
    cells_explained,
    check_n_jobs,
    check_names_alike,
    check_no_hidden_numbers,
    check_range,
    check_records,
    without_mask,
)
from sk_microagg.privacy import Constraint, Rules
from sk_microagg.privacy._strata import Strata

FLOATS = (np.float64, np.float32)


class MicroAggregator(
    GroupsReprMixin,
    CallbackSupportMixin,
    TrainingDigestMixin,
    ReleaseOnlyMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Make numeric records k-anonymous by microaggregation.

    The records are partitioned into groups of at least `k`, and each record is replaced by the
    centroid of its group, with as little information loss as possible. Values may be missing.

    Parameters
    ----------
    k : int, default=5
        Minimum group size. With 1, the release is the data itself.

    builder : {"mdav", "cbfs", "tfrp", "gsms", "dbfs", "path_optimal", "optimal_1d", \
            "k_anonymity_first", "t_closeness_first"} or Builder, default="mdav"
        How the initial partition is built:

        - a name stands for one of the :mod:`~sk_microagg.builders` with its default parameters.
        - "mdav" is replaced under constraints: by "t_closeness_first" under t-closeness. Under
          others, its groups are merged, or built from all sensitive values (or units) where merging
          would leave few groups.
        - any object with a method `build(X, k) -> labels` is used as it is.

        If the scaled space has a single column and there are no constraints, the optimal partition
        is found by :class:`~sk_microagg.builders.Optimal1D`; builder and refiner are ignored.

    refiner : {"auto", "exchange", "local_search", "iterated_local_search", "annealing", \
            "recombination", "decompose", "decompose_shrink"}, Refiner, list or None, \
            default="auto"
        How the partition is improved:

        - "auto" is a short annealing, and "exchange" is faster and loses more. Both make
          `transform` exact.
        - "iterated_local_search", "annealing" and "recombination" search longer; "recombination"
          loses the least information. They make `transform` exact unless a time limit or Ctrl-C
          cuts them short.
        - "local_search", "decompose" and "decompose_shrink" are quick methods from the literature.
        - any object with a method `refine(X, labels, k, random_state=) -> labels` is used as it is.
        - a list of these is applied in sequence.
        - None leaves the partition as built.

        "exchange", "decompose" and "decompose_shrink" do not support constraints.

    scaler : {"standard", "target"}, transformer or None, default="standard"
        The scaled space, in which distances are measured. The release is always in the units of
        `X`.

        - "standard" standardizes the columns.
        - "target" also weights them by how well they predict `y`: see :class:`TargetScaler`.
        - a transformer is fitted to `X` and applied to it.
        - None leaves the columns as they are.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size, such as
        :class:`~sk_microagg.privacy.LDiversity` or :class:`~sk_microagg.privacy.TCloseness` of the
        `sensitive` values that are passed to `fit`, or :class:`~sk_microagg.privacy.UnitShare` of
        the `unit`.

    decimals : "auto", int, dict or None, default=None
        Number of decimals of the released means, for all columns or by their names or numbers.

        - None releases exact means, as a model that is trained on them expects. Such a release is
          not one to publish: an attacker who knows which values a column may have can often compute
          the values of a whole group from an exact mean.
        - "auto" rounds means so that this fails: to the typical gap between neighboring values of
          the column; where most values occur once, at least to half of the spread within groups;
          and never to more decimals than the column itself has.
        - an integer rounds to that many decimals. A warning names the columns of which means are
          then finer than "auto" would make them.

    block_size : "auto", int or None, default="auto"
        Maximum number of records that are microaggregated together, give or take 2k. Larger tables
        are divided into blocks of at least 2k records by a kd-tree with cuts near the median. A
        single column is never divided.

        - "auto" is 5000 `k`, which keeps both the time per block and the loss due to cuts low.
        - None puts all records into one block.

    stitch : bool, default=False
        Whether groups finally exchange records across the cuts between blocks. This recovers
        a quarter to a half of the loss due to cuts, but takes longer than the blocks themselves,
        and time limits of the refiner do not include it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness, passed to the refiner. Pass an int for reproducible results. Builders,
        "exchange" and "auto", which uses a seed only if it is given, always give the same result:
        if one table were released in two different partitions, the groups of both could be
        intersected.

    n_jobs : int or None, default=None
        Number of blocks in parallel, and of threads of `transform`. It is also passed to a refiner
        with this parameter, unless that is set. Blocks run in threads, or on the backend chosen
        with `joblib.parallel_config`. Without a time limit it does not change the result.

    verbose : int, default=0
        If 1, print a progress line: of the blocks if there are several; otherwise it is passed to a
        refiner with this parameter, unless that is set.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record.

    centroids_ : ndarray of shape (`n_groups_`, `n_features_in_`)
        Mean of the records of each group, in the units and the float type of `X`, rounded to
        `decimals`. Missing values are left out; it is NaN where most values of a group are missing,
        or all but one.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    n_blocks_ : int
        Number of blocks; 1 with `stitch`.

    sse_ : float
        Sum of squared distances to the centroids, in the scaled space. If only one value of a group
        is known, it counts as half a standard deviation from missing ones, whatever it is.

    information_loss_ : float
        `sse_` as a share of the total sum of squares in the scaled space, from 0 to 1.

    weights_ : ndarray of shape (`n_groups_`,)
        Power weight of each group: `transform` assigns a record to the group of its block that
        minimizes the squared distance to the centroid minus the weight. If no weights assign every
        training record of a block to its own group, all weights of the block are 0, which means
        the nearest centroid.

    rounding_ : dict
        By the name or the number of each column, how `centroids_` are rounded: `decimals`, and the
        `reason`.

    exact_transform_ : bool
        Whether `transform` maps every training record to the centroid of its own group.

    n_iter_ : int
        Number of iterations performed by the refiner, in all blocks; 0 without a refiner.

    builder_ : Builder
        The builder used; each of several blocks has its own copy.

    refiner_ : Refiner or None
        The refiner used; each of several blocks has its own copy, and a share of its time limit.

    scaler_ : transformer or None
        The fitted scaler.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of `X`, if they are all strings.

    See Also
    --------
    TableAggregator : For tables with categories and dates.
    TrainOnRelease : Trains a model on the release, and predicts on original rows.
    microaggregate : Partitions an array, without scaling.
    sk_microagg.metrics.anonymity_level : Verifies a release.

    Notes
    -----
    `fit_transform` returns the release, in which every row occurs at least `k` times. `transform`
    assigns a record, usually a new one, to the group in whose power cell it lies, and thus to a
    group that already holds `k` training records. With the default refiner the groups are the cells
    of a power diagram, and `transform` of the training data equals the release: `exact_transform_`
    is True.

    Otherwise `exact_transform_` is False, and `transform` of the training data need not be
    k-anonymous: :doc:`/transform` lists the exceptions. It warns when it is given the training
    data, but a copy of the model, pickled or not, does not recognize them.

    New records transformed by the model are k-anonymous together with the release, not by
    themselves. Two releases of the same table, for example at different `k`, can reveal whole
    records.

    Missing values are part of a record: in the scaled space, one lies at the mean of the known
    values of its column, and a further coordinate marks it as missing, so that it is as far from a
    known value, on average, as two known ones are from each other. With "standard", both
    coordinates together have a variance of 1, as columns without missing values do. All of this is
    rounded to few digits, with "standard" and "target" also mean and scale of such columns. The
    scaler has to accept NaN, as those of scikit-learn do; if it imputes values, nothing
    distinguishes these.

    A fitted model holds centroids, weights, sizes, labels and the cuts between blocks, but no
    training record. Weights and cuts are coarse numbers that no single record determines, so that
    no record can be computed from them. If only one value of a group is known in a column, neither
    the release nor the model contains it. Nor can it be computed from means, scales and losses,
    which are coarse or do not depend on it: this holds for "standard", "target", None,
    StandardScaler and :class:`TargetScaler`, their plain subclasses and pipelines of these. With
    any other scaler, a warning says so. Consider two things before you distribute a model. With
    `k=1`, and for a record shared by `k` or more people, the centroid *is* the record. And a scaler
    keeps statistics of the columns: StandardScaler means and variances, others also single values
    (MinMaxScaler and MaxAbsScaler extremes, RobustScaler medians, QuantileTransformer quantiles),
    also of columns with missing values. With a nonlinear scaler, such as a logarithm, the means in
    both spaces together reveal more than the release: share only the release, or use a linear
    scaler.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> X = np.array([[30, 10], [32, 12], [61, 45], [65, 43], [31, 11], [63, 44]])
    >>> aggregator = MicroAggregator(k=3)
    >>> aggregator.fit_transform(X)
    array([[31., 11.],
           [31., 11.],
           [63., 44.],
           [63., 44.],
           [31., 11.],
           [63., 44.]])
    >>> aggregator.group_sizes_
    array([3, 3])
    >>> aggregator.transform([[40, 20]])
    array([[31., 11.]])
    """

    def __init__(
        self,
        k: int = 5,
        *,
        builder: BuilderLike = "mdav",
        refiner: RefinerLike = "auto",
        scaler: ScalerLike = "standard",
        privacy: Constraint | Sequence[Constraint] | None = None,
        decimals: int | Literal["auto"] | Mapping[Any, Any] | None = None,
        block_size: int | Literal["auto"] | None = "auto",
        stitch: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.builder = builder
        self.refiner = refiner
        self.scaler = scaler
        self.privacy = privacy
        self.decimals = decimals
        self.block_size = block_size
        self.stitch = stitch
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        *,
        sensitive: TableLike | None = None,
        unit: TableLike | None = None,
        strata: TableLike | None = None,
    ) -> Self:
        """Partition the records into groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records. All values must be finite numbers, or missing: NaN, None or masked. Text
            and dates are rejected: :class:`TableAggregator` takes them.

        y : array-like of shape (n_samples,) or None, default=None
            The target, if `scaler` is "target" or another transformer that uses one; otherwise it
            is ignored.

        sensitive : array-like, Series or DataFrame, default=None
            The column or columns that `privacy` is about, with a value per record: numbers, text,
            dates or missing values.

        unit : array-like or Series of shape (n_samples,), default=None
            Who each record belongs to, if people have several records: each group then has records
            of at least `k` different units. Records of one unit may be in several groups.

        strata : array-like, Series or DataFrame, default=None
            The stratum of each record, such as its region: no group has records of two strata. A
            stratum needs at least `k` records, or units.

        Returns
        -------
        self : MicroAggregator
            The fitted estimator.
        """
        check_names_alike(X)
        records = check_records(X, dtype=FLOATS, estimator=self, allow_missing=True)
        aggregation = Aggregation.from_estimator(self, len(records))
        scaler = make_scaler(self.scaler, has_target=True)
        k = aggregation.method.k
        names = own_names(X) or list(range(records.shape[1]))
        for name, column in zip(names, records.T, strict=True):
            check_range(column, f"Column {name!r} of X")
        decimals = check_decimals(self.decimals, names)
        rules = Rules.of_table(len(records), k, self.privacy, sensitive, unit)
        strata = Strata.checked(strata, len(records), k, rules)
        space = ScaledSpace(scaler, fewest_known(k))
        scaled, missing = space.fit(records, rules.units, y)
        problem = Problem(records, scaled, space.rounding(records, scaled), rules, strata)
        method = aggregation.method_for(problem, self.builder)
        task = self._init_callback_context(max_subtasks=1 if strata is None else len(strata))
        task.call_on_fit_task_begin(estimator=self, X=X)
        labels, groups, cells = aggregation.run(problem, method, task)
        if has_target_scaler(scaler):
            warn_if_homogeneous(labels, y, "scaler='target'")
        # Neither means that are kept nor losses reveal the only known value of a group.
        single_values = space.single_values(missing, labels, rules.units)
        space.warn_if_exact(records, labels, rules.units)
        cells, n_moved = cells.with_coordinates(*single_values, scaled, labels)
        sse, total = groups.sse, total_sum_of_squares(scaled)
        if len(single_values[0]):
            kept = with_values(scaled, *space.stand_ins(missing, labels, *single_values[:2]))
            sse, total = squared_errors(kept, group_means(kept, labels), labels)
            method.forget_traces()
        exact_transform = groups.n_moved == n_moved == 0
        auto = roundings_of(records, labels, rules.units)
        roundings = choose_roundings(dict(zip(names, auto, strict=True)), decimals)
        task.call_on_fit_task_end(estimator=self, X=X)

        with all_or_nothing(self):
            validate_data(self, X, skip_check_array=True)
            self.builder_: Any = method.builder
            self.refiner_: Any = method.refiner
            self.scaler_: Any = scaler
            self.labels_: Labels = labels
            self.group_sizes_: Labels = groups.sizes
            self.n_groups_: int = len(groups.sizes)
            self.n_blocks_: int = cells.n_blocks
            self.centroids_: Array = rounded(groups.centroids, [*roundings.values()])
            self.rounding_: dict[Any, Rounding] = roundings
            self.weights_: Floats = cells.weights
            self.sse_: float = sse
            self.information_loss_: float = loss_share(sse, total)
            self.exact_transform_: bool = exact_transform
            self.n_iter_: int = groups.n_iter
            self._auto_rounding = auto
            self._space = space
            self._cells = cells
            self._hidden = single_values[:2]
            self._strata = None if strata is None else strata.names
            self._training_digest = None if exact_transform else digest(records)
            self._sk_microagg_version = __version__
        return self

    def fit_transform(
        self,
        X: TableLike,
        y: TableLike | None = None,
        *,
        sensitive: TableLike | None = None,
        unit: TableLike | None = None,
        strata: TableLike | None = None,
    ) -> Output:
        """Partition the records and return the release.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : array-like of shape (n_samples,) or None, default=None
            The target, as in `fit`.

        sensitive, unit, strata : array-like, Series or DataFrame, default=None
            As in `fit`.

        Returns
        -------
        release : ndarray of shape (n_samples, n_features)
            The centroid of the group of each record: every row occurs at least `k` times. The type
            is float32 if that of `X` is, otherwise float64.
        """
        self.fit(X, y, sensitive=sensitive, unit=unit, strata=strata)
        return release_of(self.centroids_, self.labels_)

    def fit_predict(
        self,
        X: TableLike,
        y: TableLike | None = None,
        *,
        sensitive: TableLike | None = None,
        unit: TableLike | None = None,
        strata: TableLike | None = None,
    ) -> Labels:
        """Partition the records and return the group of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : array-like of shape (n_samples,) or None, default=None
            The target, as in `fit`.

        sensitive, unit, strata : array-like, Series or DataFrame, default=None
            As in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        return self.fit(X, y, sensitive=sensitive, unit=unit, strata=strata).labels_

    def transform(self, X: TableLike, strata: TableLike | None = None) -> Output:
        """Replace each record by the centroid of the group in whose power cell it lies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, usually new ones. To release the training data, use `fit_transform`.

        strata : array-like, Series or DataFrame, default=None
            The stratum of each record, if there were strata in `fit`; each must be one of those.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            The centroid for each record, exactly as in the release, including its float type.
        """
        records = self._check_new_records(X)
        with complete_model(self):
            warn_if_training_data(records, self._training_digest)
            groups = self._find(self._space.points(records), strata)
            return self.centroids_[groups]

    def score(
        self, X: TableLike, y: TableLike | None = None, strata: TableLike | None = None
    ) -> float:
        """Return the negative information loss of `transform` on `X`, in the scaled space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        strata : array-like, Series or DataFrame, default=None
            The stratum of each record, if there were strata in `fit`.

        Returns
        -------
        score : float
            The negative sum of squared distances between the records and the centroids that
            `transform` assigns to them, as a share of the total sum of squares of `X`; 0 if that is
            0. Higher is better.
        """
        records = self._check_new_records(X)
        with complete_model(self):
            scaled = self._space.points(records)
            groups = self._find(scaled, strata)
            errors = squared_error(scaled, self._cells.centroids, groups)
        # Subtract, to avoid -0.0.
        return 0.0 - share_of_total(errors, scaled)

    def _find(self, scaled: Floats, strata: TableLike | None) -> Labels:
        return find_cells(self._cells, scaled, self.n_jobs, self._strata, strata)

    def _check_new_records(self, X: TableLike) -> Any:
        check_is_fitted(self)
        check_has_cells(self)
        X = without_mask(X)
        check_no_hidden_numbers(X)
        with complete_model(self), cells_explained(X):
            check_n_jobs(self.n_jobs)
            return validate_data(
                self, X, dtype=FLOATS, order="C", ensure_all_finite="allow-nan", reset=False
            )

    def _round(self) -> None:
        pairs = zip(self.rounding_.items(), self._auto_rounding, strict=True)
        self.rounding_ = {
            name: auto if finer_than(auto, own.decimals) else own for (name, own), auto in pairs
        }
        self.centroids_ = rounded(self.centroids_, [*self.rounding_.values()])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
