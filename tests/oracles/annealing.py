"""What `Annealer` promises, in plain Python: the same draws in the same order, but every change of
the sum of squared errors is found from scratch, from the groups before and after it.

Which record a draw means depends on the order of the members of its group, and which slot a new
group gets on the order in which slots became free: these orders are part of the promise.
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

    def __init__(self, X, labels, k, neighbors, by_scale, seed, looks_ahead=False):
        self.rows, self.k, self.full = X.tolist(), k, 2 * k - 1
        self.sse_of = {}
        self.neighbors, self.by_scale = neighbors.tolist(), by_scale.tolist()
        self.random = SplitMix64(seed)
        # One draw says what a step is; further ones say how it ends.
        self.further = SplitMix64(self.random.bits()) if looks_ahead else self.random
        self.group_of = labels.tolist()
        self.groups = [[] for _ in range(len(X) // k)]
        for record, group in enumerate(self.group_of):
            self.groups[group].append(record)
        # The slot that became free last is used first.
        self.free = [group for group, members in enumerate(self.groups) if not members][::-1]

    def labels(self):
        occupied = [group for group, members in enumerate(self.groups) if members]
        return [occupied.index(group) for group in self.group_of]

    def run(self, records, n_passes=1, *, temperature, first_for_jumps, chance_of_jump):
        self.temperature = temperature
        self.first_for_jumps = first_for_jumps
        # Without enough neighbors for a new group, none are created or dissolved.
        chance_of_group = 0.03 * min(1.0, 10 / self.k) if len(self.neighbors[0]) >= self.k else 0.0
        self.below_group = int(chance_of_group * 2**24)
        self.below_jump = self.below_group + int(chance_of_jump * 2**24)
        for _ in range(n_passes):
            for record in records.tolist():
                self.step(record)

    def step(self, record):
        """One draw decides, in bits from the last to the first: 16, 1, 16, (7 unused), 24."""
        rest, for_neighbor = divmod(self.random.bits(), 2**16)
        rest, for_shift = divmod(rest, 2)
        rest, for_other = divmod(rest, 2**16)
        kind = rest >> 7
        source = self.group_of[record]
        if kind < self.below_group:
            if kind % 2:
                self.create(record)
            else:
                self.dissolve(source)
            return
        partner = self.draw_partner(record, kind, for_neighbor)
        target = self.group_of[partner]
        if target == source:
            return
        if for_shift and self.can_spare(source) and len(self.groups[target]) < self.full:
            if self.accepts(self.rise_of({record: target})):
                self.shift(record, target)
            return
        others = [other for other in self.groups[target] if other != partner]
        other = others[(for_other * len(others)) >> 16]
        if self.accepts(self.rise_of({record: target, other: source})):
            self.swap(record, other)

    def draw_partner(self, record, kind, for_neighbor):
        if kind < self.below_jump:
            far = self.by_scale[self.first_for_jumps :]
            return far[self.further.below(len(far))]
        # Squared: the nearest neighbors are drawn most often.
        near = self.neighbors[record]
        return near[(((for_neighbor * for_neighbor) >> 16) * len(near)) >> 16]

    def accepts(self, rise):
        if rise <= 0:
            return True
        # No draw where it is never accepted.
        if rise >= 20 * self.temperature:
            return False
        return self.further.share() < math.exp(-rise / self.temperature)

    def create(self, record):
        """A group of a record and of near ones, from groups that keep k."""
        n_groups = sum(map(bool, self.groups))
        if (n_groups + 1) * self.k > len(self.rows) or not self.can_spare(self.group_of[record]):
            return
        before, new = list(self.group_of), self.free[-1]
        carried = [record]
        self.shift(record, new)
        for neighbor in self.neighbors[record]:
            if len(carried) == self.k:
                break
            source = self.group_of[neighbor]
            if source != new and self.can_spare(source) and self.further.bits() % 8:
                carried.append(neighbor)
                self.shift(neighbor, new)
        if len(carried) < self.k or not self.accepts(self.rise_since(before)):
            self.carry_back(carried, before)

    def dissolve(self, group):
        """Each record, from the last, to the group among its neighbors' where it costs least."""
        before, carried = list(self.group_of), []
        most = -self.temperature * math.log(1 - self.further.share())
        for record in self.groups[group][::-1]:
            targets = [self.group_of[neighbor] for neighbor in self.neighbors[record]]
            targets = [t for t in targets if t != group and len(self.groups[t]) < self.full]
            if not targets:
                self.carry_back(carried, before)
                return
            costs = [self.cost_to_join(record, target) for target in targets]
            carried.append(record)
            self.shift(record, targets[np.argmin(costs)])
        if self.rise_since(before) > most:
            self.carry_back(carried, before)

    # Members are in no order: the last one takes the place of one that leaves.

    def shift(self, record, group):
        source = self.group_of[record]
        last = self.groups[source].pop()
        if last != record:
            self.groups[source][self.groups[source].index(record)] = last
        if not self.groups[source]:
            self.free.append(source)
        if not self.groups[group]:
            assert self.free.pop() == group
        self.groups[group].append(record)
        self.group_of[record] = group

    def swap(self, one, other):
        a, b = self.group_of[one], self.group_of[other]
        self.groups[a][self.groups[a].index(one)] = other
        self.groups[b][self.groups[b].index(other)] = one
        self.group_of[one], self.group_of[other] = b, a

    def carry_back(self, carried, before):
        for record in carried[::-1]:
            self.shift(record, before[record])

    def can_spare(self, group):
        return len(self.groups[group]) > self.k

    # Costs

    def cost_to_join(self, record, group):
        return self.sse([*self.groups[group], record]) - self.sse(self.groups[group])

    def rise_of(self, changes):
        """By how much the SSE would rise if records moved to groups."""
        after = list(self.group_of)
        for record, group in changes.items():
            after[record] = group
        return self.rise(self.group_of, after)

    def rise_since(self, before):
        return self.rise(before, self.group_of)

    def rise(self, before, after):
        """Only groups that a record has left or joined differ."""
        moved = [r for r in range(len(before)) if before[r] != after[r]]
        touched = sorted({now[record] for now in (before, after) for record in moved})
        old, new = (
            sum(self.sse([r for r, g in enumerate(now) if g == group]) for group in touched)
            for now in (before, after)
        )
        return new - old

    def sse(self, members):
        key = frozenset(members)
        if key not in self.sse_of:
            # In the order of their values: groups of the same values cost exactly the same.
            columns = zip(*sorted(self.rows[record] for record in members), strict=True)
            self.sse_of[key] = sum(map(sum_of_squares, columns))
        return self.sse_of[key]


def sum_of_squares(values):
    mean = sum(values) / len(values)
    return sum((value - mean) * (value - mean) for value in values)
