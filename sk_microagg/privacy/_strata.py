"""Strata: parts of a table that no group crosses."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from sk_microagg._utils._places import check_cells, found_in
from sk_microagg._utils._tables import cells_of, is_null
from sk_microagg._utils._typing import Array, Labels, RandomState
from sk_microagg._utils._validation import seeds_of_parts
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.privacy._rules import Rule, Rules


class StratumNames:
    """The values of strata, which a fitted model keeps, and nothing about their records.

    A stratum is a value, or a combination of values of several columns. All missing values are
    equal. Strata are numbered from 0.
    """

    def __init__(self, keys: Iterable[Hashable]) -> None:
        self._number_of: dict[Any, int] = {}
        for key in keys:
            self._number_of.setdefault(key, len(self._number_of))

    def __len__(self) -> int:
        return len(self._number_of)

    def numbers_of(self, strata: Any, n_records: int) -> Labels:
        """Return the number of the stratum of each record; an unknown stratum is an error."""
        return self.numbers_of_keys(keys_of(strata, n_records))

    def numbers_of_keys(self, keys: Sequence[Any]) -> Labels:
        """As `numbers_of`, for records whose strata are given by their keys."""
        check_cells(
            np.array([key not in self._number_of for key in keys], dtype=bool),
            "strata",
            ("is in a stratum that fit did not have", "are in strata that fit did not have"),
            noun="record",
        )
        return np.array([self._number_of[key] for key in keys], dtype=np.intp)

    def check_sizes(self, sizes: Iterable[int], k: int, numbers: Labels | None = None) -> None:
        """Raise an error if a stratum has fewer than `k` records; `numbers` are those of records.

        Without them, it is not known where these records are.
        """
        is_small = np.array([size < k for size in sizes], dtype=bool)
        with found_in(None) if numbers is None else nullcontext():
            check_cells(
                is_small if numbers is None else is_small[numbers],
                "strata",
                (
                    f"is in a stratum of fewer than k={k} records",
                    f"are in strata of fewer than k={k} records",
                ),
                noun="record",
                advice="Merge smaller strata with others.",
            )

    def check_figures(self, rule: Rule, figures: Array) -> None:
        """Raise an error if a stratum violates a rule as a whole, given its figure."""
        if not np.all(rule.constraint.accepts_each(figures)):
            raise ValueError(
                f"strata: a stratum violates {rule.name} even as one group. Merge it with another "
                "one."
            )


class Strata:
    """The strata of the records of a table."""

    def __init__(self, strata: Any, n_records: int) -> None:
        self._columns = RoleColumns(strata, n_records, "strata")
        keys = _keys_of(self._columns)
        self.names = StratumNames(keys)
        self.numbers = self.names.numbers_of_keys(keys)

    @classmethod
    def checked(cls, strata: Any, n_records: int, k: int, rules: Rules) -> Self | None:
        """Return the strata, None for None; raise an error if one is too small, as in `check`."""
        if strata is None:
            return None
        checked = cls(strata, n_records)
        checked.check(k, rules)
        return checked

    def __len__(self) -> int:
        return len(self.names)

    def rows_of_all(self) -> list[Labels]:
        order = np.argsort(self.numbers, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.numbers))[:-1])

    def parts(self, method: Any, random_state: RandomState) -> Iterator[tuple[Labels, Any, Any]]:
        """Yield the records of each stratum, and its share of a method and a seed."""
        seeds = seeds_of_parts(method.seed(random_state), len(self))
        for rows, seed in zip(self.rows_of_all(), seeds, strict=True):
            share = len(rows) / len(self.numbers)
            yield rows, method.with_share_of_time(share), seed

    def check(self, k: int, rules: Rules) -> None:
        """Raise an error if a stratum has fewer than `k` records, or violates a rule as a whole.

        Warn of strata whose names differ only in case, spaces or forms of letters.
        """
        self._columns.warn_of_similar_texts()
        sizes = np.bincount(self.numbers)
        self.names.check_sizes(sizes, k, self.numbers)
        for rule in rules.rules:
            self.names.check_figures(rule, rule.figures(self.numbers))


def keys_of(strata: Any, n_records: int) -> list[tuple[Any, ...]]:
    """Return the key of the stratum of each record, the tuple of its values."""
    return _keys_of(RoleColumns(strata, n_records, "strata"))


def _keys_of(columns: RoleColumns) -> list[tuple[Any, ...]]:
    cells = [
        [None if is_null(cell) else cell for cell in cells_of(column)]
        for column in columns.all_values()
    ]
    return list(zip(*cells, strict=True))
