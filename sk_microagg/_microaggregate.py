"""From records to a partition: builder, then refiner, each checked."""

from sklearn.base import clone

from sk_microagg._validation import check_k, check_option, check_partition, check_records
from sk_microagg.builders import CBFS, DBFS, GSMS, MDAV, TFRP

BUILDERS = {"mdav": MDAV, "cbfs": CBFS, "tfrp": TFRP, "gsms": GSMS, "dbfs": DBFS}


def microaggregate(X, k, *, builder="mdav", refiner=None, random_state=None):
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

    refiner : Refiner or None, default=None
        Improves the partition: any object with `refine(X, labels, k, random_state=) -> labels`.

    random_state : int, RandomState instance or None, default=None
        Handed to the refiner. Builders leave nothing to chance.

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
    return partition(X, k, make_builder(builder), make_refiner(refiner), random_state)


def partition(X, k, builder, refiner, random_state):
    """Build a partition of checked records and refine it; raise if any group is below `k`."""
    X = X.view()
    X.flags.writeable = False  # They are the user's records, and the release is made from them.
    labels = check_partition(builder.build(X, k), k, len(X), f"builder={builder!r}")
    if refiner is None:
        return labels
    refined = refiner.refine(X, labels, k, random_state=random_state)
    return check_partition(refined, k, len(X), f"refiner={refiner!r}")


def make_builder(builder):
    """Return a builder of its own for each call, from a name or an object."""
    if isinstance(builder, str):
        check_option("builder", builder, BUILDERS)
        return BUILDERS[builder]()
    return own_copy("builder", builder, ("build",), f"one of {', '.join(map(repr, BUILDERS))} or ")


def make_refiner(refiner, **defaults):
    """Return a refiner of its own for each call, from an object, or None.

    `defaults` are put on parameters that the refiner has and leaves at None or 0.
    """
    if refiner is None:
        return None
    refiner = own_copy("refiner", refiner, ("refine",), "None or ")
    if hasattr(refiner, "get_params"):
        own = refiner.get_params()
        refiner.set_params(**{name: v for name, v in defaults.items() if not own.get(name, True)})
    return refiner


def own_copy(parameter, value, methods, alternatives):
    """Clone an object given as a parameter, or say which method it lacks."""
    for method in methods:
        if isinstance(value, type) or not callable(getattr(value, method, None)):
            raise TypeError(
                f"{parameter}={value!r} must be {alternatives}an object with the method {method!r}."
            )
    return clone(value, safe=False)
