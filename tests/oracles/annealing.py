"""What `Annealer` promises, in plain Python: the same draws in the same order, but every change of
the sum of squared errors is found from scratch, from the groups before and after it.
"""

import math

import numpy as np

MASK = 2**64 - 1


class SplitMix64:
    """As Steele, Lea and Flood (2014) print it."""

    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, bound):
        return ((self.bits() >> 32) * bound) >> 32

    def share(self):
        return (self.bits() >> 11) / 2**53


class PlainAnnealer:
    """Groups are lists of records by slot; a list without records is a free slot."""

    def __init__(self, X, labels, k, neighbors, by_scale, seed):
        self.X, self.k, self.full = X, k, 2 * k - 1
        self.neighbors, self.by_scale = neighbors.tolist(), by_scale.tolist()
        self.random = SplitMix64(seed)
        self.group_of = labels.tolist()
        self.groups = [[] for _ in range(max(max(self.group_of) + 1, len(X) // k))]
        for record, group in enumerate(self.group_of):
            self.groups[group].append(record)

    def labels(self):
        occupied = [group for group, members in enumerate(self.groups) if members]
        return [occupied.index(group) for group in self.group_of]

    def run(self, n_steps, *, temperature, first_active, n_active, chance_of_jump):
        self.temperature = temperature
        self.first_active, self.n_active = first_active, n_active
        self.chance_of_jump = chance_of_jump
        for _ in range(n_steps):
            self.step()

    def step(self):
        record = self.draw_record()
        if self.random.share() < 0.01:
            if self.random.bits() & 1:
                self.create(record)
            else:
                self.dissolve(self.group_of[record])
            return
        partner = self.draw_partner(record)
        source, target = self.group_of[record], self.group_of[partner]
        if source == target:
            return
        may_move = len(self.groups[source]) > self.k and len(self.groups[target]) < self.full
        if may_move and self.random.bits() & 1:
            changes = {record: target}
        else:
            others = [other for other in self.groups[target] if other != partner]
            changes = {record: target, others[self.random.below(len(others))]: source}
        before = list(self.group_of)
        for moved, group in changes.items():
            self.put(moved, group)
        if not self.accepts(self.rise_since(before)):
            self.return_to(before)

    def draw_record(self):
        if self.random.share() < 0.9:
            return self.by_scale[self.first_active + self.random.below(self.n_active)]
        return self.random.below(len(self.X))

    def draw_partner(self, record):
        if self.random.share() < self.chance_of_jump:
            far = self.by_scale[self.first_active :]
            return far[self.random.below(len(far))]
        near = self.neighbors[record]
        return near[self.random.below(len(near))]

    def accepts(self, rise):
        if rise <= 0:
            return True
        # No draw where it is never accepted.
        if rise >= 20 * self.temperature:
            return False
        return self.random.share() < math.exp(-rise / self.temperature)

    def create(self, record):
        """A group of a record and of near ones, from groups that keep k."""
        n_groups = sum(map(bool, self.groups))
        if (n_groups + 1) * self.k > len(self.X) or not self.can_spare(self.group_of[record]):
            return
        before = list(self.group_of)
        new = self.groups.index([])
        self.put(record, new)
        for neighbor in self.neighbors[record]:
            if len(self.groups[new]) == self.k:
                break
            source = self.group_of[neighbor]
            if source != new and self.can_spare(source) and self.random.bits() % 8:
                self.put(neighbor, new)
        if len(self.groups[new]) < self.k or not self.accepts(self.rise_since(before)):
            self.return_to(before)

    def dissolve(self, group):
        """Each record, from the last, to the group among its neighbors' where it costs least."""
        before = list(self.group_of)
        most = -self.temperature * math.log(1 - self.random.share())
        for record in self.groups[group][::-1]:
            targets = [self.group_of[neighbor] for neighbor in self.neighbors[record]]
            targets = [t for t in targets if t != group and len(self.groups[t]) < self.full]
            if not targets:
                self.return_to(before)
                return
            costs = [self.cost_to_join(record, target) for target in targets]
            self.put(record, targets[np.argmin(costs)])
        if self.rise_since(before) > most:
            self.return_to(before)

    def can_spare(self, group):
        return len(self.groups[group]) > self.k

    def cost_to_join(self, record, group):
        return self.sse([*self.groups[group], record]) - self.sse(self.groups[group])

    def put(self, record, group):
        self.groups[self.group_of[record]].remove(record)
        self.groups[group] = sorted([*self.groups[group], record])
        self.group_of[record] = group

    def return_to(self, before):
        for record, group in enumerate(before):
            if self.group_of[record] != group:
                self.put(record, group)

    def rise_since(self, before):
        """Only groups that a record has left or joined differ."""
        moved = [record for record, group in enumerate(before) if self.group_of[record] != group]
        touched = sorted({now[record] for now in (before, self.group_of) for record in moved})
        old = [[record for record, g in enumerate(before) if g == group] for group in touched]
        new = [self.groups[group] for group in touched]
        return sum(map(self.sse, new)) - sum(map(self.sse, old))

    def sse(self, members):
        if not members:
            return 0.0
        # In the order of their values: groups of the same values cost exactly the same.
        rows = np.array(sorted(self.X[members].tolist()))
        return float(((rows - rows.mean(axis=0)) ** 2).sum())
