"""What the estimators have in common: from a table to its release, and to that of new records."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._kernels import RangeColumns
from sk_microagg._utils._statistics import group_sizes
from sk_microagg._utils._training_digest import KnowsTrainingData, digest, warn_if_training_data
from sk_microagg._utils._validation import check_k, check_partition
from sk_microagg._utils._version import __version__, complete_model
from sk_microagg.generalization._centers import Centers
from sk_microagg.generalization._grid import make_grid
from sk_microagg.generalization._labels import ROOT
from sk_microagg.generalization._table import Table


class Generalizer(KnowsTrainingData, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of transformers that replace each record by what its group is generalized to.

    A subclass has the parameters `k`, `hierarchies` and `grid`, and the methods `_group` and, if it
    needs them, `_weights`, `_constant` and `_write`.
    """

    def fit(self, X, y=None):
        """Partition the records into groups.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records: numbers, categories, or both. None, NaN, pandas.NA and "*" are missing.

        y : None
            Ignored.

        Returns
        -------
        self : Generalizer
            The fitted estimator.
        """
        table = Table(X, self)
        k = check_k(self.k, len(table))
        weights = self._weights(len(table.names))
        hierarchies, domains = self._domains(table, k)
        columns = RangeColumns(domains, weights, constant=self._constant())
        lo, hi = table.encode(domains)
        labels, attributes = self._group(columns, lo, hi, table.missing, k)

        kept = labels >= 0
        check_partition(labels[kept], k, kept.sum(), f"{type(self).__name__} made groups")
        centers = Centers.of_groups(hierarchies, domains, lo[kept], hi[kept], labels[kept], weights)
        loss = _mean_loss(centers.losses(), labels, table.missing, weights)
        centers, centroids = self._write(centers)
        lo, hi = centers.encode(table)
        assigned = centers.nearest_each(lo, hi)
        exact_transform = bool(kept.all() and centers.are_alike(assigned, labels))
        training_digest = None if exact_transform else digest(np.hstack([lo, hi]))

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        validate_data(self, X, skip_check_array=True)
        self.labels_ = labels
        self.centers_ = centroids
        self.group_sizes_ = group_sizes(labels[kept])
        self.n_groups_ = len(centroids)
        self.information_loss_ = loss
        self.value_missing_rate_ = float(table.missing.mean())
        self.record_missing_rate_ = float(table.missing.any(axis=1).mean())
        self.exact_transform_ = exact_transform
        for name, value in attributes.items():
            setattr(self, name, value)
        self._centers = centers
        self._training_digest = training_digest
        self._sk_microagg_version = __version__
        return self

    def fit_transform(self, X, y=None):
        """Partition the records and return the release.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records.

        y : None
            Ignored.

        Returns
        -------
        release : ndarray of shape (n_samples, n_features)
            What each record's group is generalized to.
        """
        self.fit(X)
        release = self.centers_[self.labels_]
        dropped = self.labels_ < 0
        if dropped.any():
            release[dropped] = ROOT
        return release

    def fit_predict(self, X, y=None):
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
            Group of each record, numbered from 0; -1 for one that was dropped.
        """
        return self.fit(X).labels_

    def transform(self, X):
        """Replace each record by the center of the group that it raises least.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records, usually new ones. The release of the training data is what `fit_transform`
            returns.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            A center for each record, exactly as in the release.
        """
        check_is_fitted(self)
        table = Table(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        with complete_model(self):
            lo, hi = self._centers.encode(table)
            warn_if_training_data(np.hstack([lo, hi]), self._training_digest)
            return self.centers_[self._centers.nearest_each(lo, hi)]

    def _intervals(self, X):
        """What each group of the training data is released as with intervals, whatever the output.

        A model that releases midpoints does not know the ends of intervals: this finds them anew.
        """
        table = Table(X, self)
        hierarchies, domains = self._domains(table, self.k)
        lo, hi = table.encode(domains)
        kept = self.labels_ >= 0
        weights = self._weights(len(table.names))
        return Centers.of_groups(
            hierarchies, domains, lo[kept], hi[kept], self.labels_[kept], weights
        ).labels()

    def _domains(self, table, k):
        """The hierarchies of the columns, and what they become with the values of a table."""
        hierarchies = table.hierarchies(self.hierarchies)
        return hierarchies, table.domains(hierarchies, make_grid(self.grid, k))

    def _group(self, columns, lo, hi, missing, k):
        """Return the group of each record, -1 for none, and further attributes to set."""
        raise NotImplementedError

    def _weights(self, n_columns):
        return np.ones(n_columns)

    def _constant(self):
        return -1.0

    def _write(self, centers):
        """Return the centers that the model keeps, and what they are released as."""
        return centers, centers.labels()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _mean_loss(losses, labels, missing, weights):
    """Mean loss of a cell, from what groups lose. Records that were dropped lose all.

    It depends on the release, and on which cells are missing, but not on any other value.
    """
    lost = np.where(missing, 0.0, losses[labels])
    lost[labels < 0] = 1.0
    return float(min(np.average(lost, axis=1, weights=weights).mean(), 1.0))
