"""An intruder who attributes all rows of a group to the person who has most of them."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader
from marks import in_one_case

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.metrics import (
    attribute_inference,
    interval_disclosure,
    rank_disclosure,
    record_linkage,
    unit_share,
)
from sk_microagg.privacy import UnitShare
from sk_microagg.release import ReleaseRequest, release_file
from sk_microagg.release._release import Progress
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps")

K = 5


@pytest.fixture(name="visits")
def table_of_visits():
    """60 people, five of them with 100 rows near each other."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), [100] * 5 + [1] * 55)
    points = 10 * rng.normal(size=(60, 2))[people] + rng.normal(size=(555, 2))
    return pd.DataFrame(points, columns=["age", "weight"]).assign(pid=people)


def share_right(groups, people):
    """The share of the rows that are attributed to the right person, in all and at most."""
    right, shares = 0, []
    for group in set(groups):
        (_, n_most), *_ = Counter(people[groups == group]).most_common()
        right += n_most
        shares.append(n_most / np.sum(groups == group))
    return right / len(groups), max(shares)


@pytest.mark.slow
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


@pytest.mark.slow
@in_one_case(("kind", "share"), [(MicroAggregator, 0.5), (TableAggregator, 0.3)])
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


@pytest.mark.slow
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
    most = percent(largest)
    assert f"unit share        at most {most} of the rows of a group" in printed.out
    assert f"warning: {most} of the rows of a group belong to one value of pid" in printed.err
    assert main(["risk", *map(str, (source, target)), "--unit", "pid"]) == 0
    printed = capsys.readouterr().out
    assert f"unit share        at most {most} of the rows of a class" in printed
    told = float(printed.partition("expected to be, ")[2].partition("%")[0]) / 100
    assert right**2 <= told + 0.001


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_a_report_tells_how_often_attacks_succeed(visits, tmp_path):
    aggregator = TableAggregator(K, unit="pid", refiner="local_search")
    release = aggregator.fit_transform(visits)
    page = make_report(aggregator, visits, release).save(tmp_path / "report.html")
    page = Reader(page.read_text(encoding="utf-8"))
    known = visits[["age", "weight"]]
    shares = interval_disclosure(known, release), rank_disclosure(known, release)
    for name, near, ranked in zip(known, *shares, strict=True):
        assert page.row(name, 3) == [percent(near), percent(ranked)]  # after its moments
        guessed = attribute_inference(release, known, name)
        told = page.row(f"Attribute, {name}")[:2]
        assert told == [percent(guessed.success), percent(guessed.baseline)]
    assert page.row("Unique rows, original")[0] == "555 of 555 records (100%)"
    linkage = record_linkage(known, release, unit=visits["pid"])
    assert page.row("Linked to the right row")[0] == percent(linkage.linked)
    assert page.row("Expected re-identifications")[0] == percent(linkage.expected_matches)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "roles", "proposed"),
    [
        ([40] * 5 + [1] * 55, {"drop": ["region"]}, 0.2),
        # One person has a little more than 35% of the rows, and 89% of those in the north.
        ([194] + [6] * 60, {"drop": ["region"]}, 0.4),
        ([194] + [6] * 60, {"strata": ["region"]}, None),
    ],
)
def test_a_share_that_is_proposed_is_possible(n_rows, roles, proposed, tmp_path):
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(len(n_rows)), n_rows)
    points = 10 * rng.normal(size=(len(n_rows), 2))[people] + rng.normal(size=(len(people), 2))
    table = pd.DataFrame(points, columns=["age", "weight"])
    table = table.assign(pid=people, region=np.where(people < 5, "north", "south"))
    table.to_csv(tmp_path / "visits.csv", index=False)
    paths = tmp_path / "visits.csv", tmp_path / "release.csv"
    request = ReleaseRequest(*paths, k=K, unit="pid", **roles, overwrite=True)
    (warning,) = (
        message
        for message in release_file(request, progress=Progress()).warnings
        if message.code == "large_unit"
    )
    advice = f"Pass privacy=UnitShare({proposed}), or release" if proposed else "Release"
    assert str(warning).endswith(
        "an intruder who attributes all of them to that person is right that often. "
        f"{advice} fewer rows per person."
    )
    if proposed:
        release_file(request.replace(privacy=UnitShare(proposed)), progress=Progress())
