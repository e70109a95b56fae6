"""Disclosure risk against information loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from sk_microagg._utils._typing import Annotation, Array, Axes, Estimator, Line2D, TableLike
from sk_microagg._utils._validation import check_option
from sk_microagg.metrics import risk_utility
from sk_microagg.plotting._common import BLUE, SOFT, Display, percent_axis

FIELDS = ("k", "information_loss", "expected_matches")

# Each risk, and the label of its axis.
RISKS = {
    "expected_matches": "expected re-identifications",
    "homogeneity": "records in groups of one sensitive value",
    "closeness": "largest distance of a group from the table",
    "units_per_group": "different units in the group with the fewest",
}

# What a table must be made with to have the risk.
NEEDS = {"homogeneity": "sensitive", "closeness": "sensitive", "units_per_group": "unit"}

Risk: TypeAlias = Literal["expected_matches", "homogeneity", "closeness", "units_per_group"]


@dataclass(kw_only=True, eq=False, repr=False)
class RiskUtilityDisplay(Display):
    """Disclosure risk against information loss, over k.

    Each point is a release, labeled with its k. The risk is the expected share of the records that
    distance-based record linkage re-identifies: an intruder who knows all original values picks the
    nearest row of the release, at random if it occurs several times. Hollow points show what
    k-anonymity alone guarantees: at most 1 / k.

    With sensitive columns, the risk can also be what the groups disclose about them: the share of
    the records in homogeneous groups, or the largest distance of a group from the whole table.
    k-anonymity does not limit either, so there are no hollow points. With units, such as people who
    have several records each, it can be the smallest number of units in a group: more is safer.

    Use :meth:`from_estimator` or :meth:`from_data` to create a display.

    Parameters
    ----------
    k : ndarray of shape (n_releases,)
        The k of each release.

    information_loss : ndarray of shape (n_releases,)
        Information loss of each release, from 0 to 1.

    expected_matches : ndarray of shape (n_releases,)
        Share of the records that are expected to be re-identified, from 0 to 1.

    homogeneity : ndarray of shape (n_releases,) or None, default=None
        Share of the records in groups with a single value of a sensitive column.

    closeness : ndarray of shape (n_releases,) or None, default=None
        Largest distance between the sensitive values of a group and those of the table.

    units_per_group : ndarray of shape (n_releases,) or None, default=None
        Smallest number of distinct units in a group.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.

    figure_ : matplotlib Figure
        The figure that contains the axes.

    line_ : matplotlib Line2D
        Risk against loss.

    bound_ : matplotlib Line2D or None
        1 / k against loss; None if the risk is not that of record linkage.

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

    k: Array
    information_loss: Array
    expected_matches: Array
    homogeneity: Array | None = None
    closeness: Array | None = None
    units_per_group: Array | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: TableLike,
        ks: Iterable[int],
        ax: Axes | None = None,
        *,
        sensitive: TableLike | None = None,
        unit: TableLike | None = None,
        risk: Risk = "expected_matches",
    ) -> Self:
        """Anonymize a table with several values of k, and draw the risk and loss of each release.

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

        sensitive : array-like, Series or DataFrame, or None, default=None
            One or several sensitive columns, see :func:`sk_microagg.metrics.risk_utility`.

        unit : array-like or Series of shape (n_samples,), or None, default=None
            Who each record belongs to, see :func:`sk_microagg.metrics.risk_utility`.

        risk : {"expected_matches", "homogeneity", "closeness", "units_per_group"}, \
                default="expected_matches"
            What is drawn. "homogeneity" and "closeness" need `sensitive`, and "units_per_group"
            needs `unit`.

        Returns
        -------
        display : RiskUtilityDisplay
            The display, after plotting.
        """
        check_option("risk", risk, RISKS)
        roles: dict[str, Any] = {"sensitive": sensitive, "unit": unit}
        needed = NEEDS.get(risk)
        if needed is not None and roles[needed] is None:
            raise ValueError(f"risk={risk!r} needs {needed} values: pass {needed}=.")
        table = risk_utility(X, ks, estimator=estimator, **roles)
        return cls.from_data(table, ax=ax, risk=risk)

    @classmethod
    def from_data(
        cls, table: Any, ax: Axes | None = None, *, risk: Risk = "expected_matches"
    ) -> Self:
        """Draw a table of risks and losses.

        Parameters
        ----------
        table : ndarray with named fields, or DataFrame
            The result of :func:`sk_microagg.metrics.risk_utility`. The fields `k`,
            `information_loss` and that of the risk are drawn, in the order of k.

        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        risk : {"expected_matches", "homogeneity", "closeness", "units_per_group"}, \
                default="expected_matches"
            What is drawn. All but the first need a table that was made with `sensitive`, or with
            `unit`.

        Returns
        -------
        display : RiskUtilityDisplay
            The display, after plotting.
        """
        fields = getattr(table, "columns", None)
        fields = getattr(getattr(table, "dtype", None), "names", None) if fields is None else fields
        fields = () if fields is None else fields
        missing = [name for name in FIELDS if name not in fields]
        if missing:
            raise ValueError(
                f"table has no {' and no '.join(missing)}: it must be what "
                "sk_microagg.metrics.risk_utility returns."
            )
        present = dict.fromkeys([*FIELDS, *(name for name in RISKS if name in fields)])
        columns = {name: np.atleast_1d(np.asarray(table[name])) for name in present}
        order = np.argsort(columns["k"], kind="stable")
        display = cls(**{name: column[order] for name, column in columns.items()})
        return display.plot(ax=ax, risk=risk)

    def plot(self, ax: Axes | None = None, *, risk: Risk = "expected_matches") -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        risk : {"expected_matches", "homogeneity", "closeness", "units_per_group"}, \
                default="expected_matches"
            What is drawn.

        Returns
        -------
        display : RiskUtilityDisplay
            The display.
        """
        check_option("risk", risk, RISKS)
        if getattr(self, risk) is None:
            raise ValueError(
                f"risk={risk!r} is not known: the table must be made with {NEEDS[risk]} values."
            )
        self._risk = risk
        return super().plot(ax)

    def _draw(self, ax: Axes) -> None:
        risk, risks = self._risk, getattr(self, self._risk)
        is_linkage = risk == "expected_matches"
        self.bound_ = self._draw_guarantee(ax) if is_linkage else None
        label = "record linkage" if is_linkage else risk
        (self.line_,) = ax.plot(self.information_loss, risks, marker="o", color=BLUE, label=label)
        self.texts_ = self._label_points(ax, risks)
        ax.set(xlabel="information loss", ylabel=RISKS[risk])
        # Room for the labels of points at 0.
        ax.margins(x=0.15, y=0.08)
        percent_axis(ax.xaxis)
        if risk in ("expected_matches", "homogeneity"):
            percent_axis(ax.yaxis)
        if is_linkage:
            ax.legend(frameon=False)
        else:
            # A curve that stays high must not look as if it fell to nothing.
            ax.update_datalim([(loss, 0.0) for loss in self.information_loss])
            ax.autoscale_view()

    def _draw_guarantee(self, ax: Axes) -> Line2D:
        (line,) = ax.plot(
            self.information_loss,
            1 / self.k,
            marker="o",
            markersize=4,
            markerfacecolor="white",
            linestyle=":",
            color=SOFT,
            label="guarantee of k-anonymity, 1 / k",
        )
        return line

    def _label_points(self, ax: Axes, risks: Array) -> list[Annotation]:
        # There is room below and to the left of a falling curve.
        return [
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
                zip(self.k, self.information_loss, risks, strict=True)
            )
        ]
