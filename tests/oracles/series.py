"""What several releases together say of people, by plain loops."""

from collections import Counter


def sequences(releases, people):
    """By person, the set of different rows in each release; an empty one where absent."""
    everybody = {person for column in people for person in column}
    found = {person: [set() for _ in releases] for person in everybody}
    for number, (rows, column) in enumerate(zip(releases, people, strict=True)):
        for row, person in zip(rows, column, strict=True):
            found[person][number].add(tuple(map(str, row)))
    return {person: tuple(map(frozenset, own)) for person, own in found.items()}


def joint_level(releases, people):
    """The smallest number of people who share all of their rows."""
    return min(Counter(sequences(releases, people).values()).values())


def broken_rules(releases, people, k):
    """Everybody whose rows change, pause, or are shared by fewer than k people over time."""
    own = sequences(releases, people)
    n_sharing = Counter(own.values())
    broken = set()
    for person, rows in own.items():
        present = [number for number, row in enumerate(rows) if row]
        different = {row for row in rows if row}
        is_one_row = len(different) == 1 and len(next(iter(different))) == 1
        has_no_gap = present == [*range(present[0], present[-1] + 1)]
        if not (is_one_row and has_no_gap and n_sharing[rows] >= k):
            broken.add(person)
    return broken
