"""The numbers that steer the search for a bound."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How the search for a bound is steered. The bound is valid whatever they are.

    "Share of the records" is a number of columns or cuts over the number of records. "Share of the
    time" is in units of `time_limit`; such settings have no effect if that is infinite.
    """

    # Heuristics search among the `neighbors_per_k` times k records nearest to each, but not among
    # fewer or more than these.
    min_neighbors: int = 40
    neighbors_per_k: int = 12
    max_neighbors: int = 200
    # Neighbors of all records together, to limit memory; it overrides `min_neighbors`.
    max_neighbors_in_all: int = 10_000_000
    # Members of one k-set per record together. Where there are more, the first bound is kept.
    max_members_in_all: int = 20_000_000
    # Neighbors whose distances are summed up for bounds; those beyond count as equally far away.
    max_neighbors_in_sums: int = 64
    # Values that are handled at a time, to limit memory and the time until a deadline is noticed.
    values_per_block: int = 1_000_000
    # Sets that are compared with all others at a time, for the same reasons.
    sets_per_product: int = 5_000

    # Fewest and most iterations of the first-order method between two pricings. The number is
    # doubled while few columns are found, and halved while many are.
    min_ascent_iter: int = 100
    max_ascent_iter: int = 400
    # How many times as many iterations end an ascent in a focus.
    more_iter_in_focus: int = 4
    # Share of the records. Below the first, a pricing has found few columns. Below the second it
    # has found so few that the ascent may end, or that the search may be over.
    many_new_columns: float = 0.3
    few_new_columns: float = 0.03
    # Pricings in one ascent.
    max_pricings: int = 25
    # How large steps of duals are in the first-order method, compared with those of use.
    ascent_weight: float = 0.12
    # Share of the time after which an ascent ends, converged or not.
    longest_ascent: float = 0.3
    # By how much duals must exceed the SSE of a set to make it a new column, as a share of the
    # bound on the SSE of k average records.
    pricing_tolerance: float = 1e-4

    # How far duals may be from the best ones, in units of their scales, at first.
    initial_width: float = 1.0
    # Least widths to which failures and small gains lead, in the same unit.
    min_width_after_failure: float = 0.03
    min_width_after_small_gain: float = 0.1
    # Factors of the width if the bound did not rise, or hardly.
    shrink_after_failure: float = 0.6
    shrink_after_small_gain: float = 0.8
    # Ratio of the new bound to the one before, below which the gain is small.
    small_gain: float = 1.001
    # The width is at least this when cuts are added, in the same unit.
    min_width_after_cuts: float = 0.5
    # Factor by which the width grows if too many duals are at the ends of their box.
    widening: float = 1.5
    # Share of the records whose duals may be at the ends of the box without keeping the bound down.
    max_share_at_ends: float = 0.002
    # The scale of a dual is at least these parts of the mean dual and of the SSE of the record with
    # its nearest k - 1 others.
    scale_by_mean: float = 0.3
    scale_by_cost: float = 0.5
    # The scale of a cut's dual is the larger of these parts of its SSE over k, and of the mean
    # scale of the records.
    cut_scale_by_cost: float = 0.5
    cut_scale_by_mean: float = 1e-3

    # Weight of the best duals in those that are repaired next, from 0 to 1. It returns to this
    # value when cuts are added.
    inertia: float = 0.2
    # Factor of the inertia when a repair finds few columns.
    inertia_decay: float = 0.5
    # Share of the records below which a repair has found few columns.
    few_repaired_columns: float = 0.01
    # Shares of the time after which a repair is given up: if few roots are done, and in any case.
    repair_patience: float = 0.2
    longest_repair: float = 0.45
    # Share of the roots that must be done at the first of these times.
    roots_until_patience: float = 0.25
    # Factors of the step from the best duals to those of the ascent, after a repair that was given
    # up and after one that succeeded with less than the whole step.
    shorter_step: float = 0.25
    longer_step: float = 2.0
    # Share of its dual by which a record is preferred as the root of a set.
    root_preference: float = 0.5
    # Share of the time above which the search for neighbors has taken so long that roots are not
    # ranked before a repair.
    neighbors_before_ranks: float = 0.05
    # Nodes of the search for one root, when roots are only ranked.
    max_nodes_to_rank: int = 0
    # Nodes of the search for one root, when columns are looked for that are violated.
    max_nodes_to_price: int = 4_000
    # Nodes of the search for one root, after which the least bound of the open ones is taken: one
    # root must not take the time of all.
    max_nodes: int = 200_000

    # Cuts are added when the bound has risen by less than the first share of itself, or can rise by
    # less than the second one.
    cut_when_below: float = 2e-3
    cut_when_near: float = 0.006
    # A cut is added if the use of the columns inside adds up to more than 1 by more than this.
    min_cut_excess: float = 0.02
    # Columns that are used less are ignored when cuts are made, from 0 to 1.
    min_use: float = 0.01
    # Cuts that are added at a time, share of the records.
    max_new_cuts: float = 0.25
    # Cuts that a record may be in. `RootSearch` has bits for 64.
    max_cuts_of_record: int = 60
    # Subsets of a cut with more than k records, where a cut cannot hold two groups.
    max_cut_subsets: int = 200_000
    # Records in a cut. `CutCheck` has bits for 32.
    max_cut_members: int = 32
    # Nodes of the search for larger sets in one cut, after which bounds on them are taken.
    max_nodes_of_cut: int = 100_000
    # Cuts are in focus that promise this share of what all violated ones do.
    focus_gain: float = 0.7
    # `focus_gain` is lowered if there is less time left than so many times that of the last round.
    spare_time: float = 1.5
    # Share of the records that may be in focus; where there are more, all duals are raised.
    max_focus: float = 0.5
    # Time of a round that does not depend on the focus, as a share of one with all duals free.
    focus_overhead: float = 0.25
    # How many times as long a round with all duals free takes as the one before, which had fewer
    # cuts.
    longer_with_cuts: float = 2.0

    # With a mean dual below this, squares of duals would underflow, and the first bound is kept.
    min_mean_dual: float = 1e-140
    # Bounds that differ by less than this share count as equal.
    same_bound: float = 1e-7


SETTINGS = Settings()
