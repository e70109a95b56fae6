"""How the newcomers of a series are grouped, and what must stay the same over all releases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from sk_microagg._model._points import most_of
from sk_microagg._series._people import NONE
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._typing import Booleans, DataFrame, Labels
from sk_microagg._utils._validation import check_option
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.privacy._rules import as_constraints, split_constraints
from sk_microagg.tables._domain import IntervalEnds

LEAVERS = "freeze_group", "keep", "withdraw_group"
VALUES = "today", "first"


def check_series(aggregator: Any, options: Any) -> None:
    """Raise unless people can be grouped for a series with the options that a series has."""
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
    hold = options.hold
    if isinstance(hold, bool) or not isinstance(hold, int | float) or not 0 <= hold < 1:
        raise ValueError(f"hold={hold!r} must be a number from 0 to below 1.")
    spare = options.spare
    if isinstance(spare, bool) or not isinstance(spare, Integral) or spare < 0:
        raise ValueError(f"spare={spare!r} must be an integer of at least 0.")
    check_option("leavers", options.leavers, LEAVERS)
    check_option("values", options.values, VALUES)


def settings_of(aggregator: Any, roles: TableRoles, options: Any) -> dict[str, Any]:
    """What must stay the same over all releases of a series, as JSON has it."""
    settings = {
        "k": int(aggregator.k),
        "quasi_identifiers": roles.quasi_identifiers,
        "sensitive": roles.sensitive,
        "strata": roles.strata,
        "unit": roles.unit,
        "released": roles.released,
        "numbers": getattr(aggregator, "numbers", "mean"),
        "categories": aggregator.categories or "mode",
        "privacy": sorted(map(_constraint_as_setting, as_constraints(aggregator.privacy)), key=str),
        "leavers": options.leavers,
        "values": options.values,
    }
    return json.loads(json.dumps(settings))


def _constraint_as_setting(constraint: Any) -> dict[str, Any]:
    """The class and all parameters, whatever scikit-learn prints and whatever defaults are."""
    parameters = constraint.get_params().items()
    defaults = signature(type(constraint)).parameters
    return {
        "class": type(constraint).__name__,
        "parameters": {name: _plain(value) for name, value in parameters},
        "usual": {name: _plain(defaults[name].default) for name, _ in parameters},
    }


def _plain(value: Any) -> Any:
    """A value that JSON gives back as it is, or the class and a digest of what an object holds."""
    value = value.item() if isinstance(value, np.generic) else value
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        content = json.dumps(_content(value))
        return f"{type(value).__name__} {sha256(content.encode()).hexdigest()[:32]}"


def _content(value: Any) -> Any:
    """What an object holds, whatever it prints: the same in another process."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _content(value.tolist())
    if isinstance(value, Mapping):
        return [[_content(key), _content(each)] for key, each in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_content(each)) for each in value)
    if isinstance(value, list | tuple):
        return [_content(each) for each in value]
    if hasattr(value, "__qualname__"):  # a class or a function
        return f"{value.__module__}.{value.__qualname__}"
    return [type(value).__qualname__, _content(vars(value)) if hasattr(value, "__dict__") else ""]


def group_people(
    aggregator: TableAggregator, people: DataFrame, roles: TableRoles, options: Any
) -> tuple[Labels, DataFrame | None, dict[Any, IntervalEnds]]:
    """The group of each newcomer, NONE for those who wait, and what the groups are released as.

    Also the ends of intervals, by column.
    """
    labels = np.full(len(people), NONE, dtype=np.intp)
    aggregator = clone(aggregator).set_params(k=aggregator.k + options.spare)
    places = _who_can_be_grouped(aggregator, people, roles)
    if not len(places):
        return labels, None, {}
    about_units, _ = split_constraints(aggregator.privacy)
    columns = [*roles.quasi_identifiers, *roles.sensitive, *roles.strata]
    # Everybody is one row, so that counting rows is counting people.
    unit = {"unit": roles.unit if about_units else None}
    table = people.iloc[places][columns + ([roles.unit] if about_units else [])]
    table = table.reset_index(drop=True)
    given = {role: getattr(roles, role) for role in ("quasi_identifiers", "sensitive", "strata")}
    estimator = aggregator.set_params(drop=None, **given, **unit).fit(table)
    kept = _kept_groups(estimator, table[roles.quasi_identifiers], options.hold, len(people))
    released = estimator.centroids_.iloc[kept].reset_index(drop=True)
    firsts = np.unique(estimator.labels_, return_index=True)[1][kept]
    for name in roles.strata:
        released[name] = table[name].iloc[firsts].to_numpy()
    renumbered = np.full(estimator.n_groups_, NONE, dtype=np.intp)
    renumbered[kept] = np.arange(len(kept))
    labels[places] = renumbered[estimator.labels_]
    ends = {name: both.take(kept) for name, both in estimator.interval_ends_.items()}
    return labels, released, ends


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
    columns: Any = RoleColumns(sensitive, len(labels)) if others else None
    bound = [(constraint, people) for constraint in about_units]
    for constraint in others:
        bound += [(constraint, columns.values(place)) for place in columns.numbers_of(constraint)]
    for constraint, values in bound:
        figures = constraint.measure_groups(labels, *constraint.prepare(values))
        is_bad |= ~constraint.accepts_each(figures)
    return is_bad
