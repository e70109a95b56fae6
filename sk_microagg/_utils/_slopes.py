"""How fast the predictions of a model change along columns."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_microagg._utils._typing import Array, Floats, Labels

# Records that are looked at.
MOST_RECORDS = 2_000
FEWEST_RECORDS = 200

# Exchanges of values in a column, and in all columns as long as each has a few.
MOST_EXCHANGES = 2_000
FEWEST_EXCHANGES = 100
MOST_IN_ALL = 50_000

# Coordinates in memory at a time.
MOST_NUMBERS = 20_000_000

# A record gets the values of the nearest of so many others: records of a group differ little.
N_PARTNERS = 20


def slopes(
    predict: Callable[[Floats], Floats], points: Any, column_of: Array, random: Any
) -> Floats:
    """Return how fast predictions change along each column.

    Records take what records near them in one column have there. The slope of the column is the
    root of the sum of squared changes of predictions, over that of squared distances.

    Parameters
    ----------
    predict : callable
        Returns one or several predictions for each of some points.

    points : ndarray or sparse array of shape (n_records, n_coordinates)
        The records.

    column_of : ndarray of shape (n_coordinates,)
        The column that each coordinate belongs to, numbered from 0.

    random : RandomState
        Chooses records and their partners.

    Returns
    -------
    slopes : ndarray of shape (n_columns,)
        The slope of each column; 0 for one that has a single value.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._utils._slopes import slopes
    >>> random = np.random.RandomState(0)
    >>> slopes(lambda X: X @ [3.0, 1.0], random.rand(50, 2), np.array([0, 1]), random)
    array([3., 1.])
    """
    n_columns, n_coordinates = int(column_of.max()) + 1, points.shape[1]
    n_chosen = int(np.clip(MOST_NUMBERS // n_coordinates, FEWEST_RECORDS, MOST_RECORDS))
    chosen = points[random.permutation(points.shape[0])[:n_chosen]]
    chosen = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    n_exchanges = int(np.clip(MOST_IN_ALL // n_columns, FEWEST_EXCHANGES, MOST_EXCHANGES))
    records = random.randint(len(chosen), size=(n_columns, n_exchanges))
    n_batches = -(-n_columns * n_exchanges * n_coordinates // MOST_NUMBERS)

    before = predict(chosen).reshape(len(chosen), -1)
    found = np.zeros(n_columns)
    # A prediction takes long, however few points there are.
    for columns in np.array_split(np.arange(n_columns), min(n_batches, n_columns)):
        exchanged = chosen[records[columns]]
        distances = np.empty(len(columns))
        for place, column in enumerate(columns):
            own = np.flatnonzero(column_of == column)
            partners, distances[place] = _near(chosen[:, own], records[column], random)
            exchanged[place][:, own] = chosen[np.ix_(partners, own)]
        after = predict(exchanged.reshape(-1, n_coordinates)).reshape(len(columns), n_exchanges, -1)
        changes = np.sum((after - before[records[columns]]) ** 2, axis=(1, 2))
        found[columns] = np.sqrt(changes / np.where(distances > 0.0, distances, 1.0))
    return found


def _near(values: Floats, records: Labels, random: Any) -> tuple[Labels, float]:
    """Return a partner for each record, near to it but different, and the sum of squared distances.

    A record without one is its own partner.
    """
    nearest, least = records.copy(), np.full(len(records), np.inf)
    for partners in random.randint(len(values), size=(N_PARTNERS, len(records))):
        squares = np.sum((values[partners] - values[records]) ** 2, axis=1)
        is_nearer = (squares > 0.0) & (squares < least)
        nearest[is_nearer], least[is_nearer] = partners[is_nearer], squares[is_nearer]
    return nearest, float(np.sum(least, where=np.isfinite(least)))
