"""A warning names columns of which hardly any value is released."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps")

N = 60
MESSAGE = (
    r"^Column 'name' is released as missing almost everywhere: its values differ, and those that "
    r"few people have are not released\. Name it in drop, or generalize it: hierarchies, with "
    r"categories='generalize'\.$"
)


def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, N),
            "ward": rng.choice(["A", "B", "C"], N),
            "name": [f"person {number}" for number in range(N)],
        }
    )


@in_one_case("form", [lambda X: X, pl.from_pandas, lambda X: X.astype("category")])
def test_names(form):
    with pytest.warns(UserWarning, match=MESSAGE) as caught:
        release = TableAggregator(k=5).fit_transform(form(people()[["ward", "name"]]))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "person" not in str(caught[0].message)
    names = release["name"].to_list()
    assert all(name is None or name != name for name in names)


def test_almost_all_values_differ():
    X = people()
    X.loc[:2, "name"] = "person 3"
    with pytest.warns(UserWarning, match=MESSAGE):
        TableAggregator(k=5).fit(X)


@in_one_case("parameters", [{"drop": "name"}, {"sensitive": "name"}, {"k": 1}])
def test_no_warning_where_nothing_is_lost(parameters):
    with warnings.catch_warnings(record=True, action="always") as caught:
        warnings.filterwarnings("ignore", "k=1")
        TableAggregator(**{"k": 5, **parameters}).fit(people())
    assert caught == []


@in_one_case("n_known", [0, 1, 29])
def test_no_warning_where_most_values_are_missing(n_known):
    X = people()
    X["name"] = X["name"].where(np.arange(N) < n_known, None)
    release = TableAggregator(k=5).fit_transform(X)
    assert release["name"].isna().all()


def with_towns(n_towns):
    rng = np.random.default_rng(0)
    towns = [f"town {number % n_towns}" for number in range(400)]
    return pd.DataFrame({"age": rng.integers(20, 80, 400), "town": towns})


@pytest.mark.slow
@in_one_case("categories", ["mode", "shares", "generalize"])
def test_values_that_are_mostly_rare(categories):
    """The loss falls when k passes their frequency, although less of them is left."""
    X = with_towns(40)
    aggregator = TableAggregator(k=20, categories=categories)
    with pytest.warns(UserWarning, match=r"^Column 'town' .* 20 people"):
        aggregator.fit(X)
    assert aggregator.information_loss_ < TableAggregator(k=10).fit(X).information_loss_
    assert aggregator.column_losses_["town"] > 0.9


@pytest.mark.slow
def test_no_warning_where_values_are_frequent_or_have_a_hierarchy():
    parts = {f"part {part}": [f"town {part * 20 + i}" for i in range(20)] for part in range(2)}
    hierarchies = {"town": Hierarchy.from_nested(parts)}
    with warnings.catch_warnings(record=True, action="always") as caught:
        TableAggregator(k=20).fit(with_towns(20))
        TableAggregator(k=20, hierarchies=hierarchies).fit(with_towns(40))
    assert caught == []
