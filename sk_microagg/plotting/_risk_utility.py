"""Disclosure risk against information loss."""

import numpy as np

from sk_microagg.metrics import risk_utility
from sk_microagg.plotting._style import BLUE, SOFT, axes_for, percent_axis, tidy

FIELDS = ("k", "information_loss", "expected_matches")


class RiskUtilityDisplay:
    """Disclosure risk against information loss, over k.

    Each point is a release, labeled with its k. The risk is the share of the records that
    distance-based record linkage is expected to re-identify: an intruder who knows all original
    values picks the nearest row of the release, at random if several are equally near. Hollow
    points are the guarantee of k-anonymity alone: at most 1 / k.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    k : ndarray of shape (n_releases,)
        The k of each release.

    information_loss : ndarray of shape (n_releases,)
        Information loss of each release, from 0 to 1.

    expected_matches : ndarray of shape (n_releases,)
        Share of the records that are expected to be re-identified, from 0 to 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.

    figure_ : matplotlib Figure
        The figure that contains the axes.

    line_ : matplotlib Line2D
        Risk against loss.

    bound_ : matplotlib Line2D
        1 / k against loss.

    texts_ : list of matplotlib Text
        The labels of the points.

    See Also
    --------
    sk_microagg.metrics.risk_utility : Computes the table.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.plotting import RiskUtilityDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> display = RiskUtilityDisplay.from_estimator(MicroAggregator(), X, ks=[2, 5, 10])
    >>> [text.get_text() for text in display.texts_]
    ['k = 2', '5', '10']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, k, information_loss, expected_matches):
        self.k = k
        self.information_loss = information_loss
        self.expected_matches = expected_matches

    @classmethod
    def from_estimator(cls, estimator, X, ks, ax=None):
        """Anonymize a table with several k, and draw the risk and the loss of each release.

        Parameters
        ----------
        estimator : MicroAggregator
            The estimator; a clone of it is fitted with each k.

        X : array-like of shape (n_samples, n_features)
            The records.

        ks : list of int
            The values of k.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : RiskUtilityDisplay
            The display, after plotting.
        """
        return cls.from_data(risk_utility(X, ks, estimator=estimator), ax=ax)

    @classmethod
    def from_data(cls, table, ax=None):
        """Draw a table of risks and losses.

        Parameters
        ----------
        table : ndarray with named fields, or DataFrame
            The result of :func:`sk_microagg.metrics.risk_utility`. The fields `k`,
            `information_loss` and `expected_matches` are drawn, in the order of k.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : RiskUtilityDisplay
            The display, after plotting.
        """
        fields = getattr(table, "columns", None)
        fields = getattr(getattr(table, "dtype", None), "names", None) if fields is None else fields
        missing = [name for name in FIELDS if fields is None or name not in fields]
        if missing:
            raise ValueError(
                f"table has no {' and no '.join(missing)}: it must be what "
                "sk_microagg.metrics.risk_utility returns."
            )
        columns = {name: np.atleast_1d(np.asarray(table[name])) for name in FIELDS}
        order = np.argsort(columns["k"], kind="stable")
        return cls(**{name: column[order] for name, column in columns.items()}).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        display : RiskUtilityDisplay
            The display.
        """
        self.ax_ = ax = axes_for(ax)
        self.figure_ = ax.figure
        (self.bound_,) = ax.plot(
            self.information_loss,
            1 / self.k,
            marker="o",
            markersize=4,
            markerfacecolor="white",
            linestyle=":",
            color=SOFT,
            label="guarantee of k-anonymity, 1 / k",
        )
        (self.line_,) = ax.plot(
            self.information_loss,
            self.expected_matches,
            marker="o",
            color=BLUE,
            label="record linkage",
        )
        # There is room below and to the left of a falling curve.
        self.texts_ = [
            ax.annotate(
                f"k = {k}" if number == 0 else str(k),
                (loss, risk),
                xytext=(-4, -4),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize="small",
            )
            for number, (k, loss, risk) in enumerate(
                zip(self.k, self.information_loss, self.expected_matches, strict=True)
            )
        ]
        ax.set(xlabel="information loss", ylabel="expected re-identifications")
        # Room for the labels of points at 0.
        ax.margins(x=0.15, y=0.08)
        percent_axis(ax.xaxis)
        percent_axis(ax.yaxis)
        ax.legend(frameon=False)
        tidy(ax)
        return self
