"""The iterated local search with memory of changed groups (ILSMC), as an ordinary NumPy program.

It serves to compare squared errors and times; its random numbers differ from those of the package.
A group that has changed is compared with all others, one by one.
"""

import math

import numpy as np
from oracles.partition import centroid, group_sse, groups_of, labels_of, squared_distances
from oracles.refiners import dissolve, improve_pair, split, split_large_groups

N_DRAWN = 5
TEMPERATURE = 1e-5


def iterated_local_search(X, labels, k, max_iter, seed):
    rng = np.random.default_rng(seed)
    n_most = len(X) // k
    n_least = n_most - (n_most - math.ceil(len(X) / (2 * k - 1))) // 5
    current = Solution(X, groups_of(split_large_groups(X, labels, k)), n_most)
    search(current, set(current.numbers), k, rng)
    best = current.copy()
    for _ in range(max_iter):
        if len(best.numbers) == 1 or best.error == 0:
            break
        search(current, perturb(current, n_least, k, rng), k, rng)
        if current.error < best.error:
            best = current.copy()
        elif rng.random() >= math.exp((1 - current.error / best.error) / TEMPERATURE):
            current = best.copy()
    return labels_of(best.groups)


class Solution:
    """Groups in a fixed number of slots, some of them empty, and their statistics."""

    def __init__(self, X, groups, n_slots):
        self.X = X
        self.groups = [np.arange(0)] * n_slots
        self.centroids = np.full((n_slots, X.shape[1]), np.inf)
        self.sizes = np.zeros(n_slots, dtype=int)
        self.errors = np.zeros(n_slots)
        for number, members in enumerate(groups):
            self.put(number, members)

    def put(self, number, members):
        self.groups[number] = members
        self.sizes[number] = len(members)
        self.centroids[number] = centroid(self.X, members)
        self.errors[number] = group_sse(self.X, members)

    def add(self, members):
        number = int(np.argmin(self.sizes))  # an empty slot
        self.put(number, members)
        return number

    def squared_distances_in(self, number):
        return squared_distances(self.X[self.groups[number]], self.centroids[number])

    @property
    def numbers(self):
        return np.flatnonzero(self.sizes)

    @property
    def error(self):
        return self.errors.sum()

    def copy(self):
        twin = object.__new__(Solution)
        twin.X, twin.groups = self.X, list(self.groups)
        for name in ("centroids", "sizes", "errors"):
            setattr(twin, name, getattr(self, name).copy())
        return twin


def perturb(solution, n_least, k, rng):
    """Dissolve a group or create one of excess records; return the groups that changed."""
    excess = len(solution.X) - k * len(solution.numbers)
    if excess >= k and (len(solution.numbers) <= n_least or rng.random() < 0.5):
        return distill_one(solution, k, rng)
    return dissolve_one(solution, k, rng)


def dissolve_one(solution, k, rng):
    """Dissolve the group with the largest squared error among a few drawn at random."""
    drawn = rng.choice(solution.numbers, N_DRAWN)
    number = drawn[np.argmax(solution.errors[drawn])]
    groups = dissolve(solution.X, solution.groups, solution.centroids, number)
    touched = {i for i, members in enumerate(groups) if members is not solution.groups[i]}
    for i in touched:
        solution.put(i, groups[i])
    touched.remove(number)
    for i in sorted(touched):
        if solution.sizes[i] >= 2 * k:
            first, *others = split(solution.X, solution.groups[i], k)
            solution.put(i, first)
            touched |= {solution.add(members) for members in others}
    return touched


def distill_one(solution, k, rng):
    """Create a group around a random excess record: one far from the centroid of a large group."""
    X, owner = solution.X, {}
    for number in np.flatnonzero(solution.sizes > k):
        near_to_far = np.argsort(solution.squared_distances_in(number), kind="stable")
        owner |= dict.fromkeys(solution.groups[number][near_to_far[k:]].tolist(), int(number))
    spare = sorted(owner)
    made = [spare.pop(rng.integers(len(spare)))]
    while len(made) < k:
        made.append(spare.pop(np.argmin(squared_distances(X[spare], centroid(X, made)))))
    donors = {owner[record] for record in made}
    for number in donors:
        solution.put(number, np.setdiff1d(solution.groups[number], made))
    return donors | {solution.add(np.sort(made))}


def search(solution, targets, k, rng):
    """Improve pairs with a target, then pairs with a group that has changed, until none does."""
    while targets:
        changed, visited = set(), []
        for a in rng.permutation(sorted(targets)):
            visited.append(a)
            for b in rng.permutation(np.setdiff1d(solution.numbers, visited)):
                *pair, improved = improve_pair(
                    solution.X, solution.groups[a], solution.groups[b], k
                )
                if improved:
                    solution.put(a, pair[0])
                    solution.put(b, pair[1])
                    changed |= {a, b}
        targets = changed
