"""How many people have each value of a column, over all parts of a table."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class People:
    """Up to k people of each value, which is enough to know whether there are k of them."""

    codes: np.ndarray
    keys: np.ndarray

    @classmethod
    def of_part(cls, codes, keys, k):
        """Choose up to k people of each value.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            Position of the value of each row.

        keys : ndarray of shape (n_rows,)
            A hash of the person whom each row belongs to.

        k : int
            Number of people to remember.

        Returns
        -------
        people : People
            The people.
        """
        order = np.lexsort((keys, codes))
        codes, keys = codes[order], keys[order]
        is_new = np.ones(len(codes), dtype=bool)
        is_new[1:] = (codes[1:] != codes[:-1]) | (keys[1:] != keys[:-1])
        codes, keys = codes[is_new], keys[is_new]
        place = np.arange(len(codes)) - np.searchsorted(codes, codes)  # among those of its value
        return cls(codes[place < k], keys[place < k])

    @classmethod
    def merged(cls, parts, positions, k):
        """The people of several parts, given the positions of their values in the whole table."""
        codes = [new[part.codes] for part, new in zip(parts, positions, strict=True)]
        return cls.of_part(np.concatenate(codes), np.concatenate([part.keys for part in parts]), k)

    def counts(self, n_values):
        """Number of people of each value; k stands for k or more."""
        return np.bincount(self.codes, minlength=n_values)
