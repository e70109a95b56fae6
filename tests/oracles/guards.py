"""What guards ask of a group, in plain loops."""

import numpy as np
from oracles import privacy

from sk_microagg._kernels import (
    CallbackGuard,
    DistinctGuard,
    EntropyGuard,
    EqualGuard,
    LargestGuard,
    OrderedGuard,
    RecursiveGuard,
    SumGuard,
)

CODES = {
    "random": lambda rng, n: rng.integers(0, 6, n),
    "two": lambda rng, n: rng.integers(0, 2, n),
    "skewed": lambda rng, n: np.minimum(rng.geometric(0.6, n) - 1, 5),
    "one differs": lambda rng, n: (np.arange(n) == n // 2).astype(int),
    "all differ": lambda rng, n: rng.permutation(n),
    "constant": lambda rng, n: np.zeros(n, dtype=int),
}


class Case:
    """Codes of records, a kind of guard, and a plain version of what it asks of a group.

    The plain version is given as a figure, which a group needs at least or has at most. No group
    can have exactly the limit, unless the guard allows it: guards are a little stricter.
    """

    def __init__(self, name, codes):
        # Every code occurs, as with those of values.
        self.codes = np.unique(codes, return_inverse=True)[1].astype(np.int32)
        self.name, *self.parameters = name
        # Few large amounts among many small ones, and units with several records.
        self.amounts = 2.0**self.codes if self.name != "sum" else self.codes + 1.0
        self.units = None
        if self.name.endswith(" of units"):
            self.name = self.name.removesuffix(" of units")
            self.units = (np.arange(len(self.codes)) // 2).astype(np.int32)

    def guard(self):
        codes, counts = self.codes, np.bincount(self.codes).astype(np.int64)
        if self.name == "callback":
            return CallbackGuard(len(codes), lambda members: len(set(codes[members])) >= 2)
        if self.name in ("equal", "ordered"):
            kind = {"equal": EqualGuard, "ordered": OrderedGuard}[self.name]
            return kind(codes, counts, *self.parameters)
        if self.name in ("dominance", "p percent", "sum"):
            first, *others = self.parameters
            if self.name == "sum":
                return SumGuard(self.amounts, self.units, first)
            if self.name == "dominance":
                [n] = others
                return LargestGuard(self.amounts, self.units, n, n, (1 - first) / first)
            return LargestGuard(self.amounts, self.units, 1, 2, first / 100)
        kinds = {"distinct": DistinctGuard, "entropy": EntropyGuard, "recursive": RecursiveGuard}
        return kinds[self.name](codes, *self.parameters)

    def allows(self, members):
        values, table = self.codes[members].tolist(), self.codes.tolist()
        if self.name == "callback":
            return privacy.distinct(values) >= 2
        first, *others = self.parameters
        if self.name in ("dominance", "p percent", "sum"):
            amounts = self.amounts[members].tolist()
            units = members if self.units is None else self.units[members]
            if self.name == "sum":
                return privacy.sum_of_largest(amounts, units) >= first
            amounts = privacy.added_up(amounts, units)
            if self.name == "p percent":
                return privacy.p_percent(amounts) >= first
            return privacy.dominance(amounts, *others) <= first
        if self.name == "distinct":
            return privacy.distinct(values) >= first
        if self.name == "entropy":
            return privacy.entropy(values) >= first * (1 - 1e-9)
        if self.name == "recursive":
            return privacy.recursive(values, first) < others[0]
        return getattr(privacy, self.name)(values, table) <= first


# What a search needs: neither always nor never true of small groups.
STRICT = [
    ("distinct", 2),
    ("entropy", 1.7),
    ("recursive", 2, 2.5003),
    ("equal", 0.35003),
    ("ordered", 0.15003),
    ("dominance", 0.50003, 1),
    ("dominance of units", 0.70003, 2),
    ("p percent", 20.003),
    ("p percent of units", 20.003),
    ("sum of units", 9.5),
    ("callback",),
]
