"""What is wrong with a request before anything is read, and with a release before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sk_microagg._utils._formatting import percent
from sk_microagg.files._format import (
    Format,
    cannot_read,
    check_exists,
    check_report_name,
    check_target,
    is_standard,
    suffix_of,
    suffix_of_input,
    unknown_column,
)
from sk_microagg.files._messages import (
    Option,
    RequestError,
    bad_input_as_request_error,
    one_line,
    require,
)
from sk_microagg.release._demands import check_demands
from sk_microagg.release._plan import Plan, check_method, check_refiner_keeps_constraints
from sk_microagg.release._request import ReleaseRequest, check_values
from sk_microagg.release._totals import with_columns

# What only a table in memory can be asked for.
IN_MEMORY = (
    "ordinal",
    "date",
    "number",
    "categories",
    "na",
    "sheet",
    "sep",
    "thousands",
    "report",
    "card",
    "scenario",
    "analysis",
    "earlier",
)

# What only a series can be asked for, with the values that ask for nothing.
OF_SERIES = {
    "series_begin": False,
    "hold": 0,
    "leavers": "freeze_group",
    "values": "today",
    "spare": 0,
    "erase": [],
}

# What a series cannot be asked for, maybe only with some values.
NOT_IN_SERIES = ("certificate", "weight", "earlier", "card")
VALUES_NOT_IN_SERIES = {
    "method": "kaim",
    "release": "generalized",
    "engine": "dask",
    "categories": "shares",
}


def check_request(request: ReleaseRequest) -> None:
    """Raise for all that can be known before reading."""
    check_values(request)
    _check_series(request)
    is_on_dask = request.engine == "dask"
    if is_on_dask:
        _check_parameters_on_dask(request)
        require(("dask", "dask.dataframe"), "dask", Option("engine", "dask"))
        _check_paths_on_dask(request)
    else:
        check_exists(request.input)
        suffix_of_input(request.input)
        check_targets(request)
        for name in ("scenario", "analysis"):
            has_reasons = name == "scenario" and request.card
            if getattr(request, name) and not (request.report or has_reasons):
                text = "{option} needs {report}, since it would not be shown otherwise."
                facts = {"option": Option(name), "report": Option("report")}
                raise RequestError("needs", text, **facts)
        if request.earlier and request.unit is None:
            text = "{earlier} needs {unit}: the column that says who people are."
            raise RequestError("needs", text, earlier=Option("earlier"), unit=Option("unit"))
        read_scenario(request)
        check_method(request)
        Format.from_request(request)
    _check_weight(request)
    check_demands(request)
    check_refiner_keeps_constraints(request)


def _check_weight(request: ReleaseRequest) -> None:
    weight = Option("weight")
    if request.weight is None:
        if request.weight_release != "keep":
            option = Option("weight_release", request.weight_release)
            raise RequestError("needs", "{option} needs {weight}.", option=option, weight=weight)
    elif request.categories == "shares":
        text = (
            "{shares} is not for {weight}: a weighted share is the sum of the weights of those who "
            "have the category, and tells who they are. Leave out one of them."
        )
        shares = Option("categories", "shares")
        raise RequestError("shares_with_weight", text, shares=shares, weight=weight)


def _check_series(request: ReleaseRequest) -> None:
    series = Option("series")
    if request.series is None:
        for name, usual in OF_SERIES.items():
            if getattr(request, name) != usual:
                text = "{option} needs {series}."
                raise RequestError("needs", text, option=Option(name), series=series)
        return
    given = [Option(name) for name in NOT_IN_SERIES if getattr(request, name)]
    values = VALUES_NOT_IN_SERIES.items()
    given += [Option(name, value) for name, value in values if getattr(request, name) == value]
    if given:
        text = "{given} is not for {series}: leave out one of them."
        raise RequestError("not_in_series", text, given=given[0], series=series)
    if request.unit is None:
        text = "{series} needs {unit}: the column that says who people are."
        raise RequestError("needs", text, series=series, unit=Option("unit"))
    if is_standard(request.output):
        text = "{series} needs a file to write to: its state is written together with it."
        raise RequestError("no_file", text, series=series)
    others = [request.input, request.output, *([request.report] if request.report else [])]
    check_target(request.series, others, overwrite=True)


def _check_is_outside(path: str, source: str) -> None:
    """Raise if a file is inside the folder that is read: it would be a part of the table then."""
    if Path(source).resolve() in Path(path).resolve().parents:
        text = "{path} is inside {other}: choose another folder."
        raise RequestError("inside", text, path=path, other=source)


def check_targets(request: ReleaseRequest) -> None:
    suffix_of(request.output)
    if Path(request.input).is_dir() and not is_standard(request.output):
        _check_is_outside(request.output, request.input)
    check_target(request.output, [request.input], overwrite=request.overwrite)
    others = [request.input, request.output]
    for name in ("report", "card"):
        path = getattr(request, name)
        if not path:
            continue
        if is_standard(path):
            raise RequestError("no_file", "{report} must be a file.", report=Option(name, path))
        if request.categories == "shares":
            text = "{report} compares column by column: {advice}, or leave one of them out."
            advice = (Option("categories", "mode"), Option("categories", "generalize"))
            raise RequestError("report_of_shares", text, report=Option(name), advice=advice)
        check_target(path, others, overwrite=request.overwrite)
        check_report_name(name, path)
        others.append(path)


def read_scenario(request: ReleaseRequest) -> Any:
    """The scenario of a request, from a file or from its parameters; None if there is none."""
    if request.scenario is None:
        return None
    from sk_microagg.report import Scenario  # Few need it, and all would wait for it.

    try:
        return Scenario.read(request.scenario)
    except OSError as error:
        raise cannot_read(str(request.scenario), error) from error
    except (TypeError, ValueError) as error:
        facts = {"scenario": Option("scenario"), "why": one_line(error)}
        raise RequestError("bad_scenario", "{scenario}: {why}", **facts) from error


def check_report(plan: Plan) -> Any:
    """Raise before a release is made if its report cannot be; return the scenario."""
    request, roles = plan.request, plan.roles
    anonymized = [column.name for column in plan.known]
    if request.earlier:
        from sk_microagg.report._facts import check_earlier  # Few need it.

        with bad_input_as_request_error(Option("earlier")):
            check_earlier(request.earlier, anonymized, plan.people_as_text()["unit"])
    if not (request.report or request.card):
        return None
    scenario = read_scenario(request)
    named = [*anonymized, *roles.unchanged, *roles.dropped]
    named += [] if roles.weight is None else [roles.weight]
    empty = [column.name for column in plan.columns if column.kind == "empty"]
    for name in () if scenario is None else scenario.reasons:
        if name in empty:
            text = (
                "{scenario} has a reason for {name!r}, whose values are all missing: leave it out."
            )
            raise RequestError("empty_column", text, name, name=name, scenario=Option("scenario"))
        if name not in named:
            raise unknown_column("scenario", name, named)
    if request.analysis:
        _check_analyses(plan)
    return scenario


def _check_analyses(plan: Plan) -> None:
    """Raise unless formulas name columns of the release, and explain numbers or two categories."""
    from sk_microagg.report._analyses import Table, as_column, check_formula  # Few need it.

    anonymized = {column.name: as_column(column.values) for column in plan.known}
    unchanged = with_columns(plan.unchanged, plan.unchanged_numbers)
    table = Table(anonymized | {name: as_column(cells) for name, cells in unchanged.items()}, None)
    for formula in plan.request.analysis:
        try:
            check_formula(formula, table)
        except ValueError as error:
            raise RequestError("bad_formula", "{why}", why=one_line(error)) from error


def check_level(level: int, k: int) -> None:
    if level < k:
        text = (
            "A row of the release occurs {level} times, fewer than k={k}: nothing was written. "
            "Please report this."
        )
        raise RequestError("not_anonymous", text, level=level, k=k)


def check_loss(loss: float, request: ReleaseRequest) -> None:
    """Raise, before anything is written, if a release loses more than a request allows."""
    if request.max_loss is not None and not loss <= request.max_loss:
        text = (
            "The release loses {loss} of the information, more than {allowed} allows: nothing was "
            "written."
        )
        allowed = Option("max_loss", request.max_loss)
        raise RequestError("too_much_lost", text, loss=percent(loss), allowed=allowed)


def _check_parameters_on_dask(request: ReleaseRequest) -> None:
    memory = Option("engine", "memory")
    for name in IN_MEMORY:
        if getattr(request, name):
            text = "{option} needs {memory}."
            raise RequestError("needs", text, option=Option(name), memory=memory)
    for name, value in (("method", "kaim"), ("intervals", "disjoint")):
        if getattr(request, name) == value:
            facts = {"option": Option(name, value), "memory": memory}
            raise RequestError("needs", "{option} needs {memory}.", **facts)
    if request.max_loss is not None and request.generalizes:
        text = "{option} with {generalized} needs {memory}, since the loss is not measured."
        facts = {"option": Option("max_loss"), "memory": memory}
        facts["generalized"] = Option("release", "generalized")
        raise RequestError("needs", text, **facts)
    if request.certificate is not None:
        text = "{option} needs {memory}: a proof takes all records together."
        option = Option("certificate", request.certificate)
        raise RequestError("needs", text, option=option, memory=memory)


def _check_paths_on_dask(request: ReleaseRequest) -> None:
    source, target, dask = Path(request.input), Path(request.output), Option("engine", "dask")
    check_exists(request.input)
    if not source.is_dir():
        if source.suffix.lower() != ".parquet":
            text = "{path}: {dask} reads .parquet files and folders."
            raise RequestError("no_parquet", text, path=request.input, dask=dask)
        suffix_of_input(request.input)  # It may be a pipe.
    if target.suffix.lower() not in ("", ".parquet"):
        text = "{path}: {dask} writes a .parquet folder."
        raise RequestError("no_parquet", text, path=request.output, dask=dask)
    _check_is_outside(request.output, request.input)
    # A folder is never overwritten: it may hold more than a release.
    check_target(request.output, [request.input], overwrite=False)
