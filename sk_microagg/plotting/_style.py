"""Common to all displays: colors that differ in lightness, axes and their formats."""

from types import ModuleType
from typing import Any

from sk_microagg._utils._extras import import_extra
from sk_microagg._utils._numbers import percent_of_axis
from sk_microagg._utils._typing import Axes

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


def axes_for(ax: Axes | None) -> Axes:
    """The axes to draw on: those given, or new ones in a new figure."""
    if ax is not None:
        return ax
    return import_pyplot().subplots(layout="constrained")[1]


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
