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
    """The parameters of an estimator that say how records are grouped, each of them checked."""

    method: Method
    block_size: float
    stitch: bool
    random_state: RandomState
    n_jobs: int | None
    verbose: int

    @classmethod
    def from_estimator(cls, estimator: Any, n_samples: int) -> Self:
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
        return self.method.with_constraints(rules, builder)

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
        """Group the records, and check that all groups keep to the rules."""
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
    """Return the groups of scaled records, by their strata if the model has any."""
    if (strata is None) != (fitted_strata is None):
        given, fitted = (
            ("not given", "fitted with") if strata is None else ("given", "fitted without")
        )
        raise ValueError(f"strata was {given}, but the estimator was {fitted} strata.")
    if strata is None:
        return cells.find(scaled, n_jobs)
    return cells.find(scaled, n_jobs, fitted_strata.numbers_of(strata, len(scaled)))
