"""Names of columns that hold the shares of values."""

from collections.abc import Hashable
from typing import Any

from sk_microagg.generalization._labels import label_of


def share_names(
    column: Hashable, values: list[Any], has_other: bool, has_missing: bool
) -> list[str]:
    """Different names for the share of each value, and of other and missing ones."""
    names = _different_names([label_of(value) for value in values], values)
    if has_other:
        names.append(_unused("(other)", names))
    if has_missing:
        names.append(_unused("(missing)", names))
    return [f"{column}={name}" for name in names]


def _unused(name: str, names: list[str]) -> str:
    """A name that is not among others."""
    return _unused(f"({name})", names) if name in names else name


def _different_names(names: list[str], values: list[Any]) -> list[str]:
    """Names of values, as code where several values have the same name."""
    return [
        name if names.count(name) == 1 else repr(value)
        for name, value in zip(names, values, strict=True)
    ]
