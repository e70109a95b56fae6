"""A whole table as points, and groups of points as rows of a table."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from sk_microagg._model._points import Points
from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._formatting import in_a_list
from sk_microagg._utils._rounding import Rounding, Spread, about_finer
from sk_microagg._utils._statistics import Members, group_means, loss_share, without_single
from sk_microagg._utils._tables import import_extra, kind_of, texts_of, warn_of_similar_values
from sk_microagg._utils._typing import Array, DataFrame, Floats, Labels, Series
from sk_microagg.tables._categories import CategoryColumn
from sk_microagg.tables._coordinates import ON_A_LINE, Coordinates, numbers_of
from sk_microagg.tables._dates import DateColumn
from sk_microagg.tables._frames import is_missing
from sk_microagg.tables._hierarchy import Hierarchy
from sk_microagg.tables._numbers import NumberColumn, group_averages
from sk_microagg.tables._ordinals import OrdinalColumn
from sk_microagg.tables._recoding import group_intervals
from sk_microagg.tables._trees import HierarchyColumn

# How messages begin, for those who filter them.
LOST = "Column .* (is released as missing almost everywhere|has mostly values that fewer than)"

# How they end.
ADVICE = "Name it in drop, or generalize it: hierarchies, with categories='generalize'."

# A column is lost if more of its known cells are released as missing.
LARGEST_SHARE = 0.9

# It is said of a column if more of its cells have rare values.
MOST_RARE = 0.5


class TableEncoder:
    """Columns of any kind as coordinates.

    The coordinates of a column have a total variance of 1 for numbers, ordinal values and dates,
    and of 0.75 for categories, or of 1 if they are released as shares; times its weight.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns, of the records that the variance refers to.

    k : int
        Categories that fewer records share have no coordinate of their own.

    units : ndarray of shape (n_records,) or None, default=None
        Who each record belongs to, numbered from 0; None if each belongs to somebody else.

    kinds : dict, default=()
        Kinds of columns by their names, where they do not follow from their types.

    orders : dict, default=()
        By the name of an ordinal column, its values, lowest first.

    hierarchies : dict, default=()
        By the name of a column, its hierarchy.

    weights : dict, default=()
        By the name of a column, its weight; 1 for others.

    decimals : dict, default=()
        By the name of a column of numbers, the decimals in the release; "auto" for others.

    shares : bool, default=False
        Whether categories are released as shares.

    Attributes
    ----------
    columns : list
        An object per column, of one of the classes for its kind.

    coordinates : Coordinates
        The space of the points.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_microagg.tables import TableEncoder
    >>> table = pd.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "m", "m", "f"]})
    >>> TableEncoder(table, k=2).points(table).round(2)
    array([[-1.34,  0.  ],
           [-0.45,  1.73],
           [ 0.45,  1.73],
           [ 1.34,  0.  ]])
    """

    def __init__(
        self,
        table: DataFrame,
        k: int,
        *,
        units: Array | None = None,
        kinds: Mapping[Any, str] | tuple[()] = (),
        orders: Mapping[Any, Sequence[Any]] | tuple[()] = (),
        hierarchies: Mapping[Any, Hierarchy] | tuple[()] = (),
        weights: Mapping[Any, float] | tuple[()] = (),
        decimals: Mapping[Any, Any] | tuple[()] = (),
        shares: bool = False,
    ) -> None:
        about = dict(kinds), dict(orders), dict(hierarchies), dict(decimals)
        self.k = k
        self.columns = [_make_column(table[name], k, units, *about) for name in table.columns]
        numbers = numbers_of(table, self.columns)
        self.coordinates = Coordinates(
            self.columns, k, dict(weights), numbers, units=units, shares=shares
        )

    def points(self, table: DataFrame) -> Points:
        """The points of records.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        Returns
        -------
        points : ndarray of shape (n_records, n_coordinates) or SparsePoints
            The points: numbers, ranks and dates first, then indicators of missing
            values, then categories.
        """
        return self.coordinates.points(self.coordinates.numbers(table))

    def losses(
        self, table: DataFrame, labels: Labels, sums: Mapping[Any, tuple[float, float]]
    ) -> dict[Any, float]:
        """What each column loses, from 0 to 1, given what `Coordinates.sums_of_squares` returns.

        It is the share of its variance that groups lose; for categories, how often two records of
        the same group differ, relative to any two of the table.
        """
        return {
            column.name: loss_share(*sums[column.name])
            if isinstance(column, ON_A_LINE)
            else column.loss(table[column.name], labels)
            for column in self.columns
        }

    def released(
        self,
        table: DataFrame,
        labels: Labels,
        *,
        numbers: Literal["mean", "median", "interval"] = "mean",
        categories: Literal["mode", "shares", "generalize"] = "mode",
        units: Array | None = None,
        weights: Floats | None = None,
    ) -> dict[Any, DataFrame]:
        """By the name of each column, a table with the row that each group is released as.

        `units` say who each record belongs to, and `weights` how often each counts in means, shares
        and most frequent values; None if each belongs to somebody else, and for once. This decides
        how averages are rounded.
        """
        members, released = Members(labels, units, weights), {}
        for column in self.columns:
            cells = table[column.name]
            is_on_a_line = isinstance(column, ON_A_LINE)
            if is_on_a_line and numbers == "interval":
                rows = group_intervals(column, cells, members, self.k)[0]
            elif is_on_a_line:
                values = column.values(cells)
                known = without_single(values, labels, units)
                spread = Spread.within(known[:, None], labels).deviations()[0]
                column.find_rounding(known, spread)
                averages = group_averages(values, members, numbers, cells)
                rows = column.released(averages, cells)
            elif categories == "mode":
                rows = column.modes(cells, members, self.k)
            elif categories == "generalize":
                rows = column.generalized(cells, members)
            else:
                names, indicators = column.shares(cells)
                released[column.name] = _frame(names, group_means(indicators, labels, weights))
                continue
            released[column.name] = rows.to_frame()
        return released

    def generalization_loss(
        self, table: DataFrame, labels: Labels, units: Array | None = None
    ) -> float:
        """The mean loss per cell of a release of intervals and common nodes, as KAIM measures it.

        It is from 0 to 1. Missing cells lose nothing.
        """
        members, lost = Members(labels, units), []
        for column in self.columns:
            cells = table[column.name]
            if isinstance(column, ON_A_LINE):
                _, losses = group_intervals(column, cells, members, self.k)
            else:
                losses = column.generalization_losses(cells, members)
            lost.append(np.where(is_missing(cells), 0.0, losses[labels]).mean())
        return float(np.mean(lost))

    def formatted(
        self, table: DataFrame, *, categories: Literal["mode", "shares", "generalize"] = "mode"
    ) -> dict[Any, DataFrame]:
        """Records as they are, in the columns of the release, by the name of each column."""
        formatted = {}
        for column in self.columns:
            cells = table[column.name]
            if categories == "shares" and not isinstance(column, ON_A_LINE):
                formatted[column.name] = _frame(*column.shares(cells))
            else:
                formatted[column.name] = cells.reset_index(drop=True).to_frame()
        return formatted


def _frame(names: list[str], values: Floats) -> DataFrame:
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    return pandas.DataFrame(values, columns=names)


def _make_column(
    column: Series, k: int, units: Any, kinds: Any, orders: Any, hierarchies: Any, decimals: Any
) -> Any:
    name = column.name
    if name in hierarchies:
        return HierarchyColumn(column, k, hierarchies[name], units)
    if name in orders:
        return OrdinalColumn(column, k, orders[name], units)
    kind = kinds.get(name) or kind_of(column)
    if is_missing(column).all():
        kind = "category"
    if kind == "number":
        return NumberColumn(column, decimals.get(name, "auto"))
    if kind == "ordinal":
        return OrdinalColumn(column, k, units=units)
    if kind == "date":
        return DateColumn(column, decimals.get(name, "auto"))
    category = CategoryColumn(column, k, units)
    category.kind = kind
    return category


def warn_of_similar_texts(table: DataFrame) -> None:
    """Warn of columns of text in which values differ only in case, spaces or forms of letters."""
    for name, column in table.items():
        warn_of_similar_values(f"Column {name!r}", texts_of(column))


def warn_of_lost_columns(
    table: DataFrame,
    released: Mapping[Any, DataFrame],
    labels: Labels,
    rare_shares: Mapping[Any, float],
    k: int,
) -> None:
    """Warn of columns in which almost all values differ, so that hardly any can be released.

    Also of those whose values are mostly rare: groups do not keep them together, and since they
    have no coordinates, the loss is low although nothing is left of them.
    """
    for name, rows in released.items():
        is_known = ~is_missing(table[name])
        is_lost = is_missing(rows.iloc[:, 0])[labels]
        # Where most cells are missing, a release that is missing is right.
        if is_known.mean() > 0.5 and is_lost[is_known].mean() > LARGEST_SHARE:
            warn_user(
                f"Column {name!r} is released as missing almost everywhere: its values differ, and "
                f"those that few people have are not released. {ADVICE}",
            )
        elif rare_shares.get(name, 0.0) > MOST_RARE:
            warn_user(
                f"Column {name!r} has mostly values that fewer than {k} people share: groups do "
                f"not keep these together, and the information loss does not count them. {ADVICE}",
            )


def find_roundings(columns: Sequence[Any], weight: Any) -> dict[Any, Rounding]:
    """How averages of groups are rounded, by the name of each column of numbers or dates.

    Warn of averages that are finer than "auto" would make them; with a weight, refuse them.
    """
    averaged = [column for column in columns if isinstance(column, ON_A_LINE)]
    finer = {column.name: column.finer_than for column in averaged if column.finer_than}
    if finer and weight is not None:
        names = in_a_list([f"{name!r} ({rounding})" for name, rounding in finer.items()])
        raise ValueError(
            f"decimals must not be finer than 'auto' if there is a weight, here {weight!r}, since "
            f"weights tell apart whose values are in a mean. It is finer for {names}."
        )
    if finer:
        warn_user(about_finer(finer))
    return {column.name: column.rounding for column in averaged if column.rounding}
