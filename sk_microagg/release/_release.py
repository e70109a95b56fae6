"""From a request to a release: what the shell, the page and Python all run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg._utils._deadline import (
    interruptible,
    is_interrupted,
    shared_interrupt,
    user_stacklevel,
)
from sk_microagg._utils._formatting import fewest_records
from sk_microagg._utils._tables import SIMILAR, check_report_extra
from sk_microagg.files._format import (
    Format,
    cannot_write,
    file_of_input,
    is_standard,
    name_of_input,
)
from sk_microagg.files._messages import (
    Message,
    Option,
    RequestError,
    bad_input_as_request_error,
    one_line,
    require,
)
from sk_microagg.files._mistyped import hint_at_codes, say_what_is_omitted
from sk_microagg.files._table import read_table, shuffled, write_table
from sk_microagg.generalization._grid import ends_of_intervals
from sk_microagg.generalization._labels import ROOT
from sk_microagg.metrics import anonymity_level
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._loss import certify
from sk_microagg.release._cautions import singled_out, warn_of_columns
from sk_microagg.release._checks import (
    check_level,
    check_report,
    check_request,
    check_targets,
)
from sk_microagg.release._demands import warn_of_large_units, warnings_as_messages
from sk_microagg.release._plan import Plan
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import Fact, ReleaseSummary, describe, summarize

SEARCH_INTERRUPTED = "Ctrl-C ended the search early: the groups are the best found by then"
PROOF_INTERRUPTED = "Ctrl-C ended the proof early: the certificate is what was proven by then"


def release_in_memory(request: ReleaseRequest, progress: Any) -> dict:
    """Read, group, check, write, prove and report; return the facts."""
    format = Format.from_request(request)
    if request.report:
        with _missing_extra_as_request_error():
            check_report_extra()
            import sk_microagg.report  # noqa: F401

    progress.show(f"reading {name_of_input(request.input)}")
    plan = Plan.from_request(request, read_table(request.input, format))
    request, roles, demands = plan.request, plan.roles, plan.demands
    scenario = check_report(plan)
    estimator = plan.make_estimator(verbose=int(progress.is_shown))
    warn_of_columns(plan, progress)
    hints = hint_at_codes(plan.columns, plan.declared, is_typed=not plan.table.is_text)
    for hint in [*hints, *say_what_is_omitted(plan.columns)]:
        progress.warn(hint)

    records = plan.records()
    released, interrupted = group(estimator, records, progress)
    release = plan.release(released, estimator)

    progress.show("checking the release")
    level = anonymity_level(release.classes)
    check_level(level, request.k)
    homogeneous: Any = []
    if roles.unchanged:
        homogeneous = homogeneity_of_both(release.classes, plan.unchanged)
    held = demands.check(release.labels, request.k)
    share = demands.share(release.labels)
    warn_of_large_units(roles.unit, share, request.k, progress, demands.least_share())
    unchanged = singled_out(plan, release.labels, progress)

    progress.show(f"writing {request.output}")
    check_targets(request)  # Again, since a file may have been written in the meantime.
    cells = shuffled(release.cells) if request.shuffle else release.cells
    write_table(cells, request.output, format, plan.table.style, file_of_input(request.input))
    certificate, is_complete = _prove(estimator, records, request.certificate, progress)
    interrupted += [] if is_complete else [PROOF_INTERRUPTED]
    if request.report:
        progress.show(f"writing {request.report}")
        _write_report(plan, records, released, estimator, certificate, scenario)
    fewest = fewest_records(request.k, demands.units())
    return summarize(
        estimator,
        roles,
        len(records),
        level,
        homogeneous,
        singled_out=unchanged,
        columns=[
            describe(c, release.by_column.get(c.name), estimator, fewest) for c in plan.columns
        ],
        demands=held,
        certificate=certificate,
        interrupted=interrupted,
        gaps=[c.name for c in plan.known if c.notation and pd.isna(c.values).any()],
    )


def group(estimator: Any, records: pd.DataFrame, progress: Any) -> tuple[pd.DataFrame, list]:
    """Group the records; return the release, and what was interrupted."""
    progress.show(f"grouping {len(records)} records")
    with (
        bad_input_as_request_error(),
        warnings_as_messages(progress),
        progress.of_search(),
        shared_interrupt(),
    ):
        released = estimator.fit_transform(records)
        interrupted = [SEARCH_INTERRUPTED] if is_interrupted() else []
    if isinstance(released, np.ndarray):
        released = pd.DataFrame(released, columns=estimator.get_feature_names_out())
    return released, interrupted


def _prove(estimator: Any, records: pd.DataFrame, seconds: float | None, progress: Any) -> tuple:
    """Prove a bound on the optimum; return it, and whether that took as long as it was to take."""
    if seconds is None:
        return None, True
    progress.show(f"proving for {seconds:g} seconds how close the optimum is")
    with progress.of_search(), interruptible():
        certificate = certify(estimator, records, seconds, verbose=int(progress.is_shown))
        return certificate, not is_interrupted()


@contextmanager
def _missing_extra_as_request_error() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        facts = {"report": Option("report"), "why": one_line(error)}
        raise RequestError("missing_extra", "{report}: {why}", **facts) from error


def with_dates(table: pd.DataFrame, columns: list) -> pd.DataFrame:
    """A table in which dates are dates, and not numbers, as KAIM has them."""
    table = table.copy()
    for column in columns:
        if column.kind == "date" and table[column.name].dtype.kind != "M":
            low, high = map(column.notation.moments, ends_of_intervals(table[column.name]))
            if not np.array_equal(low, high, equal_nan=True):
                low = [f"[{start}, {end}]" for start, end in zip(low, high, strict=True)]
                low = np.where(np.isnat(high), ROOT, np.array(low, dtype=object))
            table[column.name] = low
    return table


def _write_report(
    plan: Plan,
    records: pd.DataFrame,
    released: pd.DataFrame,
    estimator: Any,
    certificate: Any,
    scenario: Any,
) -> None:
    request = plan.request
    try:
        with (
            _missing_extra_as_request_error(),
            bad_input_as_request_error(Option("report")),
            warnings.catch_warnings(),
        ):
            from sk_microagg.report import make_report  # Few need it.

            warnings.filterwarnings("ignore", SIMILAR)  # Said when the records were grouped.
            report = make_report(
                estimator,
                *(with_dates(frame, plan.known) for frame in (records, released)),
                source=Path(name_of_input(request.input)).name,
                certificate=certificate,  # The report does not repeat the proof.
                scenario=scenario,
                analysis=request.analysis,
                command=request.command,
                unchanged=plan.unchanged.assign(**plan.unchanged_numbers),
                dropped=plan.roles.dropped,
                target=plan.target(),
                kinds={column.name: column.kind for column in plan.columns},
                earlier=request.earlier,
                file=None if is_standard(request.output) else request.output,
                shuffled=request.shuffle,
                **plan.demands.columns() | plan.people_as_text(),
            )
            report.save(str(request.report), readers_of=file_of_input(request.input))
    except OSError as error:
        raise cannot_write(str(request.report), error) from error


class Progress:
    """Where a release says how far it is; this one shows nothing, and keeps the warnings."""

    is_shown = False

    def __init__(self) -> None:
        self.warnings: list[Message] = []

    def show(self, step: str) -> None:
        """Show the current step."""

    def warn(self, message: Message) -> None:
        """Take a warning."""
        self.warnings.append(message)

    @contextmanager
    def of_search(self) -> Iterator[None]:
        """Let a search show its own progress."""
        yield


def release_file(
    request: ReleaseRequest | str,
    output: str | None = None,
    *,
    progress: Any = None,
    **settings: Any,
) -> ReleaseSummary:
    """Anonymize a file: read, group, check, write, prove and report.

    Parameters
    ----------
    request : ReleaseRequest or str
        What to do, or the file to read; then further parameters of :class:`ReleaseRequest` are
        passed here.

    output : str or None, default=None
        Where to write the release, if `request` is a file.

    progress : Progress or None, default=None
        Takes steps and warnings; None to issue warnings as Python does.

    **settings : object
        Other parameters of :class:`ReleaseRequest`, if `request` is a file.

    Returns
    -------
    summary : ReleaseSummary
        What was done, and what holds for the release.

    Raises
    ------
    RequestError
        If that is not possible. A release that violates k or a constraint, or whose report cannot
        be made, is never written; one whose report cannot be written to its file is.

    See Also
    --------
    sk_microagg.TableAggregator : The same for a DataFrame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_microagg.datasets._files import visits_csv
    >>> from sk_microagg.release import release_file
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder) / "visits.csv"
    ...     _ = table.write_bytes(visits_csv())
    ...     release = Path(folder) / "release.csv"
    ...     summary = release_file(table, release, k=5, drop=["id"], sensitive=["diagnosis"])
    >>> summary.to_dict()["anonymity_level"]
    5
    """
    if not isinstance(request, ReleaseRequest):
        if output is None:
            raise TypeError("output is needed: the file to write the release to.")
        request = ReleaseRequest(request, output, **settings)
    elif output is not None or settings:
        raise TypeError("A ReleaseRequest has all settings: change them by its method replace.")
    warns, progress = progress is None, progress or Progress()
    start = time.perf_counter()
    require(("pandas", "pyarrow"), "table", "Reading tables")
    check_request(request)
    if request.engine == "dask":
        from sk_microagg.release._out_of_memory import release_on_dask  # Dask is an extra.

        facts = release_on_dask(request, progress)
    elif request.series is not None:
        from sk_microagg.release._in_series import release_in_series

        facts = release_in_series(request, progress)
    else:
        facts = release_in_memory(request, progress)
    text = "that of {input}; {shuffle} makes it random"
    order = Message(
        "row_order", text, input=name_of_input(request.input), shuffle=Option("shuffle")
    )
    is_random = request.shuffle or request.series is not None
    facts["row order"] = "random" if is_random else Fact(order, "original")
    seconds = time.perf_counter() - start
    facts["seconds"] = Fact(f"{seconds:.1f}", round(seconds, 3))
    is_piped = is_standard(request.output)
    facts["written"] = Fact("standard output", "-") if is_piped else request.output
    if request.report:
        facts["report"] = request.report
    for message in progress.warnings if warns else []:
        warnings.warn(message.in_words(), UserWarning, stacklevel=user_stacklevel())
    return ReleaseSummary(facts, list(progress.warnings))
