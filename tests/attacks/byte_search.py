"""Search for numbers of single people in whatever can be given away: bytes of a model or a file."""

import re

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

# With many numbers to search for, some four bytes match by chance.
MOST_SHORT = 200


def rare_numbers(columns, k):
    """Numbers that fewer than k records share, column by column; 0 would be found anywhere."""
    rare = set()
    for column in columns:
        values, counts = np.unique(np.asarray(column, dtype=float), return_counts=True)
        rare |= {*values[(counts < k) & (values != 0) & np.isfinite(values)].tolist()}
    return rare


def found_in(content, numbers):
    """Numbers that stand in some bytes: as text, or in 4 or 8 bytes of either order."""
    numbers = np.array(sorted(numbers))
    texts = set(re.findall(rb"[-+.0-9e]+", content))
    hits = [not {*_as_text(number)}.isdisjoint(texts) for number in numbers.tolist()]
    few = np.random.default_rng(0).permutation(numbers)[:MOST_SHORT]
    windows = {size: windows_of(content, size) for size in (4, 8)}
    for kind, sought in (("f8", numbers), ("i8", numbers), ("f4", few), ("i4", few)):
        can_be = sought == np.floor(sought) if kind[0] == "i" else np.isfinite(sought)
        largest = np.finfo(kind).max if kind[0] == "f" else np.iinfo(kind).max
        sought = sought[can_be & (np.abs(sought) < largest)]
        size = int(kind[1])
        for order in "<>":
            codes = sought.astype(order + kind).view(f"<u{size}")
            places = np.searchsorted(windows[size], codes).clip(max=len(windows[size]) - 1)
            hits |= np.isin(numbers, sought[windows[size][places] == codes])
    return {*numbers[hits].tolist()}


def windows_of(content, size):
    """All that so many bytes next to each other are as an integer, in ascending order."""
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(content, "u1"), size)
    return np.sort(np.ascontiguousarray(windows).view(f"<u{size}").ravel())


def _as_text(number):
    yield repr(number).encode()
    if number.is_integer():
        yield str(int(number)).encode()


def recognizable(numbers):
    """Numbers no byte of which is there by chance, as those of group numbers would be."""
    return numbers * 1_000_003.7 + 81_649.3


def normal(rng):
    return rng.normal([0, 40, -2], size=(400, 3)) * [1.0, 20.0, 0.05]


def many_zeros(rng):
    values = rng.lognormal(3, 1, size=(400, 3))
    values[rng.random((400, 3)) < 0.6] = 0.0
    return values


def heavy_tails(rng):
    return rng.standard_t(1.5, size=(400, 3))


def twins(rng):
    """Some rows are there once or twice, others six times."""
    return np.repeat(rng.normal(size=(130, 3)), rng.choice([1, 2, 6], size=130), axis=0)


def cents(rng):
    return np.round(rng.lognormal(8, 1, size=(400, 3)), 2) + 10_000


def measured(rng, values):
    """A real table in finer units: with few digits, means of groups are numbers of others."""
    return recognizable(values + rng.normal(scale=1e-3, size=values.shape))


def wine(rng):
    return measured(rng, load_wine().data[:, :3])


def diabetes(rng):
    return measured(rng, load_diabetes(scaled=False).data[:, [0, 2, 4]])


def breast_cancer(rng):
    return measured(rng, load_breast_cancer().data[:, :3])


TABLES = {
    make.__name__: make
    for make in (normal, many_zeros, heavy_tails, twins, cents, wine, diabetes, breast_cancer)
}
