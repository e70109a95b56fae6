"""Releases of the same people, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sk_microagg._series._file import load_state, locked_state, save_state
from sk_microagg._series._groups import check_series, group_people, settings_of, violating
from sk_microagg._series._people import Today
from sk_microagg._series._state import SeriesRelease, SeriesState
from sk_microagg._series._tables import SERIES, without_dictionaries
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._estimator import all_or_nothing
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Array, Booleans, DataFrame, FilePath, Labels


class ReleaseSeries:
    """Release a table of people again and again; all releases together are k-anonymous.

    Two k-anonymous releases of the same people are not k-anonymous together: an attacker who knows
    a person looks at those who are in both of its groups. In a series, each person belongs to one
    group of at least k people, all of whose members appear together, with the same released
    quasi-identifiers, in every release from the first to the last one of the group. A series is a
    register of people, in which some rows stay as they were, and no statistics of each year. A
    sensitive value that changes is told to an attacker who knows that it changed. See the
    :ref:`user guide <series>`.

    Parameters
    ----------
    aggregator : TableAggregator
        How people are grouped; its `unit` is the column that says who a row belongs to. A person
        is one record, that of the first row, and all rows of a person are released alike.

    hold : float, default=0.0
        Share of the newcomers that may wait for better company, from 0 to below 1: those whose
        groups lose most. Releases lose less, and some people are released later.

    leavers : {"freeze_group", "keep", "withdraw_group"}, default="freeze_group"
        What becomes of people who are no longer in the table, and of their groups:

        - "freeze_group": their last rows stay in the releases, until all of their group have left.
          If fewer than k members of a group can follow the table, the rows of the whole group stay
          as they are. So the rows that change are those of at least k people.
        - "keep": their last rows stay, and those of all other members follow the table, even if
          that is one person: `real_k_` says how many.
        - "withdraw_group": their whole group leaves the series, and none of its members comes back.

        People who come back after rows of their group changed without them keep their last rows.

    values : {"today", "first"}, default="today"
        What is released in columns that are not anonymized: the rows of today's table, or those
        with which a person was first released. Only the latter hide that a sensitive value changes.

    spare : int, default=0
        How many members new groups have beyond k, so that some can leave before the others freeze.

    Attributes
    ----------
    n_releases_ : int
        Number of releases so far.

    units_ : ndarray of shape (n_rows,)
        The person that each row of the last release belongs to, None for people who are no longer
        in the table. It must not be published.

    keys_ : ndarray of shape (n_rows,)
        The same as keyed hashes, which the series knows of all people: a person has one key in all
        releases. It must not be published.

    waiting_ : ndarray
        People in the table who are not in the last release and may be in a later one: they are too
        few for a group, or for one that satisfies the constraints, or they were held.

    withdrawn_ : ndarray
        People in the table who are not released again, since their group has left the series.

    frozen_ : ndarray
        People in the table whose rows in the last release are those of an earlier one.

    n_left_ : int
        Number of people in the last release who are no longer in the table.

    changed_ : int
        Number of people whose quasi-identifiers are others than when they were first released. They
        keep the released ones. Without the original values, one change of 256 is not noticed.

    changed_alone_ : int
        Number of people with the only sensitive value of their group that differs from that of the
        release before. An attacker who knows that it changed, and who is in the group, reads it.

    n_suppressed_ : int
        Number of groups whose sensitive values are missing in the last release, since they violate
        a constraint, with all rows or with those that follow the table.

    real_k_ : int
        Smallest number of people of a group among whom an attacker looks who sees which rows
        change: those whose rows follow the table, or all members if none does. Only with
        `leavers="keep"` can it be below k.

    See Also
    --------
    TableAggregator : A single release.
    sk_microagg.metrics.joint_anonymity : Measures any releases together.

    Notes
    -----
    Rows of a release are in random order: otherwise, their places would tell who has left.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sk_microagg import ReleaseSeries, TableAggregator
    >>> ages = np.random.default_rng(0).integers(20, 80, 40)
    >>> people = pd.DataFrame({"id": range(40), "age": ages})
    >>> series = ReleaseSeries(TableAggregator(k=5, unit="id"))
    >>> len(series.release(people[:22]))
    22
    >>> len(series.release(people[3:]))  # Three have left, and eighteen are new.
    40
    >>> series.n_left_, len(series.waiting_)
    (3, 0)
    """

    def __init__(
        self,
        aggregator: TableAggregator,
        *,
        hold: float = 0.0,
        leavers: str = "freeze_group",
        values: str = "today",
        spare: int = 0,
    ) -> None:
        self.aggregator = aggregator
        self.hold = hold
        self.leavers = leavers
        self.values = values
        self.spare = spare
        check_series(aggregator, self)
        self.n_releases_: int = 0
        self._state: SeriesState | None = None
        self._release: SeriesRelease | None = None

    def release(self, table: DataFrame, *, erase: Sequence[Any] = ()) -> DataFrame:
        """Release the people of a table, together with those of earlier tables.

        Parameters
        ----------
        table : DataFrame of pandas
            The people of today, in the same columns every time. They are recognized by the column
            `unit`.

        erase : list, default=()
            People who must be in no release from now on. Their whole groups are withdrawn.

        Returns
        -------
        release : DataFrame of pandas
            The released rows, in random order. `units_` says who they are. Save the series before
            you publish them.
        """
        pandas = import_extra("pandas", "table", SERIES)
        arrow = import_extra("pyarrow", "table", SERIES)
        if not isinstance(table, pandas.DataFrame):
            raise TypeError(f"table must be a DataFrame of pandas, got {type(table).__name__}.")
        if not all(isinstance(name, str) for name in table.columns):
            raise TypeError("table must have columns whose names are text.")
        table = table.reset_index(drop=True)
        roles = TableRoles.from_estimator(self.aggregator, list(table.columns))
        settings = settings_of(self.aggregator, roles, self)
        state = self._state or SeriesState.begin(settings)
        state.check(settings)

        def as_cells(frame: DataFrame) -> Any:
            return without_dictionaries(arrow.Table.from_pandas(frame, preserve_index=False))

        def group(firsts: Labels) -> tuple[Labels, Any]:
            labels, groups, _ = group_people(self.aggregator, table.iloc[firsts], roles, self)
            return labels, None if groups is None else as_cells(groups)

        def violates(cells: Any, labels: Labels, people: Labels) -> Booleans:
            values = cells.select(roles.sensitive).to_pandas()
            return violating(self.aggregator.privacy, values, people, labels)

        cells = as_cells(table[[name for name in roles.unchanged if name not in roles.strata]])
        known = table[[*roles.quasi_identifiers, *roles.strata]]
        today = Today.of_rows(table[roles.unit], known, cells)
        state, release = state.advance(today, group, violates, erase=erase)
        with all_or_nothing(self):
            self._state = state
            self._set_attributes(state, release)
        if release.real_k < self.aggregator.k:
            warn_user(
                f"leavers='keep': the rows of only {release.real_k} people of a group follow the "
                f"table, fewer than k={self.aggregator.k}. An attacker who knows that a person is "
                "in the table looks among these."
            )
        return release.rows.to_pandas()

    def _set_attributes(self, state: SeriesState, release: SeriesRelease) -> None:
        self._release = release
        self.n_releases_ = state.n_releases
        self.units_: Array = release.units
        self.keys_: Array = release.keys
        self.waiting_: Array = release.waiting
        self.withdrawn_: Array = release.withdrawn
        self.n_left_: int = release.n_left
        self.frozen_: Array = release.frozen
        self.changed_: int = release.n_changed
        self.changed_alone_: int = release.n_changed_alone
        self.n_suppressed_: int = len({*release.labels[release.are_hidden].tolist()})
        self.real_k_: int = release.real_k

    def _last_release(self) -> SeriesRelease:
        """What is known of the last release, for a report."""
        if self._release is None:
            raise ValueError(
                "A report needs a release that this series has made since it was loaded."
            )
        return self._release

    def save(self, path: FilePath) -> None:
        """Write what the series has to remember, so that it can be continued.

        Do this before you publish a release. If the file knows releases that this series does not,
        that is an error, and the release must not be published.

        Parameters
        ----------
        path : str or Path
            The file to write. A secret is written beside it, with ".key" after its name. Only their
            owner can read them: together, they say who was released in which group.
        """
        if self._state is None or not self.n_releases_:
            raise ValueError("There is nothing to save before the first release.")
        with locked_state(path):
            save_state(self._state, path)

    @classmethod
    def load(
        cls,
        path: FilePath,
        aggregator: TableAggregator,
        *,
        hold: float = 0.0,
        leavers: str = "freeze_group",
        values: str = "today",
        spare: int = 0,
    ) -> Self:
        """Continue a series that was saved.

        Parameters
        ----------
        path : str or Path
            The file that `save` wrote.

        aggregator : TableAggregator
            As before. With another k, other columns or constraints, `release` raises an error.

        hold : float, default=0.0
            See :class:`ReleaseSeries`.

        leavers : {"freeze_group", "keep", "withdraw_group"}, default="freeze_group"
            See :class:`ReleaseSeries`. With another value than before, `release` raises an error.

        values : {"today", "first"}, default="today"
            See :class:`ReleaseSeries`. With another value than before, `release` raises an error.

        spare : int, default=0
            See :class:`ReleaseSeries`.

        Returns
        -------
        series : ReleaseSeries
            The series.
        """
        series = cls(aggregator, hold=hold, leavers=leavers, values=values, spare=spare)
        series._state = load_state(path)
        series.n_releases_ = series._state.n_releases
        return series
