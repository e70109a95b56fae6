"""What a series of releases remembers: who is in which group, and what was released of them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hmac import compare_digest, digest
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from sk_microagg._utils._tables import import_extra, missing_cells
from sk_microagg._utils._typing import Array, Booleans, FilePath, Labels
from sk_microagg._utils._writing import written_whole

VERSION = 1

# The group of people who wait, and of those who are never released again.
NONE = -1

BYTES_OF_SECRET, BYTES_OF_KEY = 32, 16

# Whose key says which secret a state belongs to.
NOBODY = "\0"

# What groups newcomers: from the places of their first rows to their groups, NONE for those who
# wait, and to what each group is released as.
Group = Callable[[Labels], tuple[Labels, Any]]

# What says which groups violate a constraint: from unchanged cells, groups and people of all rows.
Violates = Callable[[Any, Labels, Labels], Booleans]


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
        pandas = import_extra("pandas", "table", "A series of releases")
        if missing_cells(units).any():
            raise ValueError("unit: every row must say who it belongs to, but some do not.")
        values = np.asarray(units, dtype=object)
        people, _ = pandas.factorize(np.array([*map(name_of, values)], dtype=object))
        firsts = np.unique(people, return_index=True)[1]
        columns = [[*map(name_of, column)] for _, column in known.iloc[firsts].items()]
        texts = [json.dumps(row) for row in zip(*columns, strict=True)]
        return cls(values, people, firsts, texts, cells)

    def take_units(self, mask: Booleans) -> Array:
        return self.units[self.firsts[mask]]


class SeriesRelease(NamedTuple):
    """A release of a series, and what its holder has to know about it."""

    rows: Any
    units: Array
    keys: Array
    labels: Labels
    waiting: Array
    withdrawn: Array
    n_left: int
    n_changed: int
    n_suppressed: int


@dataclass(frozen=True)
class SeriesState:
    """People by keyed hashes, their groups, what each group is released as, and their last rows.

    The last rows hold the cells that were released unchanged: without them, what somebody who left
    had would be what is missing from the group. Of all other original values there is a mark of
    eight bits per person, to notice changes.
    """

    secret: bytes
    settings: dict[str, Any]
    n_releases: int
    keys: Array
    groups: Labels
    marks: Labels
    centroids: Any
    owners: Array
    rows: Any
    draft: list[str] | None = None

    @classmethod
    def begin(cls, settings: dict[str, Any]) -> SeriesState:
        people, owners = np.empty(0, dtype=object), np.empty(0, dtype=object)
        none = np.empty(0, dtype=np.intp)
        secret = os.urandom(BYTES_OF_SECRET)
        return cls(secret, settings, 0, people, none, none, None, owners, None)

    def check(self, settings: dict[str, Any]) -> None:
        """Raise unless the next release has the same columns, k and constraints."""
        for name, before in self.settings.items():
            if settings[name] != before:
                raise ValueError(
                    f"{name}={settings[name]!r} must be {before!r}, as in earlier releases of this "
                    "series."
                )

    def advance(
        self,
        today: Today,
        group: Group,
        violates: Violates,
        *,
        leavers: str = "keep",
        erase: Sequence[Any] = (),
    ) -> tuple[SeriesState, SeriesRelease]:
        """The state after the next release, and that release; raise if it would break the rule."""
        people = _People(self, today, erase, leavers)
        made = None
        if people.is_new.any():
            labels, made = group(today.firsts[people.is_new])
            people.take_in(labels)

        # Those who are here have the cells of today, those who have left their last ones.
        here = np.flatnonzero(people.of_today[today.people] >= 0)
        left = np.flatnonzero(people.have_left[people.of_owners])
        if not len(here) + len(left):
            raise ValueError(
                f"No group of k={self.settings['k']} people can be formed: nobody can be released, "
                f"and {int(people.is_new.sum())} people wait."
            )
        centroids = _stacked(self.centroids, made)
        cells = _stacked(_taken(today.cells, here), _taken(self.rows, left))
        units = np.append(today.units[here], np.full(len(left), None))
        owners = np.append(people.keys[today.people[here]], self.owners[left])
        labels = np.append(
            people.of_today[today.people[here]], people.of_old[people.of_owners[left]]
        )
        codes = np.unique(owners, return_inverse=True)[1]
        self._check_rule(people, labels, codes)

        is_bad = np.zeros(len(centroids), dtype=bool)
        if self.settings["privacy"] != "None":
            present, dense = np.unique(labels, return_inverse=True)
            is_bad[present] = violates(cells, dense, codes)
        cells = _with_nulls(cells, self.settings["sensitive"], is_bad[labels])
        # No place may tell who has left, nor which rows belong to one person.
        order = np.argsort(np.frombuffer(os.urandom(8 * len(labels)), dtype=np.uint64))
        released = centroids.take(labels)
        for name in cells.column_names:
            released = released.append_column(name, cells[name])
        release = SeriesRelease(
            released.select(self.settings["released"]).take(order),
            units[order],
            owners[order],
            labels[order],
            today.take_units(people.is_new & (people.of_today < 0)),
            today.take_units(~people.is_new & (people.of_today < 0)),
            int(people.have_left.sum()),
            people.n_changed,
            int(is_bad.sum()),
        )
        # Of a group whose values are hidden, the last ones that were not are kept.
        is_kept = ~is_bad[labels[: len(here)]] | people.is_new[today.people[here]]
        of_rows = people.of_old[people.of_owners]
        is_old = (of_rows >= 0) & (people.have_left[people.of_owners] | is_bad[of_rows])
        rows = _stacked(
            _taken(cells, np.flatnonzero(is_kept)), _taken(self.rows, np.flatnonzero(is_old))
        )
        owners = np.append(owners[: len(here)][is_kept], self.owners[is_old])
        return people.after(centroids, owners, rows), release

    def _check_rule(self, people: _People, labels: Labels, codes: Labels) -> None:
        """Raise unless each group has at least k people, all of whom are in the release."""
        n_people = codes.max() + 1
        n_here = np.bincount(np.unique(labels * n_people + codes) // n_people)
        n_members = np.bincount(people.all_groups[people.all_groups >= 0], minlength=len(n_here))
        smallest = n_here[n_here > 0].min()
        if smallest < self.settings["k"] or not np.array_equal(n_here, n_members):
            raise ValueError(
                f"A group of {smallest} people would be released, or one without all of its "
                f"members, but k={self.settings['k']} must always appear together: the release is "
                "refused."
            )

    def key(self, unit: Any) -> str:
        """The keyed hash of who somebody is."""
        return digest(self.secret, name_of(unit).encode(), "sha256")[:BYTES_OF_KEY].hex()

    def mark(self, key: str, text: str) -> int:
        """Eight bits of the keyed hash of somebody's original values."""
        return digest(self.secret, f"{key} {text}".encode(), "sha256")[0]

    def save(self, path: FilePath) -> None:
        """Replace the file of the state as a whole; only its owner can read it."""
        path = Path(path)
        secret = path.with_name(f"{path.name}.key")
        before = SeriesState.load(path) if path.exists() else None
        if before is not None and not compare_digest(before.secret, self.secret):
            raise ValueError(f"{path} is the state of another series: choose another name.")
        is_later = before is not None and before.n_releases >= self.n_releases
        if before is not None and is_later and not np.array_equal(before.keys, self.keys):
            # People of both releases would be in two groups.
            raise ValueError(f"{path} was continued elsewhere: load it again, and release again.")
        if not secret.exists() or not path.exists():
            _write_private(secret, self.secret)
        _write_private(path, self.to_bytes())

    def restore(self, path: FilePath) -> None:
        """Put this state into the place of a later one, or nothing before the first release."""
        if self.n_releases:
            _write_private(Path(path), self.to_bytes())
        else:
            Path(path).unlink()

    def to_bytes(self) -> bytes:
        """The state without its secret, as a file."""
        arrow, parquet = _arrow()
        people = {"key": self.keys.tolist(), "group": self.groups, "mark": self.marks}
        about = {
            "version": VERSION,
            "n_releases": self.n_releases,
            "settings": self.settings,
            "draft": self.draft,
            "check": self.key(NOBODY),
        }
        tables = {
            "people": arrow.table(people),
            "groups": self.centroids,
            "owners": arrow.table({"key": self.owners.tolist()}),
            "rows": self.rows,
        }
        file = io.BytesIO()
        with ZipFile(file, "w") as archive:
            archive.writestr("state.json", json.dumps(about))
            for name, table in tables.items():
                content = io.BytesIO()
                parquet.write_table(table, content)
                archive.writestr(f"{name}.parquet", content.getvalue())
        return file.getvalue()

    @classmethod
    def load(cls, path: FilePath) -> SeriesState:
        """Read what `save` wrote; raise if that is no state, or if its secret is another one."""
        arrow, parquet = _arrow()
        path = Path(path)
        secret = path.with_name(f"{path.name}.key").read_bytes()
        try:
            with ZipFile(path) as archive:
                about = json.loads(archive.read("state.json"))
                people, groups, owners, rows = (
                    parquet.read_table(io.BytesIO(archive.read(f"{name}.parquet")))
                    for name in ("people", "groups", "owners", "rows")
                )
        except (BadZipFile, KeyError, ValueError, arrow.ArrowException) as error:
            raise ValueError(f"{path} is not the state of a series, or is damaged.") from error
        if about["version"] != VERSION:
            raise ValueError(f"{path} is of version {about['version']}, which is not supported.")
        state = cls(
            secret,
            about["settings"],
            about["n_releases"],
            np.array(people["key"].to_pylist(), dtype=object),
            people["group"].to_numpy(),
            people["mark"].to_numpy(),
            groups,
            np.array(owners["key"].to_pylist(), dtype=object),
            rows,
            about["draft"],
        )
        if not compare_digest(state.key(NOBODY), about["check"]):
            raise ValueError(f"{path}.key is not the secret of {path}.")
        return state


