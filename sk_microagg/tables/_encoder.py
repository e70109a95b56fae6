"""A whole table as points, and groups of points as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal, Self

from sk_microagg._model._points import Points
from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._tables import texts_of, warn_of_similar_values
from sk_microagg._utils._typing import Array, DataFrame, Floats, Labels
from sk_microagg.tables._coding import TableCoding, find_treatments, survey_table
from sk_microagg.tables._columns import Line
from sk_microagg.tables._forms import ReleasedShares
from sk_microagg.tables._frames import is_missing
from sk_microagg.tables._hierarchy import Hierarchy

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
        treatments = find_treatments(
            dict(table.items()), dict(kinds), dict(orders), dict(hierarchies), dict(decimals)
        )
        surveys = survey_table(table, treatments, units)
        coding = TableCoding.from_surveys(
            surveys, treatments, k, categories="shares" if shares else "mode"
        )
        self._fit(coding, coding.encode(table), weights, units)

    @classmethod
    def from_coding(
        cls,
        coding: TableCoding,
        numbers: Floats,
        weights: Mapping[Any, float] | tuple[()] = (),
        units: Array | None = None,
    ) -> Self:
        """The encoder of records that are given as numbers, whose columns are known already."""
        encoder = cls.__new__(cls)
        encoder._fit(coding, numbers, weights, units)
        return encoder

    def _fit(self, coding: TableCoding, numbers: Floats, weights: Any, units: Any) -> None:
        self.k, self.columns = coding.k, coding.columns
        self.coordinates = coding.fit_space(numbers, weights, units)

    def without_space(self) -> Self:
        """A copy that formats records, and knows nothing of their points."""
        encoder = copy(self)
        del encoder.coordinates
        encoder.columns = [column.without_coordinates() for column in self.columns]
        return encoder

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
            if isinstance(column, Line)
            else column.loss(table[column.name], labels)
            for column in self.columns
        }

    def formatted(
        self, table: DataFrame, *, categories: Literal["mode", "shares", "generalize"] = "mode"
    ) -> dict[Any, DataFrame]:
        """Records as they are, in the columns of the release, by the name of each column."""
        formatted = {}
        for column in self.columns:
            cells = table[column.name]
            if categories == "shares" and not isinstance(column, Line):
                shares = ReleasedShares(column)
                formatted[column.name] = shares.cells(shares.indicators(column.numbers(cells)))
            else:
                formatted[column.name] = cells.reset_index(drop=True).to_frame()
        return formatted


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
