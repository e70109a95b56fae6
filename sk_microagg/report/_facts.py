"""The figures of a report."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._tables import columns_of
from sk_microagg.generalization._base import Generalizer
from sk_microagg.metrics import (
    attribute_changes,
    correlation_change,
    generalization_loss,
    interval_disclosure,
    rank_disclosure,
    record_linkage,
    uniqueness,
)
from sk_microagg.metrics._classes import row_classes
from sk_microagg.metrics._numeric import check_pair
from sk_microagg.plotting._attributes import release_of
from sk_microagg.plotting._distributions import column_names

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
    numbers: object


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


def collect_facts(X, release, estimator):
    """Measure a release; X and release are tables of one shape."""
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
    smallest = estimator.group_sizes_.min() if hasattr(estimator, "group_sizes_") else None
    # Classes take a while to find: once is enough for what metrics ask of them one by one.
    class_sizes = np.bincount(row_classes(release, "release"))
    return Facts(
        names=names,
        n_records=len(columns[0]),
        n_groups=int(estimator.n_groups_),
        smallest_group=int(estimator.smallest_group_ if smallest is None else smallest),
        k=int(estimator.k),
        level=int(class_sizes.min()),
        n_distinct=len(class_sizes),
        loss=float(estimator.information_loss_),
        column_losses=losses,
        unique_before=uniqueness(X),
        unique_after=float(np.sum(class_sizes == 1) / class_sizes.sum()),
        numbers=numbers,
    )


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
