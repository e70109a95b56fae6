"""Twelve rows of one person are those of one person: what protects somebody counts people."""

import numpy as np
import pandas as pd
import pytest
from example_tables.learned import learn
from hypothesis import given, settings
from hypothesis import strategies as st

from sk_microagg import TableAggregator
from sk_microagg.tables import Hierarchy, HierarchyColumn

pytestmark = pytest.mark.usefixtures("few_steps")

K = 5
NESTED = {"heart": ["I21", "I25"], "lung": ["J44", "J45", "J60"], "skin": ["L40"]}
TREE = Hierarchy.from_nested(NESTED)
NODE_OF = {leaf: node for node, leaves in NESTED.items() for leaf in leaves}


def n_coordinates(codes, units, k):
    return (
        learn(HierarchyColumn, pd.Series(codes, name="code"), k, units, hierarchy=TREE).rows.shape[
            1
        ]
        - 1
    )


def test_rows_of_one_person_give_a_leaf_no_coordinate():
    codes = np.array(["I21"] * 12 + ["I25"] * 12 + ["J44"] * 12)
    people = np.r_[np.zeros(12, dtype=int), np.arange(1, 25)]
    # The leaf of the first person is not to be told from its neighbor.
    column = learn(HierarchyColumn, pd.Series(codes, name="code"), K, people, hierarchy=TREE)
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
    column = learn(
        HierarchyColumn, pd.Series(codes, name="code"), k, np.array(units), hierarchy=TREE
    )
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
