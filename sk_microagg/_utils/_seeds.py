"""Seeds of independent parts of a computation."""

import numpy as np
from sklearn.utils import check_random_state


def seeds_of_parts(random_state, n_parts):
    """Return a seed for each part; a single part gets the random state itself.

    None stays None: refiners may have a seed of their own for it.
    """
    if n_parts == 1 or random_state is None:
        return [random_state] * n_parts
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_parts)
