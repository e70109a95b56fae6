"""How finely means are released.

A mean is a sum. An attacker who can list the values that a column may have looks for k values with
the released mean. If the mean has many digits, only one choice of values has it. A mean that is as
coarse as the gaps between the values fits many choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._decimals import decimals_of
from sk_microagg._utils._formatting import in_a_list
from sk_microagg._utils._statistics import means_of_known, without_single
from sk_microagg._utils._typing import Array, Floats, Labels

# Steps of means of numbers.
POWERS_OF_10: Floats = 10.0 ** np.arange(-320, 301, dtype=np.float64)

# A step of more than this many deviations within groups would only hide values that nearly all
# members of their groups share.
MOST_SPREADS = 4.0

# A value that a larger share of the records has, and more than a few of them, says nothing of the
# gaps between the others.
LARGE_SHARE, FEW_RECORDS = 0.05, 20

GAP = "the gap between its values"
SPREAD = "half of the spread within groups"

# How the warning begins, for those who filter it.
FINER = "Means of .* are finer than"


@dataclass(frozen=True)
class Rounding:
    """How the averages of a column are rounded.

    Attributes
    ----------
    decimals : int, str or None
        Number of decimals, negative for multiples of 10, 100 and so on; None for all digits; for
        dates, their unit, such as "day" or "10 days".

    reason : str
        What decided it; "" if the column itself or the user did.
    """

    decimals: Any = None
    reason: str = ""

    def __str__(self) -> str:
        if self.decimals is None:
            words = "all digits"
        elif isinstance(self.decimals, str):
            is_unit = self.decimals.isalpha()
            words = f"{self.decimals}s" if is_unit else f"multiples of {self.decimals}"
        elif self.decimals < 0:
            words = f"multiples of {10**-self.decimals}"
        else:
            words = {0: "integers", 1: "1 decimal"}.get(self.decimals, f"{self.decimals} decimals")
        return f"{words}, {self.reason}" if self.reason else words


@dataclass(frozen=True)
class Spread:
    """Squared deviations from the means of groups, and how many values they are of."""

    squares: Floats
    counts: Labels

    @classmethod
    def within(cls, columns: Floats, labels: Labels) -> Self:
        """Of the known values of each column, in groups numbered from 0."""
        n_groups = int(labels.max()) + 1
        means = [means_of_known(column, labels, n_groups) for column in columns.T]
        deviations = columns - np.reshape(means, (-1, n_groups)).T[labels]
        return cls(np.nansum(deviations**2, axis=0), np.sum(~np.isnan(columns), axis=0))

    @classmethod
    def merged(cls, parts: Sequence[Spread]) -> Self:
        """Of all groups of several parts, in their order."""
        squares, counts = (
            [getattr(part, name) for part in parts] for name in ("squares", "counts")
        )
        return cls(np.sum(squares, axis=0), np.sum(counts, axis=0))

    def deviations(self) -> Floats:
        """The pooled standard deviation within groups, by column."""
        return np.sqrt(self.squares / np.maximum(self.counts, 1))


def finest_step(values: Floats, spread: float, lengths: Floats = POWERS_OF_10) -> tuple[float, str]:
    """Return the finest step of means that hides their values, and what decided it.

    It is one of `lengths`, in increasing order, or 0 if there is nothing to hide. `spread` is the
    standard deviation within groups. One digit of it and of the gap counts, so that no value shows
    in the step.
    """
    different, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(different) < 2 or not spread > 0.0:
        return 0.0, ""
    place, reason = _place_of_step(different, counts, spread, lengths)
    # Of many zeros, the gap is that to the smallest other value, whatever gaps the others have.
    is_heap = counts > max(LARGE_SHARE * counts.sum(), FEW_RECORDS)
    others = counts[~is_heap]
    if is_heap.any() and len(others) > 1 and others.sum() > LARGE_SHARE * counts.sum():
        of_others = _place_of_step(different[~is_heap], others, spread, lengths)
        place, reason = max((place, reason), of_others)
    return float(lengths[place]), reason


def _place_of_step(
    different: Floats, counts: Labels, spread: float, lengths: Floats
) -> tuple[int, str]:
    """The place of the step among lengths, given different values and how often each occurs."""
    gaps = np.diff(different)
    larger = np.maximum(np.append(gaps[:1], gaps), np.append(gaps, gaps[-1:]))
    gap = float(f"{np.median(np.repeat(larger, counts)):.0e}")
    place, reason = int(np.argmin(np.abs(np.log10(lengths) - np.log10(gap)))), GAP
    first_digit, exponent = f"{spread:.15e}".split("e")
    spread = float(f"{first_digit[0]}e{exponent}")  # rounded down
    # Gaps between values of which each belongs to one person say nothing of the list.
    if 2 * len(different) > counts.sum():
        below_half = int(np.searchsorted(lengths, spread / 2, side="right")) - 1
        if below_half > place:
            place, reason = below_half, SPREAD
    while place > 0 and lengths[place] > MOST_SPREADS * spread:
        place -= 1
    return place, reason


def rounding_of_numbers(values: Floats, own: int | None, spread: float) -> Rounding:
    """How "auto" rounds averages of numbers, which have `own` decimals or, if None, very many."""
    step, reason = finest_step(values if own is None else np.round(values, own), spread)
    if step == 0.0:
        return Rounding(own)
    decimals = -int(np.rint(np.log10(step)))
    return Rounding(own) if own is not None and own <= decimals else Rounding(decimals, reason)


def roundings_of(columns: Floats, labels: Labels, units: Array | None) -> list[Rounding]:
    """How "auto" rounds the means of groups, column by column."""
    own = [decimals_of(column) for column in columns.T]
    known = [without_single(column.astype(np.float64), labels, units) for column in columns.T]
    spreads = Spread.within(np.column_stack(known), labels).deviations()
    return [rounding_of_numbers(*each) for each in zip(known, own, spreads, strict=True)]


def choose_roundings(
    auto: Mapping[Any, Rounding], decimals: Mapping[Any, Any]
) -> dict[Any, Rounding]:
    """How means are rounded, by the parameter `decimals`; warn of numbers finer than "auto"."""
    asked: dict[Any, Any] = {name: decimals.get(name) for name in auto}
    finer = {
        name: rounding
        for name, rounding in auto.items()
        if asked[name] not in ("auto", None) and finer_than(rounding, asked[name])
    }
    if finer:
        warn_user(about_finer(finer))
    return {
        name: rounding if asked[name] == "auto" else Rounding(asked[name])
        for name, rounding in auto.items()
    }


def rounded(means: Array, roundings: Sequence[Rounding]) -> Array:
    """Means of groups, rounded column by column."""
    means = means.copy()
    for j, rounding in enumerate(roundings):
        if rounding.decimals is not None:
            # Adding zero turns -0.0 into 0.0.
            means[:, j] = np.round(means[:, j], rounding.decimals) + 0.0
    return means


def finer_than(auto: Rounding, decimals: int | None) -> bool:
    """Whether averages of numbers with so many decimals have more than "auto" gives them."""
    if auto.decimals is None:
        return False
    return decimals is None or decimals > auto.decimals


def about_finer(auto: Mapping[Any, Rounding]) -> str:
    """Say of which columns averages are finer than "auto" would make them."""
    names = [f"{name!r} ({rounding})" for name, rounding in auto.items()]
    return (
        f"Means of {in_a_list(names)} are finer than decimals='auto' makes them. An attacker who "
        "can list the possible values of a column can compute which of them a mean is made of."
    )
