"""Partition records: run the builder, then the refiner, and validate the result of each."""

from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Real

from sklearn.base import clone

from sk_microagg._utils._sklearn_compat import CallbackSupportMixin
from sk_microagg._utils._validation import (
    check_k,
    check_option,
    check_partition,
    check_records,
    own_copy,
)
from sk_microagg.builders import BUILDERS, Optimal1D
from sk_microagg.refiners import REFINERS, make_chain


def microaggregate(X, k, *, builder="mdav", refiner="auto", random_state=None):
    """Partition records into groups of at least `k` with little information loss.

    Columns are not scaled: scale them first if their units differ, or use
    :class:`MicroAggregator`, which does.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    k : int
        Minimum group size, from 1 to `n_samples`.

    builder : {"mdav", "cbfs", "tfrp", "gsms", "dbfs", "path_optimal", "optimal_1d"} or Builder, \
            default="mdav"
        Builds the initial partition: the name of a builder, or any object with a method
        `build(X, k) -> labels`. A single column is always partitioned optimally, by
        :class:`~sk_microagg.builders.Optimal1D`: builder and refiner are then ignored.

    refiner : {"auto", "exchange", "local_search", "iterated_local_search", "annealing", \
            "recombination", "decompose", "decompose_shrink"}, Refiner, list or None, \
            default="auto"
        Improves the partition: the name of a refiner, any object with a method
        `refine(X, labels, k, random_state=) -> labels`, a list of these to be applied in sequence,
        or None to use the partition as built.

    random_state : int, RandomState instance or None, default=None
        Source of randomness, passed to the refiner. Pass an int for reproducible results.
        Builders, "exchange" and, also without a seed, "auto" always give the same result: if one
        table were released in two different partitions, the groups of both could be intersected.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    See Also
    --------
    MicroAggregator : Transformer that scales the columns and returns the release.

    Examples
    --------
    >>> from sk_microagg import microaggregate
    >>> microaggregate([[0.0, 2.0], [1.0, 2.0], [9.0, 5.0], [11.0, 5.0], [4.0, 3.0]], k=2)
    array([1, 1, 0, 0, 1])
    """
    X = check_records(X)
    k = check_k(k, len(X))
    method = Method(k, make_builder(builder), make_refiner(refiner)).for_columns(X.shape[1])
    return method.partition(X, random_state)[0]


@dataclass(frozen=True)
class Method:
    """How to partition records into groups of at least `k`: a builder, and a refiner or None."""

    k: int
    builder: object
    refiner: object

    def partition(self, X, random_state, task=None):
        """Build and refine a partition; raise an error if any group is smaller than `k`.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The records, already validated.

        random_state : int, RandomState instance or None
            Source of randomness, passed to the refiner.

        task : CallbackContext or None, default=None
            The task that the refiner becomes a part of, for callbacks.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.

        n_iter : int
            Number of iterations of the refiner; 0 if it has no `n_iter_`.
        """
        X = X.view()
        X.flags.writeable = False  # These are the user's records.
        labels = self._check(self.builder.build(X, self.k), X, f"builder={self.builder!r}")
        if self.refiner is None:
            return labels, 0
        part = nullcontext()
        if task is not None and isinstance(self.refiner, CallbackSupportMixin):
            part = task.subcontext(task_name="refine").propagate_callback_context(self.refiner)
        with part:
            refined = self.refiner.refine(X, labels, self.k, random_state=random_state)
        labels = self._check(refined, X, f"refiner={self.refiner!r}")
        return labels, getattr(self.refiner, "n_iter_", 0)

    def seed(self, random_state):
        """Return the random state, or what stands for None with this refiner."""
        if random_state is None:
            return getattr(self.refiner, "default_seed", None)
        return random_state

    def _check(self, labels, X, source):
        return check_partition(labels, self.k, len(X), f"{source} returned labels")

    def for_columns(self, n_columns):
        """Return the method for a table: the optimum if it has a single column, else this one."""
        return Method(self.k, Optimal1D(), None) if n_columns == 1 else self

    def for_a_block(self, share_of_time=1.0):
        """Return a copy for one block, with a share of the refiner's time limits.

        It is silent and uses one thread: the other threads work on other blocks.
        """
        refiner = clone(self.refiner, safe=False)
        for parameter, value in _parameters(refiner).items():
            name = parameter.rsplit("__", 1)[-1]
            if name == "time_limit" and _is_positive(value):
                refiner.set_params(**{parameter: value * share_of_time})
            elif name in ("n_jobs", "verbose"):
                refiner.set_params(**{parameter: None if name == "n_jobs" else 0})
        return Method(self.k, clone(self.builder, safe=False), refiner)


def make_builder(builder):
    """Return a new builder, from a name or an object."""
    if isinstance(builder, str):
        check_option("builder", builder, BUILDERS)
        return BUILDERS[builder]()
    return own_copy("builder", builder, ("build",), f"one of {', '.join(map(repr, BUILDERS))} or ")


def make_refiner(refiner, **defaults):
    """Return a new refiner, from a name, an object, a list of these, or None.

    `defaults` replace `n_jobs` and `verbose` of the refiner, and of refiners nested in it, where
    these have their default values.
    """
    if refiner is None:
        return None
    if isinstance(refiner, str):
        check_option("refiner", refiner, REFINERS)
        refiner = REFINERS[refiner]()
    elif isinstance(refiner, list) and refiner:
        if any(step is None for step in refiner):
            raise TypeError(
                f"refiner={refiner!r} must hold names and refiners only: None stands for no "
                "refiner, and is not allowed in a list."
            )
        refiner = make_chain(*map(make_refiner, refiner))
    else:
        names = ", ".join(map(repr, REFINERS))
        refiner = own_copy("refiner", refiner, ("refine",), f"None, one of {names}, a list or ")
    for parameter, value in _parameters(refiner).items():
        name = parameter.rsplit("__", 1)[-1]
        if name in defaults and (value is None or (name == "verbose" and value in (0, False))):
            refiner.set_params(**{parameter: defaults[name]})
    return refiner


def _is_positive(value):
    """Whether a value is a valid time limit; the refiner rejects others."""
    return isinstance(value, Real) and not isinstance(value, bool) and value > 0


def _parameters(refiner):
    """Return the parameters of a refiner and of nested ones; none if it is not an estimator."""
    return refiner.get_params() if hasattr(refiner, "get_params") else {}