class _People:
    """Who is in the table, who has left, who is new, and their groups after the next release."""

    def __init__(self, state: SeriesState, today: Today, erase: Sequence[Any], leavers: str):
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
        is_here = np.zeros(len(state.keys), dtype=bool)
        is_here[places[is_known]] = True
        self.of_old = self._without_gone(is_here, leavers)
        self.have_left = (self.of_old >= 0) & ~is_here
        self.is_new = ~is_known & np.array([key not in self._erased for key in keys], dtype=bool)
        self.of_today = np.append(self.of_old, NONE)[places]
        have_changed = self._marks != np.append(state.marks, NONE)[places]
        self.n_changed = int(np.sum(have_changed & (self.of_today >= 0)))

    def _without_gone(self, is_here: Booleans, leavers: str) -> Labels:
        """The groups of all people so far, NONE where the whole group leaves the series."""
        groups = self._state.groups
        is_active = groups >= 0
        n_groups = groups.max(initial=NONE) + 1
        n_members = np.bincount(groups[is_active], minlength=n_groups)
        n_here = np.bincount(groups[is_active & is_here], minlength=n_groups)
        is_gone = n_here < (n_members if leavers == "withdraw_group" else np.minimum(n_members, 1))
        is_erased = np.array([key in self._erased for key in self._state.keys], dtype=bool)
        is_gone[groups[is_active & is_erased]] = True
        return np.where(is_active & ~np.append(is_gone, True)[groups], groups, NONE)

    def take_in(self, labels: Labels) -> None:
        """Take the groups of newcomers, which follow those that exist."""
        n_groups = self._state.groups.max(initial=NONE) + 1
        self.of_today[self.is_new] = np.where(labels >= 0, labels + n_groups, NONE)

    @property
    def all_groups(self) -> Labels:
        """The groups of people so far, and then of newcomers."""
        return np.append(self.of_old, self.of_today[self.is_new])

    def after(self, centroids: Any, owners: Array, rows: Any) -> SeriesState:
        """The state after a release, without anything about groups that have left."""
        state = self._state
        is_in = self.is_new & (self.of_today >= 0)
        known = {*state.keys}
        erased = [key for key in self._erased if key not in known]
        groups = np.concatenate([self.of_old, self.of_today[is_in], np.full(len(erased), NONE)])
        marks = [state.marks, self._marks[is_in], np.zeros(len(erased), dtype=np.intp)]
        active = np.unique(groups[groups >= 0])
        return replace(
            state,
            n_releases=state.n_releases + 1,
            keys=np.concatenate([state.keys, self.keys[is_in], np.array(erased, dtype=object)]),
            groups=np.where(groups >= 0, np.searchsorted(active, groups), NONE),
            # Whoever has left for good cannot change.
            marks=np.where(groups >= 0, np.concatenate(marks), 0),
            centroids=centroids.take(active),
            owners=owners,
            rows=rows,
            draft=None,
        )


