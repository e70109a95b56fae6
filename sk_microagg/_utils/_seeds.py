"""Seeds: checked, and those of independent parts of a computation."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sk_microagg._utils._typing import RandomState


def check_seed(random_state: RandomState) -> Any:
    """Return the `RandomState` of a parameter `random_state`; raise an error that names it."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer from 0 to 2**32 - 1 or an "
            "instance of numpy.random.RandomState."
        ) from None


def seeds_of_parts(random_state: RandomState, n_parts: int) -> Any:
    """Return a seed for each part; a single part gets the random state itself.

    None stays None: refiners may have a seed of their own for it.
    """
    if n_parts == 1 or random_state is None:
        return [random_state] * n_parts
    return check_seed(random_state).randint(np.iinfo(np.int32).max, size=n_parts)
