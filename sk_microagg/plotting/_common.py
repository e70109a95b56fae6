"""Common to all displays: their base, colors that differ in lightness, axes and their formats."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._fitted_groups import release_of
from sk_microagg._model._points import routing_of
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import percent_of_axis
from sk_microagg._utils._space import scale
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Array, Axes, Figure, Floats
from sk_microagg._utils._validation import check_records
from sk_microagg.encoding._frames import Frame
from sk_microagg.privacy._codes import codes_of

# Black, grays and a color of the Okabe-Ito palette. No two differ in hue alone.
INK, SOFT, FILL = "#000000", "#808080", "#cccccc"
BLUE = "#0072b2"

# Units for numbers from ten thousand up; beyond, powers of ten read better.
UNITS = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k"))
SHORT_FROM, SHORT_TO = 1e4, 1e15


def check_matplotlib() -> None:
    """Raise an ImportError that names the extra if matplotlib is missing."""
    import_extra("matplotlib", "report", "A plot")


def import_pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or name the extra that installs it."""
    check_matplotlib()
    import matplotlib.pyplot as plt

    return plt


class Display:
    """Base of displays on a single axes; a subclass has a method `_draw`."""

    if TYPE_CHECKING:  # what `plot` sets
        ax_: Axes
        figure_: Figure

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
        self.ax_ = import_pyplot().subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
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
    """Label the ticks in percent."""
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
        return routing_of(estimator._points(Frame(X, estimator).table))
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
