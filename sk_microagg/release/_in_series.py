"""Release a table as the next one of a series."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sk_microagg._series import check_series, group_people, settings_of, violating
from sk_microagg._series_state import SeriesRelease, SeriesState, Today, without_dictionaries
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._typing import Booleans, Labels
from sk_microagg.files._format import Declared, Format, cannot_read, file_of_input, name_of_input
from sk_microagg.files._messages import (
    Message,
    Option,
    RequestError,
    bad_input_as_request_error,
    one_line,
)
from sk_microagg.files._mistyped import hint_at_codes
from sk_microagg.files._table import Table, read_table, write_table
from sk_microagg.metrics import anonymity_level
from sk_microagg.release._cautions import warn_of_columns
from sk_microagg.release._checks import check_level, check_targets
from sk_microagg.release._demands import make_constraints, warnings_as_messages
from sk_microagg.release._plan import Plan
from sk_microagg.release._request import ReleaseRequest, check_effects, roles_of
from sk_microagg.release._summary import Fact, names_of_columns


def release_in_series(request: ReleaseRequest, progress: Any) -> dict:
    """Read, group the newcomers, check, and write the release together with the state."""
    format = Format.from_request(request)
    progress.show(f"reading {name_of_input(request.input)}")
    table = read_table(request.input, format)
    names = table.cells.column_names
    request = request.resolve(names)
    roles, declared = roles_of(request, names), Declared.from_request(request)
    check_effects(request, declared, roles)
    path = Path(str(request.series))
    state = _opened_state(path, settings_of(request, roles), progress)
    grouping = _Grouping(request, roles, declared, table, progress)
    others = [name for name in roles.unchanged if name not in roles.strata]
    with bad_input_as_request_error(), warnings_as_messages(progress), progress.of_search():
        today = Today.of_rows(
            table.as_text([roles.unit])[roles.unit],
            table.as_text([*roles.quasi_identifiers, *roles.strata]),
            without_dictionaries(table.cells.select(others)),
        )
        new_state, release = state.advance(
            today,
            grouping.group,
            grouping.violates,
            leavers=request.leavers,
            erase=request.erase,
        )
    progress.show("checking the release")
    shown = [*roles.quasi_identifiers, *roles.strata]
    level = anonymity_level(release.rows.select(shown).to_pandas())
    check_level(level, request.k)
    progress.show(f"writing {request.output}")
    check_targets(request)  # Again, since a file may have been written in the meantime.

    paths: list[str] = []
    numbers: list[int] = []

    def commit(draft: Path) -> None:
        """From here on, the release is made: the next command would rename its file."""
        paths[:] = [os.path.abspath(name) for name in (draft, request.output)]
        numbers.append(draft.stat().st_ino)
        with bad_input_as_request_error():
            replace(new_state, draft=paths).save(path)

    try:
        readers = file_of_input(request.input)
        write_table(release.rows, request.output, format, table.style, readers, commit)
    except BaseException:
        output = Path(request.output)
        is_written = output.exists() and output.stat().st_ino in numbers
        if paths and not is_written and path.exists() and SeriesState.load(path).draft == paths:
            state.restore(path)
        raise
    return _facts(request, roles, new_state, release, level)


def _opened_state(path: Path, settings: dict, progress: Any) -> SeriesState:
    """The state in the file, or a new one; a release that was interrupted is completed first."""
    if not path.exists():
        return SeriesState.begin(settings)
    try:
        state = SeriesState.load(path)
    except OSError as error:
        raise cannot_read(str(error.filename or path), error) from error
    except ValueError as error:
        raise RequestError("bad_series", "{why}", why=one_line(error)) from error
    if state.draft is not None and Path(state.draft[0]).exists():
        draft, output = state.draft
        os.replace(draft, output)
        text = "{path}: the last release of this series was interrupted, and is complete now"
        progress.warn(Message("completed", text, path=output))
    try:
        state.check(settings)
    except ValueError as error:
        text = "{series}: {why}"
        facts = {"series": Option("series", str(path)), "why": one_line(error)}
        raise RequestError("other_series", text, **facts) from error
    return state


@dataclass(frozen=True)
class _Grouping:
    """Groups the newcomers of a table, and checks all groups, by the values of their cells."""

    request: ReleaseRequest
    roles: TableRoles
    declared: Declared
    table: Table
    progress: Any

    def group(self, firsts: Labels) -> tuple[Labels, Any]:
        """The groups of people with these first rows, and what each group is released as."""
        people = replace(self.table, cells=self.table.cells.take(firsts))
        plan = Plan.from_request(self.request, people)
        warn_of_columns(plan, self.progress)
        for hint in hint_at_codes(plan.columns, plan.declared, is_typed=not people.is_text):
            self.progress.warn(hint)
        self.progress.show(f"grouping {len(firsts)} newcomers")
        estimator = plan.make_estimator(verbose=int(self.progress.is_shown))
        check_series(estimator, self.request.hold, self.request.leavers)
        records = plan.records()
        roles = TableRoles.from_estimator(estimator, list(records.columns))
        labels, groups = group_people(estimator, records, roles, self.request.hold)
        if groups is None:
            return labels, None
        # Those who wait are written as others, and not taken.
        released = groups.take(np.maximum(labels, 0)).reset_index(drop=True)
        cells = plan.release(released, estimator).cells
        members = np.array([np.flatnonzero(labels == number)[0] for number in range(len(groups))])
        shown = [*self.roles.quasi_identifiers, *self.roles.strata]
        return labels, without_dictionaries(cells.select(shown).take(members))

    def violates(self, cells: Any, labels: Labels, people: Labels) -> Booleans:
        rows = replace(self.table, cells=cells)
        sensitive = list(self.roles.sensitive)
        values = rows.values(sensitive, self.declared, is_strict=True)
        numbers = [name for name, dtype in values.dtypes.items() if dtype.kind in "iuf"]
        constraints = make_constraints(self.request.privacy, sensitive, numbers)
        return violating(constraints, values, people, labels)


def _facts(
    request: ReleaseRequest,
    roles: TableRoles,
    state: SeriesState,
    release: SeriesRelease,
    level: int,
) -> dict:
    """What the holder of the table has to know; a number alone says how many people."""
    counts = {
        "waiting": (len(release.waiting), "in the table, and not yet in a release"),
        "left": (release.n_left, "no longer in the table; their rows stay"),
        "withdrawn": (len(release.withdrawn), "in the table, and never released again"),
        "changed": (release.n_changed, "released as they were first"),
    }
    if roles.sensitive:
        words = "groups whose sensitive values are missing, since they violate a constraint"
        counts["suppressed"] = (release.n_suppressed, words)
    return {
        "series": Fact(f"release {state.n_releases} of {request.series}", state.n_releases),
        "records": len(release.rows),
        "people": len({*release.keys}),
        "anonymized": names_of_columns(roles.quasi_identifiers),
        "unchanged": names_of_columns(roles.unchanged),
        "groups": len({*release.labels.tolist()}),
        "anonymity level": level,
        **{name: Fact(f"{n}  ({words})", n) for name, (n, words) in counts.items()},
    }
