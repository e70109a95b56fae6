"""Columns of a table that have a role: sensitive ones, units, strata."""

from collections.abc import Hashable, Iterable, Mapping, Set
from numbers import Number
from typing import Any

import numpy as np

from sk_microagg._utils._formatting import printable
from sk_microagg._utils._tables import (
    check_types,
    columns_of,
    is_frame,
    is_null,
    texts_of,
    warn_of_similar_values,
)
from sk_microagg.privacy._codes import as_column


class RoleColumns:
    """One or several columns, by name or number."""

    def __init__(self, sensitive: Any, n_records: int, parameter: str = "sensitive") -> None:
        self._parameter = parameter
        if isinstance(sensitive, str | bytes | Mapping | Set) or not hasattr(sensitive, "__len__"):
            raise TypeError(
                f"{parameter} must be an array, a Series or a DataFrame with a value per record, "
                f"got {type(sensitive).__name__}."
            )
        if is_frame(sensitive) and sensitive.shape[1] == 0:
            raise ValueError(f"{parameter} has no columns: it must have at least 1.")
        if is_frame(sensitive):
            self._names = list(sensitive.columns)
            self._columns = columns_of(sensitive, parameter)
        else:
            values = as_column(sensitive)
            if len(np.shape(values)) == 1:
                self._names = [getattr(values, "name", None) or None]
                self._columns = [values]
            else:
                self._columns = [
                    as_column(column.tolist() if column.dtype == object else column)
                    for column in columns_of(values, parameter)
                ]
                self._names = [None] * len(self._columns)
        for number, column in enumerate(self._columns):
            if column.dtype == object:
                known = (cell for cell in column if not is_null(cell))
                types = {*map(type, known)}
                check_types(types, self.words(number))
                if parameter == "unit":
                    check_one_kind(types)
        n_given = len(self._columns[0])
        if n_given != n_records:
            raise ValueError(
                f"{parameter} has {n_given} records: it must have those of X, {n_records}."
            )

    def only(self) -> int:
        """Number of the single column."""
        if len(self._columns) > 1:
            raise ValueError(f"{self._parameter} has {len(self._columns)} columns: it must have 1.")
        return 0

    def has(self, column: Hashable) -> bool:
        return column is not None and column in self._names

    def numbers_of(self, constraint: Any) -> list[int]:
        """Numbers of the columns that a constraint is about: all if it names none."""
        column = getattr(constraint, "column", None)
        if column is None and not constraint.is_about_amounts:
            return list(range(len(self._columns)))
        return [self.number_of(column)]

    def number_of(self, column: Hashable) -> int:
        """Number of the column that a constraint selects."""
        n_columns = len(self._columns)
        if column is None:
            if n_columns > 1:
                raise ValueError(
                    f"column=None must be the name or number of one of the {n_columns} columns of "
                    f"{self._parameter}."
                )
            return 0
        if not isinstance(column, Hashable):
            raise TypeError(
                f"column={column!r} must be the name or number of a column, got "
                f"{type(column).__name__}."
            )
        if self._names.count(column) > 1:
            raise ValueError(
                f"column={column!r} is the name of several columns of {self._parameter}: names "
                "must differ."
            )
        if column in self._names:
            return self._names.index(column)
        if isinstance(column, int | np.integer) and column in range(n_columns):
            return int(column)
        names = [repr(printable(name)) for name in self._names if name is not None]
        allowed = ", ".join(names) or f"a number from 0 to {n_columns - 1}"
        raise ValueError(
            f"column={column!r} is not a column of {self._parameter}: it must be "
            f"{'one of ' if len(names) > 1 else ''}{allowed}."
        )

    def all_values(self) -> list[Any]:
        return self._columns

    def values(self, number: int) -> Any:
        return self._columns[number]

    def warn_of_similar_texts(self) -> None:
        """Warn of columns in which texts differ only in case, spaces or forms of letters."""
        for number, (name, column) in enumerate(zip(self._names, self._columns, strict=True)):
            words = f"The {self.words(number)}" if name is None else f"Column {printable(name)!r}"
            warn_of_similar_values(words, texts_of(column))

    def words(self, number: int) -> str:
        """The column in messages, after "the"."""
        name = self._names[number]
        if name is not None:
            return f"{self._parameter} column {printable(name)!r}".lstrip()
        return f"{self._parameter} column" + (f" {number}" if len(self._columns) > 1 else "")


def check_one_kind(types: Iterable[type]) -> None:
    """Raise an error unless the types of units are of one kind: 1 and "1" may be one person."""
    kinds = sorted({_kind_of(kind) for kind in types})
    if len(kinds) > 1:
        raise ValueError(
            f"unit: people must be named by values of one kind, but there are "
            f"{' and '.join(kinds)}. A number and the same digits as text may be one person."
        )


def _kind_of(kind: type) -> str:
    if issubclass(kind, str):
        return "texts"
    is_boolean = issubclass(kind, bool | np.bool_)
    return "numbers" if issubclass(kind, Number) and not is_boolean else kind.__name__
