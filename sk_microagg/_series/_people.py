"""Who is in the table, who has left, who is new, and whose rows follow the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sk_microagg._series._tables import SERIES
from sk_microagg._utils._places import check_cells
from sk_microagg._utils._tables import import_extra, missing_cells
from sk_microagg._utils._typing import Array, Booleans, Labels
from sk_microagg.privacy._columns import check_one_kind

# The group of people who wait, and of those who are never released again; or no place in a table.
NONE = -1


def name_of(value: Any) -> str:
    """A value as text; equal numbers are the same text, whatever their type."""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


@dataclass(frozen=True)
class Today:
    """The people of a table: who each row belongs to, and the cells that are released unchanged.

    The texts are what was originally known about people, of which only a mark is kept.
    """

    units: Array
    people: Labels
    firsts: Labels
    texts: list[str]
    cells: Any

    @classmethod
    def of_rows(cls, units: Any, known: Any, cells: Any) -> Today:
        """Take them from the units of rows, columns of original values, and unchanged cells."""
        pandas = import_extra("pandas", "table", SERIES)
        values = np.asarray(units, dtype=object)
        _check_units(values)
        people, _ = pandas.factorize(np.array([*map(name_of, values)], dtype=object))
        firsts = np.unique(people, return_index=True)[1]
        columns = [[*map(name_of, column)] for _, column in known.iloc[firsts].items()]
        texts = [json.dumps(row) for row in zip(*columns, strict=True)]
        return cls(values, people, firsts, texts, cells)

    def take_units(self, mask: Booleans) -> Array:
        return self.units[self.firsts[mask]]


def _check_units(values: Array) -> None:
    """Raise unless each row says who it belongs to, all in values of one kind."""
    check_cells(
        missing_cells(values),
        "unit",
        ("does not say who it belongs to", "do not say who they belong to"),
        noun="row",
    )
    check_one_kind({*map(type, values)})


class People:
    """The people of a state and of today's table, in the release after that state.

    Of those in the state: `of_old` is their group after the release, NONE if it leaves; `of_owners`
    says who the kept rows belong to, and `today` where people are among those of the table. Of
    those in the table: `of_today` is their group. People are followed if they were in the table in
    each release in which the rows of their group followed it: the sets of people whose rows change
    shrink, so that rows of several years together single nobody out.
    """

    def __init__(self, state: Any, today: Today, erase: Iterable[Any]) -> None:
        self._state = state
        keys = [state.key(unit) for unit in today.units[today.firsts]]
        self.keys = np.array(keys, dtype=object)
        marks = [state.mark(*pair) for pair in zip(keys, today.texts, strict=True)]
        self._marks = np.array(marks, dtype=np.intp)
        self._erased = dict.fromkeys(map(state.key, erase))
        place_of = {key: place for place, key in enumerate(state.keys)}
        places = np.array([place_of.get(key, NONE) for key in keys], dtype=np.intp)
        self.of_owners = np.array([place_of[key] for key in state.owners], dtype=np.intp)
        is_known = places >= 0
        if len(state.keys) and not is_known.any():
            raise ValueError(
                "unit: nobody of the earlier releases is in the table. It must name people as in "
                "those releases."
            )
        self.today = np.full(len(state.keys), NONE, dtype=np.intp)
        self.today[places[is_known]] = np.flatnonzero(is_known)
        is_here = self.today >= 0
        self.of_old = self._without_gone(is_here)
        self.have_left = (self.of_old >= 0) & ~is_here
        self._are_followed, self._follow = self._followed(is_here)
        is_erased = np.array([key in self._erased for key in keys], dtype=bool)
        self.is_new = ~is_known & ~is_erased
        self.of_today = np.append(self.of_old, NONE)[places]
        have_changed = self._marks != np.append(state.marks, NONE)[places]
        self.n_changed = int(np.sum(have_changed & (self.of_today >= 0)))
        shows_today = self._follow & (state.settings["values"] == "today")
        self.have_last_rows = (self.of_old >= 0) & ~shows_today
        self.have_new_rows = np.append(shows_today, False)[places]

    def _without_gone(self, is_here: Booleans) -> Labels:
        """The groups of all people so far, NONE where the whole group leaves the series."""
        groups, leavers = self._state.groups, self._state.settings["leavers"]
        is_active = groups >= 0
        n_groups = groups.max(initial=NONE) + 1
        n_members = np.bincount(groups[is_active], minlength=n_groups)
        n_here = np.bincount(groups[is_active & is_here], minlength=n_groups)
        is_gone = n_here < (n_members if leavers == "withdraw_group" else np.minimum(n_members, 1))
        is_erased = np.array([key in self._erased for key in self._state.keys], dtype=bool)
        is_gone[groups[is_active & is_erased]] = True
        return np.where(is_active & ~np.append(is_gone, True)[groups], groups, NONE)

    def _followed(self, is_here: Booleans) -> tuple[Booleans, Booleans]:
        """Who is followed from now on, and whose rows follow the table in this release."""
        can_follow = self._state.are_followed & is_here & (self.of_old >= 0)
        n_groups = self._state.groups.max(initial=NONE) + 1
        n_followed = np.bincount(self.of_old[can_follow], minlength=n_groups)
        least = self._state.settings["k"] if self._state.settings["leavers"] != "keep" else 1
        is_frozen = np.append(n_followed < least, True)[self.of_old]
        # What nobody sees changes nothing: if people come back, the rows of their group go on.
        return np.where(is_frozen, self._state.are_followed, can_follow), can_follow & ~is_frozen

    def take_in(self, labels: Labels) -> None:
        """Take the groups of newcomers, which follow those that exist."""
        n_groups = self._state.groups.max(initial=NONE) + 1
        self.of_today[self.is_new] = np.where(labels >= 0, labels + n_groups, NONE)
        self.have_new_rows[self.is_new] = labels >= 0

    @property
    def all_groups(self) -> Labels:
        """The groups of people so far, and then of newcomers."""
        return np.append(self.of_old, self.of_today[self.is_new])

    def follow(self, owners: Array) -> Booleans:
        """Whether each of some owners of rows is new, or follows the table in this release."""
        others = {*self._state.keys[~self._follow]}
        return np.array([key not in others for key in owners], dtype=bool)

    def after(self, number: str, centroids: Any, owners: Array, rows: Any) -> Any:
        """The state after a release, without anything about groups that have left."""
        state = self._state
        is_in = self.is_new & (self.of_today >= 0)
        known = {*state.keys}
        erased = np.array([key for key in self._erased if key not in known], dtype=object)
        keys = np.concatenate([state.keys, self.keys[is_in], erased])
        none, nobody = np.full(len(erased), NONE), np.zeros(len(erased), dtype=bool)
        groups = np.concatenate([self.of_old, self.of_today[is_in], none])
        marks = np.concatenate([state.marks, self._marks[is_in], none])
        followed = np.concatenate([self._are_followed, np.ones(is_in.sum(), dtype=bool), nobody])
        active = np.unique(groups[groups >= 0])
        is_active = groups >= 0
        # The order of the table would say who has which key.
        order, order_of_rows = np.argsort(keys), np.argsort(owners, kind="stable")
        return replace(
            state,
            numbers=[*state.numbers, number],
            keys=keys[order],
            groups=np.where(is_active, np.searchsorted(active, groups), NONE)[order],
            # Whoever has left for good cannot change.
            marks=np.where(is_active, marks, 0)[order],
            are_followed=(is_active & followed)[order],
            centroids=centroids.take(active),
            owners=owners[order_of_rows],
            rows=rows.take(order_of_rows) if rows.num_columns else rows,
            draft=None,
        )
