"""From records to groups: the steps that estimators of numbers and of whole tables share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sk_microagg._blocks import aggregate_strata, check_block_size
from sk_microagg._microaggregate import Method, make_builder, make_refiner, warn_if_one_group
from sk_microagg._model._cells import Cells
from sk_microagg._model._fitted_groups import FittedGroups
from sk_microagg._model._points import Points
from sk_microagg._model._stratified import StratifiedCells
from sk_microagg._utils._seeds import check_seed
from sk_microagg._utils._typing import Floats, Labels, RandomState, TableLike
from sk_microagg._utils._validation import (
    check_k,
    check_n_jobs,
    check_option,
    check_verbose,
    warn_if_k_is_1,
)
from sk_microagg.privacy import Rules
from sk_microagg.privacy._strata import Strata


@dataclass(frozen=True)
class Aggregation:
    """The parameters of an estimator that say how records are grouped, each of them checked.

    Attributes
    ----------
    method : Method
        Builder and refiner.

    block_size : float
        Maximum number of records that are microaggregated together.

    stitch : bool
        Whether groups finally exchange records across the cuts between blocks.

    random_state : int, RandomState instance or None
        Source of randomness, passed to the refiner.

    n_jobs : int or None
        Number of blocks in parallel.

    verbose : int
        If 1, print a progress line.
    """

    method: Method
    block_size: float
    stitch: bool
    random_state: RandomState
    n_jobs: int | None
    verbose: int

    @classmethod
    def of(cls, estimator: Any, n_samples: int) -> Self:
        """Check the parameters of an estimator; raise an error if one of them is wrong."""
        k = check_k(estimator.k, n_samples)
        block_size = check_block_size(estimator.block_size, k)
        stitch = getattr(estimator, "stitch", False)
        check_option("stitch", stitch, (False, True))
        check_n_jobs(estimator.n_jobs)
        check_verbose(estimator.verbose)
        method = Method(
            k,
            make_builder(estimator.builder),
            make_refiner(estimator.refiner, n_jobs=estimator.n_jobs, verbose=estimator.verbose),
        )
        check_seed(estimator.random_state)
        warn_if_k_is_1(k, estimator.privacy)
        return cls(
            method, block_size, stitch, estimator.random_state, estimator.n_jobs, estimator.verbose
        )

    def check_strata(self, strata: TableLike | None, n_samples: int, rules: Rules) -> Strata | None:
        """Return the strata of the records, or None; raise an error if one is too small."""
        if strata is None:
            return None
        strata = Strata(strata, n_samples)
        strata.check(self.method.k, rules)
        return strata

    def method_for(self, n_columns: int, rules: Rules, builder: object) -> Method:
        """Return the method for a number of columns and some rules; `builder` is the parameter."""
        if not rules:
            return self.method.for_columns(n_columns)
        if self.stitch:
            raise ValueError(
                "stitch=True must be False with `privacy` or `unit`: exchanges across the cuts do "
                "not know constraints."
            )
        return self.method.under(rules, builder)

    def run(
        self,
        records: Points,
        scaled: Points,
        rounding: Floats,
        method: Method,
        rules: Rules,
        strata: Strata | None,
        task: Any,
    ) -> tuple[Labels, FittedGroups, Cells | StratifiedCells]:
        """Group the records, and check that all groups keep to the rules.

        Parameters
        ----------
        records, scaled : ndarray of shape (n_samples, n_features)
            The records in their own units, and in the space in which distances are measured.

        rounding : ndarray of shape (n_features,)
            How much the scaled columns may differ when records are scaled one by one.

        method : Method
            That of `method_for`.

        rules : Rules
            What each group must satisfy beyond its size.

        strata : Strata or None
            Parts that no group crosses.

        task : CallbackContext
            For callbacks.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each record, numbered from 0.

        groups : FittedGroups
            The groups.

        cells : Cells or StratifiedCells
            The power cells, to which new records are assigned.
        """
        labels, groups, cells = aggregate_strata(
            records,
            scaled,
            rounding,
            method,
            self.random_state,
            strata,
            rules,
            block_size=self.block_size,
            stitch=self.stitch,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            task=task,
        )
        rules.check(labels, "The release has groups")
        warn_if_one_group(labels, method.k, strata, rules)
        return labels, groups, cells


def find_cells(
    cells: Any,
    scaled: Points,
    n_jobs: int | None,
    fitted_strata: Any,
    strata: TableLike | None,
) -> Labels:
    """Return the groups of scaled records, by their strata if the model has any.

    Parameters
    ----------
    cells : Cells or StratifiedCells
        The power cells.

    scaled : ndarray of shape (n_samples, n_features)
        The records.

    n_jobs : int or None
        Number of threads.

    fitted_strata : StratumNames or None
        The strata of the model.

    strata : array-like, Series, DataFrame or None
        The stratum of each record.

    Returns
    -------
    groups : ndarray of shape (n_samples,)
        Group of each record.
    """
    if (strata is None) != (fitted_strata is None):
        given, fitted = (
            ("not given", "fitted with") if strata is None else ("given", "fitted without")
        )
        raise ValueError(f"strata was {given}, but the estimator was {fitted} strata.")
    if strata is None:
        return cells.find(scaled, n_jobs)
    return cells.find(scaled, n_jobs, fitted_strata.numbers_of(strata, len(scaled)))
