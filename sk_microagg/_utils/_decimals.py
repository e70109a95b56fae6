"""How many decimals numbers have, learned part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sk_microagg._utils._typing import Array, Booleans, Floats

# Numbers with more decimals than this are released as they are averaged.
MOST_DECIMALS = 12

# Some numbers are often enough to see that all have many digits. If only a few have, such as a
# quotient among measurements, the others count; in large columns, among as many distinct ones.
SOME_NUMBERS = 1000
MANY_NUMBERS = 10_000
FEW_NUMBERS = 0.01


@dataclass(frozen=True)
class Decimals:
    """What some numbers show; of several parts, it does not depend on how they are divided.

    `apart` says by number of decimals how far any number is from one that has them, infinity beyond
    what may be noise. `some` are distinct numbers, those with the lowest hashes if there are many.
    """

    largest: float
    apart: Floats
    some: Array

    @classmethod
    def of_part(cls, numbers: Array) -> Self:
        """What some numbers show, in their own precision."""
        known = np.unique(numbers[np.isfinite(numbers)] + 0.0)  # -0.0 becomes 0.0.
        few = known[:: len(known) // SOME_NUMBERS] if len(known) > 2 * SOME_NUMBERS else known[:0]
        apart = _farthest(few)
        if not len(few) or not np.isinf(apart).all():
            apart = _farthest(known)
        return cls(float(np.abs(known).max(initial=0.0)), apart, _drawn(known))

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """What several parts show together."""
        some = np.unique(np.concatenate([part.some for part in parts]))
        apart = np.max([part.apart for part in parts], axis=0)
        return cls(max(part.largest for part in parts), apart, _drawn(some))

    def fewest(self) -> int | None:
        """The fewest decimals that all numbers have, or most; None if they have very many."""
        noise = 64 * np.spacing(self.largest)
        # Where steps are not far larger than noise, anything would pass for it.
        allowed = np.where(10.0 ** -np.arange(len(self.apart)) > 1000 * noise, noise, 0.0)
        found = np.flatnonzero(self.apart <= allowed)
        if not len(found):
            pairs = zip(_distances(self.some), allowed, strict=True)
            shares = [np.mean(distances <= noise) for distances, noise in pairs]
            found = np.flatnonzero(np.array(shares) >= 1 - FEW_NUMBERS)
        return int(found[0]) if len(found) else None


def decimals_of(numbers: Array) -> int | None:
    """The fewest decimals that all numbers have, but for float noise; None if they have very many.

    0.30000000000000004, which is 0.1 + 0.2, has one decimal: the other digits are noise, as sums
    and differences of numbers of this size have it. If only a few numbers have very many, such as a
    quotient among measurements, those of the others count.
    """
    return Decimals.of_part(numbers).fewest()


def _distances(known: Array) -> Iterator[Floats]:
    """By number of decimals, how far each number is from one that has them."""
    wide = known.astype(np.float64)
    is_written: Booleans = np.zeros(len(known), dtype=bool)
    for decimals in range(MOST_DECIMALS // (1 if known.dtype.itemsize > 4 else 2) + 1):
        if is_written.all():
            yield np.zeros(len(known))
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.round(wide, decimals)
            is_written |= rounded.astype(known.dtype) == known
            yield np.where(is_written, 0.0, np.abs(rounded - wide))


def _farthest(known: Array) -> Floats:
    farthest = np.array([distances.max(initial=0.0) for distances in _distances(known)])
    return np.where(farthest > 10.0 ** -np.arange(len(farthest)) / 1000, np.inf, farthest)


def _drawn(known: Array) -> Array:
    if len(known) <= MANY_NUMBERS:
        return known
    # Mixed as in SplitMix64.
    bits = known.astype(np.float64).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return known[np.sort(np.argpartition(bits, MANY_NUMBERS)[:MANY_NUMBERS])]
