"""The least squared error of any division of a path into runs, in exact arithmetic."""

from fractions import Fraction
from math import gcd, lcm

import numpy as np

# An error may be above the least by this share of it.
ROUNDING = Fraction(1, 10**13)


class ExactRuns:
    """Squared errors of the runs of a path, without any rounding."""

    def __init__(self, X):
        rows = [[Fraction(float(value)) for value in row] for row in X]
        # All values are integers in some unit, and integers are fast.
        scale = lcm(*(value.denominator for row in rows for value in row))
        unit = gcd(*(int(value * scale) for row in rows for value in row)) or 1
        self.square_of_unit = Fraction(unit, scale) ** 2
        # Errors are integers in this part of a square unit: they are divided by lengths of runs.
        self.part = lcm(*range(1, len(rows) + 1))
        self.sums = [[0] * len(rows[0])]
        self.squares = [0]
        for row in rows:
            row = [int(value * scale) // unit for value in row]
            self.sums.append([a + b for a, b in zip(self.sums[-1], row, strict=True)])
            self.squares.append(self.squares[-1] + sum(value * value for value in row))

    def error(self, start, end):
        """Squared error of the records from `start` to `end` - 1."""
        return self._exact(self._in_parts(start, end))

    def _in_parts(self, start, end):
        sums = zip(self.sums[start], self.sums[end], strict=True)
        length = sum((b - a) ** 2 for a, b in sums)
        squares = self.squares[end] - self.squares[start]
        return squares * self.part - length * (self.part // (end - start))

    def _exact(self, n_parts):
        return self.square_of_unit * Fraction(n_parts, self.part)

    def least(self, k):
        """Squared error of the best division into runs of at least `k` records."""
        n_records = len(self.squares) - 1
        least = [0] + [None] * n_records
        for end in range(k, n_records + 1):
            least[end] = min(
                least[start] + self._in_parts(start, end)
                for start in range(end - k + 1)
                if least[start] is not None
            )
        return self._exact(least[n_records])

    def of_division(self, starts):
        """Squared error of the runs that start at the given records."""
        ends = [*starts[1:], len(self.squares) - 1]
        return sum(self.error(start, end) for start, end in zip(starts, ends, strict=True))


def least_error_of_any_partition(X, k):
    """Squared error of the best of all partitions into groups of at least `k`, by trying them."""
    best = [None]

    def place(record, groups):
        if record == len(X):
            if min(map(len, groups)) >= k:
                error = sum(_exact_error(X[group]) for group in groups)
                best[0] = error if best[0] is None else min(best[0], error)
            return
        for group in groups:
            group.append(record)
            place(record + 1, groups)
            group.pop()
        if len(groups) < len(X) // k:
            place(record + 1, [*groups, [record]])

    place(0, [])
    return best[0]


def _exact_error(X):
    return ExactRuns(np.asarray(X)).error(0, len(X))
