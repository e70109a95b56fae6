"""What is computed for the page, each in a process of its own: see `_workers`."""

import io
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg import TableAggregator
from sk_microagg._bound import Certificate
from sk_microagg._cli._command_line import command_line
from sk_microagg._explore._measures import (
    about_sensitive,
    columns_before_and_after,
    demands_met,
    groups_in_plane,
    risk_of,
)
from sk_microagg._explore._page_request import PAGE
from sk_microagg._explore._page_table import state_of
from sk_microagg._utils._deadline import seconds_left
from sk_microagg._utils._formatting import is_share_large, percent
from sk_microagg._utils._writing import PRIVATE_FOLDER, remove_folder
from sk_microagg.cli import clean_up_when_ended
from sk_microagg.files._columns import frame_of
from sk_microagg.files._messages import RequestError
from sk_microagg.files._table import Table
from sk_microagg.generalization._generalizer import loss_of_release
from sk_microagg.metrics import anonymity_level
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.release._cautions import singled_out, warn_of_columns
from sk_microagg.release._checks import check_level, check_request, check_targets
from sk_microagg.release._demands import warn_of_large_units
from sk_microagg.release._plan import Plan, ends_of_rows
from sk_microagg.release._release import Progress, group, release_file
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import lines_of

# Takes messages for the page.
Send = Callable[[dict], None]

NO_TRACE = np.empty((0, 2))

# How a search ends a line, if it knows.
LEFT = re.compile(r", (\d+) s left$")


def preview(
    send: Send, table: Table, request: ReleaseRequest, is_sample: bool, hidden: list
) -> dict:
    """Group the records of a table, maybe a sample, and measure what a release would be."""
    progress = SentProgress(send)
    with _about_sample(table, is_sample):
        plan, estimator, records, released = _grouped(request, table, progress, warns=True)
        release = plan.release(released, estimator, ends_of_rows(estimator))
        level = anonymity_level(release.classes)
        check_level(level, plan.request.k)
        progress.show("measuring risk and loss")
        k = plan.request.k
        figures = _figures(plan, estimator, records, released)
        held = plan.demands.check(release.labels, k)
        of_one = plan.demands.share(release.labels)
        if of_one is not None and is_share_large(of_one, k):
            warn_of_large_units(plan.roles.unit, of_one, k, progress, plan.demands.least_share())
        unchanged = singled_out(plan, release.labels, progress)
        return {
            **figures,
            "n_records": len(records),
            "is_sample": is_sample,
            "n_groups": int(estimator.n_groups_),
            "smallest_group": int(estimator.group_sizes_.min()),
            "level": int(level),
            "level_of": "together with its stratum" if plan.roles.strata else "",
            "warnings": progress.said(),
            "columns": columns_before_and_after(
                plan, estimator, frame_of(records), frame_of(released), release, hidden
            ),
            "groups": groups_in_plane(frame_of(released.select([c.name for c in plan.known])), k),
            "sensitive": about_sensitive(plan, release),
            "privacy": demands_met(held),
            "singled_out": [line for fact in unchanged.values() for line in lines_of(fact)],
            "assumed_unknown": list(plan.roles.sensitive),
        }


def curve(send: Send, table: Table, request: ReleaseRequest, ks: list) -> dict:
    """Measure loss and risk for several values of k, and send each as soon as it is known."""
    start, points = time.monotonic(), []
    for number, k in enumerate(ks, start=1):
        points.append(_point(table, request.replace(k=k)))
        share = number / len(ks)
        left = seconds_left(time.monotonic() - start, share)
        send({"point": points[-1], "share": share, "seconds_left": left})
    return {"points": points}


def certificate(
    send: Send, table: Table, request: ReleaseRequest, is_sample: bool, seconds: float
) -> dict:
    """Prove how far the groups are from the optimum, and send each bound once it is proven."""
    progress = SentProgress(send)
    with _about_sample(table, is_sample):
        _, estimator, records, _ = _grouped(request, table, progress)
        if not isinstance(estimator, TableAggregator):
            text = "A bound is proven for groups that are released as averages."
            raise RequestError("not_for_method", text)
        loss = float(estimator.information_loss_)

        def figures(bound: float) -> dict:
            return {"bound": float(bound), "loss": loss}

        def tick(after: pd.DataFrame, bound: float) -> None:
            words = Certificate(loss, bound, NO_TRACE, estimator.k).verdict()
            send({"tick": {"seconds": after, **figures(bound), "words": words}})

        proven = estimator._prove(records, seconds, on_rise=tick)
    return {**figures(proven.bound), "verdict": proven.verdict(), "is_sample": is_sample}


def export(
    send: Send, request: ReleaseRequest, names: list, read_state: tuple, folder: str
) -> dict:
    """Release the file as the command line does; write both files or none.

    `names` are those of the columns, `read_state` is that of the file which the page shows, and
    `folder` a new one next to it, for drafts: it does not stay.
    """
    clean_up_when_ended()
    check_request(request)
    drafts = Drafts(request, folder)
    progress = SentProgress(lambda message: send(drafts.hidden(message)))
    try:
        summary = release_file(drafts.request, progress=progress)
        # What was read may not be what the page shows, and a file may have been written meanwhile.
        if state_of(request.input) != read_state:
            text = "{path} has changed since the page read it: no file was written. Read it again."
            raise RequestError("changed", text, path=request.input)
        check_targets(request)
        drafts.publish()
    finally:
        drafts.remove()
    hidden = ("row order", "seconds", "written", "report", "card")
    facts = {name: fact for name, fact in summary.facts.items() if name not in hidden}
    return {
        "facts": [[name, "\n".join(lines_of(fact, PAGE))] for name, fact in facts.items()],
        "warnings": progress.said(),
        "release": Path(request.output).name,
        "report": request.report and Path(request.report).name,
        "card": request.card and Path(request.card).name,
        "command": command_line(request, names),
    }


