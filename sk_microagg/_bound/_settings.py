"""The numbers that steer the search for a bound."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How the search for a bound is steered. The bound is valid whatever they are.

    "Share of the records" is a number of columns or cuts over the number of records. "Share of the
    time" is in units of `time_limit`; such settings have no effect if that is infinite.
    """

    min_neighbors: int = 40
    neighbors_per_k: int = 12
    max_neighbors: int = 200
    max_neighbors_in_all: int = 10_000_000
    max_members_in_all: int = 20_000_000
    max_neighbors_in_sums: int = 64
    values_per_block: int = 1_000_000
    sets_per_product: int = 5_000

    min_ascent_iter: int = 100
    max_ascent_iter: int = 400
    more_iter_in_focus: int = 4
    many_new_columns: float = 0.3
    few_new_columns: float = 0.03
    max_pricings: int = 25
    ascent_weight: float = 0.12
    longest_ascent: float = 0.3
    pricing_tolerance: float = 1e-4

    initial_width: float = 1.0
    min_width_after_failure: float = 0.03
    min_width_after_small_gain: float = 0.1
    shrink_after_failure: float = 0.6
    shrink_after_small_gain: float = 0.8
    small_gain: float = 1.001
    min_width_after_cuts: float = 0.5
    widening: float = 1.5
    max_share_at_ends: float = 0.002
    scale_by_mean: float = 0.3
    scale_by_cost: float = 0.5
    cut_scale_by_cost: float = 0.5
    cut_scale_by_mean: float = 1e-3

    inertia: float = 0.2
    inertia_decay: float = 0.5
    few_repaired_columns: float = 0.01
    repair_patience: float = 0.2
    longest_repair: float = 0.45
    roots_until_patience: float = 0.25
    shorter_step: float = 0.25
    longer_step: float = 2.0
    root_preference: float = 0.5
    max_nodes_to_rank: int = 0
    max_nodes_to_price: int = 4_000
    max_nodes: int = 200_000

    cut_when_below: float = 2e-3
    cut_when_near: float = 0.006
    min_cut_excess: float = 0.02
    min_use: float = 0.01
    max_new_cuts: float = 0.25
    max_cuts_of_record: int = 60
    max_cut_subsets: int = 200_000
    max_cut_members: int = 32
    max_nodes_of_cut: int = 100_000
    focus_gain: float = 0.7
    spare_time: float = 1.5
    max_focus: float = 0.5
    focus_overhead: float = 0.25
    longer_with_cuts: float = 2.0

    min_mean_dual: float = 1e-140
    same_bound: float = 1e-7


SETTINGS = Settings()
