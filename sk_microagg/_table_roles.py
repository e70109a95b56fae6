"""What each column of a table is for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import DataFrame, Series

# More than any float has, before or after the point.
MOST_DECIMALS = 400


@dataclass(frozen=True)
class TableRoles:
    """The columns of a table by their roles; the unit is one of those that do not come out."""

    quasi_identifiers: list[Any]
    sensitive: list[Any]
    strata: list[Any]
    unit: Any
    released: list[Any]
    dropped: list[Any]
    weight: Any = None
    keeps_weight: bool = False

    @property
    def unchanged(self) -> list[Any]:
        """Columns that are released as they are, in the order of the table."""
        averaged = [] if self.weight is None or self.keeps_weight else [self.weight]
        changed = [*self.quasi_identifiers, *averaged]
        return [name for name in self.released if name not in changed]

    @property
    def exposed(self) -> list[Any]:
        """Unchanged columns that an intruder may know: all but sensitive ones and the weight.

        The estimators warn of weights that identify people.
        """
        return [n for n in self.unchanged if n not in self.sensitive and n != self.weight]

    def strata_of(self, table: DataFrame) -> DataFrame | None:
        """The columns whose values no group mixes, or None if there are none."""
        return table[self.strata] if self.strata else None

    def by_position(self, names: list[Any]) -> "TableRoles":
        """The same roles, with columns by their positions instead of their names."""
        lists = self.quasi_identifiers, self.sensitive, self.strata, self.released, self.dropped
        identifiers, sensitive, strata, released, dropped = (
            [names.index(name) for name in those] for those in lists
        )
        unit = None if self.unit is None else names.index(self.unit)
        return TableRoles(identifiers, sensitive, strata, unit, released, dropped)

    @classmethod
    def from_estimator(cls, estimator: Any, names: list[Any]) -> Self:
        """Check the roles that the parameters of an estimator give to columns."""
        quasi_identifiers = estimator.quasi_identifiers
        given = {
            role: as_names(getattr(estimator, role, None), role, names)
            for role in ("sensitive", "unit", "strata", "weight", "drop")
        }
        for role in ("unit", "weight"):
            if len(given[role]) > 1:
                raise ValueError(f"{role}={getattr(estimator, role)!r} must be one column or None.")
        is_auto = isinstance(quasi_identifiers, str) and quasi_identifiers == "auto"
        if not is_auto or "auto" in names:
            given["quasi_identifiers"] = as_names(quasi_identifiers, "quasi_identifiers", names)
        check_one_role(given)
        others = {name for columns in given.values() for name in columns}
        if "quasi_identifiers" not in given:
            given["quasi_identifiers"] = [name for name in names if name not in others]
        if not given["quasi_identifiers"]:
            raise ValueError(
                f"quasi_identifiers={quasi_identifiers!r} leaves no column to anonymize: at least "
                "one must have no other role."
            )
        dropped = {*given["unit"], *given["drop"]}
        return cls(
            given["quasi_identifiers"],
            given["sensitive"],
            given["strata"],
            given["unit"][0] if given["unit"] else None,
            [name for name in names if name not in dropped],
            [name for name in names if name in dropped],
            given["weight"][0] if given["weight"] else None,
            getattr(estimator, "weight_release", None) == "keep",
        )


def as_names(value: Any, parameter: str, names: list[Any]) -> list[Any]:
    """Return a name, or a list of names, as a list; raise an error for an unknown one."""
    if value is None:
        return []
    if hasattr(value, "tolist"):  # of NumPy or pandas
        value = value.tolist()
    if not isinstance(value, list | tuple | set | frozenset) or (
        isinstance(value, tuple) and value in names
    ):
        value = [value]
    for name in value:
        if name not in names:
            raise ValueError(f"{parameter} names {name!r}, but the columns are {list(names)}.")
    return [name for name in names if name in value]


def check_decimals(decimals: Any, names: list[Any], units: Iterable[str] = ()) -> dict[Any, Any]:
    """Return the decimals of columns by their names; `units` are those of dates."""
    if isinstance(decimals, dict):
        as_names(list(decimals), "decimals", names)
    else:
        decimals = dict.fromkeys(names, decimals)
    for name, number in decimals.items():
        is_integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
        is_integer = is_integer and abs(number) <= MOST_DECIMALS
        is_word = isinstance(number, str) and number in ("auto", *units)
        if not (is_integer or is_word or number is None):
            or_unit = ", a unit of dates as 'day'" if units else ""
            raise ValueError(
                f"decimals={number!r} for column {name!r} must be an integer from -{MOST_DECIMALS} "
                f"to {MOST_DECIMALS}, 'auto'{or_unit}, or None."
            )
    return decimals


def check_one_role(given: Mapping[str, Iterable[Any]]) -> None:
    """Raise an error if a column has several roles, of a dict from roles to columns."""
    seen: dict[Any, str] = {}
    for role, columns in given.items():
        for name in columns:
            if name in seen:
                raise ValueError(
                    f"Column {name!r} is in both {seen[name]} and {role}: it must have one role."
                )
            seen[name] = role


def check_released_names(released: dict[Any, DataFrame], roles: TableRoles) -> None:
    """Raise an error if two columns of a release have the same name."""
    names = roles.unchanged
    for name, columns in released.items():
        for own in columns.columns:
            if own in names:
                raise ValueError(
                    f"Column {name!r} would be released as {own!r}, which is the name of another "
                    "column: rename one of them."
                )
            names.append(own)


def joined_columns(released: Mapping[Any, DataFrame]) -> DataFrame:
    """What groups are released as, in one table."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    rows = list(released.values())
    names = [name for each in rows for name in each.columns]
    joined = pandas.concat([each.set_axis(range(each.shape[1]), axis=1) for each in rows], axis=1)
    # A tuple is a name of its own.
    return joined.set_axis(pandas.Index(names, tupleize_cols=False), axis=1)


def replace_columns(
    table: DataFrame, unchanged: list[Any], columns: dict[Any, DataFrame]
) -> DataFrame:
    """Columns of a table, some unchanged, and others with new ones in their places."""
    cells, names = [], []
    for position, name in enumerate(table.columns):
        if name in columns:
            cells += [column.set_axis(table.index) for _, column in columns[name].items()]
            names += list(columns[name].columns)
        elif name in unchanged:
            cells.append(_without_unused_categories(table.iloc[:, position]))
            names.append(name)
    replaced = type(table)(dict(enumerate(cells)), index=table.index)
    old = [position for position, name in enumerate(table.columns) if name in names]
    if len(old) == len(names):
        replaced.columns = table.columns[old]
    else:
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        # A tuple is a name of its own.
        replaced.columns = pandas.Index(names, name=table.columns.name, tupleize_cols=False)
    return replaced


def _without_unused_categories(column: Series) -> Series:
    """The column without unordered categories that nobody has: they may be of people left out."""
    if hasattr(column.dtype, "categories") and not getattr(column.dtype, "ordered", True):
        return column.cat.remove_unused_categories()
    return column
