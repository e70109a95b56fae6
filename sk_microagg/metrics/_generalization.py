"""Information loss of generalized tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

from sk_microagg._utils._places import in_rows
from sk_microagg._utils._tables import cells_of, columns_of, missing_cells
from sk_microagg._utils._typing import Array, Booleans, Floats, TableLike
from sk_microagg._utils._validation import check_option
from sk_microagg.generalization._mixed_table import MixedTable
from sk_microagg.tables._labels import ROOT, label_of


@overload
def generalization_loss(
    X: TableLike,
    release: TableLike,
    *,
    hierarchies: Mapping[Any, Any] | None = ...,
    level: Literal["table"] = ...,
) -> float: ...


@overload
def generalization_loss(
    X: TableLike,
    release: TableLike,
    *,
    hierarchies: Mapping[Any, Any] | None = ...,
    level: Literal["record", "cell"],
) -> Floats: ...


def generalization_loss(
    X: TableLike,
    release: TableLike,
    *,
    hierarchies: Mapping[Any, Any] | None = None,
    level: Literal["table", "record", "cell"] = "table",
) -> float | Floats:
    """Information loss of a generalized table.

    A cell that is released unchanged, known or missing, loses nothing. The loss of a category is
    the share of all leaves that lie below its node. The loss of a number is the width of its
    interval as a share of the column's range or, in a column of whole numbers, the share of the
    whole numbers of that range that lie in it: [30, 39] has ten. The loss of a known value that is
    released as the root is 1. The range of a column covers its values and all intervals of the
    release, which may extend beyond them.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original table. None, NaN, pandas.NA and "*" are missing.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The generalized table, as text in the format of :class:`~sk_microagg.KAIM`: labels of nodes,
        intervals such as "[30, 39]", and "*".

    hierarchies : dict or None, default=None
        Hierarchies of the columns, as for :class:`~sk_microagg.KAIM`.

    level : {"table", "record", "cell"}, default="table"
        Whether to return the loss of the table, of each record or of each cell.

    Returns
    -------
    loss : float, or ndarray of shape (n_samples,) or (n_samples, n_features)
        The loss of each cell, from 0 to 1; the mean over the cells of each record; or the mean over
        all cells.

    See Also
    --------
    sk_microagg.KAIM : Its `information_loss_` is the loss of its release, with the range that the
        release shows. That range is smaller only if the smallest or largest value of a column is
        released as "*" and lies in no released interval.

    Examples
    --------
    >>> from sk_microagg.metrics import generalization_loss
    >>> X = [[30, "M"], [39, "F"], [49, "F"]]
    >>> release = [["[30, 39]", "*"], ["[30, 39]", "*"], ["49", "F"]]
    >>> generalization_loss(X, release, level="cell")
    array([[0.5, 1. ],
           [0.5, 1. ],
           [0. , 0. ]])
    >>> generalization_loss(X, release)
    0.5
    """
    check_option("level", level, ("table", "record", "cell"))
    table = MixedTable(X, estimator=None)
    released = columns_of(release, "release")
    shape = (len(released[0]), len(released))
    if shape != table.missing.shape:
        raise ValueError(
            f"release of shape {shape} must have the shape of X, {table.missing.shape}."
        )
    domains = table.domains(table.hierarchies(hierarchies))
    lo, hi = table.encode(domains)
    losses = np.empty(shape)
    for j, (name, domain) in enumerate(zip(table.names, domains, strict=True)):
        keys = list(zip(lo[:, j], hi[:, j], _labels(released[j]), strict=True))
        covers = {key: _read(domain, *key) for key in dict.fromkeys(keys)}
        for i, key in enumerate(keys):
            if covers[key] is None:
                raise ValueError(
                    f"release has a value in column {name!r}, {in_rows([i])}, that does not stand "
                    "for the value in X."
                )
        domain.widen_to(covers.values())
        lost = {key: domain.loss_of(cover) for key, cover in covers.items()}
        losses[:, j] = [lost[key] for key in keys]
    losses[table.missing] = 0.0
    if level == "cell":
        return losses
    return losses.mean(axis=1) if level == "record" else float(losses.mean())


def _labels(column: Any) -> Array:
    labels = np.array([label_of(cell) for cell in cells_of(column)], dtype=object)
    labels[missing_cells(column)] = ROOT
    return labels


def _read(domain: Any, lo: int, hi: int, label: str) -> Any:
    """The generalized value with a label; None if it does not cover positions `lo` to `hi`."""
    if label == ROOT:
        return ()
    cover = domain.read(label, lo) if domain.n_leaves > 0 else None
    is_missing = (lo, hi) == domain.range_of(())
    return None if is_missing and cover != () else cover


def value_missing_rate(X: TableLike) -> float:
    """Share of the cells of a table that are missing.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The table. None, NaN, pandas.NA and "*" are missing.

    Returns
    -------
    rate : float
        The share, from 0 to 1.

    Examples
    --------
    >>> from sk_microagg.metrics import value_missing_rate
    >>> value_missing_rate([["a", 1], ["b", None], [None, None], ["a", 2]])
    0.375
    """
    return float(np.mean(_missing(X)))


def record_missing_rate(X: TableLike) -> float:
    """Share of the records of a table that have a missing value.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The table. None, NaN, pandas.NA and "*" are missing.

    Returns
    -------
    rate : float
        The share, from 0 to 1.

    Examples
    --------
    >>> from sk_microagg.metrics import record_missing_rate
    >>> record_missing_rate([["a", 1], ["b", None], [None, None], ["a", 2]])
    0.5
    """
    return float(np.mean(_missing(X).any(axis=1)))


def _missing(X: TableLike) -> Booleans:
    return np.column_stack([missing_cells(column) for column in columns_of(X, "X")])
