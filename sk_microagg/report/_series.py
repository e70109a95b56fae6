"""A release of a series as the report on one release has it."""

from __future__ import annotations

from typing import Any

from sk_microagg._series import ReleaseSeries
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._typing import Booleans
from sk_microagg.metrics._given_groups import with_groups
from sk_microagg.tables._frames import Frame


def of_series(series: ReleaseSeries, X: Any, release: Any) -> tuple[Any, Any, Any, str]:
    """An estimator, its table and release, and words, for the last release of a series."""
    made = series._last_release()
    table, released = Frame(X).table, Frame(release).table
    if len(released) != len(made.labels) or len(table) != made.n_rows_of_table:
        raise ValueError(
            f"X of {len(table)} rows and release of {len(released)} rows must be the table and the "
            f"release of the last call of release, of {made.n_rows_of_table} and "
            f"{len(made.labels)} rows."
        )
    are_covered = made.are_covered
    words = series_in_words(series.n_releases_, are_covered)
    records = table.iloc[made.places[are_covered]].reset_index(drop=True)
    rows = released[are_covered].reset_index(drop=True)
    for name in TableRoles.from_estimator(series.aggregator, list(table.columns)).unchanged:
        records[name] = rows[name]
    fitted = with_groups(series.aggregator, records, rows, made.labels[are_covered])
    return fitted, records, rows, words


def series_in_words(number: int, are_covered: Booleans) -> str:
    """What a report says of a release of a series, some of whose rows it covers."""
    if not are_covered.any():
        raise ValueError("A report needs groups whose rows follow the table, but there are none.")
    return (
        f"Release {number}. All figures are about the {are_covered.sum():,} of "
        f"{len(are_covered):,} rows ({percent(are_covered.mean())}) that follow the table. The "
        "others are as in earlier releases, or their sensitive values are missing."
    )
