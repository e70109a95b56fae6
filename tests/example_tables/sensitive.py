"""Sensitive columns, and rules that a table with them can satisfy."""

import numpy as np

from sk_microagg.privacy import Constraint, LDiversity, Rules, TCloseness, UnitShare

SENSITIVE = {
    "different": lambda rng, n: rng.permutation(n),
    "ties": lambda rng, n: rng.integers(0, 4, n),
    "skewed": lambda rng, n: (rng.random(n) < 0.1).astype(int),
    "constant": lambda rng, n: np.full(n, 3.5),
    "text": lambda rng, n: np.array(["flu", "gout", "cold"])[rng.integers(0, 3, n)],
}


class Spread(Constraint):
    """A constraint as users write it: it says whether a group is good, and not how nearly."""

    def __init__(self, least=2.0, column=None):
        self.least = least
        self.column = column

    def measure(self, values, table):
        return np.ptp(values)

    def accepts(self, figure):
        return figure >= self.least


def possible_rules(rng, n, k, sensitive, strictness):
    """Rules that the whole table satisfies, for one column of each kind of constraint."""
    values = SENSITIVE[sensitive](rng, n)
    n_different = len(np.unique(values))
    n_people = k + int(rng.integers(n - k + 1))
    people = rng.permutation(np.arange(n) % n_people)
    privacy = [
        TCloseness(float(strictness), column=0),
        LDiversity(int(rng.integers(1, n_different + 1)), column=0),
    ]
    privacy = privacy[: rng.integers(1, 3)]
    unit = people if rng.random() < 0.5 else None
    if unit is not None and rng.random() < 0.5:
        # From what the table as a whole allows to no constraint.
        share = np.bincount(people).max() / n
        privacy.append(UnitShare(float(rng.choice([share, (share + 1) / 2, 1.0]))))
    return Rules.of_table(n, k, privacy, values[:, None], unit)
