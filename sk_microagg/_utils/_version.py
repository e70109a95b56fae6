"""The version of the package, and models fitted with another version."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

__version__ = version("sk-microagg")


@contextmanager
def complete_model(model: object) -> Iterator[None]:
    """Raise a clear error if a fitted model lacks a part, as one from another version may.

    That is the case if an attribute is missing from the model or another object of the package.
    `fit` records the version in `_sk_microagg_version`.
    """
    try:
        yield
    except AttributeError as error:
        owner = type(error.obj)
        if owner.__module__.partition(".")[0] != "sk_microagg":
            raise
        fitted_with = getattr(model, "_sk_microagg_version", "of an unknown version")
        raise ValueError(
            f"This {type(model).__name__} is incomplete, since its {owner.__name__} has no "
            f"{error.name!r}: it was fitted with sk_microagg {fitted_with}, and this is "
            f"{__version__}. Fit it again with this version."
        ) from error
