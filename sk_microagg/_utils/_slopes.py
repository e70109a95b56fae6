"""How fast the predictions of two models change along columns."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._typing import Array, Floats, Labels

# Fewest and most records that are looked at, and exchanges of values in each column.
RECORDS = 200, 2_000
EXCHANGES = 100, 2_000

# Exchanges in all columns, as long as each has the fewest.
IN_ALL_COLUMNS = 50_000

# Coordinates in memory at a time.
MOST_NUMBERS = 20_000_000

# A record gets the values of the nearest of some others, since records of a group differ little.
N_PARTNERS = 20


def slopes(
    models: Sequence[Callable[[Floats], Floats]], points: Any, column_of: Array, random: Any
) -> Floats:
    """Return how fast the predictions of two models change along each column.

    Records take what records near them in one column have there. The slope of the column is the
    root of the sum of squared changes of predictions, over that of squared distances. A squared
    change is the product of the changes of both models: where they learned from different records,
    what they took chance for is different, and cancels out.
    """
    n_columns, n_coordinates = int(column_of.max()) + 1, points.shape[1]
    fitting = MOST_NUMBERS // n_coordinates
    chosen = points[random.permutation(points.shape[0])[: np.clip(fitting, *RECORDS)]]
    chosen = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    n_exchanges = int(np.clip(min(fitting, IN_ALL_COLUMNS // n_columns), *EXCHANGES))
    records = random.randint(len(chosen), size=(n_columns, n_exchanges))
    n_batches = -(-n_columns * n_exchanges // max(fitting, n_exchanges))

    before = [model(chosen).reshape(len(chosen), -1) for model in models]
    found = np.zeros(n_columns)
    # A prediction takes long, however few points there are.
    for columns in np.array_split(np.arange(n_columns), n_batches):
        exchanged = chosen[records[columns]]
        distances = np.empty(len(columns))
        for place, column in enumerate(columns):
            own = np.flatnonzero(column_of == column)
            partners, distances[place] = _near(chosen[:, own], records[column], random)
            exchanged[place][:, own] = chosen[np.ix_(partners, own)]
        one, other = (
            model(exchanged.reshape(-1, n_coordinates)).reshape(len(columns), n_exchanges, -1)
            - of_model[records[columns]]
            for model, of_model in zip(models, before, strict=True)
        )
        changes = np.fmax(np.sum(one * other, axis=(1, 2)), 0.0)
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
