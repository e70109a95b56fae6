"""From records to groups: the steps that estimators of numbers and of whole tables share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._microaggregate import Method, make_builder, make_refiner, warn_if_one_group
from sk_microagg._model._fitted_groups import FittedGroups
from sk_microagg._model._points import (
    Points,
    SparsePoints,
    among_all,
    dense,
    has_few_coordinates,
    routing_of,
)
from sk_microagg._model._power import FoundDiagrams
from sk_microagg._model._power_cells import Cells, StratifiedCells
from sk_microagg._model._router import Router
from sk_microagg._utils._deadline import (
    ProgressCount,
    generation,
    run_in_generation,
    shared_interrupt,
    warn_if_interrupted,
)
from sk_microagg._utils._statistics import group_means, group_sizes
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

# Group of each record, the groups, and their cells.
Grouping: TypeAlias = tuple[Labels, FittedGroups, Cells | StratifiedCells]


@dataclass(frozen=True)
class Problem:
    """Records to be grouped, and what their groups must satisfy.

    Groups are averages of `records`, and distances are those between the `scaled` ones, which may
    differ by `rounding`, column by column, when records are scaled one by one.
    """

    records: Any
    scaled: Any
    rounding: Floats
    rules: Rules
    strata: Strata | None = None

    def subset(self, rows: Labels) -> Problem:
        """Some of the records, without strata."""
        rules = self.rules.subset(rows)
        return Problem(self.records[rows], self.scaled[rows], self.rounding, rules)

    def route(self, block_size: float, k: int, takes_codes: bool = False) -> tuple[Any, Router]:
        """The columns by which records are divided into blocks, and the blocks."""
        scaled, rules = self.scaled, self.rules
        if scaled.shape[1] == 1 and not rules:
            block_size = np.inf
        router = Router.fit(
            routing_of(scaled),
            block_size,
            2 * k,
            k,
            rules.suit_block if rules else None,
            rules.units,
            partial(has_few_coordinates, scaled, takes_codes=takes_codes)
            if isinstance(scaled, SparsePoints)
            else None,
        )
        return routing_of(scaled), router

    def fit_groups(
        self, labels: Labels, n_iter: int, found: FoundDiagrams | None = None
    ) -> FittedGroups:
        """The groups of a partition of dense points."""
        return FittedGroups.from_labels(
            self.records, self.scaled, labels, n_iter, self.rounding, self.rules.units, found
        )


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

    def method_for(self, problem: Problem, builder: object) -> Method:
        """Return the method for a problem; `builder` is the parameter of the estimator."""
        if not problem.rules:
            return self.method.for_columns(problem.scaled.shape[1])
        if self.stitch:
            raise ValueError(
                "stitch=True must be False with `privacy` or `unit`: exchanges across the cuts do "
                "not support constraints."
            )
        return self.method.with_constraints(problem.rules, builder)

    def run(self, problem: Problem, method: Method, task: Any) -> Grouping:
        """Group the records, and check that all groups satisfy the constraints."""
        labels, groups, cells = self._group_strata(problem, method, task)
        problem.rules.check(labels, "The release has groups")
        warn_if_one_group(labels, method.k, problem.strata, problem.rules)
        return labels, groups, cells

    def fit_labels(self, problem: Problem, labels: Labels) -> Grouping:
        """The groups of a partition that is given, numbered stratum by stratum, without weights."""
        problem.rules.check(labels, "The release has groups")
        strata = problem.strata
        groups, cells = [], []
        everything = [np.arange(len(labels))]
        for rows in everything if strata is None else strata.rows_of_all():
            (points, coordinates), own = dense(problem.scaled[rows]), labels[rows]
            own = own - own.min()
            means = among_all(group_means(points, own), coordinates, problem.scaled.shape[1])
            sizes = group_sizes(own)
            groups.append(FittedGroups(means, means, sizes, 0.0 * sizes, 0.0, 0, 0))
            cells.append(Cells.from_blocks(groups[-1:], Router.single_block()))
        if strata is None:
            return labels, groups[0], cells[0]
        return labels, FittedGroups.joined(groups), StratifiedCells(tuple(cells))

    def _group_strata(self, problem: Problem, method: Method, task: Any) -> Grouping:
        """Group the records of each stratum; without strata, all records."""
        if problem.strata is None:
            return self._group_blocks(problem, method, self.random_state, task)
        labels = np.empty(len(problem.scaled), dtype=np.intp)
        groups, cells, n_groups = [], [], 0
        with shared_interrupt():
            for rows, part_method, seed in problem.strata.parts(method, self.random_state):
                part = self._group_blocks(problem.subset(rows), part_method, seed, task)
                labels[rows] = n_groups + part[0]
                groups.append(part[1])
                cells.append(part[2])
                n_groups += len(part[1].sizes)
            warn_if_interrupted("all strata have the best partition found so far")
        return labels, FittedGroups.joined(groups), StratifiedCells(tuple(cells))

    def _group_blocks(
        self, problem: Problem, method: Method, seed: RandomState, task: Any
    ) -> tuple[Labels, FittedGroups, Cells]:
        """Group records in blocks of at least 2k, if there are more than `block_size`.

        A single column is one block: its optimum takes less time than cutting it. Under
        constraints, records are only cut where both sides can satisfy them. With `stitch`, groups
        then exchange records across the cuts, which leaves a single block.
        """
        routing, router = problem.route(self.block_size, method.k, method.takes_codes)
        if router.n_blocks == 1:
            labels, groups = group_block(problem, method, seed, task)
            return labels, groups, Cells.from_blocks([groups], router)

        rows_of = [rows for _, rows in router.rows_of_blocks(routing)]
        share = 1.0 / math.ceil(len(rows_of) / effective_n_jobs(self.n_jobs))
        seeds = seeds_of_parts(method.seed(seed), len(rows_of))
        tasks = (
            (problem.subset(rows), method.for_a_block(share), seed)
            for rows, seed in zip(rows_of, seeds, strict=True)
        )
        blocks = _group_in_parallel(tasks, len(rows_of), self.n_jobs, self.verbose)
        groups = FittedGroups.joined([groups for _, groups in blocks])
        n_near_cuts = router.n_near_cuts(routing, problem.rounding)
        groups = replace(groups, n_moved=groups.n_moved + n_near_cuts)
        cells = Cells.from_blocks([groups for _, groups in blocks], router)
        labels = np.empty(len(problem.scaled), dtype=np.intp)
        for rows, start, (own, _) in zip(rows_of, cells.starts[:-1], blocks, strict=True):
            labels[rows] = start + own
        if self.stitch:
            exchange = Exchange()
            labels = run_refiner(exchange, problem.scaled, labels, method.k)
            groups = problem.fit_groups(labels, groups.n_iter + exchange.n_iter_)
            cells = Cells.from_blocks([groups], Router.single_block())
        return labels, groups, cells


def find_cells(
    cells: Any, scaled: Points, n_jobs: int | None, fitted_strata: Any, strata: TableLike | None
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


def _group_in_parallel(
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
            delayed(run_in_generation)(number, group_block, *task) for task in tasks
        ):
            blocks.append(block)
            progress.advance()
        warn_if_interrupted("all blocks have the best partition found so far")
    return blocks


def group_block(
    problem: Problem, method: Method, seed: RandomState, task: Any = None
) -> tuple[Labels, FittedGroups]:
    """Group the records of one block; the result depends on the arguments only."""
    points, coordinates = dense(problem.scaled, method.takes_codes)
    with FoundDiagrams.kept() as found:
        labels, n_iter = method.partition(points, seed, problem.rules, task)
    return labels, _fit_block(problem, points, coordinates, labels, n_iter, found)


def _fit_block(
    problem: Problem,
    points: Any,
    coordinates: Any,
    labels: Labels,
    n_iter: int,
    found: FoundDiagrams | None = None,
) -> FittedGroups:
    """The groups of one block, given its points in those coordinates that any record has."""
    if coordinates is None and points is problem.scaled:
        return problem.fit_groups(labels, n_iter, found)
    rounding = np.zeros(points.shape[1])
    groups = FittedGroups.from_labels(points, points, labels, n_iter, rounding, found=found)
    centroids = among_all(groups.scaled_centroids, coordinates, problem.scaled.shape[1])
    return replace(groups, centroids=centroids, scaled_centroids=centroids)
