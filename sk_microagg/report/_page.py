"""The page: sections and pictures in HTML, by the files in `templates`."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from sk_microagg._utils._formatting import counted, in_a_list, percent
from sk_microagg.plotting._common import categorical_columns
from sk_microagg.plotting._search_displays import total_of, trace_of
from sk_microagg.report._figures import draw_certificate, draw_columns, draw_groups, draw_search
from sk_microagg.report._risks import IN_INTERVAL, IN_RANKS
from sk_microagg.report._scenario import INTRUDERS
from sk_microagg.report._sections import ReportDocument
from sk_microagg.report._verdicts import largest_risk

FILTERS: dict[str, Any] = {
    "counted": counted,
    "in_a_list": in_a_list,
    "percent": percent,
    "thousands": "{:,}".format,
}

# Nothing in a sandbox can run. Its style does not affect the notebook, nor the other way round.
FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox style="display: block; '
    "box-sizing: border-box; width: 100%; height: 42em; max-height: 85vh; "
    'border: 1px solid #8888; resize: vertical;"></iframe>'
)

# What fits on the page, whatever the table.
MOST_NAMES, LONGEST_NAME = 8, 48


def render(document: ReportDocument, X: Any, release: Any, estimator: Any, certificate: Any) -> str:
    """The report as HTML."""
    trace = trace_of(estimator) if estimator.information_loss_ else None
    losses = np.array([one.loss.value for one in document.loss.columns])
    return (
        environment()
        .get_template("report.html")
        .render(
            report=document,
            now=datetime.fromisoformat(document.written),
            largest_risk=percent(largest_risk(document.protection)),
            intruders=INTRUDERS,
            near=[IN_INTERVAL, IN_RANKS],
            certificate_picture=certificate and draw_certificate(certificate, estimator),
            columns=draw_columns(
                X, release, document.anonymized, losses, categorical_columns(estimator)
            ),
            groups=draw_groups(release, document.protection.k_requested),
            search=None if trace is None else draw_search(trace, total_of(estimator, trace)),
        )
    )


@cache
def environment() -> Any:
    """What fills the templates."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS, short=short, named=named)
    return environment


def _read_template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def short(name: str) -> str:
    """A name that may be long; a quote at its end stays."""
    if len(name) <= LONGEST_NAME:
        return name
    end = f"…{name[-1]}" if name[-1] in "'\"" else "…"
    return name[: LONGEST_NAME - len(end)] + end


def named(names: list[str]) -> str:
    """The number of columns, and the first of their names."""
    words = ", ".join(short(name) for name in list(names)[:MOST_NAMES])
    n_more = len(names) - MOST_NAMES
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return f"{counted(len(names), 'column')}: {words}{more}"
