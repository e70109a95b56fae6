"""The facts that a report states."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._model._fitted_groups import release_of
from sk_microagg._utils._formatting import (
    bound_in_words,
    expected_matches,
    fewest_records,
    homogeneity_lines,
    printable,
    share_in_words,
    share_of_people,
    whole_percent,
)
from sk_microagg._utils._tables import columns_of, missing_cells
from sk_microagg.generalization._base import Generalizer
from sk_microagg.metrics import generalization_loss
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._diversity import homogeneity_of_both
from sk_microagg.metrics._linkage import units_of
from sk_microagg.plotting._distributions import column_names
from sk_microagg.report._attacks import measure_attacks
from sk_microagg.report._measures import measure_any_kind, measure_numbers
from sk_microagg.report._membership import shown_name
from sk_microagg.report._sensitive import facts_beyond_k
from sk_microagg.report._unchanged import measure_unchanged


@dataclass(frozen=True)
class Facts:
    """What a report states about any release."""

    names: list
    n_records: int
    n_groups: int
    smallest_group: int
    k: int
    fewest: int
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
    mixed: object
    risk: object
    beyond_k: object
    unchanged: object
    attacks: object

    @property
    def fewest_in_words(self):
        """What the smallest number of original records is that a picture may show together."""
        fewest = fewest_records(self.k)
        has_units = self.beyond_k.n_units is not None
        return f"records of at least {fewest} units" if has_units else f"at least {fewest} records"

    @property
    def largest_risk(self):
        """The most that an intruder who knows the row of a person can achieve."""
        return 1 / self.level if self.beyond_k.unit_share is None else self.beyond_k.unit_share

    @property
    def is_safe(self):
        """Whether nothing undoes what holds for every group, so that it may be green."""
        return not self.beyond_k.is_share_large and self.unchanged.are_safe(self.largest_risk)

    def bound(self, value):
        """What to write instead of a share that stands for too few records; None if enough."""
        return bound_in_words(value, self.n_records, self.fewest)

    def as_text(self, value, of=""):
        """A share of the records as text, followed by `of`, or a bound if it is of too few."""
        return share_in_words(value, self.n_records, self.fewest, of)

    def share_of_groups(self, value, of=""):
        """The same for records in whole groups, each of which has those of enough people."""
        return share_in_words(value, self.n_records, fewest_records(self.k), of)

    def expected_matches(self, linkage):
        """The share of the records that an intruder is expected to re-identify, as text."""
        return expected_matches(linkage, self.n_records, self.fewest)[1]

    def homogeneity_lines(self):
        """A line for each column released unchanged in which groups share one value."""
        return homogeneity_lines(self.homogeneous, self.n_records, self.k, most=None)


def collect_facts(
    X,
    release,
    estimator,
    source=None,
    unchanged=None,
    dropped=None,
    pair=None,
    membership=None,
    kinds=None,
    **roles,
):
    """Measure a release; `X` and `release` have the same shape, `unchanged` has the same rows.

    `pair` is a MixedPair of both if they are not numbers, `membership` are the arguments of
    `measure_membership` if there is a target, `kinds` are those of columns where the estimator did
    not know them, and `roles` are `sensitive`, `unit` and `strata`.
    """
    columns = columns_of(X, "X")
    names = column_names(
        X,
        len(columns),
        None if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None),
    )
    numbers = mixed = risk = None
    units = units_of(roles.get("unit"), len(columns[0]))
    fewest = fewest_records(estimator.k, units)
    if isinstance(estimator, Generalizer):
        losses = _generalization_losses(X, release, estimator)
    elif pair is None:
        losses, numbers, risk = measure_numbers(X, release, estimator, units)
    else:
        losses, mixed, risk = measure_any_kind(pair, estimator, kinds, units)
    # Finding equal rows takes time: it is done once, not once per metric.
    classes = row_classes(release, "release")
    class_sizes = np.bincount(classes)
    return Facts(
        names=[shown_name(name) for name in names],
        n_records=len(columns[0]),
        n_groups=int(estimator.n_groups_),
        smallest_group=int(estimator.group_sizes_.min()),
        k=int(estimator.k),
        fewest=fewest,
        level=int(class_sizes.min()),
        n_distinct=len(class_sizes),
        loss=float(estimator.information_loss_),
        column_losses=losses,
        unique_before=share_of_people(_is_unique(row_classes(X, "X")), units),
        unique_after=share_of_people(_is_unique(classes), units),
        missing=_missing_in_words(columns, units, fewest_records(estimator.k)),
        source=None if source is None else printable(source),
        dropped=None if dropped is None else [shown_name(name) for name in dropped],
        homogeneous=None if unchanged is None else _homogeneous(release, unchanged),
        numbers=numbers,
        mixed=mixed,
        risk=risk,
        beyond_k=facts_beyond_k(classes, estimator, **roles),
        unchanged=measure_unchanged(X, names, classes, unchanged, **roles),
        attacks=None
        if risk is None
        else measure_attacks(X, release, pair, estimator, fewest, membership, units),
    )


def _is_unique(classes):
    """Whether the class of each record has no other one."""
    return np.bincount(classes)[classes] == 1


def _missing_in_words(columns, units, fewest):
    """How many cells are missing, and in how many records; no figure is for fewer than `fewest`."""
    missing = np.column_stack([missing_cells(column) for column in columns])
    has_missing, has_known = missing.any(axis=1), ~missing.all(axis=1)
    share = share_of_people(has_missing, units)
    records = share_in_words(share, len(missing), fewest, " of the records")
    people = np.arange(len(missing)) if units is None else units
    if any(0 < len(np.unique(people[has])) < fewest for has in (has_missing, has_known)):
        return f"cells in {records}"
    return f"{whole_percent(missing.mean())} of the cells, in {records}"


def _homogeneous(release, unchanged):
    columns = columns_of(unchanged, "unchanged") if 0 not in np.shape(unchanged) else []
    names = map(shown_name, column_names(unchanged, len(columns)))
    shares = homogeneity_of_both(release, unchanged) if columns else []
    return dict(zip(names, map(tuple, shares), strict=True))


def _generalization_losses(X, release, estimator):
    if getattr(estimator, "output", "interval") == "midpoint":
        # A midpoint does not show how wide its interval is.
        release = release_of(estimator._intervals(X), estimator.labels_)
    cells = generalization_loss(X, release, hierarchies=estimator.hierarchies, level="cell")
    return cells.mean(axis=0)
