"""The loss of a search and the bound of a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._bound import Certificate
from sk_microagg._utils._typing import Axes, Estimator, Figure, Floats, Line2D, TableLike
from sk_microagg._utils._validation import check_number
from sk_microagg.metrics._loss import (
    certify,
    check_bound_trace,
    check_can_be_certified,
)
from sk_microagg.plotting._common import BLUE, FILL, INK, axes_for, percent_axis, tidy
from sk_microagg.plotting._convergence_display import check_trace, total_of, trace_of

BEYOND_THE_END = 1.08


class CertificateDisplay:
    """The loss that a search found and the bound that was proven, over time.

    The loss falls during the search, and the bound rises during the proof. No partition into groups
    of at least k loses less than the bound: the optimum lies between the two, in the shaded band.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    loss_trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the search and the lowest information loss so far; the last one
        is the loss of the partition. A single row is drawn as a horizontal line.

    bound_trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the proof and the bound proven by then; no rows if nothing was
        proven.

    Attributes
    ----------
    gap : float
        Upper limit on how far the loss is above the optimum, as a share of the bound; infinite if
        nothing was proven.

    ax_ : matplotlib Axes
        The axes of the plot.

    figure_ : matplotlib Figure
        The figure that contains the axes.

    loss_ : matplotlib Line2D
        The loss over time, in steps.

    bound_ : matplotlib Line2D
        The bound over time, in steps; at 0 if nothing was proven.

    See Also
    --------
    sk_microagg.metrics.loss_bound : The bound.
    sk_microagg.metrics.optimality_gap : The gap alone.
    ConvergenceDisplay : The search alone.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.plotting import CertificateDisplay
    >>> from sk_microagg.refiners import IteratedLocalSearch
    >>> X = np.random.RandomState(0).normal(size=(60, 3))
    >>> search = IteratedLocalSearch(max_iter=100)
    >>> aggregator = MicroAggregator(k=3, refiner=search, random_state=0).fit(X)
    >>> display = CertificateDisplay.from_estimator(aggregator, X, time_limit=0.5)
    >>> bool(display.bound_.get_ydata()[-1] <= aggregator.information_loss_)
    True
    >>> plt.close(display.figure_)
    """

    if TYPE_CHECKING:  # what `plot` sets
        ax_: Axes
        figure_: Figure
        loss_: Line2D
        bound_: Line2D

    def __init__(self, *, loss_trace: Floats, bound_trace: Floats) -> None:
        self.loss_trace = loss_trace
        self.bound_trace = bound_trace

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: TableLike, time_limit: float = 10.0, ax: Axes | None = None
    ) -> Self:
        """Prove how close the partition of a fitted estimator is to the optimum, and draw it.

        Parameters
        ----------
        estimator : MicroAggregator
            A fitted estimator. If its refiner is or contains one that has a `trace_`, such as
            :class:`~sk_microagg.refiners.IteratedLocalSearch`, the search is drawn as well.

        X : array-like of shape (n_samples, n_features)
            The records that the estimator was fitted on.

        time_limit : float, default=10.0
            Seconds to spend on the proof, see :func:`sk_microagg.metrics.loss_bound`.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : CertificateDisplay
            The display, after plotting.
        """
        check_can_be_certified(estimator, f"estimator={estimator!r} must be")
        certificate = certify(estimator, X, time_limit)
        display = cls(
            loss_trace=losses_of(estimator, certificate.loss), bound_trace=certificate.trace
        )
        return display.plot(ax=ax)

    @classmethod
    def from_data(
        cls,
        loss: float,
        bound_trace: ArrayLike,
        trace: ArrayLike | None = None,
        total: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a loss and the trace of a proof.

        Parameters
        ----------
        loss : float
            Information loss of a partition, from 0 to 1.

        bound_trace : array-like of shape (n_improvements, 2)
            Seconds and bounds, as :func:`sk_microagg.metrics.loss_bound` returns them with
            `return_trace=True`.

        trace : array-like of shape (n_steps, 3) or None, default=None
            Iteration, seconds and sum of squared errors, as in the `trace_` of
            :class:`~sk_microagg.refiners.IteratedLocalSearch`,
            :class:`~sk_microagg.refiners.Annealing` and
            :class:`~sk_microagg.refiners.Recombination`. None to draw the loss as a horizontal
            line.

        total : float or None, default=None
            Total sum of squares, by which sums of squared errors are divided; None if the last row
            of `trace` belongs to the partition that has this loss.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : CertificateDisplay
            The display, after plotting.
        """
        loss = check_number("loss", loss, at_least=0, at_most=1)
        bound_trace = check_bound_trace(bound_trace)
        if total is not None:
            check_number("total", total, above=0, or_option=None)
        trace = None if trace is None else check_trace(trace)
        return cls(loss_trace=_losses(loss, trace, total), bound_trace=bound_trace).plot(ax=ax)

    @property
    def gap(self) -> float:
        """Upper limit on how far the loss is above the optimum, as a share of the bound."""
        return self._certificate().gap

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : CertificateDisplay
            The display.
        """
        self.ax_ = ax = axes_for(ax)
        self.figure_ = ax.figure
        certificate = self._certificate()
        bounds = self.bound_trace if len(self.bound_trace) else np.zeros((1, 2))
        # Results remain valid: both lines continue beyond the end of the longer one.
        end = BEYOND_THE_END * max(self.loss_trace[-1, 0], bounds[-1, 0]) or 1.0
        ax.axhspan(
            certificate.bound,
            certificate.loss,
            color=FILL,
            alpha=0.4,
            linewidth=0,
            label="range of the optimum",
        )
        self.loss_ = _draw_steps(ax, self.loss_trace, end, BLUE, "loss of the partition")
        self.bound_ = _draw_steps(ax, bounds, end, INK, "proven bound")
        ax.set(xlabel="seconds of search and proof", ylabel="information loss")
        ax.set_title(certificate.verdict(), fontsize="medium", loc="left")
        ax.margins(x=0.02, y=0.1)
        ax.locator_params(axis="x", nbins=6)
        percent_axis(ax.yaxis)
        ax.legend(frameon=False, loc="best", fontsize="small")
        tidy(ax)
        return self

    def _certificate(self) -> Certificate:
        loss = self.loss_trace[-1, 1]
        bound = self.bound_trace[-1, 1] if len(self.bound_trace) else 0.0
        return Certificate(loss, bound, self.bound_trace, k=None)


def losses_of(estimator: Estimator, loss: float) -> Floats:
    """Seconds and the lowest loss so far of an estimator's search; one row if there was none."""
    trace = trace_of(estimator)
    return _losses(loss, trace, None if trace is None else total_of(estimator, trace))


def _losses(loss: float, trace: Floats | None, total: float | None) -> Floats:
    """Seconds and the lowest loss so far, down to the loss of the partition."""
    if trace is None or loss == 0:
        return np.array([[0.0, loss]])
    total = trace[-1, 2] / loss if total is None else total
    # At high temperature, annealing accepts higher losses. No loss is drawn below that of the
    # result, even if a step had one.
    least = np.maximum(np.minimum.accumulate(trace[:, 2]) / total, loss)
    least[-1] = loss
    return np.column_stack([trace[:, 1], least])


def _draw_steps(ax: Axes, rows: Floats, end: float, color: str, label: str) -> Line2D:
    """Draw a line in steps, with a marker where it reaches its last value."""
    times, values = np.vstack([rows, (end, rows[-1, 1])]).T
    (line,) = ax.plot(
        times,
        values,
        drawstyle="steps-post",
        marker="o",
        markersize=4,
        markevery=[-2],
        color=color,
        label=label,
    )
    return line
