"""Common to all displays: their base, colors, axes with their formats, and panels of a column."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from types import ModuleType
from typing import Any, Self, TypeAlias
from unicodedata import east_asian_width

import numpy as np

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._fitted_groups import release_of
from sk_microagg._model._points import routing_of
from sk_microagg._model._router import as_array
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import percent_of_axis, shortened
from sk_microagg._utils._space import scale
from sk_microagg._utils._tables import (
    DATE,
    DAYS,
    HOURS,
    cells_of,
    holds_dates,
    import_extra,
    missing_cells,
    number_of_date,
)
from sk_microagg._utils._typing import Array, Axes, Figure, Floats
from sk_microagg._utils._validation import check_records
from sk_microagg.privacy._codes import codes_of
from sk_microagg.tables._frames import Frame

# Black, grays and a color of the Okabe-Ito palette. No two differ in hue alone.
INK, SOFT, FILL = "#000000", "#808080", "#cccccc"
BLUE = "#0072b2"

# Units for numbers from ten thousand up; beyond, powers of ten read better.
UNITS = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k"))
SHORT_FROM, SHORT_TO = 1e4, 1e15

FEWEST_ROWS = 5
LONGEST_LABEL, LONGEST_NOTE = 20, 40


def import_pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or name the extra that installs it."""
    import_extra("matplotlib", "report", "A plot")
    import matplotlib.pyplot as plt

    return plt


class Display:
    """Base of displays on a single axes; a subclass has a method `_draw`."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : same type as the display
            The display.
        """
        self.ax_: Axes = import_pyplot().subplots(layout="constrained")[1] if ax is None else ax
        self.figure_: Figure = self.ax_.figure
        self._draw(self.ax_)
        tidy(self.ax_)
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


def tidy(ax: Axes) -> None:
    """Remove the spines that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


def percent_axis(axis: Any) -> None:
    axis.set_major_formatter(lambda share, _: percent_of_axis(share))


def short_numbers(axis: Any) -> None:
    """Label large numbers as 20k or 4M, to save space."""
    largest = max(map(abs, axis.get_view_interval()))
    if SHORT_FROM <= largest < SHORT_TO:
        unit, suffix = next(pair for pair in UNITS if pair[0] <= largest)
        axis.set_major_formatter(
            lambda number, _: (
                f"{number / unit:.6g}{suffix}".replace("-", "\N{MINUS SIGN}") if number else "0"
            )
        )


def points_of(estimator: Any, X: Any) -> Floats:
    """The records as points, in the space in which the estimator compared them."""
    if isinstance(estimator, TableAggregator):
        # Of very many coordinates, those that divide the records into blocks.
        return as_array(routing_of(estimator._points(Frame(X, estimator).table)))
    if isinstance(estimator, MicroAggregator):
        return estimator._space.points(check_records(X, allow_missing=True))
    return scale(estimator.scaler_, check_records(X))


def before_and_after(estimator: Any, X: Any) -> tuple[Any, Any, list[str] | None]:
    """The columns that were anonymized, their release, and their names unless X has them."""
    if not isinstance(estimator, TableAggregator):
        names = None if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None)
        return X, release_of(estimator.centroids_, estimator.labels_), names
    if estimator.categories == "shares":
        raise ValueError(
            "categories='shares' of the estimator must be 'mode' or 'generalize' for columns to be "
            "compared: it releases several columns for each of categories."
        )
    names = list(estimator.kinds_)
    table = Frame(X, estimator).table[names]
    names = [f"x{name}" if isinstance(name, int) else str(name) for name in names]
    return table, estimator.centroids_.iloc[estimator.labels_], names


def units_of(estimator: Any, X: Any) -> Array | None:
    """Who each record belongs to, numbered from 0; None if the estimator has no unit."""
    unit = estimator._table_roles.unit if isinstance(estimator, TableAggregator) else None
    return None if unit is None else codes_of(Frame(X, estimator).table[unit])[0]


def categorical_columns(estimator: Any) -> set[int]:
    """Numbers of the columns that an estimator treated as categories, whatever their type."""
    kinds = getattr(estimator, "kinds_", {})
    return {number for number, kind in enumerate(kinds.values()) if kind not in ("number", "date")}


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
        labels = [shortened(category, _n_that_fit(category)) for category in self.categories]
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
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.text(0.5, 0.5, self.text, ha="center", va="center", color=SOFT, transform=ax.transAxes)


Panel: TypeAlias = Histogram | Bars | Note


def _n_that_fit(label: str) -> int:
    """How many characters are as wide as the longest label of common ones."""
    wide = [1.6 if c in "MW@%" or east_asian_width(c) in "FW" else 1.0 for c in label]
    return max(int(np.searchsorted(np.cumsum(wide), LONGEST_LABEL, side="right")), 2)


def draw_column(ax: Axes, column: Panel, longest_title: int = 40) -> None:
    column.draw(ax)
    ax.set_title(
        shortened(column.name, longest_title), fontsize="medium", loc="left", parse_math=False
    )
    tidy(ax)


def numbers_of_dates(column: Any) -> tuple[Array | None, str | None]:
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
