"""Constraints beyond k for tables on Dask: what the whole table tells, and the values of rows.

Values of sensitive columns and units travel with the rows of the columns that are anonymized, as
numbers: the position of a value among the different ones of the table, and a hash of the unit.
"""

from dataclasses import dataclass, field

import dask
import numpy as np
import pandas as pd

from sk_microagg.privacy import DistinctUnits, LDiversity, Rules, TCloseness
from sk_microagg.privacy._counts import GroupCounts
from sk_microagg.privacy._rules import Rule

MERGED_AT_A_TIME = 4

# A hash travels as a float, which has 53 bits. Units that share one by chance count as one unit, so
# that a group may have more units than are counted, but not fewer.
BITS_LOST = np.uint64(11)


@dataclass(frozen=True)
class Values:
    """The different values of a sensitive column, and how often each occurs.

    Attributes
    ----------
    known : pandas.Index
        The different values, in the order in which they first occur.

    counts : ndarray of shape (n_different,), int64
        How often they occur; the last one is for missing values, if there are any.
    """

    known: pd.Index
    counts: np.ndarray

    @classmethod
    def of_part(cls, column):
        """Count the values of one part of the table."""
        codes, known = pd.factorize(plain(column))  # missing values have code -1
        counts = np.bincount(codes + 1, minlength=len(known) + 1)
        return cls(pd.Index(known), np.roll(counts, -1))

    @classmethod
    def merged(cls, parts):
        """The values of several parts together."""
        known = [pd.Series(one.counts[:-1], index=one.known) for one in parts if len(one.known)]
        n_missing = sum(one.counts[-1] for one in parts)
        if not known:
            return cls(parts[0].known, np.array([n_missing], dtype=np.int64))
        counts = pd.concat(known).groupby(level=0, sort=False).sum()
        return cls(counts.index, np.array([*counts, n_missing], dtype=np.int64))

    def as_column(self):
        """Every value once, in the order of `counts`."""
        if self.counts[-1] == 0:
            return self.known.to_series(index=range(len(self.known)))
        return pd.Series([*self.known.astype(object), None], dtype=object)

    def positions(self, column):
        """Position of the values of some rows in `counts`."""
        column = plain(column)
        positions = self.known.get_indexer(column)
        is_missing = column.isna().to_numpy()
        if (positions[~is_missing] < 0).any() or (is_missing.any() and self.counts[-1] == 0):
            raise RuntimeError(
                f"X has values of {column.name!r} that it did not have before: X changed on the "
                "way. It must give the same rows each time that it is computed."
            )
        return np.where(is_missing, len(self.known), positions)


def plain(column):
    """A column of numbers or dates as it is, and of any other type as objects."""
    is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufmM"
    return column if is_plain else column.astype(object)


def keys_of(column):
    """A hash of each unit; all missing ones are one unit."""
    codes, different = pd.factorize(column)
    # As text, so that a number is the same unit as an integer and as a float.
    text = pd.Series(["missing", *map(_as_text, different)], dtype=object)
    keys = pd.util.hash_pandas_object(text, index=False).to_numpy() >> BITS_LOST
    return keys[codes + 1].astype(np.float64)


def _as_text(unit):
    if isinstance(unit, float | np.floating) and unit.is_integer():
        unit = int(unit)
    return f"{'text' if isinstance(unit, str) else 'other'} {unit}"


@dataclass(frozen=True)
class Roles:
    """What each group must satisfy beyond its size.

    Attributes
    ----------
    k : int
        Smallest number of different units in a group.

    unit : str or None
        The column that says who a row belongs to.

    values : dict
        By the name of each sensitive column, its `Values`.

    rules : tuple of Rule
        For each constraint a rule about the different values of its column, each taken once.

    columns : tuple
        For each rule the name of its column.
    """

    k: int
    unit: object
    values: dict = field(repr=False)
    rules: tuple = ()
    columns: tuple = ()

    @property
    def names(self):
        """Columns whose values travel with the rows."""
        return [*self.values, *([] if self.unit is None else [self.unit])]

    def encode(self, frame):
        """The values of some rows as floats, a column for each name."""
        encoded = [values.positions(frame[name]) for name, values in self.values.items()]
        if self.unit is not None:
            encoded.append(keys_of(frame[self.unit]))
        return np.column_stack(encoded).astype(np.float64)

    def rules_of(self, encoded):
        """The rules for rows, given their encoded values."""
        rules = []
        if self.unit is not None:
            codes = np.unique(encoded[:, -1], return_inverse=True)[1].astype(np.int32)
            constraint = DistinctUnits(self.k)
            rules.append(
                Rule(constraint, constraint.describe(f"column {self.unit!r}"), codes, None)
            )
        numbers = {name: number for number, name in enumerate(self.values)}
        for rule, name in zip(self.rules, self.columns, strict=True):
            rules.append(rule.of(encoded[:, numbers[name]].astype(np.intp)))
        return Rules(tuple(rules))


