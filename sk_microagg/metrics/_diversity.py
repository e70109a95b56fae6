"""What groups of a release tell of columns that are released as they are."""

import numpy as np
from sklearn.utils import check_consistent_length

from sk_microagg._utils._tables import as_table, columns_of
from sk_microagg.metrics._classes import codes_of, row_classes


def homogeneity(release, sensitive):
    """Share of the records that are in groups which agree in a column, as with one diagnosis.

    Whoever knows that a person is in such a group knows the value of the person, however many
    records the group has. A group is a class of equal rows of the release.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_samples, n_features)
        The columns that were anonymized, as they are released: numbers, text or both.

    sensitive : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        A column that is released as it is, or several, in the same order of records. A missing
        value is a value like others. Of dask DataFrames with the same partitions, the workers do
        the counting.

    Returns
    -------
    share : float or ndarray of shape (n_columns,)
        From 0, where no group agrees, to 1, where all do; lower is safer. For several columns, one
        share per column.

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
    if type(release).__module__.startswith("dask."):
        from sk_microagg.scale._homogeneity import distributed_homogeneity

        return distributed_homogeneity(release, sensitive)
    classes = row_classes(release, "release")
    columns, is_one = _columns_of(sensitive)
    check_consistent_length(classes, columns[0])
    shares = np.array([_share_that_agrees(classes, codes_of(column)) for column in columns])
    return float(shares[0]) if is_one else shares


def _columns_of(sensitive):
    """The columns, and whether it is one that was given alone."""
    table = as_table(sensitive)
    if len(np.shape(table)) == 1:
        return [table if hasattr(table, "to_list") else np.asarray(table)], True
    return columns_of(table, "sensitive"), False


def _share_that_agrees(classes, codes):
    some_code = np.empty(classes.max() + 1, dtype=codes.dtype)
    some_code[classes] = codes
    differs = np.zeros(len(some_code), dtype=bool)
    differs[classes[codes != some_code[classes]]] = True
    return np.mean(~differs[classes])
