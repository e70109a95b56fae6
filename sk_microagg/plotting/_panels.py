"""The panel of a column before and after: a histogram, bars or a note."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import Any, TypeAlias

import numpy as np

from sk_microagg._utils._tables import (
    DATE,
    DAYS,
    HOURS,
    cells_of,
    holds_dates,
    missing_cells,
    number_of_date,
)
from sk_microagg._utils._typing import Array, Axes, Floats
from sk_microagg.plotting._common import FILL, INK, SOFT, percent_axis, short_numbers, tidy

FEWEST_ROWS = 5
LONGEST_LABEL, LONGEST_NOTE = 20, 40


@dataclass(frozen=True)
class Histogram:
    """Shares of records in bins, which may differ in width."""

    name: str
    edges: Floats
    before: Floats
    after: Floats
    unit: float
    are_integers: bool
    missing: tuple[str, ...]
    unit_name: str | None = None
    missing_name: str = "missing"

    def draw(self, ax: Axes) -> None:
        """Draw the original as a gray area and the release as a line; a merged bin has its mean."""
        widths = np.diff(self.edges) / self.unit
        ax.stairs(self.before / widths, self.edges, fill=True, color=FILL, label="original")
        ax.stairs(self.after / widths, self.edges, color=INK, linewidth=1.3, label="release")
        percent_axis(ax.yaxis)
        ax.locator_params(axis="y", nbins=4)
        notes = [self.unit_name] if self.unit_name in (DAYS, HOURS) else []
        if self.unit_name == DATE:
            date_axis(ax.xaxis)
        else:
            ax.locator_params(axis="x", nbins=5, integer=self.are_integers)
            short_numbers(ax.xaxis)
        if self.missing != ("0%", "0%"):
            notes.append("{}: {} before, {} after".format(self.missing_name, *self.missing))
        if notes:
            label = "; ".join(notes)
            # In two lines if it would be wider than a panel.
            label = label.replace(" before, ", " before,\n") if len(label) > LONGEST_NOTE else label
            ax.set_xlabel(label, fontsize="small")


@dataclass(frozen=True)
class Bars:
    """Shares of records in categories."""

    name: str
    categories: list[str]
    before: Floats
    after: Floats

    def draw(self, ax: Axes) -> None:
        """Draw the original as gray bars and the release as thin bars in front."""
        places = np.arange(len(self.categories))
        ax.barh(places, self.before, height=0.8, color=FILL, label="original")
        ax.barh(places, self.after, height=0.3, color=INK, label="release")
        labels = [_shortened(category) for category in self.categories]
        ax.set_yticks(places, labels=labels, fontsize="small", parse_math=False)
        # Keep bars slim where there are few.
        ax.set_ylim(max(len(places), FEWEST_ROWS) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        percent_axis(ax.xaxis)
        ax.locator_params(axis="x", nbins=4)


@dataclass(frozen=True)
class Note:
    """The reason why a column is not drawn."""

    name: str
    text: str

    def draw(self, ax: Axes) -> None:
        """Write the note."""
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.text(0.5, 0.5, self.text, ha="center", va="center", color=SOFT, transform=ax.transAxes)


Panel: TypeAlias = Histogram | Bars | Note


def draw_column(ax: Axes, column: Panel, longest_title: int = 40) -> None:
    """Draw one column with its name as the title."""
    column.draw(ax)
    ax.set_title(
        _shortened(column.name, longest_title), fontsize="medium", loc="left", parse_math=False
    )
    tidy(ax)


def _shortened(label: str, longest: int = LONGEST_LABEL) -> str:
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def numbers_of_dates(column: Any) -> tuple[Array | None, str | None]:
    """A column of dates as numbers, and their unit."""
    if not holds_dates(column):
        return None, None
    known = np.flatnonzero(~missing_cells(column))
    cells = cells_of(column)
    pairs = [number_of_date(cells[place]) for place in known]
    units = {unit for _, unit in pairs}
    if len(units) != 1:
        return None, None
    numbers = np.full(len(cells), np.nan)
    numbers[known] = [number for number, _ in pairs]
    return numbers, units.pop()


def date_axis(axis: Any) -> None:
    """Let an axis of days since 1970 show dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    # With at least 3 ticks, Matplotlib would find none for 25 to 35 months, and warn of it.
    locator = AutoDateLocator(minticks=2, maxticks=5)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC, show_offset=False))
