"""Ordinal columns: values in an order, as ranks."""

from dataclasses import dataclass, replace

import numpy as np

from sk_microagg._utils._formatting import shown
from sk_microagg._utils._missing import n_people, take_units
from sk_microagg.files._errors import CommandError
from sk_microagg.files._mistyped import refuse_others, shell


@dataclass(frozen=True)
class OrdinalNotation:
    """The values of an ordinal column; as numbers, they are ranks from 0."""

    levels: list
    ranks: np.ndarray
    decimals = 0
    is_plain = False
    separator = ", "

    def text(self, number):
        """The value whose rank is nearest, the lower one of two; None if none may be released."""
        if not len(self.ranks):
            return None
        return self.levels[self.ranks[np.argmin(np.abs(self.ranks - number))]]

    def around(self, ends):
        """The nearest ranks that may be released and enclose an interval; None if there are none.

        Parameters
        ----------
        ends : list of float
            The lowest and the highest rank, or the only one; they may be beyond the last one.

        Returns
        -------
        ends : list of int or None
            The ranks of two values.
        """
        low, high = np.clip([ends[0], ends[-1]], 0, len(self.levels) - 1)
        below, above = self.ranks[self.ranks <= low], self.ranks[self.ranks >= high]
        return [below[-1], above[0]] if len(below) and len(above) else None

    def of_shared(self, ranks, k, units=None):
        """The notation that releases only values that at least `k` people have.

        Parameters
        ----------
        ranks : ndarray of float
            The rank of each record, NaN where it is missing.

        k : int
            Number of people.

        units : ndarray of int or None, default=None
            Who each record belongs to, numbered from 0; None if each belongs to somebody else.

        Returns
        -------
        notation : OrdinalNotation
            The notation.
        """
        is_known = ~np.isnan(ranks)
        known = ranks[is_known].astype(np.intp)
        n_have = n_people(known, len(self.levels), take_units(units, is_known))
        return replace(self, ranks=np.flatnonzero(n_have >= k))

    def unpadded(self):
        """The same: there are no values between two ranks."""
        return self


def ordinal_of(texts, name, numbers, order):
    """The ranks of the different texts of a column.

    Parameters
    ----------
    texts : Texts
        The texts.

    name : str
        Name of the column, for messages.

    numbers : Numbers
        The same texts as numbers.

    order : list of str or None
        The values in the order that the user names; None for that of numbers.

    Returns
    -------
    ranks : ndarray of float
        The rank of each text.

    notation : OrdinalNotation
        The values by their ranks.
    """
    unique = texts.unique.to_pylist()
    if order is None:
        if not numbers.is_number.all():
            raise CommandError(
                f"{shown(name)}: its values are not numbers, so that their order is unknown: write "
                f"it, as in --ordinal {shell(name + '=low<medium<high')}."
            )
        order = [unique[place] for place in np.argsort(numbers.values(), kind="stable")]
    known = np.array([text in order for text in unique], dtype=bool)
    if not known.all():
        refuse_others(name, texts, known, "values of its order", "--ordinal")
    rank_of = {text: rank for rank, text in enumerate(order)}
    ranks = np.array([rank_of[text] for text in unique], dtype=np.float64)
    return ranks, OrdinalNotation(order, np.arange(len(order)))
