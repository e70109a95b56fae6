"""Pictures of a report, as SVG in the colors and fonts of the page.

Columns are drawn before and after, and groups from the release alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from io import StringIO
from types import SimpleNamespace
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from sk_microagg._utils._typing import Floats
from sk_microagg.plotting._common import BLUE, FILL, INK, SOFT, Note, draw_column, tidy
from sk_microagg.plotting._distributions import compare_columns
from sk_microagg.plotting._partition_display import ReleasedGroups
from sk_microagg.plotting._search_displays import CertificateDisplay, ConvergenceDisplay, losses_of

# More columns and steps would make the file large and show nothing more.
MOST_PANELS, ON_FIRST_PAGE, MOST_STEPS = 24, 3, 300

COLORS = {INK: "var(--ink)", SOFT: "var(--soft)", FILL: "var(--area)", BLUE: "var(--accent)"}
PANEL, PICTURE = (2.7, 1.9), (4.2, 3.1)
LONGEST_TITLE = 26  # characters that fit above a panel
STYLE = {"svg.fonttype": "none", "font.size": 9, "axes.linewidth": 0.6, "path.simplify": True}
STYLE |= dict.fromkeys(["figure.facecolor", "axes.facecolor"], "none")


@dataclass(frozen=True)
class Picture:
    """A drawing for the page."""

    label: str
    view_box: str
    drawing: str
    id: str | None = None


def draw_columns(
    X: Any, release: Any, names: list[str], losses: Floats, categorical: Collection[int]
) -> SimpleNamespace:
    """Draw columns before and after; if there are many, those with the highest loss."""
    columns = compare_columns(X, release, names, categorical=categorical)
    notes = [f"{column.name}, {column.text}" for column in columns if isinstance(column, Note)]
    by_loss = np.argsort(-losses, kind="stable")
    drawable = [j for j in by_loss if not isinstance(columns[j], Note)]
    pictures = {
        j: _as_svg(
            partial(draw_column, column=columns[j], longest_title=LONGEST_TITLE),
            PANEL,
            f"{names[j]}, before and after",
            id=f"plot-{j}",
        )
        for j in sorted(drawable[:MOST_PANELS])
    }
    return SimpleNamespace(
        pictures=list(pictures.values()),
        most_changed=[pictures[j] for j in drawable[:ON_FIRST_PAGE]],
        notes=notes,
        n_left_out=len(drawable) - len(pictures),
    )


def draw_groups(release: Any, k: Any) -> SimpleNamespace | None:
    """Draw the released groups in a plane, with their sizes.

    A row that occurs once, or fewer than k times, is not drawn.
    """
    groups = ReleasedGroups.from_release(release, k)
    if groups is None:
        return None

    def draw(ax):
        # Large bubbles first, so that they do not hide small ones.
        order = np.argsort(-groups.sizes, kind="stable")
        ax.scatter(
            *groups.points[order].T,
            s=90 * groups.sizes[order] / groups.largest,
            facecolor=(BLUE, 0.25),
            edgecolor=INK,
            linewidth=0.6,
        )
        ax.set(xlabel=groups.axis_names[0], ylabel=groups.axis_names[1])
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax)

    picture = _as_svg(draw, PICTURE, "Groups of the release")
    return SimpleNamespace(picture=picture, n_shown=len(groups.points), n_groups=groups.n_groups)


def draw_search(trace, total):
    """Draw the loss over the time of a search."""
    trace = _some_rows(trace) / [1.0, 1.0, total]
    display = ConvergenceDisplay(trace=trace, total=1.0)
    picture = _as_svg(display.plot, PICTURE, "Information loss over the time of the search")
    return SimpleNamespace(picture=picture, is_falling=bool(np.all(np.diff(trace[:, 2]) <= 0)))


def draw_certificate(certificate, estimator):
    """Draw the loss of the search and the bound of the proof over time."""
    losses = _some_rows(losses_of(estimator, certificate.loss))
    display = CertificateDisplay(loss_trace=losses, bound_trace=_some_rows(certificate.trace))
    return _as_svg(display.plot, PICTURE, "Information loss and proven lower bound over time")


def _some_rows(trace):
    """A trace, thinned if it is long; the first and the last row are kept."""
    if len(trace) <= MOST_STEPS:
        return trace
    return trace[np.unique(np.linspace(0, len(trace) - 1, MOST_STEPS).astype(int))]


def _as_svg(draw, size, label, id=None):
    """Let a function draw on axes, and return the picture."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context({**STYLE, "svg.hashsalt": label}), catch_warnings():
        # Text is drawn by the browser, which has other fonts.
        filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        FigureCanvasSVG(figure).print_svg(buffer := StringIO())  # `savefig` would draw twice.
    return Picture(label, *_in_page_style(buffer.getvalue()), id)


def _in_page_style(svg):
    """The view box and the drawing, without colors, fonts, size and ids: the page sets them."""
    svg = svg[svg.index("<svg") :]
    view_box = re.search(r'viewBox="([^"]*)"', svg)[1]
    drawing = svg[svg.index(">") + 1 : svg.rindex("</svg>")]
    drawing = re.sub(r"<(metadata|style)\b.*?</\1>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    # Only tags are rewritten: text between them may contain anything.
    drawing = re.sub(r"<[^>]*>", lambda found: _tag_in_page_style(found[0]), drawing)
    return view_box, re.sub(r"\s*\n\s*", "\n", drawing)


def _tag_in_page_style(written):
    for pattern, replacement in (
        (r'^<g id="[^"]*"', "<g"),
        # Versions of Matplotlib write fonts differently.
        (r"font: (?:[a-z]+ )*([\d.]+)px [^;\"]*", r"font-size: \1px"),
        (r"font-family: [^;\"]*;? ?", ""),
        (r' transform="rotate\(-0 [^"]*"', ""),
        (r"xlink:href", "href"),
        (r"(\.\d\d)\d+", r"\1"),
        (r"\s+", " "),
    ):
        written = re.sub(pattern, replacement, written)
    for color, variable in COLORS.items():
        written = written.replace(color, variable)
    return written
