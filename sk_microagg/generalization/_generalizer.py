"""What KAIM and KMember have in common: from a table to its release, and new records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._kernels import CenterIndex, RangeColumns
from sk_microagg._model._fitted_groups import release_of
from sk_microagg._table_roles import TableRoles, replace_columns
from sk_microagg._utils._estimator import (
    BaseEstimator,
    GroupsReprMixin,
    TrainingDigestMixin,
    __version__,
    all_or_nothing,
    complete_model,
    digest,
    warn_if_training_data,
)
from sk_microagg._utils._statistics import group_sizes
from sk_microagg._utils._tables import as_table, cells_of, columns_of, is_frame
from sk_microagg._utils._typing import Array, Booleans, Codes, Floats, Labels, Output, TableLike
from sk_microagg._utils._validation import (
    check_k,
    check_names_alike,
    check_partition,
    warn_if_k_is_1,
)
from sk_microagg.generalization._mixed_table import MixedTable, columns_at, names_of
from sk_microagg.privacy import Rules
from sk_microagg.privacy._rules import as_constraints
from sk_microagg.privacy._strata import Strata
from sk_microagg.tables._domain import IntervalEnds
from sk_microagg.tables._grid import make_grid
from sk_microagg.tables._hierarchy import Hierarchy


@dataclass(frozen=True)
class Ranges:
    """Records as ranges: the first and last position of each cell, in the domains of columns."""

    columns: Any
    lo: Codes
    hi: Codes

    def __len__(self) -> int:
        return len(self.lo)

    def __getitem__(self, rows: Any) -> Ranges:
        return Ranges(self.columns, self.lo[rows], self.hi[rows])


class GeneralizedGroups:
    """The generalized values of each group, and which group a new record fits best."""

    def __init__(
        self, domains: list[Any], covers: list[list[tuple[Any, ...]]], weights: Floats
    ) -> None:
        self._domains = domains
        self._covers = covers
        self._weights = weights
        self._low, self._high = self._find_ends()

    @classmethod
    def from_records(
        cls,
        hierarchies: list[Any],
        domains: list[Any],
        records: Ranges,
        labels: Labels,
        weights: Floats,
    ) -> Self:
        shape = (labels.max() + 1, records.lo.shape[1])
        low, high = np.full(shape, np.iinfo(np.int32).max), np.full(shape, -1)
        np.minimum.at(low, labels, records.lo)
        np.maximum.at(high, labels, records.hi)
        covers = [
            [domain.cover(*ends) for ends in zip(*columns, strict=True)]
            for domain, *columns in zip(domains, low.T, high.T, strict=True)
        ]
        released = [
            hierarchy._released_values(*column)
            for hierarchy, *column in zip(hierarchies, covers, domains, strict=True)
        ]
        return cls(released, covers, weights)

    def with_midpoints(self) -> GeneralizedGroups:
        """The same groups, with the midpoint of each interval instead of its ends."""
        pairs = zip(self._domains, self._covers, strict=True)
        domains, covers = zip(*[domain.with_midpoints(c) for domain, c in pairs], strict=True)
        return GeneralizedGroups(list(domains), list(covers), self._weights)

    def ends(self, names: list[Any]) -> dict[Any, IntervalEnds]:
        """By the name of each column that is released as intervals, their ends."""
        columns = zip(names, self._domains, self._covers, strict=True)
        return {n: domain.ends(covers) for n, domain, covers in columns if not domain.is_tree}

    def losses(self) -> Floats:
        """Unweighted loss of each group in each column."""
        return self._write(lambda domain, cover: domain.loss_of(cover)).astype(np.float64)

    def labels(self) -> Array:
        """The generalized values as text, an object array of shape (n_groups, n_columns)."""
        return self._write(lambda domain, cover: domain.label(cover))

    def midpoints(self) -> Array:
        """The generalized values as midpoints in columns of numbers, as text in others."""
        table = self._write(
            lambda domain, cover: (
                domain.label(cover) if domain.midpoint(()) is None else domain.midpoint(cover)
            )
        )
        has_text = any(domain.midpoint(()) is None for domain in self._domains)
        return table if has_text else table.astype(np.float64)

    def _write(self, write: Callable[[Any, tuple[Any, ...]], Any]) -> Array:
        table = np.empty((len(self._covers[0]), len(self._covers)), dtype=object)
        for j, (domain, covers) in enumerate(zip(self._domains, self._covers, strict=True)):
            written = {cover: write(domain, cover) for cover in dict.fromkeys(covers)}
            table[:, j] = [written[cover] for cover in covers]
        return table

    def _find_ends(self) -> Codes:
        ends = np.empty((2, len(self._covers[0]), len(self._covers)), dtype=np.int32)
        for j, (domain, covers) in enumerate(zip(self._domains, self._covers, strict=True)):
            ranges = {cover: domain.range_of(cover) for cover in dict.fromkeys(covers)}
            ends[:, :, j] = np.array([ranges[cover] for cover in covers]).T
        return ends

    def are_alike(self, some: Labels, others: Labels) -> bool:
        """Whether each of some groups is released as the same row as its counterpart."""
        some_ends, other_ends = (np.hstack([self._low, self._high])[g] for g in (some, others))
        return np.array_equal(some_ends, other_ends)

    def encode(self, table: Any) -> tuple[Codes, Codes]:
        return table.encode(self._domains)

    def nearest_each(
        self,
        lo: Codes,
        hi: Codes,
        stratum_of_groups: Labels | None = None,
        strata: Labels | None = None,
    ) -> Labels:
        """For each record, the group whose loss it raises least, among those of its stratum."""
        nearest = np.empty(len(lo), dtype=np.intp)
        columns = RangeColumns(self._domains, self._weights)
        for stratum in [None] if strata is None else np.unique(strata):
            rows = slice(None) if stratum is None else np.flatnonzero(strata == stratum)
            groups = np.arange(len(self._low))
            if stratum is not None:
                groups = np.flatnonzero(stratum_of_groups == stratum)
            index = CenterIndex(columns, self._low[groups], self._high[groups])
            distinct, places = np.unique(
                np.hstack([lo[rows], hi[rows]]), axis=0, return_inverse=True
            )
            distinct_lo, distinct_hi = map(np.ascontiguousarray, np.hsplit(distinct, 2))
            found = index.nearest_each(distinct_lo, distinct_hi)[places.reshape(-1)]
            nearest[rows] = groups[found]
        return nearest


class Generalizer(
    GroupsReprMixin, TrainingDigestMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Base of transformers that replace each record by the generalized values of its group.

    A subclass has the parameters `k`, `quasi_identifiers`, `sensitive`, `drop`, `hierarchies` and
    `grid`, maybe `unit`, `strata` and `privacy`, and the methods `_group` and, if needed,
    `_weights`, `_constant` and `_write`.
    """

    def fit(self, X: TableLike, y: object = None) -> Self:
        """Partition the records into groups.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records. Quasi-identifiers are numbers, dates and categories; None, NaN, pandas.NA
            and "*" are missing values.

        y : None
            Ignored.

        Returns
        -------
        self : Generalizer
            The fitted estimator.
        """
        check_names_alike(X)
        roles = self._roles(X)
        table = MixedTable(X, self, roles.quasi_identifiers)
        k = check_k(self.k, len(table))
        warn_if_k_is_1(k, getattr(self, "privacy", None))
        table.warn_of_similar_values()
        rules = self._rules(X, roles, k, len(table))
        stratum_columns = columns_at(as_table(X), roles.strata) if roles.strata else None
        strata = Strata.checked(stratum_columns, len(table), k, rules)
        weights = self._weights(len(table.names))
        hierarchies, domains = self._domains(table, k, rules.units)
        columns = RangeColumns(domains, weights, constant=self._constant())
        records = Ranges(columns, *table.encode(domains))
        labels, attributes = self._group(records, table.missing, k, rules, strata)

        kept = labels >= 0
        check_partition(labels[kept], k, kept.sum(), f"{type(self).__name__} made groups")
        rules.check(labels, f"{type(self).__name__} made groups")
        groups = GeneralizedGroups.from_records(
            hierarchies, domains, records[kept], labels[kept], weights
        )
        loss = _mean_loss(groups.losses(), labels, table.missing, weights)
        ends = groups.ends(table.names)
        groups, centroids = self._write(groups)
        lo, hi = groups.encode(table)
        numbers = stratum_of = None
        if strata is not None:
            numbers, stratum_of = strata.numbers, np.empty(len(centroids), dtype=np.intp)
            stratum_of[labels] = numbers
        assigned = groups.nearest_each(lo, hi, stratum_of, numbers)
        exact_transform = bool(kept.all() and groups.are_alike(assigned, labels))
        training_digest = None if exact_transform else digest(np.hstack([lo, hi]))

        with all_or_nothing(self):
            validate_data(self, X, skip_check_array=True)
            self.labels_: Labels = labels
            self.centroids_: Array = centroids
            self.interval_ends_: dict[Any, IntervalEnds] = self._shown(ends)
            self.group_sizes_: Labels = group_sizes(labels[kept])
            self.n_groups_: int = len(centroids)
            self.information_loss_: float = loss
            self.value_missing_rate_: float = float(table.missing.mean())
            self.record_missing_rate_: float = float(table.missing.any(axis=1).mean())
            self.exact_transform_: bool = exact_transform
            for name, value in attributes.items():
                setattr(self, name, value)
            self._table_roles = roles
            self._groups = groups
            self._strata = None if strata is None else strata.names
            self._stratum_of_groups = stratum_of
            self._training_digest = training_digest
            self._sk_microagg_version = __version__
        return self

    def fit_transform(self, X: TableLike, y: object = None) -> Output:
        """Partition the records and return the release.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        release : ndarray of shape (n_samples, n_released), or DataFrame of pandas
            The generalized values of each record's group, in the quasi-identifiers. It is a
            DataFrame if `X` is a DataFrame with other columns, which are released unchanged.
        """
        self.fit(X)
        return self._release(X, release_of(self.centroids_, self.labels_))

    def fit_predict(self, X: TableLike, y: object = None) -> Labels:
        """Partition the records and return the group of each.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0; -1 for dropped records.
        """
        return self.fit(X).labels_

    def transform(self, X: TableLike) -> Output:
        """Replace each record by the values of the group whose loss it would raise least.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records, usually new ones. The release of the training data is what `fit_transform`
            returns.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_released), or DataFrame of pandas
            A row of `centroids_` for each record, exactly as in the release, next to its unchanged
            columns.
        """
        check_is_fitted(self)
        with complete_model(self):
            if len(names_of(as_table(X))) > 1:  # Of other shapes, the table says what is wrong.
                validate_data(self, X, reset=False, skip_check_array=True)
            table = MixedTable(X, self, self._table_roles.quasi_identifiers)
            validate_data(self, X, reset=False, skip_check_array=True)
            lo, hi = self._groups.encode(table)
            warn_if_training_data(np.hstack([lo, hi]), self._training_digest)
            strata = None
            if self._strata is not None:
                cells = columns_at(as_table(X), self._table_roles.strata)
                strata = self._strata.numbers_of(cells, len(lo))
            groups = self._groups.nearest_each(lo, hi, self._stratum_of_groups, strata)
            return self._release(X, self.centroids_[groups])

    def get_feature_names_out(self, input_features: TableLike | None = None) -> Array:
        """Return the names of the columns of the release.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of `X`; None for those in `fit`.

        Returns
        -------
        names : ndarray of str
            The names, without those of dropped columns.
        """
        return super().get_feature_names_out(input_features)[self._table_roles.released]

    def _shown(self, ends: dict[Any, IntervalEnds]) -> dict[Any, IntervalEnds]:
        """The ends of intervals, if these are released."""
        return ends

    def _roles(self, X: TableLike) -> TableRoles:
        """The columns by their roles, each by its position."""
        names = names_of(as_table(X))
        if not names:  # The table says what is wrong with it.
            return TableRoles([], [], [], None, [], [])
        return TableRoles.from_estimator(self, names).by_position(names)

    def _rules(self, X: TableLike, roles: TableRoles, k: int, n_records: int) -> Rules:
        """What each group must satisfy beyond its size."""
        privacy, table = getattr(self, "privacy", None), as_table(X)
        has_sensitive = roles.sensitive and privacy is not None
        sensitive = columns_at(table, roles.sensitive) if has_sensitive else None
        unit = None if roles.unit is None else columns_at(table, [roles.unit])
        # Constraints on amounts may be about any column.
        amounts = [each.column for each in as_constraints(privacy) if each.is_about_amounts]
        names = enumerate(names_of(table) if amounts and is_frame(table) else [])
        others = [n for n, name in names if name in amounts and n not in roles.sensitive]
        further = columns_at(table, others) if others else None
        return Rules.of_table(n_records, k, privacy, sensitive, unit, further)

    def _release(self, X: TableLike, rows: Array) -> Output:
        """Generalized quasi-identifiers among the columns that are released unchanged."""
        places, released = self._table_roles.quasi_identifiers, self._table_roles.released
        if len(places) == len(released):
            return rows
        table: Any = as_table(X)
        if hasattr(table, "iloc"):
            names = list(table.columns)
            generalized = {
                names[place]: type(table)({names[place]: rows[:, j].tolist()})
                for j, place in enumerate(places)
            }
            return replace_columns(table, [names[place] for place in released], generalized)
        columns: list[Any] = [cells_of(column) for column in columns_of(table, "X")]
        for j, place in enumerate(places):
            columns[place] = rows[:, j]
        release = np.empty((len(rows), len(released)), dtype=object)
        for j, place in enumerate(released):
            release[:, j] = columns[place]
        return release

    def _intervals(self, X: TableLike) -> Array:
        """The intervals of groups, from the data again: a model may have midpoints only."""
        roles = self._table_roles
        table = MixedTable(X, self, roles.quasi_identifiers)
        units = self._rules(X, roles, self.k, len(table)).units
        hierarchies, domains = self._domains(table, self.k, units)
        records = Ranges(None, *table.encode(domains))
        kept = self.labels_ >= 0
        weights = self._weights(len(table.names))
        return GeneralizedGroups.from_records(
            hierarchies, domains, records[kept], self.labels_[kept], weights
        ).labels()

    def _domains(
        self, table: MixedTable, k: int, units: Array | None
    ) -> tuple[list[Hierarchy], list[Any]]:
        """The hierarchies of the columns, and their domains for the values of a table."""
        hierarchies = table.hierarchies(self.hierarchies)
        return hierarchies, table.domains(hierarchies, make_grid(self.grid, k), units)

    def _group(
        self, records: Ranges, missing: Booleans, k: int, rules: Rules, strata: Strata | None
    ) -> tuple[Labels, dict[str, Any]]:
        """Return the group of each record, -1 for none, and further attributes to set."""
        raise NotImplementedError

    def _weights(self, n_columns: int) -> Floats:
        return np.ones(n_columns)

    def _constant(self) -> float:
        return -1.0

    def _write(self, groups: GeneralizedGroups) -> tuple[GeneralizedGroups, Array]:
        """Return the groups as the model keeps them, and the rows they are released as."""
        return groups, groups.labels()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def releases_intervals(estimator: Any) -> bool:
    """Whether an estimator releases generalized values, and no averages."""
    return isinstance(estimator, Generalizer) or getattr(estimator, "numbers", None) == "interval"


def loss_of_release(estimator: Any) -> float:
    """The loss that is told: per cell for intervals, whose exact variance could reveal a record."""
    loss = getattr(estimator, "generalization_loss_", None)
    return estimator.information_loss_ if loss is None else loss


def check_generalizes_all(estimator: Any) -> None:
    """Raise an error if a fitted Generalizer releases columns unchanged, or drops some."""
    if (
        isinstance(estimator, Generalizer)
        and len(estimator._table_roles.quasi_identifiers) < estimator.n_features_in_
    ):
        raise ValueError(
            f"estimator={estimator!r} must be fitted on its quasi-identifiers only here: X and the "
            "release have these columns, and others are passed in addition."
        )


def _mean_loss(losses: Floats, labels: Labels, missing: Booleans, weights: Floats) -> float:
    """Mean loss per cell, from the losses of groups; dropped records lose everything."""
    lost = np.where(missing, 0.0, losses[labels])
    lost[labels < 0] = 1.0
    return float(min(np.average(lost, axis=1, weights=weights).mean(), 1.0))
