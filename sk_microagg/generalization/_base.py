"""What the estimators have in common: from a table to its release, and to that of new records."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._exactness import KnowsTrainingData, digest, warn_if_training_data
from sk_microagg._groups import group_sizes
from sk_microagg._kernels import Columns, RangePartition
from sk_microagg._validation import check_k, check_partition
from sk_microagg._version import __version__, complete_model
from sk_microagg.generalization._centres import Centres
from sk_microagg.generalization._labels import ROOT
from sk_microagg.generalization._table import Table


class Generalizer(KnowsTrainingData, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of transformers that replace each record by what its group is generalised to.

    A subclass has the parameters `k` and `hierarchies`, and the methods `_group` and, if it needs
    them, `_weights`, `_constant` and `_write`.
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
        hierarchies = table.hierarchies(self.hierarchies)
        domains = table.domains(hierarchies)
        columns = Columns(domains, weights, constant=self._constant())
        lo, hi = table.encode(domains)
        labels, attributes = self._group(columns, lo, hi, table.missing, k)

        kept = labels >= 0
        check_partition(labels[kept], k, kept.sum(), f"{type(self).__name__} made groups")
        partition = RangePartition(columns, lo[kept], hi[kept], labels[kept], k)
        centres = Centres(hierarchies, domains, *partition.centres(), weights)
        centers = self._write(centres)
        loss = partition.cost + weights.sum() * np.sum(~kept)
        lo, hi = centres.encode(table)
        assigned = centres.nearest_each(lo, hi)
        exact_transform = bool(kept.all() and centres.are_alike(assigned, labels))
        training_digest = None if exact_transform else digest(np.hstack([lo, hi]))

        # Nothing is set before all work has succeeded: no half-fitted estimator is left behind.
        validate_data(self, X, skip_check_array=True)
        self.labels_ = labels
        self.centers_ = centers
        self.group_sizes_ = group_sizes(labels[kept])
        self.n_groups_ = len(centers)
        self.information_loss_ = float(loss / (len(table) * weights.sum()))
        self.value_missing_rate_ = float(table.missing.mean())
        self.record_missing_rate_ = float(table.missing.any(axis=1).mean())
        self.exact_transform_ = exact_transform
        for name, value in attributes.items():
            setattr(self, name, value)
        self._centres = centres
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
            What each record's group is generalised to.
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
        """Replace each record by the centre of the group that it raises least.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The records, usually new ones. The release of the training data is what `fit_transform`
            returns.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            A centre for each record, exactly as in the release.
        """
        check_is_fitted(self)
        table = Table(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        with complete_model(self):
            lo, hi = self._centres.encode(table)
            warn_if_training_data(np.hstack([lo, hi]), self._training_digest)
            return self.centers_[self._centres.nearest_each(lo, hi)]

    def _group(self, columns, lo, hi, missing, k):
        """Return the group of each record, -1 for none, and further attributes to set."""
        raise NotImplementedError

    def _weights(self, n_columns):
        return np.ones(n_columns)

    def _constant(self):
        return -1.0

    def _write(self, centres):
        return centres.labels()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
