"""Strata: parts of a table that no group crosses."""

import numpy as np

from sk_microagg._utils._printable import printable
from sk_microagg._utils._seeds import seeds_of_parts
from sk_microagg._utils._tables import cells_of, is_null
from sk_microagg.privacy._columns import RoleColumns


class Strata:
    """The strata of a table, by their values.

    A stratum is a value, or a combination of values of several columns. All missing values are
    equal.

    Parameters
    ----------
    strata : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        The stratum of each record.

    n_records : int
        Number of records that it must have.

    Attributes
    ----------
    numbers : ndarray of shape (n_samples,)
        Number of the stratum of each record, from 0 in the order in which they first occur.

    Examples
    --------
    >>> from sk_microagg.privacy._strata import Strata
    >>> strata = Strata(["north", "south", "north"], 3)
    >>> strata.numbers
    array([0, 1, 0])
    >>> strata.numbers_of(["south"], 1)
    array([1])
    """

    def __init__(self, strata, n_records):
        self._number_of = {}
        self.numbers = np.array(
            [
                self._number_of.setdefault(key, len(self._number_of))
                for key in _keys(strata, n_records)
            ]
        )

    def __len__(self):
        return len(self._number_of)

    def numbers_of(self, strata, n_records):
        """Return the numbers of the strata of other records."""
        keys = _keys(strata, n_records)
        unknown = set(keys) - self._number_of.keys()
        if unknown:
            shown = ", ".join(sorted(map(_words, unknown))[:5])
            raise ValueError(
                f"strata has unknown values, {shown}: every stratum must be one of those in fit."
            )
        return np.array([self._number_of[key] for key in keys], dtype=np.intp)

    def without_records(self):
        """Return the strata without the numbers of the records, for a fitted model."""
        kept = object.__new__(Strata)
        kept._number_of = self._number_of
        return kept

    def rows_of_all(self):
        """Return the records of each stratum."""
        order = np.argsort(self.numbers, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.numbers))[:-1])

    def parts(self, method, random_state, rules):
        """Yield the records of each stratum, and its share of a method, seed and rules."""
        seeds = seeds_of_parts(method.seed(random_state), len(self))
        for rows, seed in zip(self.rows_of_all(), seeds, strict=True):
            share = len(rows) / len(self.numbers)
            yield rows, method.with_share_of_time(share), seed, rules.of(rows)

    def check(self, k, rules):
        """Raise an error if a stratum has fewer than `k` records, or violates a rule as a whole."""
        for key, rows in zip(self._number_of, self.rows_of_all(), strict=True):
            if len(rows) < k:
                raise ValueError(
                    f"strata: stratum {_words(key)} has {len(rows)} records, and must have at "
                    f"least k={k}. Merge it with another stratum."
                )
            for rule in rules.of(rows).rules:
                everything = np.zeros(len(rows), dtype=np.intp)
                if not rule.is_met(everything).all():
                    raise ValueError(
                        f"strata: stratum {_words(key)} of {len(rows)} records violates "
                        f"{rule.name} even as one group: its figure is "
                        f"{rule.figures(everything)[0]:.6g}. Merge it with another stratum."
                    )


def _keys(strata, n_records):
    columns = RoleColumns(strata, n_records, "strata").all_values()
    cells = [[None if is_null(cell) else cell for cell in cells_of(column)] for column in columns]
    return list(zip(*cells, strict=True))


def _words(key):
    return ", ".join(printable("missing" if value is None else repr(value)) for value in key)
