"""From a request to a release: what the shell, the page and Python all run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sk_microagg._utils._deadline import user_stacklevel
from sk_microagg.files._format import is_standard, name_of_input
from sk_microagg.files._messages import Message, Option, require
from sk_microagg.release._checks import check_request
from sk_microagg.release._in_memory import release_in_memory
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import Fact, ReleaseSummary


class Progress:
    """Where a release says how far it is and what to think of; fronts override its methods.

    This one shows nothing, and keeps the warnings.
    """

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
        If that is not possible. A release that violates k or a constraint is never written; one
        whose report fails is.

    See Also
    --------
    sk_microagg.TableAggregator : The same for a DataFrame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_microagg.datasets._visits import visits_csv
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
    else:
        facts = release_in_memory(request, progress)
    text = "that of {input}; {shuffle} makes it random"
    order = Message(
        "row_order", text, input=name_of_input(request.input), shuffle=Option("shuffle")
    )
    facts["row order"] = "random" if request.shuffle else Fact(order, "original")
    seconds = time.perf_counter() - start
    facts["seconds"] = Fact(f"{seconds:.1f}", round(seconds, 3))
    is_piped = is_standard(request.output)
    facts["written"] = Fact("standard output", "-") if is_piped else request.output
    if request.report:
        facts["report"] = request.report
    for message in progress.warnings if warns else []:
        warnings.warn(message.in_words(), UserWarning, stacklevel=user_stacklevel())
    return ReleaseSummary(facts, list(progress.warnings))