def find_roles(frame, k, constraints, unit):
    """Count what the constraints need of the whole table; raise an error if it violates one.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    k : int
        Smallest number of different units in a group.

    constraints : dict
        By the name of each sensitive column, its constraints.

    unit : str or None
        The column that says who a row belongs to.

    Returns
    -------
    roles : Roles
        The roles.
    """
    names = [*constraints, *([] if unit is None else [unit])]
    count, merge = dask.delayed(_count, pure=False), dask.delayed(_merged, pure=False)
    counted = [count(part, list(constraints), unit, k) for part in frame[names].to_delayed()]
    while len(counted) > 1:
        counted = [
            merge(counted[start : start + MERGED_AT_A_TIME], k)
            for start in range(0, len(counted), MERGED_AT_A_TIME)
        ]
    [(values, keys)] = dask.compute(*counted)
    if unit is not None and len(keys) < k:
        raise ValueError(DistinctUnits(k).why_impossible(len(keys), f"unit column {unit!r}"))
    values = dict(zip(constraints, values, strict=True))
    pairs = [(name, constraint) for name, those in constraints.items() for constraint in those]
    rules = tuple(_rule(constraint, name, values[name]) for name, constraint in pairs)
    return Roles(k, unit, values, rules, tuple(name for name, _ in pairs))


def _count(frame, sensitive, unit, k):
    """Values of the sensitive columns, and up to k different units."""
    keys = np.empty(0) if unit is None else np.unique(keys_of(frame[unit]))[:k]
    return [Values.of_part(frame[name]) for name in sensitive], keys


def _merged(counted, k):
    values, keys = zip(*counted, strict=True)
    return list(map(Values.merged, zip(*values, strict=True))), np.unique(np.concatenate(keys))[:k]


def _rule(constraint, name, values):
    words = f"sensitive column {name!r}"
    codes, table = constraint.prepare(values.as_column())
    counts = np.zeros(len(codes), dtype=np.int64)
    counts[codes] = values.counts[: len(codes)]
    if isinstance(constraint, TCloseness):
        table = type(table)(counts)
    else:
        [figure] = constraint.measure_counts(GroupCounts.of_one(counts))
        if not constraint.accepts(figure):
            raise ValueError(constraint.why_impossible(figure, words))
    return Rule(constraint, constraint.describe(words), codes, table)


def constraints_by_column(privacy, sensitive, dtypes):
    """Group constraints by the sensitive columns that they are about.

    Parameters
    ----------
    privacy : list of Constraint
        The constraints.

    sensitive : list
        Names of the sensitive columns.

    dtypes : mapping
        Types of the columns.

    Returns
    -------
    constraints : dict
        By name of a column its constraints, for columns that have any.
    """
    by_column = {}
    for constraint in privacy:
        _check_known(constraint)
        name = constraint.column
        if name is None and len(sensitive) == 1:
            [name] = sensitive
        if name not in sensitive:
            raise ValueError(
                f"column={constraint.column!r} must be one of the columns of "
                f"sensitive={sensitive!r}."
            )
        by_column.setdefault(name, []).append(constraint)
        if getattr(dtypes[name], "ordered", False) and isinstance(constraint, TCloseness):
            raise ValueError(
                f"sensitive column {name!r} has type {dtypes[name]}, whose order may differ by "
                "partition: convert it to numbers or text."
            )
    return by_column


def _check_known(constraint):
    is_known = type(constraint) is LDiversity or (
        type(constraint) is TCloseness and isinstance(constraint.distance, str)
    )
    if not is_known:
        raise TypeError(
            f"privacy={constraint!r} needs all records together: on Dask, it must be LDiversity, "
            "or TCloseness with a distance of 'auto', 'ordered' or 'equal'."
        )
