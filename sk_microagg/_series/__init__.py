"""Releases of the same people, again and again: what is remembered, and the file it is kept in."""

from sk_microagg._series._file import (
    check_no_series,
    load_state,
    locked_state,
    restore_state,
    save_state,
)
from sk_microagg._series._groups import check_series, group_people, settings_of, violating
from sk_microagg._series._people import NONE, Today, name_of
from sk_microagg._series._release_series import ReleaseSeries
from sk_microagg._series._state import SeriesRelease, SeriesState
from sk_microagg._series._tables import without_dictionaries

__all__ = [
    "NONE",
    "ReleaseSeries",
    "SeriesRelease",
    "SeriesState",
    "Today",
    "check_no_series",
    "check_series",
    "group_people",
    "load_state",
    "locked_state",
    "name_of",
    "restore_state",
    "save_state",
    "settings_of",
    "violating",
    "without_dictionaries",
]
