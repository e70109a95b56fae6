"""The distribution of a column before and after: what is drawn, and how."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from sk_microagg._utils._numbers import percent
from sk_microagg._utils._shares import bound_in_words
from sk_microagg._utils._tables import cells_of, columns_of, is_frame, missing_cells
from sk_microagg.generalization._labels import ROOT, is_number
from sk_microagg.plotting._style import FILL, INK, SOFT, percent_axis, short_numbers, tidy

MOST_BINS, FEWEST_BINS = 30, 5
MOST_BARS, FEWEST_ROWS = 8, 5
LONGEST_LABEL = 20
LARGEST_COUNT = 2**50  # larger floats cannot represent halves
OTHERS, GENERAL = "(others)", "(more general)"


@dataclass(frozen=True)
class Histogram:
    """Shares of records in bins, which may differ in width.

    Attributes
    ----------
    name : str
        The column.

    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins.

    before, after : ndarray of shape (n_bins,)
        Share of the records in each bin.

    unit : float
        Width of a bin before merging.

    are_integers : bool
        Whether all original values are integers.

    missing : tuple of two str
        Share of the records with a missing value, before and after; a bound in words if they are
        few.
    """

    name: str
    edges: np.ndarray
    before: np.ndarray
    after: np.ndarray
    unit: float
    are_integers: bool
    missing: tuple

    def draw(self, ax):
        """Draw the original as a gray area and the release as a line; a merged bin has its mean."""
        widths = np.diff(self.edges) / self.unit
        ax.stairs(self.before / widths, self.edges, fill=True, color=FILL, label="original")
        ax.stairs(self.after / widths, self.edges, color=INK, linewidth=1.3, label="release")
        percent_axis(ax.yaxis)
        ax.locator_params(axis="x", nbins=5, integer=self.are_integers)
        ax.locator_params(axis="y", nbins=4)
        short_numbers(ax.xaxis)
        if self.missing != ("0%", "0%"):
            ax.set_xlabel("missing: {} before, {} after".format(*self.missing), fontsize="small")


@dataclass(frozen=True)
class Bars:
    """Shares of records in categories.

    Attributes
    ----------
    name : str
        The column.

    categories : list of str
        The categories, most frequent first.

    before, after : ndarray of shape (n_categories,)
        Share of the records in each category.
    """

    name: str
    categories: list
    before: np.ndarray
    after: np.ndarray

    def draw(self, ax):
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
    """The reason why a column is not drawn.

    Attributes
    ----------
    name : str
        The column.

    text : str
        The reason.
    """

    name: str
    text: str

    def draw(self, ax):
        """Write the note."""
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.text(0.5, 0.5, self.text, ha="center", va="center", color=SOFT, transform=ax.transAxes)


def draw_column(ax, column):
    """Draw one column with its name as the title."""
    column.draw(ax)
    ax.set_title(_shortened(column.name, 40), fontsize="medium", loc="left", parse_math=False)
    tidy(ax)


def compare_columns(X, release, feature_names=None, at_least=1):
    """Count the values of each column of two tables.

    With `at_least` above 1, every bin or bar of the original stands for at least that number of
    records: bins and categories with fewer are merged. Bins then lie within the range of the
    release, and values outside are counted as its minimum or maximum.

    Returns
    -------
    columns : list of Histogram, Bars or Note
        One per column.
    """
    before, after = columns_of(X, "X"), columns_of(release, "release")
    shapes = [(len(table[0]), len(table)) for table in (before, after)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"release of shape {shapes[1]} must have the shape of X, {shapes[0]}.")
    _check_order(X, release)
    names = column_names(X, len(before), feature_names)
    return [
        _compare(name, old, new, at_least)
        for name, old, new in zip(names, before, after, strict=True)
    ]


def _check_order(X, release):
    names, released = (list(t.columns) if is_frame(t) else [] for t in (X, release))
    if names != released and set(names) == set(released):
        raise ValueError(
            f"release has the columns {released}: they must be in the order of X, {names}."
        )


def column_names(X, n_columns, given=None):
    """Names of the columns: those given, those of a frame, or x0, x1, ..."""
    if given is not None:
        if len(given) != n_columns:
            raise ValueError(
                f"feature_names={list(given)!r} must be {n_columns} names, one per column."
            )
        return [str(name) for name in given]
    return [str(name) for name in X.columns] if is_frame(X) else [f"x{j}" for j in range(n_columns)]


def _compare(name, before, after, at_least):
    old, new = _as_numbers(before), _as_numbers(after)
    if (old is None) != (new is None):
        return Note(name, "numbers are released as text" if new is None else "not drawn")
    if old is None:
        return _count_categories(name, before, after, at_least)
    return _count_numbers(name, old, new, at_least)


def _as_numbers(column):
    """The column as floats, with NaN for missing values; None if it does not contain numbers."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return np.asarray(column, dtype=np.float64)
    cells, missing = np.array(cells_of(column), dtype=object), missing_cells(column)
    if missing.all() or not all(is_number(cell) for cell in cells[~missing]):
        return None
    numbers = np.full(len(cells), np.nan)
    numbers[~missing] = cells[~missing].astype(np.float64)
    return numbers


