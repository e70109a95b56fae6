"""The estimator: parameters, state and transform. Algorithms live in builders and refiners."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._blocks import aggregate, check_block_size
from sk_microagg._microaggregate import Method, make_builder, make_refiner
from sk_microagg._utils._scaling import make_scaler, own_floats, rounding_of, scale
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._utils._statistics import (
    loss_share,
    share_of_total,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg._utils._training_digest import KnowsTrainingData, digest, warn_if_training_data
from sk_microagg._utils._validation import (
    check_k,
    check_n_jobs,
    check_no_hidden_numbers,
    check_option,
    check_records,
    check_verbose,
)
from sk_microagg._utils._version import __version__, complete_model

FLOATS = (np.float64, np.float32)


class MicroAggregator(
    CallbackSupportMixin, KnowsTrainingData, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Make numeric records k-anonymous by microaggregation.

    The records are partitioned into groups of at least `k`, and each is replaced by the centroid of
    its group, with as little information loss as possible.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group. With 1 the release is the data itself.

    builder : {"mdav", "cbfs", "tfrp", "gsms", "dbfs"} or Builder, default="mdav"
        Makes the partition: the name of a method, or any object with `build(X, k) -> labels`.

    refiner : {"exchange", "local_search", "iterated_local_search", "annealing", \
            "recombination", "decompose", "decompose_shrink"}, Refiner, list or None, \
            default="exchange"
        Improves the partition: the name of a method, any object with
        `refine(X, labels, k, random_state=) -> labels`, a list of such that take their turns, or
        None to take the partition as it was built. "exchange" is fast and makes `transform` exact;
        "iterated_local_search", "annealing" and "recombination" take longer, lose ever less and
        are exact as well.

    scaler : "standard", transformer or None, default="standard"
        The space in which records are compared: standardized columns, any transformer that takes
        an array, or with None the columns as they are. The release is in the units of `X`.

    block_size : "auto", int or None, default="auto"
        Largest number of records that are microaggregated together, give or take 2k. More are cut
        into blocks, by a kd-tree of cuts next to the median, of at least 2k records each. "auto" is
        5000 `k`, a size at which blocks take little time and cuts cost little; None makes one block
        of all records.

    stitch : bool, default=False
        Whether groups exchange records across the cuts between blocks in the end. It wins back
        most of what the cuts cost, and takes longer than the blocks.

    random_state : int, RandomState instance or None, default=None
        Handed to the refiner. Builders leave nothing to chance, nor does "exchange".

    n_jobs : int or None, default=None
        Number of blocks at a time, of threads of `transform`, and of parallel jobs of a refiner
        that has this parameter and leaves it at None. Blocks run in threads, or on the backend of
        `joblib.parallel_config`. The result does not depend on it.

    verbose : int, default=0
        Verbosity of joblib over several blocks, or of a refiner that has the parameter and leaves
        it at 0.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record.

    centroids_ : ndarray of shape (`n_groups_`, `n_features_in_`)
        Mean of each group's records, in the units of `X` and of its float type.

    group_sizes_ : ndarray of shape (`n_groups_`,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    n_blocks_ : int
        Number of blocks that the records were cut into; 1 after `stitch`.

    sse_ : float
        Sum of squared distances to the centroids, in the scaled space.

    information_loss_ : float
        `sse_` as a share of the total sum of squares in the scaled space, from 0 to 1.

    weights_ : ndarray of shape (`n_groups_`,)
        Power weight of each group: `transform` sends a record to the group for which the squared
        distance to its centroid, less its weight, is least, among the groups of its block. All of
        a block are 0, which means the nearest centroid, if there are no weights that send every
        training record to its own group.

    exact_transform_ : bool
        Whether `transform` gives every training record the centroid of its own group.

    n_iter_ : int
        Iterations that the refiner reports, in all blocks; 0 without one.

    builder_, refiner_, scaler_ : objects
        The builder, the refiner and the fitted scaler that were used; None where there is none.
        Several blocks have copies of builder and refiner, which share a time limit.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if `X` has names that are all strings.

    See Also
    --------
    microaggregate : The same on a bare array, without scaling.
    sk_microagg.metrics.anonymity_level : Check of a release.

    Notes
    -----
    `fit_transform` is the release: every row occurs in it at least `k` times. `transform` sends a
    record, usually a new one, to the group in whose power cell it falls, and so to a group that
    already holds `k` training records. With the default refiner the groups are the cells of a power
    diagram, and `transform` of the training data is the release: `exact_transform_` is True.

    Four things can stand in the way. Identical records may be in different groups: `transform`
    cannot tell them apart, and sends all of them to one of these groups; no other record moves.
    Other refiners, or none, may make groups that are no power diagram: `transform` then takes the
    nearest centroid. Where scaled values differ by seven orders of magnitude or more, weights may
    lack the digits. And a scaler may round a row differently when it comes alone. In each case
    `exact_transform_` is False, `transform` of the training data need not be k-anonymous, and it
    warns if it is given them; a copy of the model, pickled or not, does not know them.

    New rows that `transform` sends to groups are k-anonymous together with the release, not by
    themselves. Two releases of one table, at different `k` say, can give whole records back.

    A fitted model holds centroids, weights, sizes, labels and the cuts between blocks; no training
    record. Weights and cuts are coarse numbers that no single record decides on, so that
    no record can be computed from them. Two things to know before you ship a model: with `k=1`,
    and for a record that `k` or more people share, the centroid *is* the record; and a scaler
    keeps statistics of the columns, StandardScaler means and variances, others also single values
    (MinMaxScaler and MaxAbsScaler extremes, RobustScaler medians, QuantileTransformer quantiles).
    With a scaler that is not linear, such as a logarithm, means in both spaces together tell more
    than the release: ship the release, not the model, or scale linearly.

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
        k=5,
        *,
        builder="mdav",
        refiner="exchange",
        scaler="standard",
        block_size="auto",
        stitch=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.k = k
        self.builder = builder
        self.refiner = refiner
        self.scaler = scaler
        self.block_size = block_size
        self.stitch = stitch
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y=None):
        """Partition the records into groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, all numbers: no value is missing, infinite or masked, and dates have been
            converted.

        y : None
            Ignored.

        Returns
        -------
        self : MicroAggregator
            The fitted estimator.
        """
        records = check_records(X, dtype=FLOATS, estimator=self)
        k = check_k(self.k, len(records))
        block_size = check_block_size(self.block_size, k)
        check_option("stitch", self.stitch, (False, True))
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        method = Method(
            k,
            make_builder(self.builder),
            make_refiner(self.refiner, n_jobs=self.n_jobs, verbose=self.verbose),
        )
        scaler = make_scaler(self.scaler)

        if scaler is not None:
            scaler.fit(own_floats(scaler, records))
        scaled = scale(scaler, records)
        task = self._init_callback_context(max_subtasks=1)
        task.call_on_fit_task_begin(estimator=self, X=X)
        labels, groups, cells = aggregate(
            records,
            scaled,
            rounding_of(scaler, records, scaled),
            method,
            self.random_state,
            block_size=block_size,
            stitch=self.stitch,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            task=task,
        )
        information_loss = loss_share(groups.sse, total_sum_of_squares(scaled))
        exact_transform = groups.n_moved == 0
        training_digest = None if exact_transform else digest(records)
        task.call_on_fit_task_end(estimator=self, X=X)

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        validate_data(self, X, skip_check_array=True)
        self.builder_ = method.builder
        self.refiner_ = method.refiner
        self.scaler_ = scaler
        self.labels_ = labels
        self.group_sizes_ = groups.sizes
        self.n_groups_ = len(groups.sizes)
        self.n_blocks_ = cells.router.n_blocks
        self.centroids_ = groups.centroids
        self.weights_ = groups.weights
        self.sse_ = groups.sse
        self.information_loss_ = information_loss
        self.exact_transform_ = exact_transform
        self.n_iter_ = groups.n_iter
        self._cells = cells
        self._training_digest = training_digest
        self._sk_microagg_version = __version__
        return self

    def fit_transform(self, X, y=None):
        """Partition the records and return the release.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        release : ndarray of shape (n_samples, n_features)
            The centroid of each record's group: every row occurs at least `k` times. float32 if
            `X` is, otherwise float64.
        """
        self.fit(X)
        return self.centroids_[self.labels_]

    def fit_predict(self, X, y=None):
        """Partition the records and return the group of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.
        """
        return self.fit(X).labels_

    def transform(self, X):
        """Replace each record by the centroid of the group that it falls in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records, usually new ones. The release of the training data is what `fit_transform`
            returns.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            A centroid for each record, exactly as in the release: also its float type is that of
            the training data.
        """
        records = self._check_new_records(X)
        with complete_model(self):
            warn_if_training_data(records, self._training_digest)
            return self.centroids_[self._cells.find(scale(self.scaler_, records), self.n_jobs)]

    def score(self, X, y=None):
        """Minus the information loss of `transform` on `X`, in the scaled space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        score : float
            Minus the sum of squared distances from the records to the centroids that `transform`
            gives them, as a share of the total sum of squares of `X`; 0 if that is 0. Higher is
            better.
        """
        records = self._check_new_records(X)
        with complete_model(self):
            scaled = scale(self.scaler_, records)
            groups = self._cells.find(scaled, self.n_jobs)
            errors = squared_error(scaled, self._cells.centroids, groups)
        # Subtracted, since -0.0 would look odd.
        return 0.0 - share_of_total(errors, scaled)

    def _check_new_records(self, X):
        check_is_fitted(self)
        check_no_hidden_numbers(X)
        with complete_model(self):
            check_n_jobs(self.n_jobs)
            return validate_data(self, X, dtype=FLOATS, order="C", reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
