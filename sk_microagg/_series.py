"""Releases of the same people, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from sk_microagg._model._points import most_of
from sk_microagg._series_state import NONE, SeriesRelease, SeriesState, Today, without_dictionaries
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._estimator import all_or_nothing
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Array, Booleans, DataFrame, FilePath, Labels
from sk_microagg._utils._validation import check_option
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.privacy._rules import split_constraints


class ReleaseSeries:
    """Release a table of people again and again; all releases together are k-anonymous.

    Two k-anonymous releases of the same people are not k-anonymous together: whoever knows a person
    looks at those who are in both of its groups. In a series, everybody who was ever released
    belongs to one group of at least k people, all of whose members appear together, with the same
    released quasi-identifiers, in every release from the first to the last one of the group. See
    the :ref:`user guide <series>`.

    Parameters
    ----------
    aggregator : TableAggregator
        How people are grouped; its `unit` is the column that says who a row belongs to. Everybody
        is one record, that of the first row, and all rows of a person are released alike.

    hold : float, default=0.0
        Share of the newcomers that may wait for better company, from 0 to below 1: those whose
        groups lose most. Releases lose less, and some people are released later.

    leavers : {"keep", "withdraw_group"}, default="keep"
        What becomes of people who are no longer in the table:

        - "keep": their last rows stay in the releases, until all of their group have left.
        - "withdraw_group": their whole group leaves the series, and nobody of it comes back.

    Attributes
    ----------
    n_releases_ : int
        Number of releases so far.

    units_ : ndarray of shape (n_rows,)
        Who each row of the last release belongs to, None for people who are no longer in the table.
        It must not be published.

    keys_ : ndarray of shape (n_rows,)
        The same as keyed hashes, which the series knows of all people: everybody has one key in all
        releases. It must not be published.

    waiting_ : ndarray
        People in the table who are not in the last release and may be in a later one: they are too
        few for a group, or for one that satisfies the constraints, or they were held.

    withdrawn_ : ndarray
        People in the table who are not released again, since their group has left the series.

    n_left_ : int
        Number of people in the last release who are no longer in the table.

    changed_ : int
        Number of people whose quasi-identifiers are others than when they were first released. They
        keep the released ones. Without the original values, one change of 256 is not noticed.

    n_suppressed_ : int
        Number of groups whose sensitive values are missing in the last release, since they violate
        a constraint.

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
        self, aggregator: TableAggregator, *, hold: float = 0.0, leavers: str = "keep"
    ) -> None:
        check_series(aggregator, hold, leavers)
        self.aggregator = aggregator
        self.hold = hold
        self.leavers = leavers
        self.n_releases_: int = 0
        self._state: SeriesState | None = None

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
            The released rows, in random order. `units_` says who they are.
        """
        pandas = import_extra("pandas", "table", "A series of releases")
        arrow = import_extra("pyarrow", "table", "A series of releases")
        if not isinstance(table, pandas.DataFrame):
            raise TypeError(f"table must be a DataFrame of pandas, got {type(table).__name__}.")
        if not all(isinstance(name, str) for name in table.columns):
            raise TypeError("table must have columns whose names are text.")
        table = table.reset_index(drop=True)
        roles = TableRoles.from_estimator(self.aggregator, list(table.columns))
        settings = settings_of(self.aggregator, roles)
        state = self._state or SeriesState.begin(settings)
        state.check(settings)

        def as_cells(frame: DataFrame) -> Any:
            return without_dictionaries(arrow.Table.from_pandas(frame, preserve_index=False))

        def group(firsts: Labels) -> tuple[Labels, Any]:
            labels, groups = group_people(self.aggregator, table.iloc[firsts], roles, self.hold)
            return labels, None if groups is None else as_cells(groups)

        def violates(cells: Any, labels: Labels, people: Labels) -> Booleans:
            values = cells.select(roles.sensitive).to_pandas()
            return violating(self.aggregator.privacy, values, people, labels)

        cells = as_cells(table[[name for name in roles.unchanged if name not in roles.strata]])
        known = table[[*roles.quasi_identifiers, *roles.strata]]
        today = Today.of_rows(table[roles.unit], known, cells)
        state, release = state.advance(today, group, violates, leavers=self.leavers, erase=erase)
        with all_or_nothing(self):
            self._state = state
            self._set_attributes(release)
        return release.rows.to_pandas()

    def _set_attributes(self, release: SeriesRelease) -> None:
        assert self._state is not None
        self.n_releases_ = self._state.n_releases
        self.units_: Array = release.units
        self.keys_: Array = release.keys
        self.waiting_: Array = release.waiting
        self.withdrawn_: Array = release.withdrawn
        self.n_left_: int = release.n_left
        self.changed_: int = release.n_changed
        self.n_suppressed_: int = release.n_suppressed

    def save(self, path: FilePath) -> None:
        """Write what the series has to remember, so that it can be continued.

        Parameters
        ----------
        path : str or Path
            The file to write. A secret is written beside it, with ".key" after its name. Only their
            owner can read them: together, they say who was released in which group.
        """
        if self._state is None:
            raise ValueError("There is nothing to save before the first release.")
        self._state.save(path)

    @classmethod
    def load(
        cls,
        path: FilePath,
        aggregator: TableAggregator,
        *,
        hold: float = 0.0,
        leavers: str = "keep",
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

        leavers : {"keep", "withdraw_group"}, default="keep"
            See :class:`ReleaseSeries`.

        Returns
        -------
        series : ReleaseSeries
            The series.
        """
        series = cls(aggregator, hold=hold, leavers=leavers)
        series._state = SeriesState.load(path)
        series.n_releases_ = series._state.n_releases
        return series


