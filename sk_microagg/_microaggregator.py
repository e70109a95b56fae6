"""The estimator: parameters, state and transform. Algorithms live in builders and refiners."""

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._exactness import KnowsTrainingData, digest, warn_if_training_data
from sk_microagg._groups import group_means, group_sizes, share_of_total, squared_error
from sk_microagg._kernels import Pool
from sk_microagg._microaggregate import make_builder, make_refiner, own_copy, partition
from sk_microagg._power import power_weights
from sk_microagg._sklearn_compat import CallbackSupportMixin, with_callbacks
from sk_microagg._validation import check_k, check_option, check_records

FLOATS = (np.float64, np.float32)

# So many rows are transformed by one thread.
FEW_ROWS = 10_000


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

    refiner : {"exchange", "local_search", "iterated_local_search", "decompose", \
            "decompose_shrink"}, Refiner, list or None, default="exchange"
        Improves the partition: the name of a method, any object with
        `refine(X, labels, k, random_state=) -> labels`, a list of such that take their turns, or
        None to take the partition as it was built. "exchange" is fast and makes `transform` exact;
        "iterated_local_search" takes longer, loses less and is exact as well.

    scaler : "standard", transformer or None, default="standard"
        The space in which records are compared: standardised columns, any transformer that takes
        an array, or with None the columns as they are. The release is in the units of `X`.

    random_state : int, RandomState instance or None, default=None
        Handed to the refiner. Builders leave nothing to chance, nor does "exchange".

    n_jobs : int or None, default=None
        Number of threads of `transform`, and of parallel jobs of a refiner that has this parameter
        and leaves it at None. The result does not depend on it.

    verbose : int, default=0
        Verbosity of a refiner that has the parameter and leaves it at 0.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of each training record.

    centroids_ : ndarray of shape (n_groups_, n_features_in_)
        Mean of each group's records, in the units of `X` and of its float type.

    group_sizes_ : ndarray of shape (n_groups_,)
        Number of training records in each group, at least `k`.

    n_groups_ : int
        Number of groups.

    sse_ : float
        Sum of squared distances to the centroids, in the scaled space.

    information_loss_ : float
        `sse_` as a share of the total sum of squares in the scaled space, from 0 to 1.

    weights_ : ndarray of shape (n_groups_,)
        Power weight of each group: `transform` sends a record to the group for which the squared
        distance to its centroid, less its weight, is least. All are 0, which means the nearest
        centroid, if there are no weights that send every training record to its own group.

    exact_transform_ : bool
        Whether `transform` gives every training record the centroid of its own group.

    n_iter_ : int
        Iterations that the refiner reports; 0 without one.

    builder_, refiner_, scaler_ : objects
        The builder, the refiner and the fitted scaler that were used; None where there is none.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
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

    Three things can stand in the way. Identical records may be in different groups: `transform`
    cannot tell them apart, and sends all of them to one of these groups; no other record moves.
    Other refiners, or none, may make groups that are no power diagram: `transform` then takes the
    nearest centroid. And where scaled values differ by seven orders of magnitude or more, weights
    may lack the digits. In each case `exact_transform_` is False, `transform` of the training data
    need not be k-anonymous, and it warns if it is given them; a copy of the model, pickled or not,
    does not know them.

    A fitted model holds centroids, weights, sizes and labels, no training record. Two things to
    know before you ship one: with `k=1`, and for a record that `k` or more people share, the
    centroid *is* the record; and a scaler keeps statistics of the columns, StandardScaler means and
    variances, others also single values (RobustScaler medians, QuantileTransformer quantiles). With
    a scaler that is not linear, such as a logarithm, means in both spaces together tell more than
    the release: ship the release, not the model, or scale linearly.

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
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.k = k
        self.builder = builder
        self.refiner = refiner
        self.scaler = scaler
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y=None):
        """Partition the records into groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        self : MicroAggregator
            The fitted estimator.
        """
        records = check_records(X, dtype=FLOATS, estimator=self)
        k = check_k(self.k, len(records))
        builder = make_builder(self.builder)
        refiner = make_refiner(self.refiner, n_jobs=self.n_jobs, verbose=self.verbose)
        scaler = _make_scaler(self.scaler)

        if scaler is not None:
            scaler.fit(records.astype(np.float64))
        scaled = _scale(scaler, records)
        task = self._init_callback_context(max_subtasks=1)
        task.call_on_fit_task_begin(estimator=self, X=X)
        labels = partition(scaled, k, builder, refiner, self.random_state, task)
        centroids = group_means(records, labels).astype(records.dtype, copy=False)
        scaled_centroids = group_means(scaled, labels)
        sse = squared_error(scaled, scaled_centroids, labels)
        information_loss = share_of_total(sse, scaled)
        weights = np.zeros(len(centroids))
        n_moved = _n_moved(scaled, scaled_centroids, weights, centroids, labels)
        power = power_weights(scaled, labels) if n_moved else None
        if power is not None:
            n_moved_by_power = _n_moved(scaled, scaled_centroids, power, centroids, labels)
            # Rounding can spoil weights where values differ by many orders of magnitude.
            if n_moved_by_power <= n_moved:
                weights, n_moved = power, n_moved_by_power
        exact_transform = n_moved == 0
        training_digest = None if exact_transform else digest(records)
        task.call_on_fit_task_end(estimator=self, X=X)

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        validate_data(self, X, skip_check_array=True)
        self.builder_ = builder
        self.refiner_ = refiner
        self.scaler_ = scaler
        self.labels_ = labels
        self.group_sizes_ = group_sizes(labels)
        self.n_groups_ = len(centroids)
        self.centroids_ = centroids
        self.weights_ = weights
        self.sse_ = sse
        self.information_loss_ = information_loss
        self.exact_transform_ = exact_transform
        self.n_iter_ = getattr(refiner, "n_iter_", 0)
        self._scaled_centroids = scaled_centroids
        self._training_digest = training_digest
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
        check_is_fitted(self)
        records = validate_data(self, X, dtype=FLOATS, order="C", reset=False)
        warn_if_training_data(records, self._training_digest)
        return self.centroids_[self._assign(_scale(self.scaler_, records))]

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
        check_is_fitted(self)
        scaled = _scale(self.scaler_, validate_data(self, X, dtype=FLOATS, order="C", reset=False))
        groups = self._assign(scaled)
        # Subtracted, since -0.0 would look odd.
        return 0.0 - share_of_total(squared_error(scaled, self._scaled_centroids, groups), scaled)

    def _assign(self, scaled):
        """Group of each record, by the power diagram."""
        n_parts = min(effective_n_jobs(self.n_jobs), -(-len(scaled) // FEW_ROWS))
        parts = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(_cells)(part, self._scaled_centroids, self.weights_)
            for part in np.array_split(scaled, n_parts)
        )
        return np.concatenate(parts)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _make_scaler(scaler):
    if isinstance(scaler, str):
        check_option("scaler", scaler, ("standard",))
        return StandardScaler()
    if scaler is None:
        return None
    return own_copy("scaler", scaler, ("fit", "transform"), "'standard', None or ")


def _scale(scaler, records):
    if scaler is None:
        return check_records(records)
    # A copy, since a scaler may work in place.
    scaled = scaler.transform(records.astype(np.float64))
    scaled = check_records(scaled, name=f"X scaled by {type(scaler).__name__}")
    if len(scaled) != len(records):
        raise ValueError(
            f"scaler={scaler!r} made {len(scaled)} records of {len(records)}; "
            "it must keep their number."
        )
    return scaled


def _cells(points, centroids, weights):
    """The cell of the power diagram that each point is in."""
    return Pool(centroids, weights=weights).nearest_each(points)


def _n_moved(scaled, scaled_centroids, weights, centroids, labels):
    """Number of training records to which `transform` gives another centroid than the release."""
    groups = _cells(scaled, scaled_centroids, weights)
    moved = np.flatnonzero(groups != labels)
    return int((centroids[groups[moved]] != centroids[labels[moved]]).any(axis=1).sum())
