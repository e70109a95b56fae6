"""Ordinal columns: values in an order, as ranks."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._mistyped import refuse_others, shell


@dataclass(frozen=True)
class OrdinalNotation:
    """The values of an ordinal column; as numbers, they are ranks from 0.

    Attributes
    ----------
    levels : list of str
        The values, from the lowest to the highest.
    """

    levels: list
    decimals = 0
    is_plain = False
    separator = ", "

    def text(self, number):
        """The value of a rank; ends of intervals may be beyond the last one."""
        return self.levels[min(max(round(number), 0), len(self.levels) - 1)]

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
                f"{name}: its values are not numbers, so that their order is unknown: write it, as "
                f"in --ordinal {shell(name + '=low<medium<high')}."
            )
        order = [unique[place] for place in np.argsort(numbers.values(), kind="stable")]
    known = np.array([text in order for text in unique], dtype=bool)
    if not known.all():
        refuse_others(name, texts, known, "values of its order", "--ordinal")
    rank_of = {text: rank for rank, text in enumerate(order)}
    return np.array([rank_of[text] for text in unique], dtype=np.float64), OrdinalNotation(order)
