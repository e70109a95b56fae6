"""The report on a release, and its card, written to files."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from sk_microagg._utils._tables import SIMILAR, check_report_extra
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.files._format import cannot_write, file_of_input, name_of_input
from sk_microagg.files._messages import (
    Option,
    RequestError,
    bad_input_as_request_error,
    one_line,
)
from sk_microagg.generalization._generalizer import loss_of_release
from sk_microagg.release._plan import Plan
from sk_microagg.release._totals import with_columns


def check_report_can_be_made(request: Any) -> None:
    """Raise, before long work, unless what a report needs is installed."""
    if request.report or request.card:
        with _missing_extra_as_request_error():
            check_report_extra(has_analyses=bool(request.analysis))
            import sk_microagg.report  # noqa: F401


@contextmanager
def _missing_extra_as_request_error() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        facts = {"report": Option("report"), "why": one_line(error)}
        raise RequestError("missing_extra", "{report}: {why}", **facts) from error


def report_before_release(
    plan: Plan,
    records: pd.DataFrame,
    released: pd.DataFrame,
    estimator: Any,
    draft: Path | None,
    certificate: Any,
    scenario: Any,
    series: str | None = None,
) -> Any:
    """Make the report that a request asks for, before the draft of the release gets its name.

    So a release whose report cannot be made is never written. The draft is None for standard
    output; `series` is what the report says of a series.
    """
    request = plan.request
    try:
        with (
            _missing_extra_as_request_error(),
            bad_input_as_request_error(Option("report")),
            warnings.catch_warnings(),
            _under_its_name(draft, request.output) as file,
        ):
            from sk_microagg.report import make_report  # Few need it.

            warnings.filterwarnings("ignore", SIMILAR)  # Said when the records were grouped.
            return make_report(
                estimator,
                records,
                released,
                source=Path(name_of_input(request.input)).name,
                certificate=certificate,  # The report does not repeat the proof.
                scenario=scenario,
                analysis=request.analysis,
                random_state=request.random_state,
                command=request.command,
                unchanged=with_columns(plan.unchanged, plan.unchanged_numbers),
                dropped=plan.roles.dropped,
                kinds={column.name: column.kind for column in plan.columns},
                earlier=request.earlier,
                file=file,
                shuffled=request.shuffle or series is not None,
                series=series,
                **plan.demands.columns() | plan.people_as_text(),
            )
    except OSError as error:
        raise cannot_write(str(request.report), error) from error


@contextmanager
def _under_its_name(draft: Path | None, output: str) -> Iterator[Path | None]:
    """The draft of a release in a folder where it has the name that the report gives."""
    if draft is None:
        yield None
        return
    with TemporaryFolder(draft.parent, ".").removed_on_failure() as folder:
        named = folder / Path(output).name
        try:
            os.link(draft, named)
        except OSError:  # Some file systems have no links.
            shutil.copyfile(draft, named)
        yield named
        folder.remove()


def save_paper(paper: Any, path: Any, request: Any) -> None:
    """Write a report to the file that a request names, or a card."""
    readers = {} if path == request.card else {"readers_of": file_of_input(request.input)}
    try:
        paper.save(str(path), **readers)
    except OSError as error:
        raise cannot_write(str(path), error) from error


def card_before_release(
    plan: Plan,
    released: pd.DataFrame,
    estimator: Any,
    draft: Path | None,
    certificate: Any,
    scenario: Any,
) -> Any:
    """Make the card that a request asks for: of the release, the request and two figures."""
    request, roles = plan.request, plan.roles
    from sk_microagg.report._card import make_card  # Few need it.
    from sk_microagg.report._columns import RoleNames
    from sk_microagg.report._facts import published_file

    with _under_its_name(draft, request.output) as file:
        return make_card(
            estimator,
            released[[column.name for column in plan.known]],
            RoleNames(
                unchanged=list(roles.unchanged),
                dropped=list(roles.dropped),
                sensitive=list(roles.sensitive),
                strata=list(roles.strata),
                weight=[] if roles.weight is None else [roles.weight],
                unit=[] if roles.unit is None else [roles.unit],
            ),
            loss_of_release(estimator),
            None if certificate is None else certificate.gap,
            reasons={} if scenario is None else scenario.reasons,
            published=published_file({"file": file, "shuffled": request.shuffle}),
        )
