"""Which values is a released mean made of? The attacker knows no one, but what is possible.

A mean is a sum. Of all choices of m possible values whose mean is the released one, up to half of
its step, the attacker guesses the most compact one, since groups are compact.
"""

from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np

# A guess takes the possible values nearest to the mean, as many as give this many choices.
MOST_CHOICES = 200_000


def share_guessed(possible, original, released, steps, labels, k, most=150, **how):
    """The share of groups of exactly k of which all values are guessed right, of up to `most`.

    `possible` are the values that are known to be possible, a row for each, `original` and
    `released` the records, and `steps` what released values are multiples of, 0 for all digits.
    """
    place_of = {row.tobytes(): place for place, row in enumerate(possible)}
    places = np.array([place_of[row.tobytes()] for row in original])
    sizes = np.bincount(labels)
    groups = np.flatnonzero(sizes == k)
    groups = np.random.default_rng(0).permutation(groups)[:most]
    search = Search(possible, steps, k, **how)
    right = 0
    for group in groups:
        members = np.flatnonzero(labels == group)
        right += search.guess(released[members[0]]) == sorted(places[members].tolist())
    assert len(groups) >= 20
    return right / len(groups)


def steps_of(roundings):
    """What released values are multiples of, 0 for all digits."""
    return [0.0 if each.decimals is None else 10.0**-each.decimals for each in roundings]


class Search:
    """A search for the values of groups of k, in a list of possible ones."""

    def __init__(self, possible, steps, k, *, average=np.mean, without_repetition=False):
        self._possible, self._average = possible, average
        self._scale = possible.std(axis=0)
        # Sums have rounding errors.
        self._tolerance = np.maximum(0.5001 * np.asarray(steps), 1e-12 * np.abs(possible).max())
        count = (lambda n: comb(n, k)) if without_repetition else (lambda n: comb(n + k - 1, k))
        n_near = max(n for n in range(1, len(possible) + 1) if n <= k or count(n) <= MOST_CHOICES)
        self._n_near = min(n_near, 400)
        self._choices = choices_of(self._n_near, k, without_repetition)

    def guess(self, mean):
        """The places of the most compact choice of values with this mean, or None."""
        apart = (self._possible - mean) / self._scale
        near = np.sort(np.argsort((apart**2).sum(axis=1), kind="stable")[: self._n_near])
        values = self._possible[near]
        means = self._average(values[self._choices], axis=1)
        fits = np.flatnonzero((np.abs(means - mean) <= self._tolerance).all(axis=1))
        if not len(fits):
            return None
        scaled = values[self._choices[fits]] / self._scale
        best = np.argmin(scaled.var(axis=1).sum(axis=1))
        return sorted(near[self._choices[fits[best]]].tolist())


@cache
def choices_of(n, k, without_repetition):
    choose = combinations if without_repetition else combinations_with_replacement
    return np.array(list(choose(range(n), k)))
