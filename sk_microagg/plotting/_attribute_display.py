"""The distributions of columns before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from sk_microagg._utils._typing import Axes, Estimator, Figure, TableLike
from sk_microagg._utils._validation import check_count
from sk_microagg.plotting._common import (
    Note,
    Panel,
    before_and_after,
    categorical_columns,
    draw_column,
    import_pyplot,
    units_of,
)
from sk_microagg.plotting._distributions import compare_columns

PANEL_WIDTH, PANEL_HEIGHT = 3.0, 2.1


class AttributeDisplay:
    """The distribution of each column before and after, with one panel per column.

    The original is a gray area, the release a dark line. Numbers and dates are counted in bins,
    other values by category: one bar for each of the most frequent categories, and one for all
    others. A released interval is divided among the bins in proportion to its overlap with them.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    columns : list
        What to draw for each column: its name and its shares before and after.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes, shape (n_features,)
        The panels.

    figure_ : matplotlib Figure
        The figure that contains the panels.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.plotting import AttributeDisplay
    >>> X = pd.DataFrame({"age": [31, 34, 39, 52, 58, 60], "visits": [1, 2, 1, 4, 3, 3]})
    >>> display = AttributeDisplay.from_estimator(MicroAggregator(k=3).fit(X), X)
    >>> [panel.get_title(loc="left") for panel in display.ax_]
    ['age', 'visits']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, columns: list[Panel]) -> None:
        self.columns = columns

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: TableLike,
        *,
        at_least: int = 1,
        ax: Axes | ArrayLike | None = None,
    ) -> Self:
        """Draw the training data of a fitted estimator and its release.

        Parameters
        ----------
        estimator : MicroAggregator, TableAggregator or KAIM
            A fitted estimator. For a TableAggregator, the quasi-identifiers are drawn.

        X : array-like or DataFrame of shape (n_samples, n_features)
            The records that the estimator was fitted on.

        at_least : int, default=1
            Smallest number of original records, or of people if the estimator has a `unit`, that a
            bin or bar stands for, as in :meth:`from_data`.

        ax : matplotlib Axes, array of Axes or None, default=None
            Axes to draw on, as in :meth:`plot`.

        Returns
        -------
        display : AttributeDisplay
            The display, after plotting.
        """
        check_is_fitted(estimator, "labels_")
        check_count("at_least", at_least)
        columns = compare_columns(
            *before_and_after(estimator, X),
            at_least,
            categorical_columns(estimator),
            units_of(estimator, X),
        )
        return cls(columns=columns).plot(ax=ax)

    @classmethod
    def from_data(
        cls,
        X: TableLike,
        release: TableLike,
        feature_names: Sequence[str] | None = None,
        *,
        at_least: int = 1,
        ax: Axes | ArrayLike | None = None,
    ) -> Self:
        """Draw a table and its release.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The original table.

        release : array-like or DataFrame of shape (n_samples, n_features)
            The released table, with the same columns.

        feature_names : list of str or None, default=None
            Names of the columns; by default those of `X`, or x0, x1, ...

        at_least : int, default=1
            Smallest number of original records that a bin or bar stands for. If above 1, bins with
            fewer records are merged, categories with fewer records share one bar, and values
            outside the range of the release are counted as its minimum or maximum. Use k for a
            plot that is published.

        ax : matplotlib Axes, array of Axes or None, default=None
            Axes to draw on, as in :meth:`plot`.

        Returns
        -------
        display : AttributeDisplay
            The display, after plotting.
        """
        check_count("at_least", at_least)
        return cls(columns=compare_columns(X, release, feature_names, at_least)).plot(ax=ax)

    def plot(self, ax: Any = None, *, panels_per_row: int = 3) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, array of Axes or None, default=None
            Axes to draw on: one per column, or one whose area is divided among all columns; None
            creates a new figure.

        panels_per_row : int, default=3
            Number of panels in a row; ignored if `ax` has one axes per column.

        Returns
        -------
        display : AttributeDisplay
            The display.
        """
        check_count("panels_per_row", panels_per_row)
        self.ax_: NDArray[np.object_] = np.array(self._panels(ax, panels_per_row), dtype=object)
        self.figure_: Figure = self.ax_[0].figure
        for panel, column in zip(self.ax_, self.columns, strict=True):
            draw_column(panel, column)
        self._add_legend(has_own_figure=ax is None)
        return self

    def _panels(self, ax: Any, panels_per_row: int) -> list[Axes]:
        n_panels = len(self.columns)
        if np.ndim(ax) > 0:
            panels = list(np.ravel(ax))
            if len(panels) != n_panels:
                raise ValueError(
                    f"ax has {len(panels)} axes: it must have {n_panels}, one per column, or be a "
                    "single axes."
                )
            return panels
        n_across = min(panels_per_row, n_panels)
        n_down = -(-n_panels // n_across)
        if ax is None:
            figure = import_pyplot().figure(
                figsize=(PANEL_WIDTH * n_across, PANEL_HEIGHT * n_down + 0.4), layout="constrained"
            )
            grid = figure.add_gridspec(n_down, n_across)
        else:
            ax.set_axis_off()
            figure = ax.figure
            grid = ax.get_subplotspec().subgridspec(n_down, n_across, wspace=0.35, hspace=0.55)
        return [figure.add_subplot(grid[divmod(i, n_across)]) for i in range(n_panels)]

    def _add_legend(self, has_own_figure: bool) -> None:
        drawn = [
            panel
            for panel, column in zip(self.ax_, self.columns, strict=True)
            if not isinstance(column, Note)
        ]
        if not drawn:
            return
        handles, labels = drawn[0].get_legend_handles_labels()
        if has_own_figure:
            self.figure_.legend(
                handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize="small"
            )
        else:
            drawn[0].legend(handles, labels, frameon=False, fontsize="small")
