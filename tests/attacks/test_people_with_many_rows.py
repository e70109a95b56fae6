"""An intruder who gives all rows of a group to the person who has most of them."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.metrics import record_linkage, unit_share
from sk_microagg.privacy import UnitShare

K = 5


@pytest.fixture(name="visits")
def table_of_visits():
    """60 people, five of them with 100 rows near each other."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), [100] * 5 + [1] * 55)
    points = 10 * rng.normal(size=(60, 2))[people] + rng.normal(size=(555, 2))
    return pd.DataFrame(points, columns=["age", "weight"]).assign(pid=people)


def share_right(groups, people):
    """The share of the rows that the intruder gives to the right person, in all and at most."""
    right, shares = 0, []
    for group in set(groups):
        (_, n_most), *_ = Counter(people[groups == group]).most_common()
        right += n_most
        shares.append(n_most / np.sum(groups == group))
    return right / len(groups), max(shares)


def test_the_risk_is_no_less_than_what_the_attack_achieves(visits):
    people = visits["pid"].to_numpy()
    aggregator = TableAggregator(K, unit="pid")
    release = aggregator.fit_transform(visits)
    right, largest = share_right(aggregator.labels_, people)
    assert right > 0.85
    assert unit_share(release, people) == largest
    known = visits[["age", "weight"]]
    # Rows count as those of different people without `unit`.
    assert record_linkage(known, release).expected_if_linked < 0.05
    found = record_linkage(known, release, unit=people).expected_if_linked
    # Those who have one row each are safer than the attack is right.
    assert right**2 <= found <= largest


@pytest.mark.parametrize("share", [0.3, 0.5])
@pytest.mark.parametrize("kind", [MicroAggregator, TableAggregator])
def test_a_bound_stops_the_attack(visits, kind, share):
    people = visits["pid"].to_numpy()
    aggregator = kind(K, privacy=[UnitShare(share)])
    if kind is TableAggregator:
        aggregator.set_params(unit="pid").fit(visits)
    else:
        aggregator.fit(visits[["age", "weight"]], unit=people)
    right, largest = share_right(aggregator.labels_, people)
    assert right <= largest <= share
    assert aggregator.n_groups_ > 5


@pytest.mark.parametrize("options", [[], ["--unit-share", "0.5"]])
def test_the_command_line_says_what_the_attack_achieves(visits, options, tmp_path, capsys):
    from sk_microagg.cli import main

    source, target = tmp_path / "visits.csv", tmp_path / "release.csv"
    visits.to_csv(source, index=False)
    arguments = ["anonymize", source, target, "-k", K, "--unit", "pid", *options]
    assert main([*map(str, arguments)]) == 0
    printed = capsys.readouterr()
    release = pd.read_csv(target)
    groups = release.groupby(["age", "weight"]).ngroup().to_numpy()
    right, largest = share_right(groups, visits["pid"].to_numpy())
    percent = f"{np.ceil(100 * largest - 1e-9):.0f}%"
    assert f"unit share        at most {percent} of the rows of a group" in printed.out
    assert f"warning: {percent} of the rows of a group belong to one value of pid" in printed.err
    assert main(["risk", *map(str, (source, target)), "--unit", "pid"]) == 0
    printed = capsys.readouterr().out
    assert f"unit share        at most {percent} of the rows of a class" in printed
    told = float(printed.partition("expected to be, ")[2].partition("%")[0]) / 100
    assert right**2 <= told + 0.001
