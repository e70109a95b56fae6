"""Texts that mean the same, but are written differently."""

import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from warnings import warn

from sk_microagg._utils._deadline import user_stacklevel

# How messages begin, for those who filter them.
SIMILAR = "(Column|The) .* has values that differ only in case"


def warn_of_similar_values(words: str, values: Iterable[Any]) -> None:
    """Warn if texts of a column, named by `words`, are equal but for case, spaces and forms."""
    texts = {value for value in values if isinstance(value, str)}
    if len({folded(text) for text in texts}) < len(texts):
        warn_of_spellings(words)


def warn_of_spellings(words: str) -> None:
    """Warn that a column, named by `words`, has texts that are written differently; quote none."""
    warn(
        f"{words} has values that differ only in case, spaces or the form of letters: they count "
        "as different values, or people. Write them alike.",
        UserWarning,
        stacklevel=user_stacklevel(),
    )


def texts_of(column: Any) -> set[str]:
    """The different texts of a Series or array of any type."""
    if getattr(column.dtype, "kind", "O") not in "biufcmM":
        # Others say what is wrong with cells that have no hash, or are lists or structs of Arrow.
        with suppress(TypeError, NotImplementedError):
            values = column.unique() if hasattr(column, "unique") else column.tolist()
            return {value for value in values if isinstance(value, str)}
    return set()


def folded(text: str) -> str:
    """The text without differences in case, spaces and Unicode forms."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())
