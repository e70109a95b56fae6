"""Ordinal columns: values in an order, as ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from sk_microagg._utils._statistics import n_people, take_units
from sk_microagg.files._cells import Texts
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.files._mistyped import refuse_others
from sk_microagg.files._number_notation import Numbers


@dataclass(frozen=True)
class OrdinalNotation:
    """The values of an ordinal column; as numbers, they are ranks from 0."""

    levels: list
    ranks: np.ndarray
    decimals = 0
    is_plain = False
    separator = ", "

    def numbers(self, values: pd.Categorical) -> np.ndarray:
        """The ranks of values, NaN where one is missing."""
        return np.where(values.codes < 0, np.nan, values.codes)

    def text(self, rank: float) -> str:
        """The value of a rank."""
        return self.levels[int(rank)]

    def around(self, ends: list) -> list | None:
        """The nearest ranks that may be released and enclose an interval; None if there are none.

        `ends` has its lowest and its highest rank, or the only one, which may be beyond the last.
        """
        low, high = np.clip([ends[0], ends[-1]], 0, len(self.levels) - 1)
        below, above = self.ranks[self.ranks <= low], self.ranks[self.ranks >= high]
        return [below[-1], above[0]] if len(below) and len(above) else None

    def of_shared(
        self, values: pd.Categorical, k: int, units: np.ndarray | None = None
    ) -> OrdinalNotation:
        """The notation that releases only values that at least `k` people have."""
        is_known = values.codes >= 0
        known = values.codes[is_known].astype(np.intp)
        n_have = n_people(known, len(self.levels), take_units(units, is_known))
        return replace(self, ranks=np.flatnonzero(n_have >= k))

    def unpadded(self) -> OrdinalNotation:
        """The same: there are no values between two ranks."""
        return self


def ordinal_of(
    texts: Texts, name: str, numbers: Numbers, order: list | None
) -> tuple[np.ndarray, OrdinalNotation]:
    """The ranks of the different texts of a column; without an order, by that of numbers."""
    unique = texts.unique.to_pylist()
    if order is None:
        if not numbers.is_number.all():
            text = "{column}: its values are not numbers, so that their order is unknown: {advice}."
            advice = (Option("not_in_order", Option("ordinal", ["low", "medium", "high"], name)),)
            raise RequestError("unknown_order", text, name, advice=advice)
        order = [unique[place] for place in np.argsort(numbers.values(), kind="stable")]
    known = np.array([text in order for text in unique], dtype=bool)
    if not known.all():
        refuse_others(name, texts, known, "values of its order", "ordinal")
    rank_of = {text: rank for rank, text in enumerate(order)}
    ranks = np.array([rank_of[text] for text in unique], dtype=np.intp)
    return ranks, OrdinalNotation(order, np.arange(len(order)))
