"""Warnings of columns that a release loses or the grouping ignores, and of similar values."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from warnings import warn

from sk_microagg._utils._deadline import user_stacklevel
from sk_microagg._utils._similar import warn_of_similar_values
from sk_microagg._utils._typing import DataFrame, Labels
from sk_microagg.encoding._frames import is_missing

# How messages begin, for those who filter them.
LOST = "Column .* (is released as missing almost everywhere|has mostly values that fewer than)"

# How they end.
ADVICE = "Name it in drop, or generalize it: hierarchies, with categories='generalize'."

# A column is lost if more of its known cells are released as missing.
LARGEST_SHARE = 0.9

# It is said of a column if more of its cells have rare values.
MOST_RARE = 0.5


def warn_of_similar_texts(table: DataFrame) -> None:
    """Warn of columns of text in which values differ only in case, spaces or forms of letters."""
    for name, column in table.items():
        if getattr(column.dtype, "kind", "O") == "O":
            with suppress(TypeError):  # Others say what is wrong with cells that have no hash.
                warn_of_similar_values(name, column.astype(object).unique())


def warn_of_lost_columns(
    table: DataFrame,
    released: Mapping[Any, DataFrame],
    labels: Labels,
    rare_shares: Mapping[Any, float],
    k: int,
) -> None:
    """Warn of columns in which almost all values differ, so that hardly any can be released.

    Also of those whose values are mostly rare: groups do not keep them together, and since they
    have no coordinates, the loss is low although nothing is left of them.
    """
    for name, rows in released.items():
        is_known = ~is_missing(table[name])
        is_lost = is_missing(rows.iloc[:, 0])[labels]
        # Where most cells are missing, a release that is missing is right.
        if is_known.mean() > 0.5 and is_lost[is_known].mean() > LARGEST_SHARE:
            warn(
                f"Column {name!r} is released as missing almost everywhere: its values differ, and "
                f"those that few people have are not released. {ADVICE}",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
        elif rare_shares.get(name, 0.0) > MOST_RARE:
            warn(
                f"Column {name!r} has mostly values that fewer than {k} people share: groups do "
                f"not keep these together, and the information loss does not count them. {ADVICE}",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
