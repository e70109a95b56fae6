"""The estimator for tables larger than memory: parameters, state and the order of the steps."""

import math
from contextlib import nullcontext
from numbers import Integral

import dask
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sk_microagg._blocks import block_seeds, check_block_size
from sk_microagg._microaggregate import Method, make_builder, make_refiner
from sk_microagg._model._router import Router
from sk_microagg._utils._files import TemporaryFolder, released_folder
from sk_microagg._utils._scaling import make_scaler, own_floats, rounding_of, scale
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._validation import check_count, check_k, check_option, check_verbose
from sk_microagg._utils._version import __version__, complete_model
from sk_microagg.metrics import anonymity_level
from sk_microagg.scale._bundles import Aggregate, Assign, make_bundles
from sk_microagg.scale._in_memory import InMemory
from sk_microagg.scale._on_disk import OnDisk
from sk_microagg.scale._parts import Parts, is_path
from sk_microagg.scale._release import read, write
from sk_microagg.scale._survey import Moments, Sample

SAMPLES_AT_A_TIME = 4

# From fewer rows, the sample would tell of single ones what whole columns are to tell: where they
# are, how wide they are and where to cut them.
SMALLEST_SAMPLE = 1000
SMALLEST_SAMPLE_IN_GROUPS = 20

# Dask's shuffle holds rows more than once, there and back.
COPIES_IN_MEMORY = 8


