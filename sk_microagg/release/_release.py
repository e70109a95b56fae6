"""From a request to a release: what the shell, the page and Python all run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from sk_microagg import TableAggregator
from sk_microagg._utils._deadline import (
    interruptible,
    is_interrupted,
    shared_interrupt,
    user_stacklevel,
)
from sk_microagg._utils._places import RowNames
from sk_microagg.files._columns import frame_of, table_of
from sk_microagg.files._format import (
    Format,
    file_of_input,
    is_standard,
    name_of_input,
)
from sk_microagg.files._messages import (
    Message,
    Option,
    bad_input_as_request_error,
    require,
)
from sk_microagg.files._mistyped import hint_at_codes, say_what_is_omitted
from sk_microagg.files._table import read_table, shuffled, write_table
from sk_microagg.generalization._generalizer import loss_of_release
from sk_microagg.metrics import anonymity_level
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._loss import certify
from sk_microagg.release._cautions import (
    joint_with_earlier,
    singled_out,
    warn_of_columns,
    warn_of_disclosed,
)
from sk_microagg.release._checks import (
    check_level,
    check_loss,
    check_report,
    check_request,
    check_targets,
)
from sk_microagg.release._demands import warn_of_large_units, warnings_as_messages
from sk_microagg.release._plan import Plan, ends_of_rows
from sk_microagg.release._reporting import (
    card_before_release,
    check_report_can_be_made,
    report_before_release,
    save_paper,
)
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import Fact, ReleaseSummary, describe, summarize
from sk_microagg.release._totals import warn_of_changed_totals

SEARCH_INTERRUPTED = "Ctrl-C ended the search early: the groups are the best found by then"
PROOF_INTERRUPTED = "Ctrl-C ended the proof early: the certificate is what was proven by then"


def release_in_memory(request: ReleaseRequest, progress: Any) -> dict:
    """Read, group, check, write, prove and report; return the facts."""
    format = Format.from_request(request)
    check_report_can_be_made(request)
    progress.show(f"reading {name_of_input(request.input)}")
    plan = Plan.from_request(request, read_table(request.input, format))
    request, roles, demands = plan.request, plan.roles, plan.demands
    scenario = check_report(plan)
    estimator = plan.make_estimator(verbose=int(progress.is_shown))
    warn_of_columns(plan, progress)
    hints = hint_at_codes(
        plan.columns, plan.declared, is_typed=not plan.table.is_text, rows=plan.table.rows
    )
    for hint in [*plan.table.doubts, *hints, *say_what_is_omitted(plan.columns)]:
        progress.warn(hint)

    records = plan.records()
    released, interrupted = group(estimator, records, progress, plan.table.rows)
    check_loss(loss_of_release(estimator), request)
    release = plan.release(released, estimator, ends_of_rows(estimator))

    progress.show("checking the release")
    level = anonymity_level(release.classes)
    check_level(level, request.k)
    homogeneous: Any = []
    if roles.unchanged:
        homogeneous = homogeneity_of_both(release.classes, plan.unchanged)
    advice = warn_of_disclosed(roles, homogeneous, plan.n_unchanged, progress)
    held = demands.check(release.labels, request.k)
    share = demands.share(release.labels)
    warn_of_large_units(roles.unit, share, request.k, progress, demands.least_share())
    unchanged = singled_out(plan, release.labels, progress)
    joint = joint_with_earlier(plan, release, progress)
    changes = plan.changed_totals(released)
    warn_of_changed_totals(changes, progress)

    progress.show(f"writing {request.output}")
    check_targets(request)  # Again, since a file may have been written in the meantime.
    cells = shuffled(release.cells) if request.shuffle else release.cells
    proven: list[tuple] = []
    papers: list[Any] = []

    def make_papers(draft: Path | None = None) -> None:
        """Make report and card before the release has its name: if one fails, there is none."""
        proven.append(_prove(estimator, records, request.certificate, progress))
        about = estimator, draft, proven[0][0], scenario
        if request.report:
            frames = frame_of(records), frame_of(released)
            papers.append((report_before_release(plan, *frames, *about), request.report))
        if request.card:
            papers.append((card_before_release(plan, frame_of(released), *about), request.card))

    has_papers = bool(request.report or request.card)
    if has_papers and is_standard(request.output):
        make_papers()
    readers = file_of_input(request.input)
    commit = make_papers if has_papers else None
    write_table(cells, request.output, format, plan.table.style, readers, commit)
    for paper, path in papers:
        progress.show(f"writing {path}")
        save_paper(paper, path, request)
    [(certificate, is_complete)] = proven or [
        _prove(estimator, records, request.certificate, progress)
    ]
    interrupted += [] if is_complete else [PROOF_INTERRUPTED]
    return summarize(
        estimator,
        roles,
        len(records),
        level,
        homogeneous,
        advice=advice,
        singled_out=joint | unchanged,
        columns=[describe(c, release.by_column.get(c.name), estimator) for c in plan.columns],
        demands=held,
        certificate=certificate,
        interrupted=interrupted,
        gaps=[c.name for c in plan.known if c.notation and c.cells.null_count],
        changes=changes,
    )


def group(
    estimator: Any, records: pa.Table, progress: Any, rows: RowNames
) -> tuple[pa.Table, list]:
    """Group the records; return the release, and what was interrupted."""
    is_kaim = not isinstance(estimator, TableAggregator)
    progress.show(f"grouping {len(records)} records")
    with (
        bad_input_as_request_error(rows=rows),
        warnings_as_messages(progress),
        progress.of_search(),
        shared_interrupt(),
    ):
        released = estimator.fit_transform(frame_of(records) if is_kaim else records)
        interrupted = [SEARCH_INTERRUPTED] if is_interrupted() else []
    if is_kaim:
        frame = pd.DataFrame(released, columns=estimator.get_feature_names_out())
        released = table_of(frame)
    return released, interrupted


def _prove(estimator: Any, records: pa.Table, seconds: float | None, progress: Any) -> tuple:
    """Prove a bound on the optimum; return it, and whether that took as long as it was to take."""
    if seconds is None:
        return None, True
    progress.show(f"proving for {seconds:g} seconds how close the optimum is")
    with progress.of_search(), interruptible():
        certificate = certify(estimator, records, seconds, verbose=int(progress.is_shown))
        return certificate, not is_interrupted()


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
        If that is not possible. A release that violates k or a constraint, or whose report or card
        cannot be made, is never written; one whose report or card cannot be written to its file is.

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
        words = f"{request.report}  (confidential: exact figures of the original)"
        facts["report"] = Fact(words, request.report)
    if request.card:
        facts["card"] = request.card
    for message in progress.warnings if warns else []:
        warnings.warn(message.in_words(), UserWarning, stacklevel=user_stacklevel())
    return ReleaseSummary(facts, list(progress.warnings))
