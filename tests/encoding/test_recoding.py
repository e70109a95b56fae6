"""Disjoint intervals: every value is recoded in the same way, wherever it occurs."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from tables.mixed import HIERARCHIES, draw

from sk_microagg import TableAggregator
from sk_microagg.metrics import generalization_loss
from sk_microagg.privacy import LDiversity

DISJOINT = {"numbers": "interval", "categories": "generalize", "intervals": "disjoint"}


def ends(cell):
    """The ends of an interval, and whether it contains the upper one."""
    low, *_, high = 2 * [float(end) for end in cell.strip("[])").split(", ")]
    return low, high, not cell.endswith(")")


def is_in(value, cell):
    low, high, is_closed = ends(cell)
    return low <= value <= high if is_closed else low <= value < high


@pytest.mark.slow
@in_one_case(("n", "k", "seed"), [(4, 4, 0), (7, 4, 1), (90, 3, 2), (600, 5, 3), (150, 5, 4)])
@pytest.mark.filterwarnings("ignore:Column .* has mostly")
def test_intervals_do_not_overlap_and_k_holds(n, k, seed):
    X = draw(n, seed, share_missing=0.05 if seed == 4 else 0)
    model = TableAggregator(k, hierarchies=HIERARCHIES, **DISJOINT)
    release = model.fit_transform(X)
    assert release.groupby(list(X.columns)).size().min() >= k
    for name in ("age", "income"):
        cells = [cell for cell in release[name].unique() if cell != "*"]
        for value in X[name].dropna():  # In one of them, of all that there are, or in none.
            assert sum(is_in(value, cell) for cell in cells) == (len(cells) > 0)
        shown = release[name] != "*"
        assert all(map(is_in, X[name][shown], release[name][shown]))
    for name in ("country", "sex"):
        assert release[name].groupby(X[name]).nunique().max() == 1
    if n == 600 and seed == 3:
        assert release["age"].nunique() > 2
        assert model.generalization_loss_ == pytest.approx(
            generalization_loss(X, release, hierarchies=HIERARCHIES)
        )


def test_no_cut_can_be_added():
    """Of one column: any other round cut would leave fewer than k records on one side."""
    ages = np.random.default_rng(0).integers(20, 80, 40)
    release = TableAggregator(5, **DISJOINT).fit_transform(pd.DataFrame({"age": ages}))
    classes = {cell: np.sort(ages[release["age"] == cell]) for cell in release["age"].unique()}
    assert len(classes) > 3
    for members in classes.values():
        assert len(members) >= 5
        for cut in range(members[0] + 1, members[-1] + 1):
            assert min(np.sum(members < cut), np.sum(members >= cut)) < 5


def test_a_category_with_many_values_leaves_cuts_to_others():
    """Cut first, it would be the only one: 20 values of 6 records each cannot be divided by age."""
    X = pd.DataFrame({"town": np.arange(120) % 20, "age": 20 + np.arange(120) % 59})
    X["sex"], X["town"] = np.where(np.arange(120) // 20 % 2, "f", "m"), X["town"].astype(str)
    X["job"] = X["sex"] + (np.arange(120) // 40).astype(str)
    model = TableAggregator(6, **DISJOINT)
    release = model.fit_transform(X)
    assert release.groupby(list(X.columns)).size().min() >= 6
    assert {*release["town"]} == {"*"}
    assert model.generalization_loss_ < 0.6


@pytest.mark.slow
def test_people_strata_and_constraints():
    X = draw(600, share_missing=0).assign(
        person=np.arange(600) // 3, region=np.arange(600) % 2, ill=np.arange(600) % 5 < 2
    )
    X["ill"] |= X["age"] > 70
    roles = {"unit": "person", "strata": "region", "sensitive": "ill", "privacy": LDiversity(2)}
    model = TableAggregator(5, **roles, **DISJOINT)
    release = model.fit_transform(X)
    names = [*X.columns[:4], "region"]
    classes = X.assign(**release[names]).groupby(names)
    assert classes["person"].nunique().min() >= 5
    assert classes["ill"].nunique().min() == 2
    assert X["region"].groupby(model.labels_).nunique().max() == 1
    rows = {*release[names].itertuples(index=False, name=None)}
    new = model.transform(X.head(30))[names]
    assert {*new.itertuples(index=False, name=None)} <= rows
    assert model.builder_ is model.refiner_ is None


def test_dates_and_ordinal_values():
    rng = np.random.default_rng(0)
    levels = list("ABCD")
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), "D"),
            "level": pd.Categorical(rng.choice(levels, 400), levels, ordered=True),
        }
    )
    release = TableAggregator(5, **DISJOINT).fit_transform(X)
    spans = sorted({tuple(cell.strip("[]").split(", ")) for cell in release["day"]})
    assert len(spans) > 3
    for (_, last), (first, _) in pairwise(spans):
        assert pd.Timestamp(first) - pd.Timestamp(last) == pd.Timedelta(days=1)
    assert {*release["level"].unique()} == {*levels}


def test_what_it_needs():
    with pytest.raises(ValueError, match=r"^intervals='disjoint' needs"):
        TableAggregator(3, intervals="disjoint").fit(draw(20))
    with pytest.raises(ValueError, match=r"^intervals='nested'"):
        TableAggregator(3, intervals="nested").fit(draw(20))
