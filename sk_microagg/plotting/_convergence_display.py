"""The loss over the course of a search."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._utils._formatting import percent
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import (
    Annotation,
    Axes,
    Estimator,
    Figure,
    Floats,
    Line2D,
    TableLike,
)
from sk_microagg._utils._validation import check_number, check_option
from sk_microagg.plotting._common import BLUE, axes_for, percent_axis, points_of, tidy

TIMES = {"iteration": (0, "iteration"), "seconds": (1, "seconds of search")}


class ConvergenceDisplay:
    """The loss of the best partition that a search found, over time.

    The last point is the result. For :class:`~sk_microagg.refiners.Annealing` it is the loss of the
    current partition, which may rise at high temperature.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    trace : ndarray of shape (n_improvements, 3)
        Iteration, seconds and sum of squared errors of each partition that improved on the best
        one; for annealing, of the current partition at intervals.

    total : float or None, default=None
        Total sum of squares, by which the sum of squared errors is divided to give the information
        loss; None to draw the sum itself.

    x : {"seconds", "iteration"}, default="seconds"
        Unit of the horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.

    figure_ : matplotlib Figure
        The figure that contains the axes.

    line_ : matplotlib Line2D
        Loss over time, in steps.

    texts_ : list of two matplotlib Text
        The losses at the start and at the end.

    See Also
    --------
    sk_microagg.refiners.IteratedLocalSearch : A search with a `trace_`.
    sk_microagg.refiners.Annealing : A search with a `trace_`.
    sk_microagg.refiners.Recombination : A search whose iterations are rounds.
    CertificateDisplay : The search and a proven bound.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.plotting import ConvergenceDisplay
    >>> from sk_microagg.refiners import IteratedLocalSearch
    >>> X = np.random.RandomState(0).normal(size=(60, 3))
    >>> search = IteratedLocalSearch(max_iter=100)
    >>> aggregator = MicroAggregator(k=3, refiner=search, random_state=0).fit(X)
    >>> display = ConvergenceDisplay.from_estimator(aggregator, x="iteration")
    >>> bool(np.isclose(display.line_.get_ydata()[-1], aggregator.information_loss_))
    True
    >>> plt.close(display.figure_)
    """

    if TYPE_CHECKING:  # what `plot` sets
        ax_: Axes
        figure_: Figure
        line_: Line2D
        texts_: list[Annotation]

    def __init__(
        self,
        *,
        trace: Floats,
        total: float | None = None,
        x: Literal["seconds", "iteration"] = "seconds",
    ) -> None:
        self.trace = trace
        self.total = total
        self.x = x

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: TableLike | None = None,
        x: Literal["seconds", "iteration"] = "seconds",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the search of a fitted estimator.

        Parameters
        ----------
        estimator : MicroAggregator or KAIM
            Fitted with :class:`~sk_microagg.refiners.IteratedLocalSearch`,
            :class:`~sk_microagg.refiners.Annealing` or
            :class:`~sk_microagg.refiners.Recombination` as its refiner, or as a step of it.

        X : array-like of shape (n_samples, n_features) or None, default=None
            Records whose total sum of squares the losses are divided by; None for those that the
            estimator was fitted on.

        x : {"seconds", "iteration"}, default="seconds"
            Unit of the horizontal axis.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : ConvergenceDisplay
            The display, after plotting.
        """
        check_is_fitted(estimator, "labels_")
        trace = trace_of(estimator)
        if trace is None:
            raise ValueError(_why_no_trace(estimator))
        if X is not None and hasattr(estimator, "scaler_"):
            total = total_sum_of_squares(points_of(estimator, X)) or None
        else:
            total = total_of(estimator, trace)
        return cls.from_data(trace, total=total, x=x, ax=ax)

    @classmethod
    def from_data(
        cls,
        trace: ArrayLike,
        total: float | None = None,
        x: Literal["seconds", "iteration"] = "seconds",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the trace of a search.

        Parameters
        ----------
        trace : array-like of shape (n_improvements, 3)
            Iteration, seconds and sum of squared errors, as in the `trace_` of
            :class:`~sk_microagg.refiners.IteratedLocalSearch`,
            :class:`~sk_microagg.refiners.Annealing` and
            :class:`~sk_microagg.refiners.Recombination`.

        total : float or None, default=None
            Total sum of squares, by which the sum of squared errors is divided; None to draw the
            sum itself.

        x : {"seconds", "iteration"}, default="seconds"
            Unit of the horizontal axis.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : ConvergenceDisplay
            The display, after plotting.
        """
        check_option("x", x, tuple(TIMES))
        if total is not None:
            check_number("total", total, above=0, or_option=None)
        return cls(trace=check_trace(trace), total=total, x=x).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : ConvergenceDisplay
            The display.
        """
        self.ax_ = ax = axes_for(ax)
        self.figure_ = ax.figure
        column, name = TIMES[self.x]
        times = self.trace[:, column]
        losses = self.trace[:, 2] / (1.0 if self.total is None else self.total)
        (self.line_,) = ax.plot(
            times, losses, drawstyle="steps-post", marker="o", markevery=[-1], color=BLUE
        )
        write = "{:.4g}".format if self.total is None else partial(percent, digits=3)
        self.texts_ = [
            ax.annotate(write(losses[0]), (times[0], losses[0]), xytext=(6, 2), va="bottom"),
            ax.annotate(write(losses[-1]), (times[-1], losses[-1]), xytext=(0, 6), ha="right"),
        ]
        for text in self.texts_:
            text.set(anncoords="offset points", fontsize="small")
        is_share = self.total is not None
        ax.set(xlabel=name, ylabel="information loss" if is_share else "sum of squared errors")
        ax.margins(y=0.1)
        ax.locator_params(axis="x", nbins=6)
        if is_share:
            percent_axis(ax.yaxis)
        tidy(ax)
        return self


def check_trace(trace: ArrayLike) -> Floats:
    """Return the trace of a search as an array, or raise an error that describes its rows."""
    trace = np.asarray(trace, dtype=np.float64)
    if trace.ndim != 2 or trace.shape[1] != 3 or len(trace) == 0:
        raise ValueError(
            f"trace of shape {trace.shape} must have rows of three: iteration, seconds and sum of "
            "squared errors."
        )
    return trace


def trace_of(estimator: Estimator) -> Floats | None:
    """The trace of the last search among an estimator's refiners; None if there is none."""
    refiner = getattr(estimator, "refiner_", None)
    steps = [step for _, step in getattr(refiner, "steps_", [])]
    traces = [step.trace_ for step in (refiner, *steps) if hasattr(step, "trace_")]
    return traces[-1] if traces else None


def total_of(estimator: Estimator, trace: Floats) -> float | None:
    """The total that the losses in a trace are a share of; None if the estimator lost nothing."""
    if not estimator.information_loss_ > 0:
        return None
    # In a chain, steps after the search may have changed its result.
    return getattr(estimator, "sse_", trace[-1, 2]) / estimator.information_loss_


def _why_no_trace(estimator: Estimator) -> str:
    return (
        "estimator has no trace of a search: its refiner must be, or contain, an "
        "IteratedLocalSearch, Annealing or Recombination, and all its records must be one block "
        "(block_size=None) of more than one column, which needs no search. Nor is a trace kept if "
        "a group has a number that only one of its members has, which could be computed. It has "
        f"refiner={getattr(estimator, 'refiner', None)!r}."
    )
