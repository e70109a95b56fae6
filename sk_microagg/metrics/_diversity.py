"""What the groups of a release disclose about columns that are released unchanged."""

import numpy as np
from sklearn.utils import check_consistent_length

from sk_microagg._utils._tables import as_table, columns_of
from sk_microagg.metrics._classes import codes_of, is_on_dask, row_classes


def homogeneity(release, sensitive):
    """Share of the records in homogeneous groups, which share one value of a sensitive column.

    An intruder who knows that a person is in such a group learns the person's value, for example
    the diagnosis, however large the group is. A group is a class of equal rows of the release.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_samples, n_features)
        The columns that were anonymized, as they are released: numbers, text or both.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        One or several columns that are released unchanged, with the records in the same order. A
        missing value counts as a value. Dask DataFrames must have the same partitions; their
        workers do the counting.

    Returns
    -------
    share : float or ndarray of shape (n_columns,)
        From 0, where no group is homogeneous, to 1, where all are; lower is safer. For several
        columns, one share per column.

    See Also
    --------
    anonymity_level : Size of the smallest group.

    Examples
    --------
    >>> from sk_microagg.metrics import homogeneity
    >>> release = [[31, "Bonn"], [31, "Bonn"], [52, "*"], [52, "*"], [52, "*"]]
    >>> homogeneity(release, ["flu", "flu", "gout", "flu", "gout"])
    0.4
    >>> homogeneity(release, [["flu", 1], ["flu", 1], ["gout", 1], ["flu", 1], ["gout", 1]])
    array([0.4, 1. ])
    """
    if is_on_dask(release):
        from sk_microagg.metrics._on_dask import homogeneity_on_dask  # Dask is an extra.

        return homogeneity_on_dask(release, sensitive)
    classes = row_classes(release, "release")
    columns, is_one = _columns_of(sensitive)
    check_consistent_length(classes, columns[0])
    shares = np.array([_homogeneous_share(classes, codes_of(column)) for column in columns])
    return float(shares[0]) if is_one else shares


def _columns_of(sensitive):
    """The columns, and whether a single one was given."""
    table = as_table(sensitive)
    if len(np.shape(table)) == 1:
        return [table if hasattr(table, "to_list") else np.asarray(table)], True
    return columns_of(table, "sensitive"), False


def _homogeneous_share(classes, codes):
    some_code = np.empty(classes.max() + 1, dtype=codes.dtype)
    some_code[classes] = codes
    differs = np.zeros(len(some_code), dtype=bool)
    differs[classes[codes != some_code[classes]]] = True
    return np.mean(~differs[classes])