class DaskMicroAggregator(BaseEstimator):
    """Make numeric columns of a table larger than memory k-anonymous, on Dask.

    The same as :class:`~sk_microagg.MicroAggregator` in blocks: a kd-tree of cuts, fitted on a
    sample, sends each row to its block, and each block is microaggregated on its own, on whichever
    worker. It runs on the current :class:`dask.distributed.Client`, or in the threads of this
    process if there is none.

    Parameters
    ----------
    k : int, default=5
        Smallest size of a group.

    columns : list or None, default=None
        The columns to anonymize, the quasi-identifiers: numeric and complete. Others are released
        as they are. None for all.

    builder : str or Builder, default="mdav"
        Makes the groups of a block, as in :class:`~sk_microagg.MicroAggregator`.

    refiner : str, Refiner, list or None, default="exchange"
        Improves the groups of a block, as there. A time limit is for each block.

    scaler : "standard", transformer or None, default="standard"
        The space in which rows are compared, as there, but fitted on the sample.

    block_size : "auto", int or None, default="auto"
        Largest number of rows of a block, as there. The size is that of a block of the sample,
        multiplied by the rows that each stands for, so blocks may be a little larger. A block holds
        at least k rows of the sample, so the sample may have to be larger for small blocks.

    sample_size : int, default=250000
        Number of rows, drawn uniformly, on which scaler and cuts are fitted: at least 1000, and at
        least 20 `k`, since a smaller sample would tell of single rows. From no more than
        `sample_size` rows, the release is that of :class:`~sk_microagg.MicroAggregator`.

    shuffle : {"auto", "disk", "memory"}, default="auto"
        How rows come to their blocks: by way of files in `folder`, or by Dask's shuffle, which
        without a client may leave files of its own where temporary files go. "auto" takes the
        memory of the workers of a client if it is large enough. The release is the same.

    folder : path or None, default=None
        Where rows are kept on their way, and the fitted model for good; every worker must reach it.
        Rows are removed as soon as they have arrived. None for a temporary folder on this machine,
        which goes away with the estimator and the release.

    random_state : int, RandomState instance or None, default=None
        For the sample and the refiner. An int makes the release reproducible, on however many
        workers.

    verbose : int, default=0
        With 1, a line tells of each step.

    Attributes
    ----------
    n_rows_ : int
        Number of rows.

    n_groups_ : int
        Number of groups.

    n_blocks_ : int
        Number of blocks.

    block_sizes_ : ndarray of shape (`n_blocks_`,)
        Number of rows in each block: at least 2k, unless there is one block.

    smallest_group_ : int
        Number of rows in the smallest group, at least `k`.

    sse_ : float
        Sum of squared distances to the centroids, in the scaled space.

    information_loss_ : float
        `sse_` as a share of the total sum of squares in the scaled space, from 0 to 1.

    exact_transform_ : bool
        Whether `transform` gives every training row the centroid of its own group.

    n_iter_ : int
        Iterations that the refiner reports, in all blocks.

    scaler_ : object
        The fitted scaler, or None.

    n_features_in_ : int
        Number of columns that are anonymized.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names.

    See Also
    --------
    sk_microagg.MicroAggregator : For tables that fit into memory.

    Notes
    -----
    The number of rows of each block is known before any is released; a block with fewer than 2k is
    merged with its sibling. The level of anonymity of the whole release is counted as the last
    step, and nothing is released if it is below `k`.

    Results depend on the data, the order of the parts and the seed, not on workers that come and
    go: files are written whole or not at all, and work that is done twice gives the same.

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

    def __init__(
        self,
        k=5,
        *,
        columns=None,
        builder="mdav",
        refiner="exchange",
        scaler="standard",
        block_size="auto",
        sample_size=250_000,
        shuffle="auto",
        folder=None,
        random_state=None,
        verbose=0,
    ):
        self.k = k
        self.columns = columns
        self.builder = builder
        self.refiner = refiner
        self.scaler = scaler
        self.block_size = block_size
        self.sample_size = sample_size
        self.shuffle = shuffle
        self.folder = folder
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None):
        """Partition the rows into groups.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, or the Parquet folder that holds it.

        y : None
            Ignored.

        Returns
        -------
        self : DaskMicroAggregator
            The fitted estimator.
        """
        self._fit(Parts.of(X, self.columns))
        return self

    def fit_transform(self, X, y=None, *, path=None, npartitions=None):
        """Partition the rows and return the release.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, or the Parquet folder that holds it.

        y : None
            Ignored.

        path : path or None, default=None
            A Parquet folder to write the release to. It must not exist, and appears when the
            release is complete and k-anonymous. If `X` is a path, nobody can read the release who
            cannot read `X`.

        npartitions : int or None, default=None
            Number of partitions of the release; None for those of `X`.

        Returns
        -------
        release : dask DataFrame
            The table, row by row, with the centroid of its group in place of each row's `columns`.
        """
        with _written(path, npartitions, X) as folder:
            parts = Parts.of(X, self.columns)
            if path is not None:
                parts.check_names()
            way = self._fit(parts)
            release = self._release(parts, way, npartitions, folder, self._check_release)
        return release if path is None else read(path)

    def transform(self, X, *, path=None, npartitions=None):
        """Replace the columns of each row by the centroid of the group that it falls in.

        Parameters
        ----------
        X : dask DataFrame or path
            The table, usually of new rows, or the Parquet folder that holds it.

        path : path or None, default=None
            A Parquet folder to write the result to. It must not exist, and appears when it is
            complete.

        npartitions : int or None, default=None
            Number of partitions of the result; None for those of `X`.

        Returns
        -------
        X_new : dask DataFrame
            The table with a centroid in each row, exactly as in the release.
        """
        check_is_fitted(self)
        with _written(path, npartitions, X) as folder:
            parts = Parts.of(X, list(self.feature_names_in_))
            if path is not None:
                parts.check_names()
            with complete_model(self):
                way = self._way(sum(parts.lengths()), len(parts.columns))
                way.route(parts, self.scaler_, self._router)
                work = Assign(self.scaler_, self._model)
                way.work(work, self._bundles, np.arange(self.n_blocks_ + 1))
                moved = self._release(parts, way, npartitions, folder, lambda frame: None)
        return moved if path is None else read(path)

    def _fit(self, parts):
        """Find the groups; return the released rows, on their way back to their parts."""
        check_verbose(self.verbose)
        size = self._check_sample_size()
        method = Method(None, make_builder(self.builder), make_refiner(self.refiner))
        scaler = make_scaler(self.scaler)
        seed = self.random_state
        if not isinstance(seed, Integral):
            # Drawn once: work that a worker does again is to give the same.
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)

        sample = self._sample(parts, seed, size)
        method = Method(check_k(self.k, sample.n_rows), method.builder, method.refiner)
        smallest = 2 * method.k
        if scaler is not None:
            scaler.fit(own_floats(scaler, sample.rows))
        scaled = scale(scaler, sample.rows)
        rounding = rounding_of(scaler, sample.rows, scaled)
        share = len(sample.rows) / sample.n_rows
        router = Router.fit(
            scaled,
            check_block_size(self.block_size, method.k) * share,
            # A row of the sample stands for many, but is one person's.
            max(math.ceil(smallest * share), method.k),
            method.k,
        )
        self._say(f"{sample.n_rows} rows, {len(sample.rows)} sampled")

        way = self._way(sample.n_rows, len(parts.columns))
        n_rows, moments = zip(*way.route(parts, scaler, router), strict=True)
        sizes = np.sum(n_rows, axis=0)
        _check_rows(sample.n_rows, sizes.sum())
        router, new_block = router.without_small_blocks(sizes, smallest)
        edges = np.searchsorted(new_block, np.arange(router.n_blocks + 1))
        sizes = np.add.reduceat(sizes, edges[:-1])
        row_bytes = len(parts.columns) * parts.dtype.itemsize
        bundles = make_bundles(sizes, row_bytes, block_seeds(seed, router.n_blocks))
        self._say(f"{router.n_blocks} blocks of {sizes.min()} to {sizes.max()} rows")

        with TemporaryFolder(self.folder, "model-").removed_on_failure() as model:
            work = Aggregate(scaler, rounding, router, method, model)
            summaries = way.work(work, bundles, edges)
            _check_rows(sample.n_rows, sum(summary.n_rows for summary in summaries))
        if self.folder is not None:
            model.keep()
        sse = sum(summary.sse for summary in summaries)
        total = Moments.merged(moments).sum_of_squares
        self._say("groups are made")

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        self.n_features_in_ = len(parts.columns)
        self.feature_names_in_ = np.array(parts.columns, dtype=object)
        self.scaler_ = scaler
        self.n_rows_ = sample.n_rows
        self.n_blocks_ = router.n_blocks
        self.block_sizes_ = sizes
        self.n_groups_ = sum(summary.n_groups for summary in summaries)
        self.smallest_group_ = min(summary.smallest_group for summary in summaries)
        self.sse_ = sse
        self.information_loss_ = loss_share(sse, total)
        self.exact_transform_ = not any(summary.n_moved for summary in summaries)
        self.n_iter_ = sum(summary.n_iter for summary in summaries)
        self._dtype = parts.dtype
        self._router = router
        self._bundles = bundles
        self._model = model
        self._sk_microagg_version = __version__
        return way

    def _check_sample_size(self):
        size, k = check_count("sample_size", self.sample_size), check_k(self.k, math.inf)
        least = max(SMALLEST_SAMPLE, SMALLEST_SAMPLE_IN_GROUPS * k)
        if size < least:
            raise ValueError(
                f"sample_size={size} must be at least {least}, the larger of {SMALLEST_SAMPLE} and "
                f"{SMALLEST_SAMPLE_IN_GROUPS} k: a smaller sample would tell of single rows."
            )
        return size

    def _sample(self, parts, seed, size):
        samples = parts.map(Sample.of_part, seed, size)
        merge = dask.delayed(Sample.merged, pure=False)
        while len(samples) > 1:
            samples = [
                merge(samples[start : start + SAMPLES_AT_A_TIME], size)
                for start in range(0, len(samples), SAMPLES_AT_A_TIME)
            ]
        return dask.compute(*samples)[0]

    def _way(self, n_rows, n_columns):
        """The way of the rows to their blocks and back."""
        check_option("shuffle", self.shuffle, ("auto", "disk", "memory"))
        n_bytes = n_rows * (n_columns + 4) * 8 * COPIES_IN_MEMORY
        if self.shuffle == "memory" or (self.shuffle == "auto" and n_bytes < _memory_of_workers()):
            return InMemory()
        return OnDisk(self.folder)

    def _release(self, parts, way, npartitions, folder, check):
        """Put the rows into the table, and this into a folder if there is one."""
        frame = parts.with_released(way.released(), self._dtype, self._model)
        if npartitions is not None:
            frame = frame.repartition(npartitions=npartitions)
        check(frame if folder is None else write(frame, folder, parts.has_index()))
        return frame

    def _check_release(self, frame):
        level = anonymity_level(frame[list(self.feature_names_in_)])
        if level < self.k:
            raise RuntimeError(
                f"A row of the release occurs {level} times, fewer than k={self.k}: it was not "
                "released. Does X give the same rows each time that it is computed?"
            )
        self._say(f"released: every row occurs at least {level} times")

    def _say(self, what):
        if self.verbose:
            print(f"DaskMicroAggregator: {what}", flush=True)


def _written(path, npartitions, X):
    """Where to write to, before anything is done; None if nothing is to be written."""
    check_count("npartitions", npartitions, or_none=True)
    if path is None:
        return nullcontext()
    return released_folder(path, readers_of=X if is_path(X) else None)


def _check_rows(n_before, n_now):
    if n_before != n_now:
        raise RuntimeError(
            f"X had {n_before} rows and now has {n_now}: X changed on the way. It must give the "
            "same rows each time that it is computed."
        )


def _memory_of_workers():
    """Bytes that all workers of the current client may hold; 0 without a client."""
    try:
        from distributed import get_client

        workers = get_client().scheduler_info(n_workers=-1)["workers"]
    except (ImportError, ValueError):
        return 0
    return sum(worker["memory_limit"] or 0 for worker in workers.values())
