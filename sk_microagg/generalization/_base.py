"""What KAIM and KMember have in common: from a table to its release, and new records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

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
    complete_model,
    digest,
    warn_if_training_data,
)
from sk_microagg._utils._statistics import group_sizes
from sk_microagg._utils._tables import as_table, cells_of, columns_of
from sk_microagg._utils._typing import Array, Booleans, Codes, Floats, Labels, Output, TableLike
from sk_microagg._utils._validation import (
    check_k,
    check_names_alike,
    check_partition,
    warn_if_k_is_1,
)
from sk_microagg.generalization._grid import make_grid
from sk_microagg.generalization._hierarchy import Hierarchy
from sk_microagg.generalization._mixed_table import MixedTable, names_of


class GeneralizedGroups:
    """The generalized values of each group, its covers, and which group a new record fits best.

    The domains of the columns hold the generalized values and nothing else of the data.
    """

    def __init__(
        self, domains: list[Any], covers: list[list[tuple[Any, ...]]], weights: Floats
    ) -> None:
        self._domains = domains
        self._covers = covers
        self._weights = weights
        self._low, self._high = self._find_ends()

    @classmethod
    def of_records(
        cls,
        hierarchies: list[Any],
        domains: list[Any],
        lo: Codes,
        hi: Codes,
        labels: Labels,
        weights: Floats,
    ) -> Self:
        """Generalize the records of each group."""
        shape = (labels.max() + 1, lo.shape[1])
        low, high = np.full(shape, np.iinfo(np.int32).max), np.full(shape, -1)
        np.minimum.at(low, labels, lo)
        np.maximum.at(high, labels, hi)
        covers = [
            [domain.cover(*ends) for ends in zip(*columns, strict=True)]
            for domain, *columns in zip(domains, low.T, high.T, strict=True)
        ]
        released = [
            hierarchy.released_values(*column)
            for hierarchy, *column in zip(hierarchies, covers, domains, strict=True)
        ]
        return cls(released, covers, weights)

    def with_midpoints(self) -> GeneralizedGroups:
        """The same groups, with the midpoint of each interval instead of its ends."""
        pairs = zip(self._domains, self._covers, strict=True)
        domains, covers = zip(*[domain.with_midpoints(c) for domain, c in pairs], strict=True)
        return GeneralizedGroups(list(domains), list(covers), self._weights)

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
        """First and last position that each generalized value covers."""
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
        """First and last position of each cell of a table."""
        return table.encode(self._domains)

    def nearest_each(self, lo: Codes, hi: Codes) -> Labels:
        """For each record, the group whose loss it raises least."""
        index = CenterIndex(RangeColumns(self._domains, self._weights), self._low, self._high)
        distinct, places = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
        distinct_lo, distinct_hi = map(np.ascontiguousarray, np.hsplit(distinct, 2))
        return index.nearest_each(distinct_lo, distinct_hi)[places.reshape(-1)]


class Generalizer(
    GroupsReprMixin, TrainingDigestMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Base of transformers that replace each record by the generalized values of its group.

    A subclass has the parameters `k`, `quasi_identifiers`, `sensitive`, `drop`, `hierarchies` and
    `grid`, and the methods `_group` and, if needed, `_weights`, `_constant` and `_write`.
    """

    if TYPE_CHECKING:  # what `fit` sets
        labels_: Labels
        centroids_: Array
        group_sizes_: Labels
        n_groups_: int
        information_loss_: float
        value_missing_rate_: float
        record_missing_rate_: float
        exact_transform_: bool
        n_features_in_: int
        feature_names_in_: Array

    def fit(self, X: TableLike, y: object = None) -> Self:
        """Partition the records into groups.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records. Quasi-identifiers are numbers, dates and categories, in which None, NaN,
            pandas.NA and "*" are missing.

        y : None
            Ignored.

        Returns
        -------
        self : Generalizer
            The fitted estimator.
        """
        check_names_alike(X)
        places, released = self._find_places(X)
        table = MixedTable(X, self, places)
        k = check_k(self.k, len(table))
        warn_if_k_is_1(k)
        table.warn_of_similar_values()
        weights = self._weights(len(table.names))
        hierarchies, domains = self._domains(table, k)
        columns = RangeColumns(domains, weights, constant=self._constant())
        lo, hi = table.encode(domains)
        labels, attributes = self._group(columns, lo, hi, table.missing, k)

        kept = labels >= 0
        check_partition(labels[kept], k, kept.sum(), f"{type(self).__name__} made groups")
        groups = GeneralizedGroups.of_records(
            hierarchies, domains, lo[kept], hi[kept], labels[kept], weights
        )
        loss = _mean_loss(groups.losses(), labels, table.missing, weights)
        groups, centroids = self._write(groups)
        lo, hi = groups.encode(table)
        assigned = groups.nearest_each(lo, hi)
        exact_transform = bool(kept.all() and groups.are_alike(assigned, labels))
        training_digest = None if exact_transform else digest(np.hstack([lo, hi]))

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        validate_data(self, X, skip_check_array=True)
        self.labels_ = labels
        self.centroids_ = centroids
        self.group_sizes_ = group_sizes(labels[kept])
        self.n_groups_ = len(centroids)
        self.information_loss_ = loss
        self.value_missing_rate_ = float(table.missing.mean())
        self.record_missing_rate_ = float(table.missing.any(axis=1).mean())
        self.exact_transform_ = exact_transform
        for name, value in attributes.items():
            setattr(self, name, value)
        self._places, self._released_places = places, released
        self._groups = groups
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
            DataFrame if `X` is one and has other columns, which are released unchanged.
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
        """Replace each record by the generalized values of the group whose loss it raises least.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records, usually new ones. The release of the training data is what `fit_transform`
            returns.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_released), or DataFrame of pandas
            A row of `centroids_` for each record, exactly as in the release, among its unchanged
            columns.
        """
        check_is_fitted(self)
        with complete_model(self):
            if len(names_of(as_table(X))) > 1:  # Of other shapes, the table says what is wrong.
                validate_data(self, X, reset=False, skip_check_array=True)
            table = MixedTable(X, self, self._places)
            validate_data(self, X, reset=False, skip_check_array=True)
            lo, hi = self._groups.encode(table)
            warn_if_training_data(np.hstack([lo, hi]), self._training_digest)
            return self._release(X, self.centroids_[self._groups.nearest_each(lo, hi)])

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
        return super().get_feature_names_out(input_features)[self._released_places]

    def _find_places(self, X: TableLike) -> tuple[list[int], list[int]]:
        """Positions of the quasi-identifiers, and of all columns that are released."""
        names = names_of(as_table(X))
        if not names:  # The table says what is wrong with it.
            return [], []
        roles = TableRoles.from_estimator(self, names)
        return [*map(names.index, roles.quasi_identifiers)], [*map(names.index, roles.released)]

    def _release(self, X: TableLike, rows: Array) -> Output:
        """Generalized quasi-identifiers among the columns that are released unchanged."""
        if len(self._places) == len(self._released_places):
            return rows
        table: Any = as_table(X)
        if hasattr(table, "iloc"):
            names = list(table.columns)
            generalized = {
                names[place]: type(table)({names[place]: rows[:, j].tolist()})
                for j, place in enumerate(self._places)
            }
            released = [names[place] for place in self._released_places]
            return replace_columns(table, released, generalized)
        columns: list[Any] = [cells_of(column) for column in columns_of(table, "X")]
        for j, place in enumerate(self._places):
            columns[place] = rows[:, j]
        release = np.empty((len(rows), len(self._released_places)), dtype=object)
        for j, place in enumerate(self._released_places):
            release[:, j] = columns[place]
        return release

    def _intervals(self, X: TableLike) -> Array:
        """The generalized values of the groups of the training data, with numbers as intervals.

        A model that releases midpoints does not know the ends of intervals, so they are computed
        again from the data.
        """
        table = MixedTable(X, self, self._places)
        hierarchies, domains = self._domains(table, self.k)
        lo, hi = table.encode(domains)
        kept = self.labels_ >= 0
        weights = self._weights(len(table.names))
        return GeneralizedGroups.of_records(
            hierarchies, domains, lo[kept], hi[kept], self.labels_[kept], weights
        ).labels()

    def _domains(self, table: MixedTable, k: int) -> tuple[list[Hierarchy], list[Any]]:
        """The hierarchies of the columns, and their domains for the values of a table."""
        hierarchies = table.hierarchies(self.hierarchies)
        return hierarchies, table.domains(hierarchies, make_grid(self.grid, k))

    def _group(
        self, columns: Any, lo: Codes, hi: Codes, missing: Booleans, k: int
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


def check_generalizes_all(estimator: Any) -> None:
    """Raise an error if a fitted Generalizer releases columns unchanged, or drops some."""
    if isinstance(estimator, Generalizer) and len(estimator._places) < estimator.n_features_in_:
        raise ValueError(
            f"estimator={estimator!r} must be fitted on its quasi-identifiers only here: X and the "
            "release have these columns, and others are passed in addition."
        )


def _mean_loss(losses: Floats, labels: Labels, missing: Booleans, weights: Floats) -> float:
    """Mean loss per cell, from the losses of the groups. Dropped records lose everything.

    It depends on the release and on which cells are missing, but on no other value.
    """
    lost = np.where(missing, 0.0, losses[labels])
    lost[labels < 0] = 1.0
    return float(min(np.average(lost, axis=1, weights=weights).mean(), 1.0))
