"""What a series remembers: who is in which group, and what was released of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hmac import digest
from typing import Any, NamedTuple

import numpy as np

from sk_microagg._series._people import NONE, People, Today, name_of
from sk_microagg._series._tables import changed_people, stacked, taken, with_nulls
from sk_microagg._utils._typing import Array, Booleans, Labels

BYTES_OF_SECRET, BYTES_OF_KEY, BYTES_OF_NUMBER = 32, 16, 16

# What groups newcomers: from the places of their first rows to their groups, NONE for those who
# wait, and to what each group is released as.
Group = Callable[[Labels], tuple[Labels, Any]]

# What says which groups violate a constraint: from unchanged cells, groups and people of all rows.
Violates = Callable[[Any, Labels, Labels], Booleans]


class SeriesRelease(NamedTuple):
    """A release of a series, and what its holder has to know about it.

    Of each row: who it belongs to, its group, its place in the table (of an earlier row that of the
    person's first one, NONE if the person has left), whether the person is followed, and whether
    sensitive values are missing.
    """

    rows: Any
    units: Array
    keys: Array
    labels: Labels
    places: Labels
    are_new: Booleans
    are_followed: Booleans
    are_hidden: Booleans
    waiting: Array
    withdrawn: Array
    frozen: Array
    n_left: int
    n_changed: int
    n_changed_alone: int
    real_k: int
    n_rows_of_table: int

    @property
    def are_covered(self) -> Booleans:
        """Which rows a report can be about: of people who are followed, with all values shown."""
        return self.are_followed & ~self.are_hidden & (self.places >= 0)


def _demands(constraints: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    return [(one["class"], one["parameters"]) for one in constraints]


def _without_new_parameters(
    now: list[dict[str, Any]], before: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Constraints without parameters that they did not have yet, and that have their defaults."""
    found = []
    for place, one in enumerate(now):
        known = before[place]["parameters"] if place < len(before) else {}
        parameters = {
            name: value
            for name, value in one["parameters"].items()
            if name in known or value != one["usual"][name]
        }
        found.append({**one, "parameters": parameters})
    return found


@dataclass(frozen=True)
class SeriesState:
    """People by keyed hashes, their groups, what each group is released as, and their last rows.

    The last rows hold the cells that were released unchanged: without them, what a person who left
    had would be what is missing from the group. Of all other original values there is a mark of
    eight bits per person, to notice changes. A random number for each release says which releases
    the state knows. People and rows are in the order of the hashes.
    """

    secret: bytes
    settings: dict[str, Any]
    numbers: list[str]
    keys: Array
    groups: Labels
    marks: Labels
    are_followed: Booleans
    centroids: Any
    owners: Array
    rows: Any
    draft: list[str] | None = None
    kinds: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, settings: dict[str, Any]) -> SeriesState:
        people, owners = np.empty(0, dtype=object), np.empty(0, dtype=object)
        none, nobody = np.empty(0, dtype=np.intp), np.empty(0, dtype=bool)
        secret = os.urandom(BYTES_OF_SECRET)
        return cls(secret, settings, [], people, none, none, nobody, None, owners, None)

    @property
    def n_releases(self) -> int:
        return len(self.numbers)

    def check(self, settings: Mapping[str, Any]) -> None:
        """Raise unless the next release has the same columns, k, constraints and promises."""
        name = self.changed_setting(settings)
        if name is not None:
            given, wanted = map(_in_words, (settings[name], self.settings[name]))
            raise ValueError(
                f"{name}={given} must be {wanted}, as in earlier releases of this series."
            )

    def changed_setting(self, settings: Mapping[str, Any]) -> str | None:
        """The first setting that is not as in the releases before; None if there is none."""
        for name, before in self.settings.items():
            now = settings[name]
            if name == "privacy":
                before, now = map(_demands, (before, _without_new_parameters(now, before)))
            if now != before:
                return name
        return None

    def advance(
        self, today: Today, group: Group, violates: Violates, *, erase: Iterable[Any] = ()
    ) -> tuple[SeriesState, SeriesRelease]:
        """The state after the next release, and that release; raise if it would break the rule."""
        people = People(self, today, erase)
        made = None
        if people.is_new.any():
            labels, made = group(today.firsts[people.is_new])
            people.take_in(labels)

        # Some people have their rows of today, and others those that they were last released with.
        here = np.flatnonzero(people.have_new_rows[today.people])
        last = np.flatnonzero(people.have_last_rows[people.of_owners])
        if not len(here) + len(last):
            raise ValueError(
                f"No group of k={self.settings['k']} people can be formed: nobody can be released, "
                f"and {int(people.is_new.sum())} people wait."
            )
        centroids = stacked(self.centroids, made)
        cells = stacked(taken(today.cells, here), taken(self.rows, last))
        owners = np.append(people.keys[today.people[here]], self.owners[last])
        labels = np.append(
            people.of_today[today.people[here]], people.of_old[people.of_owners[last]]
        )
        firsts = np.append(today.firsts, NONE)
        places = np.append(here, firsts[people.today[people.of_owners[last]]])
        are_new = np.arange(len(labels)) < len(here)
        codes = np.unique(owners, return_inverse=True)[1]
        real_k = self._check_rule(people, labels, codes, are_new)

        is_bad = np.zeros(len(centroids), dtype=bool)
        if self.settings["privacy"]:
            is_bad = _violating(violates, cells, labels, codes, are_new, len(centroids))
        hidden = with_nulls(cells, self.settings["sensitive"], is_bad[labels])
        released = centroids.take(labels)
        for name in hidden.column_names:
            released = released.append_column(name, hidden[name])
        # No place may tell who has left, nor which rows belong to one person.
        order = np.argsort(np.frombuffer(os.urandom(8 * len(labels)), dtype=np.uint64))
        release = SeriesRelease(
            rows=released.select(self.settings["released"]).take(order),
            units=np.append(today.units, [None])[places[order]],
            keys=owners[order],
            labels=labels[order],
            places=places[order],
            are_new=are_new[order],
            are_followed=people.follow(owners)[order],
            are_hidden=is_bad[labels][order],
            waiting=today.take_units(people.is_new & (people.of_today < 0)),
            withdrawn=today.take_units(~people.is_new & (people.of_today < 0)),
            frozen=today.take_units((people.of_today >= 0) & ~people.have_new_rows),
            n_left=int(people.have_left.sum()),
            n_changed=people.n_changed,
            n_changed_alone=self._n_changed_alone(owners, cells, labels, are_new & ~is_bad[labels]),
            real_k=real_k,
            n_rows_of_table=len(today.units),
        )
        # Of a group whose values are hidden, the last ones that were not are kept.
        is_kept = ~is_bad[labels[: len(here)]] | people.is_new[today.people[here]]
        of_rows = people.of_old[people.of_owners]
        is_old = (of_rows >= 0) & (people.have_last_rows[people.of_owners] | is_bad[of_rows])
        rows = stacked(
            taken(hidden, np.flatnonzero(is_kept)), taken(self.rows, np.flatnonzero(is_old))
        )
        kept_owners = np.append(owners[: len(here)][is_kept], self.owners[is_old])
        number = os.urandom(BYTES_OF_NUMBER).hex()
        return people.after(number, centroids, kept_owners, rows), release

    def _check_rule(self, people: People, labels: Labels, codes: Labels, are_new: Booleans) -> int:
        """Raise unless each group has k people, and all of its members are in the release.

        Return the real k: an attacker who sees which rows change looks among those that do, if
        there are any in a group.
        """
        k, n_people = self.settings["k"], codes.max() + 1
        n_here = np.bincount(np.unique(labels * n_people + codes) // n_people)
        n_members = np.bincount(people.all_groups[people.all_groups >= 0], minlength=len(n_here))
        smallest = n_here[n_here > 0].min()
        if smallest < k or not np.array_equal(n_here, n_members):
            raise ValueError(
                f"A group of {smallest} people would be released, or one without all of its "
                f"members, but k={k} must always appear together: the release is refused."
            )
        pairs = np.unique((labels * n_people + codes)[are_new])
        n_new = np.bincount(pairs // n_people, minlength=len(n_here))
        real_k = int(np.where(n_new, n_new, n_here)[n_here > 0].min())
        if real_k < k and self.settings["leavers"] != "keep":
            raise ValueError(
                f"Rows of only {real_k} people of a group would change, but those of k={k} must "
                "change together: the release is refused."
            )
        return real_k

    def _n_changed_alone(
        self, owners: Array, cells: Any, labels: Labels, is_shown: Booleans
    ) -> int:
        """How many people have the only sensitive value of their group that has changed."""
        people, codes = np.unique(np.append(self.owners, owners), return_inverse=True)
        old, new = np.split(codes, [len(self.owners)])
        is_known, is_compared = np.zeros((2, len(people)), dtype=bool)
        is_known[old] = True
        after = np.flatnonzero(is_shown & is_known[new])
        is_compared[new[after]] = True
        before = np.flatnonzero(is_compared[old])
        groups = np.zeros(len(people), dtype=np.intp)
        groups[new[after]] = labels[after]
        compared = np.append(old[before], new[after])
        alone: set[int] = set()
        for name in self.settings["sensitive"] if len(after) else []:
            columns = self.rows[name].take(before), cells[name].take(after)
            changed = changed_people(*columns, compared)
            n_changed = np.bincount(groups[changed])
            alone |= {*changed[n_changed[groups[changed]] == 1].tolist()}
        return len(alone)

    def key(self, unit: Any) -> str:
        """The keyed hash of a person."""
        return digest(self.secret, name_of(unit).encode(), "sha256")[:BYTES_OF_KEY].hex()

    def mark(self, key: str, text: str) -> int:
        """Eight bits of the keyed hash of a person's original values."""
        return digest(self.secret, f"{key} {text}".encode(), "sha256")[0]


def _violating(
    violates: Violates,
    cells: Any,
    labels: Labels,
    people: Labels,
    are_new: Booleans,
    n_groups: int,
) -> Booleans:
    """Which groups violate a constraint, with all rows or with those that are new."""
    is_bad = np.zeros(n_groups, dtype=bool)
    # An attacker who sees which rows change can leave out the others.
    for parts in (labels, np.where(are_new, labels, labels + n_groups)):
        present, dense = np.unique(parts, return_inverse=True)
        is_group = present < n_groups
        is_bad[present[is_group]] |= violates(cells, dense, people)[is_group]
    return is_bad


def _in_words(setting: Any) -> str:
    """The value of a setting; constraints as calls."""
    if not (isinstance(setting, list) and setting and isinstance(setting[0], dict)):
        return repr(setting)
    calls = []
    for one in setting:
        arguments = ", ".join(f"{name}={value!r}" for name, value in one["parameters"].items())
        calls.append(f"{one['class']}({arguments})")
    return f"[{', '.join(calls)}]"