def check_series(aggregator: Any, hold: Any, leavers: Any) -> None:
    if not isinstance(aggregator, TableAggregator):
        kind = type(aggregator).__name__
        raise TypeError(f"aggregator must be a TableAggregator, got {kind}.")
    if aggregator.unit is None:
        raise ValueError("unit=None must be the column that says who people are, in a series.")
    if aggregator.weight is not None:
        raise ValueError(
            f"weight={aggregator.weight!r} must be None in a series: means of newcomers would be "
            "weighted, and those of groups that stay would not change with the weights."
        )
    if aggregator.categories == "shares":
        raise ValueError("categories='shares' must be another one in a series: columns would vary.")
    if isinstance(hold, bool) or not isinstance(hold, int | float) or not 0 <= hold < 1:
        raise ValueError(f"hold={hold!r} must be a number from 0 to below 1.")
    check_option("leavers", leavers, ("keep", "withdraw_group"))


def settings_of(aggregator: Any, roles: TableRoles) -> dict[str, Any]:
    """What must stay the same over all releases of a series."""
    return {
        "k": int(aggregator.k),
        "quasi_identifiers": list(roles.quasi_identifiers),
        "sensitive": list(roles.sensitive),
        "strata": list(roles.strata),
        "unit": roles.unit,
        "released": list(roles.released),
        "categories": aggregator.categories or "mode",
        "privacy": str(aggregator.privacy or None),
    }


def group_people(
    aggregator: TableAggregator, people: DataFrame, roles: TableRoles, hold: float
) -> tuple[Labels, DataFrame | None]:
    """The group of each newcomer, NONE for those who wait, and what the groups are released as."""
    labels = np.full(len(people), NONE, dtype=np.intp)
    places = _who_can_be_grouped(aggregator, people, roles)
    if not len(places):
        return labels, None
    about_units, _ = split_constraints(aggregator.privacy)
    columns = [*roles.quasi_identifiers, *roles.sensitive, *roles.strata]
    # Everybody is one row, so that counting rows is counting people.
    unit = {"unit": roles.unit if about_units else None}
    table = people.iloc[places][columns + ([roles.unit] if about_units else [])]
    table = table.reset_index(drop=True)
    given = {role: getattr(roles, role) for role in ("quasi_identifiers", "sensitive", "strata")}
    estimator = clone(aggregator).set_params(drop=None, **given, **unit).fit(table)
    kept = _kept_groups(estimator, table[roles.quasi_identifiers], hold, len(people))
    released = estimator.centroids_.iloc[kept].reset_index(drop=True)
    firsts = np.unique(estimator.labels_, return_index=True)[1][kept]
    for name in roles.strata:
        released[name] = table[name].iloc[firsts].to_numpy()
    renumbered = np.full(estimator.n_groups_, NONE, dtype=np.intp)
    renumbered[kept] = np.arange(len(kept))
    labels[places] = renumbered[estimator.labels_]
    return labels, released


def _who_can_be_grouped(
    aggregator: TableAggregator, people: DataFrame, roles: TableRoles
) -> Labels:
    """Places of newcomers in strata that have k of them, and satisfy the constraints as a whole."""
    places = np.arange(len(people))
    while len(places):
        rows = people.iloc[places]
        strata = np.zeros(len(rows), dtype=np.intp)
        if roles.strata:
            strata = rows.groupby(roles.strata, sort=False, dropna=False).ngroup().to_numpy()
        is_bad = np.bincount(strata) < aggregator.k
        is_bad |= violating(aggregator.privacy, rows[roles.sensitive], rows[roles.unit], strata)
        if not is_bad.any():
            break
        # Others are compared with what is left of the table.
        places = places[~is_bad[strata]]
    return places


def _kept_groups(
    estimator: TableAggregator, records: DataFrame, hold: float, n_newcomers: int
) -> Labels:
    """Groups that need not wait: all but those with the highest loss per person, up to a share."""
    sizes = estimator.group_sizes_
    is_kept = np.ones(len(sizes), dtype=bool)
    n_may_wait = int(hold * n_newcomers) - (n_newcomers - len(records))
    if n_may_wait >= sizes.min():
        points, _ = most_of(estimator._encoder.points(records))
        means = np.zeros((len(sizes), points.shape[1]))
        np.add.at(means, estimator.labels_, points)
        errors = np.sum((points - (means / sizes[:, None])[estimator.labels_]) ** 2, axis=1)
        losses = np.bincount(estimator.labels_, weights=errors) / sizes
        for number in np.argsort(-losses, kind="stable"):
            if sizes[number] <= n_may_wait:
                is_kept[number] = False
                n_may_wait -= sizes[number]
    return np.flatnonzero(is_kept)


def violating(privacy: Any, sensitive: DataFrame, people: Any, labels: Labels) -> Booleans:
    """Whether each group of rows violates a constraint; the rows belong to people."""
    about_units, others = split_constraints(privacy)
    is_bad = np.zeros(labels.max() + 1, dtype=bool)
    columns = RoleColumns(sensitive, len(labels)) if others else None
    for constraint in (*about_units, *others):
        values = people
        if columns is not None and not constraint.is_about_units:
            values = columns.values(columns.number_of(getattr(constraint, "column", None)))
        figures = constraint.measure_groups(labels, *constraint.prepare(values))
        is_bad |= ~constraint.accepts_each(figures)
    return is_bad