def _count_numbers(name, old, new, at_least):
    known = [values[np.isfinite(values)] for values in (old, new)]
    if not all(len(values) for values in known):
        return Note(name, "all values are missing")
    missing = [1 - len(values) / len(old) for values in known]
    bounds = [bound_in_words(share, len(old), at_least) for share in missing]
    # If only a few values are missing, shares that do not add up to 1 would disclose how many.
    n_before, n_after = (
        len(old) if bound is None else len(values)
        for bound, values in zip(bounds, known, strict=True)
    )
    low, high = _range(known[1] if at_least > 1 else np.concatenate(known), at_least)
    are_integers = bool(np.all(known[0] == np.round(known[0])))
    edges = _edges(low, high, len(known[0]), are_integers)
    before, after = (
        np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] for values in known
    )
    starts = _merge(before, at_least)
    return Histogram(
        name,
        np.append(edges[starts], edges[-1]),
        np.add.reduceat(before, starts) / n_before,
        np.add.reduceat(after, starts) / n_after,
        float(edges[1] - edges[0]),
        are_integers,
        tuple(
            bound or percent(share, digits=1) for bound, share in zip(bounds, missing, strict=True)
        ),
    )


def _range(values, at_least):
    """The range of values, with each end the mean of the `at_least` most extreme values.

    In a k-anonymous release these are equal, so that the ends are the minimum and the maximum.
    """
    last = min(at_least, len(values)) - 1
    low = np.partition(values, last)[: last + 1]
    high = -np.partition(-values, last)[: last + 1]
    # The mean of equal values is taken without rounding errors.
    return tuple(float(end[0] if np.ptp(end) == 0 else end.mean()) for end in (low, high))


def _edges(low, high, n_values, are_integers):
    """Edges of equal bins from `low` to `high`; halfway between integers for integer values."""
    n_bins = int(np.clip(2 * np.cbrt(n_values), FEWEST_BINS, MOST_BINS))
    if are_integers and max(-low, high) < LARGEST_COUNT:
        low, high = np.floor(low), np.ceil(high)
        width = np.ceil((high - low + 1) / n_bins)
        n_bins = int(np.ceil((high - low + 1) / width))
        return low - 0.5 + width * np.arange(n_bins + 1)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        half = max(0.5, 1e-6 * abs(low))
        return np.array([low - half, low + half])
    return np.linspace(low, high, n_bins + 1)


def _merge(counts, at_least):
    """Starts of runs of bins that contain no record, or `at_least` of them."""
    starts, held = [], 0
    is_open = False
    for position, count in enumerate(counts):
        if not is_open:
            starts.append(position)
            held = 0
        held += count
        is_open = 0 < held < at_least
    # A remainder at the end joins the runs before it.
    while is_open and len(starts) > 1:
        starts.pop()
        is_open = counts[starts[-1] :].sum() < at_least
    return np.array(starts)


def _count_categories(name, before, after, at_least):
    old, new = (_labels(column) for column in (before, after))
    counts = Counter(old)
    ranked = sorted(counts, key=lambda label: (-counts[label], label))
    kept = [label for label in ranked if counts[label] >= at_least][:MOST_BARS]
    n_others = len(old) - sum(counts[label] for label in kept)
    # The number of a few others could be computed from the shares of the rest.
    while kept and 0 < n_others < at_least:
        n_others += counts[kept.pop()]
    released = Counter(
        label if label in kept else OTHERS if label in counts else GENERAL for label in new
    )
    categories = [*kept, *([OTHERS] if n_others else []), *([GENERAL] if released[GENERAL] else [])]
    shown = {**{label: counts[label] for label in kept}, OTHERS: n_others, GENERAL: 0}
    return Bars(
        name,
        categories,
        np.array([shown[category] for category in categories]) / len(old),
        np.array([released[category] for category in categories]) / len(new),
    )


def _labels(column):
    """Categories as text; a missing value is the most general category."""
    missing = missing_cells(column)
    return [
        ROOT if is_missing else str(cell)
        for cell, is_missing in zip(cells_of(column), missing, strict=True)
    ]


def _shortened(label, longest=LONGEST_LABEL):
    return label if len(label) <= longest else f"{label[: longest - 1]}…"
