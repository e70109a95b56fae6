"""Records with codes as plain arrays: one column per coordinate."""

import itertools

import numpy as np

from sk_microagg._utils._coded_points import CodedPoints


def as_array(points):
    """The root of a code's square where a record has it, and the columns of numbers."""
    X = np.zeros((len(points), len(points.squares)))
    np.put_along_axis(X, points.codes, np.sqrt(points.squares)[points.codes], axis=1)
    X[:, points.places] = points.numbers
    return np.ascontiguousarray(X[:, :-1])


def make_points(rng, n, d=2, n_values=(5, 9), squares=(4.0, 9.0, 16.0), spread=6):
    """Records of whole numbers, so that sums are exact and ties are ties; some have no code.

    The coordinates of codes come first.
    """
    numbers = rng.integers(0, spread, size=(n, d)).astype(float)
    starts = np.cumsum([0, *n_values])
    codes = np.column_stack(
        [rng.integers(start, end, size=n) for start, end in itertools.pairwise(starts)]
    )
    codes[rng.random(codes.shape) < 0.1] = starts[-1] + d
    squares = np.repeat(np.resize(squares, len(n_values)), n_values)
    places = starts[-1] + np.arange(d)
    return CodedPoints(numbers, codes.astype(np.int32), np.r_[squares, np.zeros(d + 1)], places)
