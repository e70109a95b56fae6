"""A warning of columns of which a release keeps nothing."""

from collections.abc import Mapping
from typing import Any
from warnings import warn

from sk_microagg._utils._deadline import level_of_user
from sk_microagg._utils._typing import DataFrame, Labels
from sk_microagg.encoding._frames import is_missing

# How the message begins, for those who filter it.
LOST = "Column .* is released as missing almost everywhere"

# How it ends.
ADVICE = "Name it in drop, or generalize it: hierarchies, with categories='generalize'."

# A column is lost if more of its known cells are released as missing.
LARGEST_SHARE = 0.9


def warn_of_lost_columns(
    table: DataFrame, released: Mapping[Any, DataFrame], labels: Labels
) -> None:
    """Warn of columns in which almost all values differ, so that hardly any can be released.

    Parameters
    ----------
    table : pandas.DataFrame
        The records.

    released : dict
        By the name of each column, a DataFrame with what each group is released as.

    labels : ndarray of shape (n_records,)
        Group of each record, numbered from 0.
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
                stacklevel=level_of_user(),
            )
