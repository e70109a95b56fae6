"""Where records lie of which some values are missing."""

import numpy as np

from sk_microagg._utils._typing import Floats, Labels


class MissingCoordinates:
    """Further coordinates that tell missing values apart.

    A missing value lies at the mean of the known ones of its column, and as far from a known value,
    on average, as two known ones are from each other.

    Parameters
    ----------
    scaled : ndarray of shape (n_records, n_columns)
        The columns, with NaN where a value is missing.

    is_standardized : bool
        Whether a column and its further coordinate are to have the variance of its known values
        together, as that of a column without missing values.

    Attributes
    ----------
    columns : ndarray of int
        The columns that have a further coordinate.

    places : ndarray of shape (n_columns,)
        Where missing values lie in each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._utils._missing_coordinates import MissingCoordinates
    >>> scaled = np.array([[1.0], [5.0], [1.0], [5.0], [np.nan]])
    >>> MissingCoordinates(scaled, is_standardized=False).parts(scaled)[1].ravel()
    array([0., 0., 0., 0., 2.])
    """

    def __init__(self, scaled: Floats, is_standardized: bool) -> None:
        missing = np.isnan(scaled)
        n_missing = missing.sum(axis=0)
        n_known = np.maximum(len(scaled) - n_missing, 1)
        self._means = np.sum(scaled, axis=0, where=~missing) / n_known
        self.columns: Labels = np.flatnonzero((n_missing > 0) & (n_missing < len(scaled)))
        self._factors = np.ones(scaled.shape[1])
        self._heights = np.empty(0)
        if len(self.columns):
            spreads = np.sum((scaled - self._means) ** 2, axis=0, where=~missing) / n_known
            # If all known values are equal, missing ones are told apart as in other columns.
            differ = np.fmax.reduce(scaled) > np.fmin.reduce(scaled)
            spreads[~differ] = spreads[differ].mean() if differ.any() else 1.0
            if is_standardized:
                share = n_missing[self.columns] / len(scaled)
                self._factors[self.columns] = 1.0 / np.sqrt(1.0 - share**2)
            self._heights = (np.sqrt(spreads) * self._factors)[self.columns]
        self.places = self._means * self._factors

    def parts(self, scaled: Floats) -> tuple[Floats, Floats]:
        """The columns without missing values, and the further coordinates.

        Parameters
        ----------
        scaled : ndarray of shape (n_records, n_columns)
            The columns of any records.

        Returns
        -------
        values : ndarray of shape (n_records, n_columns)
            The columns.

        indicators : ndarray of shape (n_records, n_further)
            The further coordinates.
        """
        missing = np.isnan(scaled)
        if missing.any():
            scaled = np.where(missing, self._means, scaled)
        if len(self.columns):
            scaled = scaled * self._factors
        return scaled, missing[:, self.columns] * self._heights
