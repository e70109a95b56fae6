"""Texts that mean the same, but are written differently."""

import unicodedata
from collections.abc import Iterable
from typing import Any
from warnings import warn

from sk_microagg._utils._deadline import user_stacklevel

# How messages begin, for those who filter them.
SIMILAR = "Column .* has values that differ only in case"


def warn_of_similar_values(name: object, values: Iterable[Any]) -> None:
    """Warn if texts are equal but for case, spaces and Unicode forms, and quote none of them."""
    texts = {value for value in values if isinstance(value, str)}
    if len({_folded(text) for text in texts}) < len(texts):
        warn(
            f"Column {name!r} has values that differ only in case, spaces or the form of letters: "
            "they count as different values, or people. Write them alike.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def _folded(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())
