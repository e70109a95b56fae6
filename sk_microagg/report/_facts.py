"""The figures of a report."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._utils._printable import printable
from sk_microagg._utils._shares import bound_in_words, fewest_records
from sk_microagg._utils._tables import columns_of, missing_cells
from sk_microagg.generalization._base import Generalizer
from sk_microagg.metrics import (
    attribute_changes,
    correlation_change,
    generalization_loss,
    homogeneity,
    interval_disclosure,
    rank_disclosure,
    record_linkage,
    uniqueness,
)
from sk_microagg.metrics._classes import row_classes
from sk_microagg.metrics._numeric import check_pair
from sk_microagg.plotting._attributes import release_of
from sk_microagg.plotting._distributions import column_names
from sk_microagg.report._html import percent, share

# Half-widths of the intervals in which a value counts as disclosed: in standard deviations of its
# column, and in ranks as a share of the records.
INTERVAL, RANKS = 0.1, 0.1


@dataclass(frozen=True)
class Facts:
    """What a report says of any release.

    Attributes
    ----------
    names : list of str
        Names of the columns.

    n_records, n_groups : int
        Number of records, and of groups that the estimator made.

    smallest_group : int
        Number of records in the smallest group of the estimator.

    k : int
        Smallest size of a group that was asked for.

    level : int
        How often the rarest row occurs in the release.

    n_distinct : int
        Number of distinct rows of the release.

    loss : float
        Information loss, as the estimator measures it.

    column_losses : ndarray of shape (n_columns,)
        Loss of each column.

    unique_before, unique_after : float
        Share of the rows that occur only once.

    missing : str
        How much is missing from the original.

    source : str or None
        The file that the table was read from.

    dropped : list of str or None
        Names of columns that are not released.

    homogeneous : dict or None
        By the name of a column that passes through, the share of the records that are in groups
        which share one value in it; None if nothing is known of such columns.

    numbers : NumericFacts or None
        What only releases of numbers have.
    """

    names: list
    n_records: int
    n_groups: int
    smallest_group: int
    k: int
    level: int
    n_distinct: int
    loss: float
    column_losses: np.ndarray
    unique_before: float
    unique_after: float
    missing: str
    source: str
    dropped: list
    homogeneous: dict
    numbers: object

    def bound(self, value):
        """What to say instead of a share of the records that stands for a few; None if many."""
        return bound_in_words(value, self.n_records, fewest_records(self.k))

    def told(self, value):
        """A share of the records as text, or its bound."""
        return self.bound(value) or percent(value)

    def with_bar(self, value):
        """A share of the records with a bar, or its bound, without one."""
        return self.bound(value) or share(value)

    def expected_matches(self):
        """The share of the records that an intruder is expected to re-identify, as text."""
        linkage = self.numbers.linkage
        if self.bound(linkage.linked) is None:
            return percent(linkage.expected_matches)
        # It would tell how many are linked.
        return f"at most {percent(linkage.expected_if_linked)}"


@dataclass(frozen=True)
class NumericFacts:
    """What a report says of a release of numbers.

    Attributes
    ----------
    changes : structured ndarray of shape (n_columns,)
        How far mean, variance and quartiles have moved.

    correlations : CorrelationChange
        How far correlations have moved.

    linkage : RecordLinkage
        How many records an intruder finds.

    intervals, ranks : ndarray of shape (n_columns,)
        Share of the values of a column that are close to the released ones.
    """

    changes: np.ndarray
    correlations: object
    linkage: object
    intervals: np.ndarray
    ranks: np.ndarray


def collect_facts(X, release, estimator, source=None, passed=None, dropped=None):
    """Measure a release; X and release are tables of one shape, `passed` has their rows."""
    columns = columns_of(X, "X")
    names = column_names(
        X,
        len(columns),
        None if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None),
    )
    if isinstance(estimator, Generalizer):
        numbers, losses = None, _generalization_losses(X, release, estimator)
    else:
        numbers, losses = _numeric_facts(X, release, estimator), _squared_losses(X, release)
    # Classes take a while to find: once is enough for what metrics ask of them one by one.
    class_sizes = np.bincount(row_classes(release, "release"))
    return Facts(
        names=[printable(name) for name in names],
        n_records=len(columns[0]),
        n_groups=int(estimator.n_groups_),
        smallest_group=int(estimator.group_sizes_.min()),
        k=int(estimator.k),
        level=int(class_sizes.min()),
        n_distinct=len(class_sizes),
        loss=float(estimator.information_loss_),
        column_losses=losses,
        unique_before=uniqueness(X),
        unique_after=float(np.sum(class_sizes == 1) / class_sizes.sum()),
        missing=_missing_in_words(columns, fewest_records(estimator.k)),
        source=None if source is None else printable(source),
        dropped=None if dropped is None else [printable(name) for name in dropped],
        homogeneous=None if passed is None else _homogeneous(release, passed),
        numbers=numbers,
    )


def _missing_in_words(columns, fewest):
    """How many cells are missing, and in how many records, told of no fewer than `fewest`."""
    missing = np.column_stack([missing_cells(column) for column in columns])
    has_missing, has_known = missing.any(axis=1), ~missing.all(axis=1)
    rate = has_missing.mean()
    records = bound_in_words(rate, len(missing), fewest) or f"{percent(rate)} of the records"
    if any(0 < has.sum() < fewest for has in (has_missing, has_known)):
        return f"cells in {records}"
    return f"{percent(missing.mean())} of the cells, in {records}"


def _homogeneous(release, passed):
    columns = columns_of(passed, "passed") if 0 not in np.shape(passed) else []
    names = map(printable, column_names(passed, len(columns)))
    shares = homogeneity(release, passed) if columns else []
    return {name: float(share) for name, share in zip(names, shares, strict=True)}


def _numeric_facts(X, release, estimator):
    return NumericFacts(
        changes=attribute_changes(X, release),
        correlations=correlation_change(X, release),
        linkage=record_linkage(X, release, n_jobs=getattr(estimator, "n_jobs", None)),
        intervals=interval_disclosure(X, release, width=INTERVAL),
        ranks=rank_disclosure(X, release, share=RANKS),
    )


def _squared_losses(X, release):
    """Squared changes of each column, as a share of its total sum of squares; 0 if that is 0."""
    X, release = check_pair(X, release)
    losses = np.zeros(X.shape[1])
    for j, (column, released) in enumerate(zip(X.T, release.T, strict=True)):
        spread = np.ptp(column)
        if spread > 0:
            deviations = (column - column.mean()) / spread
            changes = (column - released) / spread
            losses[j] = (changes @ changes) / (deviations @ deviations)
    return losses


def _generalization_losses(X, release, estimator):
    if getattr(estimator, "output", "interval") == "midpoint":
        # Numbers in the middle do not tell how wide their intervals are.
        release = release_of(estimator, estimator._intervals(X))
    cells = generalization_loss(X, release, hierarchies=estimator.hierarchies, level="cell")
    return cells.mean(axis=0)