def without_dictionaries(table: Any) -> Any:
    """A table of Arrow whose categories are plain values: a dictionary may list other people's."""
    arrow, _ = _arrow()
    for place, field in enumerate(table.schema):
        if arrow.types.is_dictionary(field.type):
            values = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, values)
    return table.replace_schema_metadata()


def _taken(table: Any, places: Labels) -> Any:
    """Some rows of a table, of which there may be none; without columns, it has no rows."""
    return table if table is None or not table.num_columns else table.take(places)


def _stacked(*tables: Any) -> Any:
    """Some tables of the same columns, one below the other; None counts for nothing."""
    arrow, _ = _arrow()
    given = [table for table in tables if table is not None]
    try:
        return arrow.concat_tables(given, promote_options="permissive").combine_chunks()
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        names = [
            field.name
            for field in given[0].schema
            if any(field.type != table.schema.field(field.name).type for table in given)
        ]
        raise ValueError(
            f"Columns {names} must have the types that they have in earlier releases of this "
            "series."
        ) from error


def _with_nulls(cells: Any, names: list[str], is_hidden: Booleans) -> Any:
    """The cells, of which some columns are missing in some rows."""
    arrow, _ = _arrow()
    compute = import_extra("pyarrow.compute", "table", "A series of releases")
    for name in names if is_hidden.any() else []:
        place = cells.column_names.index(name)
        null = arrow.scalar(None, cells[name].type)
        values = compute.if_else(arrow.array(is_hidden), null, cells[name])
        cells = cells.set_column(place, name, values)
    return cells


def _write_private(path: Path, content: bytes) -> None:
    """Replace a file that only its owner can read."""
    with written_whole(path) as draft, open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _arrow() -> tuple[Any, Any]:
    what = "table", "A series of releases"
    return import_extra("pyarrow", *what), import_extra("pyarrow.parquet", *what)
