"""Attackers who have all releases of a series, and see which rows change from one to the next."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from marks import exact_means

from sk_microagg import LDiversity, ReleaseSeries, TableAggregator

pytestmark = [
    pytest.mark.usefixtures("few_steps"),
    exact_means,
    pytest.mark.filterwarnings("ignore:leavers='keep'. the rows of only"),
]

QUASI = ["age", "income"]
YEARS = 8


def register(n, rng):
    """People with known ages and incomes."""
    ages, incomes = rng.integers(18, 90, n), rng.integers(1000, 6000, n)
    return pd.DataFrame({"id": range(n), "age": ages, "income": incomes})


def with_costs(table, rng):
    """A value of each person that is another one in each year."""
    return table.assign(cost=rng.random(len(table)))


def series_of(k, leavers="freeze_group", **settings):
    aggregator = TableAggregator(k, unit="id", sensitive="cost", decimals=0, **settings)
    return ReleaseSeries(aggregator, leavers=leavers)


class Intruder:
    """Looks for the rows of people who are known to be in the table, among those that change.

    Where no row of a group has changed, the rows that could be theirs are those that could be
    theirs in the release before.
    """

    def __init__(self):
        self.seen, self.suspected = set(), {}

    def candidates(self, release):
        """By the anonymized values of each group, the costs of the rows that may be theirs."""
        groups = {group: {*rows} for group, rows in release.groupby(QUASI)["cost"]}
        for group, costs in groups.items():
            changed = costs - self.seen
            if changed:
                self.suspected[group] = changed
        self.seen = {*release["cost"]}
        return {group: self.suspected[group] for group in groups}


def re_identified(series, release, candidates):
    """The expected share of people in the table whose row an intruder points at."""
    groups = map(tuple, release[QUASI].to_numpy())
    rows = zip(series.units_, groups, release["cost"], strict=True)
    chances = [
        (cost in candidates[group]) / len(candidates[group])
        for unit, group, cost in rows
        if unit is not None
    ]
    return float(np.mean(chances))


def share_by_year(k, leaving, leavers, n=300):
    """What the intruder achieves in each year, if a share of the people leaves every year."""
    rng = np.random.default_rng([k, int(100 * leaving)])
    people, series, intruder = register(n, rng), series_of(k, leavers), Intruder()
    shares = []
    for _ in range(YEARS):
        release = series.release(with_costs(people, rng))
        found = intruder.candidates(release)
        assert leavers == "keep" or min(map(len, found.values())) >= k
        shares.append(re_identified(series, release, found))
        people = people[rng.random(len(people)) >= leaving]
    return shares


@pytest.mark.parametrize("leaving", [0.1, pytest.param(0.2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "k", [pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow), 5, 10]
)
def test_people_who_stay_are_hidden_among_k(k, leaving):
    assert max(share_by_year(k, leaving, "freeze_group")) <= 1 / k
    # With the rows of all who stay, the same intruder achieves more than is promised.
    assert share_by_year(k, leaving, "keep")[-1] > 1.2 / k


def changed_by_group(series, release, before):
    """By group, the people with rows that the release before does not have."""
    changed = {}
    for key, group, cost in zip(series.keys_, series._release.labels, release["cost"], strict=True):
        if cost not in before:
            changed.setdefault(group, set()).add(key)
    return list(changed.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spare", [0, 2])
def test_the_people_whose_rows_change_are_k_and_ever_fewer(seed, spare):
    """Also if people come back, have several rows, are new, or are erased."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    people, series, before = register(80, rng), series_of(k), set()
    series.spare = spare
    changed_last = {}
    n_shrunk = 0
    for year in range(7):
        is_there = rng.random(len(people)) < 0.85
        table = people[is_there]
        table = with_costs(pd.concat([table, table[rng.random(len(table)) < 0.2]]), rng)
        release = series.release(table, erase=[*table["id"][:1]] if year == 4 else [])
        for changed in changed_by_group(series, release, before):
            assert len(changed) >= k
            groups_before = {changed_last[key] for key in changed if key in changed_last}
            assert len(groups_before) <= 1
            for last in groups_before:
                assert changed <= last
                n_shrunk += changed < last
            changed_last |= dict.fromkeys(changed, frozenset(changed))
        before = {*release["cost"]}
        people = pd.concat(
            [people, register(10, rng).assign(id=range(1000 * year, 1000 * year + 10))]
        )
        people = people.drop_duplicates("id")
    assert n_shrunk >= 1


def years_of_diagnoses(changing, n=1500, seed=0):
    """Two tables, between which the diagnoses of some people change."""
    rng = np.random.default_rng(seed)
    names, shares = ["none", "flu", "gout", "hiv", "angina"], [0.5, 0.2, 0.15, 0.05, 0.1]
    first = register(n, rng).assign(cost=rng.choice(names, n, p=shares))
    second = first.copy()
    is_changed = rng.random(n) < changing
    second.loc[is_changed, "cost"] = [
        rng.choice([name for name in names if name != own]) for own in first["cost"][is_changed]
    ]
    return first, second, first.index[is_changed]


def gained(releases):
    """By group, the diagnoses that the second release has more often than the first."""
    counts = [
        {group: Counter(rows.dropna()) for group, rows in release.groupby(QUASI)["cost"]}
        for release in releases
    ]
    return {group: counts[1][group] - counts[0][group] for group in counts[0]}


@pytest.mark.parametrize("privacy", [None, LDiversity(2)])
def test_a_changed_value_is_read_unless_first_values_are_released(privacy):
    first, second, changed = years_of_diagnoses(0.02)
    shares = {}
    for values in ("today", "first"):
        series = series_of(5, privacy=privacy)
        series.values = values
        releases = [series.release(table) for table in (first, second)]
        new = gained(releases)
        rows = releases[1].set_axis(series.units_)
        certain = [len(new[tuple(rows.loc[person, QUASI])]) == 1 for person in changed]
        shares[values] = np.mean(certain)
        alone = sum(sum(counts.values()) == 1 for counts in new.values())
        assert series.changed_alone_ == alone
    # The limit of values="today", which `doc/series.rst` names.
    assert shares["today"] > 0.8
    assert shares["first"] == 0


def test_a_constraint_holds_among_the_rows_that_change():
    """Whoever knows that a person is in the table leaves out the rows that do not change."""
    first = register(12, np.random.default_rng(0)).assign(age=30, income=2000)
    first["cost"] = ["flu", "gout"] * 6
    series = series_of(5, privacy=LDiversity(2))
    series.release(first)
    release = series.release(first[1:].assign(cost="cold"))
    # All rows together have two values: "cold", and what the person who left had.
    assert release["cost"].isna().all()
    assert series.n_suppressed_ >= 1
