"""From records to groups: the steps that estimators of numbers and of whole tables share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._microaggregate import Method, make_builder, make_refiner, warn_if_one_group
from sk_microagg._model._cells import Cells
from sk_microagg._model._fitted_groups import FittedGroups
from sk_microagg._model._points import (
    Points,
    SparsePoints,
    among_all,
    dense,
    has_few_coordinates,
    routing_of,
)
from sk_microagg._model._router import Router
from sk_microagg._model._stratified import StratifiedCells
from sk_microagg._utils._deadline import (
    generation,
    run_in_generation,
    shared_interrupt,
    warn_if_interrupted,
)
from sk_microagg._utils._progress import ProgressCount
from sk_microagg._utils._typing import Floats, Labels, RandomState, TableLike
from sk_microagg._utils._validation import (
    check_count,
    check_k,
    check_n_jobs,
    check_option,
    check_seed,
    check_verbose,
    seeds_of_parts,
    warn_if_k_is_1,
)
from sk_microagg.privacy import Rules
from sk_microagg.privacy._strata import Strata
from sk_microagg.refiners import Exchange
from sk_microagg.refiners._base import run_refiner

# A block of "auto" size has this many times k records. With twice as many, tables of ten columns
# take twice as long, and the loss is 2% lower (benchmarks/scale.py).
GROUPS_PER_BLOCK = 5_000


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


def check_block_size(block_size: Any, k: int) -> float:
    """Return the maximum number of records of a block; infinity for a single block."""
    if block_size is None:
        return np.inf
    if isinstance(block_size, str) and block_size == "auto":
        return GROUPS_PER_BLOCK * k
    return check_count("block_size", block_size, or_options=", 'auto' or None")


def aggregate_strata(
    records: Any,
    scaled: Any,
    rounding: Floats,
    method: Any,
    random_state: RandomState,
    strata: Strata | None,
    rules: Rules,
    **options: Any,
) -> tuple[Labels, FittedGroups, Cells | StratifiedCells]:
    """Microaggregate the records of each stratum; without strata, all records.

    Arguments and results are those of `aggregate`, and StratifiedCells in the place of Cells.
    """
    if strata is None:
        return aggregate(records, scaled, rounding, method, random_state, rules, **options)
    labels = np.empty(len(scaled), dtype=np.intp)
    groups, cells, n_groups = [], [], 0
    with shared_interrupt():
        for rows, part_method, seed, part_rules in strata.parts(method, random_state, rules):
            part = aggregate(
                records[rows], scaled[rows], rounding, part_method, seed, part_rules, **options
            )
            labels[rows] = n_groups + part[0]
            groups.append(part[1])
            cells.append(part[2])
            n_groups += len(part[1].sizes)
        warn_if_interrupted("all strata have the best partition found so far")
    return labels, FittedGroups.joined(groups), StratifiedCells(tuple(cells))


def aggregate(
    records: Any,
    scaled: Any,
    rounding: Floats,
    method: Any,
    random_state: RandomState,
    rules: Rules,
    *,
    block_size: float,
    stitch: bool,
    n_jobs: int | None,
    verbose: int,
    task: Any,
) -> tuple[Labels, FittedGroups, Cells]:
    """Microaggregate records, in blocks of at least 2k records if there are more than `block_size`.

    A single column is one block: its optimum takes less time than cutting it. Under rules, records
    are only cut where both sides can satisfy them.
    With `stitch`, groups then exchange records across the cuts, which leaves a single block.
    `rounding` is how much the scaled columns may differ when records are scaled one by one.
    """
    if scaled.shape[1] == 1 and not rules:
        block_size = np.inf
    routing = routing_of(scaled)
    router = Router.fit(
        routing,
        block_size,
        2 * method.k,
        method.k,
        rules.suit_block if rules else None,
        rules.units,
        partial(has_few_coordinates, scaled) if isinstance(scaled, SparsePoints) else None,
    )
    if router.n_blocks == 1:
        labels, groups = aggregate_block(
            records, scaled, rounding, method, random_state, rules, task
        )
        return labels, groups, Cells.from_blocks([groups], router)

    rows_of = [rows for _, rows in router.rows_of_blocks(routing)]
    share = 1.0 / math.ceil(len(rows_of) / effective_n_jobs(n_jobs))
    seeds = seeds_of_parts(method.seed(random_state), len(rows_of))
    tasks = (
        (records[rows], scaled[rows], rounding, method.for_a_block(share), seed, rules.subset(rows))
        for rows, seed in zip(rows_of, seeds, strict=True)
    )
    blocks = _aggregate_blocks(tasks, len(rows_of), n_jobs, verbose)
    groups = FittedGroups.joined([groups for _, groups in blocks])
    groups = replace(groups, n_moved=groups.n_moved + router.n_near_cuts(routing, rounding))
    cells = Cells.from_blocks([groups for _, groups in blocks], router)
    labels = np.empty(len(scaled), dtype=np.intp)
    for rows, start, (own, _) in zip(rows_of, cells.starts[:-1], blocks, strict=True):
        labels[rows] = start + own
    if stitch:
        exchange = Exchange()
        labels = run_refiner(exchange, scaled, labels, method.k)
        n_iter = groups.n_iter + exchange.n_iter_
        groups = FittedGroups.from_labels(records, scaled, labels, n_iter, rounding)
        cells = Cells.from_blocks([groups], Router.of_one_block())
    return labels, groups, cells


def _aggregate_blocks(
    tasks: Iterable[tuple[Any, ...]], n_blocks: int, n_jobs: int | None, verbose: int
) -> list[tuple[Labels, FittedGroups]]:
    """Return the results of all blocks; Ctrl-C ends their searches, also those yet to begin."""
    # Results come one by one only if progress is shown: not every backend of joblib can do that.
    parallel = Parallel(
        n_jobs=n_jobs, prefer="threads", return_as="generator" if verbose else "list"
    )
    with shared_interrupt(), ProgressCount(n_blocks, "blocks", verbose) as progress:
        blocks = []
        number = generation()
        for block in parallel(
            delayed(run_in_generation)(number, aggregate_block, *task) for task in tasks
        ):
            blocks.append(block)
            progress.advance()
        warn_if_interrupted("all blocks have the best partition found so far")
    return blocks


def aggregate_block(
    records: Any,
    scaled: Any,
    rounding: Floats,
    method: Any,
    random_state: RandomState,
    rules: Rules | None = None,
    task: Any = None,
) -> tuple[Labels, FittedGroups]:
    """Microaggregate the records of one block; the result depends on the arguments only."""
    points, coordinates = dense(scaled)
    labels, n_iter = method.partition(points, random_state, rules, task)
    if coordinates is None:
        units = rules.units if rules else None
        return labels, FittedGroups.from_labels(records, scaled, labels, n_iter, rounding, units)
    groups = FittedGroups.from_labels(points, points, labels, n_iter, np.zeros(points.shape[1]))
    centroids = among_all(groups.scaled_centroids, coordinates, scaled.shape[1])
    return labels, replace(groups, centroids=centroids, scaled_centroids=centroids)
