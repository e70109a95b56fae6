"""Public names that have changed: the old ones work for some releases more, with a warning."""

import warnings
from typing import Any

# The default of a parameter under its old name, as in scikit-learn.
DEPRECATED = "deprecated"


def renamed_attribute(old: str, new: str) -> property:
    """A property that gives the attribute `new` under its old name, with a FutureWarning.

    Parameters
    ----------
    old, new : str
        The names.

    Returns
    -------
    attribute : property
        To be assigned to the old name in a class.
    """

    def get(self: Any) -> Any:
        value = getattr(self, new)
        warnings.warn(
            f"{type(self).__name__}.{old} is called {new} now; the old name will go away.",
            FutureWarning,
            stacklevel=2,
        )
        return value

    return property(get, doc=f"The old name of `{new}`.")