@contextmanager
def _about_sample(table: Table, is_sample: bool) -> Iterator[None]:
    """Say that something is not possible for a sample: it may be for the whole table."""
    try:
        yield
    except RequestError as error:
        if not is_sample:
            raise
        text = "In the sample of {n_rows:,} rows that previews use: {why}"
        facts = {"n_rows": table.cells.num_rows, "why": error}
        raise RequestError(error.code, text, error.column, **facts) from error


def _grouped(request: ReleaseRequest, table: Table, progress: Any, *, warns: bool = False) -> tuple:
    """The plan of a release, the fitted estimator, the records, and what it made of them."""
    plan = Plan.from_request(request, table)
    estimator = plan.make_estimator(verbose=1)
    if warns:
        warn_of_columns(plan, progress)
    records = plan.records()
    released, _ = group(estimator, records, progress, table.rows)
    return plan, estimator, records, released


def _figures(plan: Plan, estimator: Any, records: pa.Table, released: pa.Table) -> dict:
    share = risk_of(frame_of(records), frame_of(released), estimator, plan.demands.units())
    return {
        "k": plan.request.k,
        "loss": float(loss_of_release(estimator)),
        "expected_matches": share,
        "words": {"expected_matches": percent(share)},
    }


def _point(table: Table, request: ReleaseRequest) -> dict:
    """Loss and risk for one value of k, or why it is not possible."""
    k = request.k
    try:
        silent = SentProgress(lambda message: None)
        plan, estimator, records, released = _grouped(request, table, silent)
    except RequestError as error:
        return {"k": k, "error": error.in_words(PAGE)}
    point = _figures(plan, estimator, records, released)
    if len(plan.demands.sensitive.columns):
        labels = plan.release(released, estimator, ends_of_rows(estimator)).labels
        share = homogeneity_of_both(labels, plan.demands.sensitive).max()
        point["homogeneity"] = float(share)
        point["words"]["homogeneity"] = percent(share)
    return point


class Drafts:
    """The files of a request, in a folder of their own until all of them are complete."""

    def __init__(self, request: ReleaseRequest, folder: str):
        self._folder = Path(folder)
        self._folder.mkdir(PRIVATE_FOLDER)
        paths = {"output": request.output, "report": request.report, "card": request.card}
        self._targets = {name: Path(path) for name, path in paths.items() if path is not None}
        drafts = {name: self._folder / target.name for name, target in self._targets.items()}
        self.request = request.replace(**drafts)

    def publish(self) -> None:
        """Give all files their names, or none: what was there before comes back."""
        before: dict[Path, Path | None] = {}
        try:
            for target in self._targets.values():
                before[target] = self._kept(target)
                os.replace(self._folder / target.name, target)
        except BaseException:
            for target, kept in before.items():
                if kept is not None:
                    os.replace(kept, target)
                elif not (self._folder / target.name).exists():
                    target.unlink(missing_ok=True)
            raise

    def _kept(self, target: Path) -> Path | None:
        """A copy of a file that is about to be replaced; None if there is none."""
        if not target.exists():
            return None
        kept = self._folder / f"{uuid4().hex}"
        try:
            os.link(target, kept)
        except OSError:  # Some file systems have no links.
            shutil.copy2(target, kept)
        return kept

    def hidden(self, message: dict) -> dict:
        """A message whose text names the files, and not where their drafts are."""
        return {**message, "text": message["text"].replace(f"{self._folder}{os.sep}", "")}

    def remove(self) -> None:
        remove_folder(self._folder)


class SentProgress(Progress):
    """Sends the current step and the progress of a search to the page."""

    is_shown = True

    def __init__(self, send: Send):
        super().__init__()
        self._send = send

    def show(self, step: str) -> None:
        self._send({"text": step})

    def said(self) -> list[str]:
        return [message.in_words(PAGE) for message in self.warnings]

    @contextmanager
    def of_search(self) -> Iterator[None]:
        """Send the lines that a search prints, and how far it is, if it says so."""
        with redirect_stdout(_SentLines(self._send)):
            yield


class _SentLines(io.TextIOBase):
    """A terminal whose current line is sent."""

    def __init__(self, send: Any):
        self._send = send
        self._start = time.monotonic()

    def write(self, text: str) -> Any:
        line = text.replace("\r", "\n").strip("\n").rpartition("\n")[2].strip()
        if line:
            self._send({"text": LEFT.sub("", line), **self._how_far(line)})
        return len(text)

    def isatty(self) -> bool:
        return True

    def _how_far(self, line: str) -> dict:
        """The share that is done and the seconds that are left, as a line says; maybe nothing."""
        found = LEFT.search(line)
        if found is None:
            return {}
        gone, left = time.monotonic() - self._start, int(found[1])
        # Less than half a second is written as 0.
        return {"share": gone / (gone + max(left, 0.5)), "seconds_left": left}
