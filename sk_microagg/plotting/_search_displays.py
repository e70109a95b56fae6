"""The search of an estimator over time, and the bound that a proof sets to its loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._bound import Certificate
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Axes, Estimator, Floats, Line2D, TableLike
from sk_microagg._utils._validation import check_number, check_option
from sk_microagg.metrics._loss import certify, check_bound_trace, check_can_be_certified
from sk_microagg.plotting._common import BLUE, FILL, INK, Display, percent_axis, points_of

TIMES = {"iteration": (0, "iteration"), "seconds": (1, "seconds of search")}
BEYOND_THE_END = 1.08


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The loss of the best partition found by a search, over time.

    The last point is the result. For :class:`~sk_microagg.refiners.Annealing` it is the loss of the
    current partition, which may rise at high temperature.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    trace : ndarray of shape (n_improvements, 3)
        Iteration, seconds and sum of squared errors of each partition that was better than all
        before; for annealing, of the current partition at intervals.

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

    trace: Floats
    total: float | None = None
    x: Literal["seconds", "iteration"] = "seconds"

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
            An estimator fitted with :class:`~sk_microagg.refiners.IteratedLocalSearch`,
            :class:`~sk_microagg.refiners.Annealing` or :class:`~sk_microagg.refiners.Recombination`
            as its refiner or as one of its refiners.

        X : array-like of shape (n_samples, n_features) or None, default=None
            Records by whose total sum of squares the losses are divided; None for those that the
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
        check_number("total", total, above=0, or_option=None)
        return cls(trace=check_trace(trace), total=total, x=x).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
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


class CertificateDisplay(Display):
    """The loss found by a search and the proven lower bound, over time.

    The loss falls during the search, and the bound rises during the proof. No partition into groups
    of at least k loses less than the bound: the optimum lies between the two, in the shaded band.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    loss_trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the search and the lowest information loss so far; the last row
        has the loss of the partition. A single row is drawn as a horizontal line.

    bound_trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the proof and the bound proven by then; empty if nothing was
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
            A fitted estimator. If its refiner, or one of its refiners, has a `trace_`, as
            :class:`~sk_microagg.refiners.IteratedLocalSearch` has, the search is also drawn.

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
        check_number("total", total, above=0, or_option=None)
        trace = None if trace is None else check_trace(trace)
        return cls(loss_trace=_losses(loss, trace, total), bound_trace=bound_trace).plot(ax=ax)

    @property
    def gap(self) -> float:
        """Upper limit on how far the loss is above the optimum, as a share of the bound."""
        return self._certificate().gap

    def _draw(self, ax: Axes) -> None:
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
