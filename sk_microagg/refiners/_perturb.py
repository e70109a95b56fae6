"""Perturbations of a partition: a group is dissolved, or distilled from excess records."""

import numpy as np

from sk_microagg._kernels import Partition


def dissolve(partition: Partition, n_candidates: int, rng: np.random.RandomState) -> list[int]:
    """Dissolve the group with the largest cost among some drawn at random."""
    drawn = [_draw_group(partition, rng) for _ in range(n_candidates)]
    return partition.dissolve(max(drawn, key=partition.cost_of))


def _draw_group(partition: Partition, rng: np.random.RandomState) -> int:
    while True:
        group = int(rng.random_sample() * partition.n_slots)
        if partition.size(group):
            return group


def distill(partition: Partition, rng: np.random.RandomState) -> list[int]:
    """Create a group of excess records around one of them, drawn at random."""
    while True:
        group = partition.larger_group(int(rng.random_sample() * partition.n_larger))
        excess = partition.excess(group)
        # Every excess record is equally likely to be the first.
        if rng.random_sample() * partition.k < len(excess):
            break
    group, donors = partition.distill(excess[int(rng.random_sample() * len(excess))])
    return [group, *donors]
