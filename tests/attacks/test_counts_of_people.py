"""Twelve rows of one person are those of one person: what protects somebody counts people."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from tables.pages import Reader

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import (
    COARSE_PERCENTS,
    bound_in_words,
    expected_matches,
    fewest_records,
    share_of_people,
)
from sk_microagg.encoding import HierarchyColumn
from sk_microagg.generalization import Hierarchy
from sk_microagg.metrics import RecordLinkage
from sk_microagg.plotting._distributions import compare_columns
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps")

K = 5
NESTED = {"heart": ["I21", "I25"], "lung": ["J44", "J45", "J60"], "skin": ["L40"]}
TREE = Hierarchy.from_nested(NESTED)
NODE_OF = {leaf: node for node, leaves in NESTED.items() for leaf in leaves}


def n_coordinates(codes, units, k):
    return HierarchyColumn(pd.Series(codes, name="code"), k, TREE, units).rows.shape[1] - 1


def test_rows_of_one_person_give_a_leaf_no_coordinate():
    codes = np.array(["I21"] * 12 + ["I25"] * 12 + ["J44"] * 12)
    people = np.r_[np.zeros(12, dtype=int), np.arange(1, 25)]
    # The leaf of the first person is not to be told from its neighbor.
    column = HierarchyColumn(pd.Series(codes, name="code"), K, TREE, people)
    points = column.points(pd.Series(["I21", "I25", "I99"], name="code")).toarray()
    assert (points[0] != 0).sum() == (points[1] != 0).sum() - 1
    assert n_coordinates(codes, None, K) > n_coordinates(codes, people, K)


leaves = st.sampled_from(sorted(NODE_OF))


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(leaves, st.integers(0, 6)), min_size=1, max_size=40), st.integers(1, 4))
def test_nodes_with_a_coordinate_are_those_of_k_people(rows, k):
    codes, units = (list(column) for column in zip(*rows, strict=True))
    people = {}
    for code, unit in rows:
        for node in (code, NODE_OF[code]):
            people.setdefault(node, set()).add(unit)
    shared = sum(len(units) >= k for units in people.values())
    column = HierarchyColumn(pd.Series(codes, name="code"), k, TREE, np.array(units))
    # Nodes that tell nobody apart have none.
    assert column.rows.shape[1] in (0, shared)


@pytest.mark.slow
def test_a_model_does_not_tell_of_the_leaf_of_one_person():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), [12, *[2] * 59])
    table = pd.DataFrame({"code": rng.choice(["I25", "J44", "J45"], 130), "person": people})
    tables = [
        table.assign(code=np.where(people == 0, leaf, table["code"])) for leaf in ("J60", "J45")
    ]
    models = [
        TableAggregator(K, unit="person", hierarchies={"code": TREE}).fit(each) for each in tables
    ]
    coordinates = [model._encoder.columns[0].rows.shape[1] for model in models]
    assert coordinates[0] == coordinates[1]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30), st.data())
def test_shares_of_few_people_are_not_written(rows, data):
    units, mask = (np.array(column) for column in zip(*rows, strict=True))
    k = data.draw(st.integers(1, 5))
    few = max(k, 3)
    n_people, n_others = (len({*units[which]}) for which in (mask, ~mask))
    is_told = not (0 < n_people < few or 0 < n_others < few)
    share, fewest = share_of_people(mask, units), fewest_records(k, units)
    words = bound_in_words(share, len(mask), fewest)
    assert (words is None) == is_told
    assert words == bound_in_words(share, len(mask), few)
    # Without knowing which records they are, shares are hidden at least as often.
    assert bound_in_words(mask.mean(), len(mask), fewest) is not None or is_told


@in_one_case("knows_people", [True, False])
def test_no_bound_is_below_the_share_or_more_than_a_step_above(knows_people):
    """Records of a few people may be most of them: words such as "few" would hide a large risk."""
    units = np.repeat(np.arange(60), [100] * 5 + [1] * 55)
    fewest = fewest_records(K, units)
    for n_rows in (1, 27, 28, 100, 182, 277, 278, 388, 448, 500, 554):
        rows = np.arange(555) < n_rows
        if n_rows > 400:
            rows = ~rows[::-1]
        share = share_of_people(rows, units) if knows_people else rows.mean()
        words = bound_in_words(share, 555, fewest)
        if words is None:
            assert knows_people
            continue
        percents = int(words.removeprefix("at most ").removesuffix("%"))
        place = COARSE_PERCENTS.index(percents)
        assert ([0, *COARSE_PERCENTS][place]) / 100 < rows.mean() <= percents / 100
        share = rows.mean()
        drawn, told = expected_matches(RecordLinkage(share, 0.9 * share, 0.9), 555, fewest)
        assert told == f"at most {100 * drawn:.0f}%"
        assert 0.9 * share <= drawn <= 0.9


@pytest.fixture(name="visits")
def table_of_visits():
    """Everybody's row occurs twice, but for twelve of one person, who also has missing values."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(61), [12, *[2] * 60])
    values = np.repeat(rng.normal(size=(61, 2)), [12, *[2] * 60], axis=0)
    values[:12] += rng.normal(size=(12, 2))
    return pd.DataFrame(values, columns=["age", "weight"]).assign(person=people)


@pytest.mark.slow
def test_a_report_tells_nothing_of_one_person_with_many_rows(visits, tmp_path):
    visits.loc[:11, "weight"] = np.nan
    aggregator = TableAggregator(K, unit="person")
    release = aggregator.fit_transform(visits)
    page = make_report(aggregator, visits, release).save(tmp_path / "report.html")
    page = Reader(page.read_text(encoding="utf-8"))
    text = " ".join("".join(page.text).split())
    assert page.row("Unique rows, original")[0] == "at most 10%"
    assert page.row("Missing in the original") == ["cells in at most 10% of the records"]
    assert "only as counts of records of at least 5 units" in text
    assert "9%" not in page.row("weight")[-2]
    assert "fewer than 5 records" not in text
    known = visits.drop(columns="person").fillna(0.0)
    by_rows = MicroAggregator(K)
    page = make_report(by_rows, known, by_rows.fit_transform(known)).save(tmp_path / "rows.html")
    page = Reader(page.read_text(encoding="utf-8"))
    assert page.row("Unique rows, original")[0] == "9%"


def test_pictures_tell_nothing_of_one_person_with_many_rows(visits):
    people = visits.pop("person").to_numpy()
    visits.loc[:11, "weight"] = np.nan
    visits.loc[:11, "age"] = 100.0 + np.arange(12)
    released = visits.fillna(0.0)
    names = ["age", "weight"]
    by_rows, by_people = (
        compare_columns(visits, released, names, K, (), units, is_fixed=True)
        for units in (None, people)
    )
    assert by_rows[0].edges[-1] > 99
    # The mean of the largest values of five people, of which one is 111.
    assert by_people[0].edges[-1] < 50
    assert by_rows[1].missing[0] == "9%"
    assert by_people[1].missing[0] == "at most 10%"
