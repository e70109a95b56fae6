"""From records to a partition: builder, then refiner, each checked."""

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
from sk_microagg.builders import BUILDERS
from sk_microagg.refiners import REFINERS, make_chain


def microaggregate(X, k, *, builder="mdav", refiner="exchange", random_state=None):
    """Partition records into groups of at least `k` that lose little information.

    Records are compared as they are: scale the columns first if their units differ, or use
    :class:`MicroAggregator`, which does.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    k : int
        Smallest size of a group, from 1 to `n_samples`.

    builder : {"mdav", "cbfs", "tfrp", "gsms", "dbfs"} or Builder, default="mdav"
        Makes the partition: the name of a method, or any object with `build(X, k) -> labels`.

    refiner : {"exchange", "local_search", "iterated_local_search", "annealing", \
            "recombination", "decompose", "decompose_shrink"}, Refiner, list or None, \
            default="exchange"
        Improves the partition: the name of a method, any object with
        `refine(X, labels, k, random_state=) -> labels`, a list of such that take their turns, or
        None to take the partition as it was built.

    random_state : int, RandomState instance or None, default=None
        Handed to the refiner. Builders leave nothing to chance, nor does "exchange".

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    See Also
    --------
    MicroAggregator : The same as a transformer, with scaling and a release.

    Examples
    --------
    >>> from sk_microagg import microaggregate
    >>> microaggregate([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([1, 1, 0, 0, 1])
    """
    X = check_records(X)
    k = check_k(k, len(X))
    method = Method(k, make_builder(builder), make_refiner(refiner))
    return method.partition(X, random_state)[0]


@dataclass(frozen=True)
class Method:
    """A way to make a partition into groups of at least `k`: builder, then refiner or None."""

    k: int
    builder: object
    refiner: object

    def partition(self, X, random_state, task=None):
        """Build a partition of checked records and refine it; raise if any group is below `k`.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The records.

        random_state : int, RandomState instance or None
            Handed to the refiner.

        task : CallbackContext or None, default=None
            A task of which the work of the refiner becomes a part.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.

        n_iter : int
            Iterations that the refiner reports.
        """
        X = X.view()
        X.flags.writeable = False  # They are the user's records, and the release is made from them.
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

    def _check(self, labels, X, source):
        return check_partition(labels, self.k, len(X), f"{source} returned labels")

    def for_a_block(self, share_of_time=1.0):
        """A copy for some of the records, with a share of the refiner's time limits.

        It works in silence and in one thread: there are other blocks to keep the others busy.
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
    """Return a builder of its own for each call, from a name or an object."""
    if isinstance(builder, str):
        check_option("builder", builder, BUILDERS)
        return BUILDERS[builder]()
    return own_copy("builder", builder, ("build",), f"one of {', '.join(map(repr, BUILDERS))} or ")


def make_refiner(refiner, **defaults):
    """Return a refiner of its own for each call, from a name, an object, a list of them, or None.

    `defaults` are put on `n_jobs` and `verbose`, also of refiners within, that are left at None
    and 0.
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
                "refiner, and has no place in a list."
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
    """Whether a value is a time limit; what is not, is for the refiner to complain about."""
    return isinstance(value, Real) and not isinstance(value, bool) and value > 0


def _parameters(refiner):
    """Parameters of a refiner and of those within; of an object that is no estimator, none."""
    return refiner.get_params() if hasattr(refiner, "get_params") else {}
