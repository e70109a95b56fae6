"""Release a table as the next one of a series."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sk_microagg._series import (
    SeriesState,
    Today,
    check_no_series,
    check_series,
    group_people,
    load_state,
    locked_state,
    restore_state,
    save_state,
    settings_of,
    violating,
    without_dictionaries,
)
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._formatting import shown
from sk_microagg._utils._places import POSITIONS
from sk_microagg._utils._typing import Booleans, Labels
from sk_microagg.files._format import (
    KINDS,
    Declared,
    Format,
    cannot_read,
    cannot_write,
    file_of_input,
    name_of_input,
)
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
from sk_microagg.privacy._registry import CONSTRAINTS
from sk_microagg.release._cautions import warn_of_columns
from sk_microagg.release._checks import check_level, check_loss, check_report, check_targets
from sk_microagg.release._demands import make_constraints, warnings_as_messages
from sk_microagg.release._plan import Plan
from sk_microagg.release._reporting import check_report_can_be_made, save_paper
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._series_facts import MadeRelease
from sk_microagg.tables._frames import Frame

# How a kind that a column had in earlier releases is declared for a later one.
PARAMETERS = {kind: parameter for parameter, kind in KINDS.items()} | {"boolean": "categorical"}


def release_in_series(request: ReleaseRequest, progress: Any) -> dict:
    """Read, group the newcomers, check, write the release together with the state, and report."""
    check_report_can_be_made(request)
    with _locked(Path(str(request.series))):
        return _release(request, progress)


def _release(request: ReleaseRequest, progress: Any) -> dict:
    format, path = Format.from_request(request), Path(str(request.series))
    before = _opened_state(request, path, progress)
    progress.show(f"reading {name_of_input(request.input)}")
    table = read_table(request.input, format)
    request = request.resolve(table.cells.column_names)
    kept = {} if before is None else before.kinds
    plan = Plan.from_request(_with_kinds(request, kept), table)
    state = _continued(before, plan, path)
    scenario = check_report(plan)
    warn_of_columns(plan, progress)
    hints = hint_at_codes(plan.columns, plan.declared, is_typed=not table.is_text, rows=table.rows)
    for hint in [*table.doubts, *hints]:
        progress.warn(hint)
    # Of newcomers alone, or of a later table, columns might be taken for others.
    kinds = kept | _kinds_of(plan)
    request = _with_kinds(request, kinds)
    grouping = _Grouping(request, plan, progress)
    others = [name for name in plan.roles.unchanged if name not in plan.roles.strata]
    bad_input = bad_input_as_request_error(rows=table.rows)
    with bad_input, warnings_as_messages(progress), progress.of_search():
        today = Today.of_rows(
            table.as_text([plan.roles.unit])[plan.roles.unit],
            table.as_text([*plan.roles.quasi_identifiers, *plan.roles.strata]),
            without_dictionaries(table.cells.select(others)),
        )
        new_state, release = state.advance(
            today, grouping.group, grouping.violates, erase=request.erase
        )
    new_state = replace(new_state, kinds=kinds)
    progress.show("checking the release")
    classes = [*plan.roles.quasi_identifiers, *plan.roles.strata]
    level = anonymity_level(release.rows.select(classes).to_pandas())
    check_level(level, request.k)
    progress.show(f"writing {request.output}")
    check_targets(request)  # Again, since a file may have been written in the meantime.
    made = MadeRelease(request, plan, release, frozenset(kept), new_state.n_releases, level)
    facts, words = made.facts(), made.words_of_report()
    check_loss(facts["information loss"].value, request)
    made.warn_of_real_k(progress)
    reports: list[Any] = []

    def report(draft: Path) -> None:
        if words is not None:
            reports.append(made.report(draft, scenario, words))

    _write(release.rows, state, new_state, request, table, report)
    for each in reports:
        progress.show(f"writing {request.report}")
        save_paper(each, request.report, request)
    return facts


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep others from continuing the series until its release is made."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked_state(path))
        except BlockingIOError as error:
            raise RequestError("series_in_use", "{why}", why=str(error)) from error
        except OSError as error:
            raise cannot_write(str(path), error) from error
        yield


def _opened_state(request: ReleaseRequest, path: Path, progress: Any) -> SeriesState | None:
    """The state in the file; a release that was interrupted is completed first."""
    begin = Option("series_begin", True)
    if request.series_begin:
        try:
            check_no_series(path)
        except ValueError as error:
            text = "{why} Leave out {begin}, or choose another name."
            raise RequestError("series_exists", text, why=one_line(error), begin=begin) from error
        return None
    if not path.exists():
        text = "{path} does not exist: name the state of this series, or restore it. {begin} is "
        text += "for the first release only."
        raise RequestError("no_series", text, path=path, begin=begin)
    try:
        state = load_state(path)
    except OSError as error:
        raise cannot_read(str(error.filename or path), error) from error
    except ValueError as error:
        raise RequestError("bad_series", "{why}", why=one_line(error)) from error
    if state.draft is not None and Path(state.draft[0]).exists():
        draft, output = state.draft
        save_state(state, path)  # The key may have been left behind.
        os.replace(draft, output)
        text = "{path}: the last release of this series was interrupted, and is complete now"
        progress.warn(Message("completed", text, path=output))
    return state


def _continued(state: SeriesState | None, plan: Plan, path: Path) -> SeriesState:
    """The state, or that of a new series; raise unless its settings are those of the request."""
    settings = settings_of(plan.request, plan.roles, plan.request)
    if state is None:
        return SeriesState.begin(settings)
    name = state.changed_setting(settings)
    if name is not None:
        text = (
            "{series}: earlier releases have {wanted}, but this request has {given}: they must be "
        )
        text += "the same in all releases of a series."
        given, wanted = (_setting(name, each[name]) for each in (settings, state.settings))
        facts = {"given": given, "wanted": wanted, "series": Option("series", str(path))}
        raise RequestError("other_series", text, **facts)
    return state


def _setting(name: str, value: Any) -> Message:
    """A setting of a series as a front names it; what is released is said by no parameter alone."""
    if name == "privacy":
        return _constraints_in_words(value)
    if name == "released":
        return Message(name, "columns {names}", names=", ".join(map(shown, value)))
    if isinstance(value, list):
        listed = ", ".join(map(shown, value)) or "none"
        return Message(name, "{option} {listed}", option=Option(name), listed=listed)
    return Message(name, "{option}", option=Option(name, value))


def _constraints_in_words(setting: list[dict[str, Any]]) -> Message:
    """The constraints of a setting, by the options that ask for them."""
    options: dict[str, Any] = {}
    for number, one in enumerate(setting):
        kinds = {kind.__name__: name for name, kind in CONSTRAINTS.items()}
        first, parameters = kinds.get(one["class"]), one["parameters"]
        if first is None:  # It is one of the user's own.
            options[f"c{number}"] = one["class"]
        else:
            constraint = CONSTRAINTS[first](**parameters)
            options[f"c{number}"] = Option(first, constraint.demanded)
    gaps = " and ".join(f"{{{name}}}" for name in options)
    return Message("privacy", gaps or "no constraint", **options)


def _with_kinds(request: ReleaseRequest, kinds: dict[str, str]) -> ReleaseRequest:
    """The request, in which columns are declared as the kinds that they have in the series."""
    declared = Declared.from_request(request).kinds
    for name, kind in kinds.items():
        parameter = PARAMETERS[kind]
        if declared.get(name, KINDS[parameter]) != KINDS[parameter]:
            text = "Column {name!r} is of the kind {kind} in this series, which {option} changes."
            option = Option(next(p for p in KINDS if KINDS[p] == declared[name]))
            raise RequestError("other_series", text, name, name=name, kind=kind, option=option)
        if name not in declared:
            given = getattr(request, parameter)
            added = {**given, name: None} if isinstance(given, dict) else [*given, name]
            request = request.replace(**{parameter: added})
    return request


def _kinds_of(plan: Plan) -> dict[str, str]:
    """The kinds of the columns whose values are found from texts, without those that are empty."""
    sensitive = plan.table.columns(list(plan.roles.sensitive), plan.declared, is_strict=True)
    return {
        column.name: column.kind
        for column in (*plan.known, *sensitive)
        if column.kind in PARAMETERS and plan.table.is_parsed(column.name)
    }


def _write(
    rows: Any,
    state: SeriesState,
    new_state: SeriesState,
    request: ReleaseRequest,
    table: Table,
    report: Callable[[Path], None],
) -> None:
    """Write a release together with its state, or neither."""
    path = Path(str(request.series))
    paths: list[str] = []
    numbers: list[int] = []

    def commit(draft: Path) -> None:
        """Then the release is made: the next command would rename its file."""
        report(draft)
        paths[:] = [os.path.abspath(name) for name in (draft, request.output)]
        numbers.append(draft.stat().st_ino)
        with bad_input_as_request_error():
            save_state(replace(new_state, draft=paths), path)

    try:
        readers = file_of_input(request.input)
        write_table(rows, request.output, table.format, table.style, readers, commit)
    except BaseException:
        output = Path(request.output)
        is_written = output.exists() and output.stat().st_ino in numbers
        if paths and not is_written and path.exists() and load_state(path).draft == paths:
            restore_state(state, path)
        raise


@dataclass(frozen=True)
class _Grouping:
    """Groups the newcomers of a table, and checks all groups, by the values of their cells."""

    request: ReleaseRequest
    plan: Plan
    progress: Any

    def group(self, firsts: Labels) -> tuple[Labels, Any]:
        """The groups of people with these first rows, and what each group is released as."""
        table = self.plan.table
        people = table.take(firsts)
        plan = Plan.from_request(self.request, people)
        self.progress.show(f"grouping {len(firsts)} newcomers")
        estimator = plan.make_estimator(verbose=int(self.progress.is_shown))
        check_series(estimator, self.request)
        records = Frame(plan.records()).table
        roles = TableRoles.from_estimator(estimator, list(records.columns))
        with bad_input_as_request_error(rows=people.rows):
            labels, groups, ends = group_people(estimator, records, roles, self.request)
        if groups is None:
            return labels, None
        # Those who wait are written as others, and not taken.
        rows = np.maximum(labels, 0)
        released = pa.Table.from_pandas(groups.take(rows), preserve_index=False)
        ends = {name: both.take(rows) for name, both in ends.items()}
        cells = plan.release(released, estimator, ends).cells
        members = np.array([np.flatnonzero(labels == number)[0] for number in range(len(groups))])
        shown = [*self.plan.roles.quasi_identifiers, *self.plan.roles.strata]
        return labels, without_dictionaries(cells.select(shown).take(members))

    def violates(self, cells: Any, labels: Labels, people: Labels) -> Booleans:
        rows = replace(self.plan.table, cells=cells, rows=POSITIONS)
        sensitive = list(self.plan.roles.sensitive)
        values = rows.values(sensitive, Declared.from_request(self.request), is_strict=True)
        numbers = [name for name, dtype in values.dtypes.items() if dtype.kind in "iuf"]
        constraints = make_constraints(self.request.privacy, sensitive, numbers)
        return violating(constraints, values, people, labels)
