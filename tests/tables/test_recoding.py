"""Disjoint intervals: every value is recoded in the same way, wherever it occurs."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from attacks.byte_search import found_in, rare_numbers, recognizable
from example_tables.any_kind import COLUMNS, draw_table
from example_tables.mixed import HIERARCHIES, draw
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.metrics import generalization_loss
from sk_microagg.privacy import LDiversity, PopulationSize

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


@settings(deadline=None)
@given(st.lists(st.integers(0, 12), min_size=4, max_size=40), st.sampled_from([1.0, 0.5]))
def test_each_value_is_in_exactly_one_interval(numbers, unit):
    values = np.array(numbers) * unit
    for k in (2, 3, 4):
        release = TableAggregator(k, **DISJOINT).fit_transform(pd.DataFrame({"x": values}))
        cells = [cell for cell in release["x"].unique() if cell != "*"]
        for value in values:
            assert sum(is_in(value, cell) for cell in cells) == (len(cells) > 0)


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


def test_rare_ordinal_values_are_in_no_interval_beside_them():
    """And values that nobody has leave no cells behind."""
    levels = list("xAyBCDz")
    grades = ["A"] * 6 + ["y"] + ["B"] * 6 + ["C"] * 6 + ["D"] * 6
    X = pd.DataFrame({"grade": pd.Categorical(grades, levels, ordered=True)})
    release = TableAggregator(4, **DISJOINT).fit_transform(X)
    assert release["grade"].tolist() == ["[A, B]"] * 13 + ["C"] * 6 + ["D"] * 6


def assert_transform_is_the_release(X, **parameters):
    model = TableAggregator(**parameters, **DISJOINT)
    release = model.fit_transform(X)
    assert model.exact_transform_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pd.testing.assert_frame_equal(model.transform(X), release)
    loaded = pickle.loads(pickle.dumps(model))
    order = np.random.default_rng(0).permutation(len(X))
    pd.testing.assert_frame_equal(loaded.transform(X.iloc[order]), release.iloc[order])
    return model, release


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_transform_of_columns_of_any_kind_is_the_release():
    n_released = 0
    for seed in range(len(COLUMNS)):
        X, k = draw_table(seed)
        try:
            model, _ = assert_transform_is_the_release(X, k=k)
        except TypeError as error:  # Others are errors of fit.
            assert "for which there are no intervals" in str(error)  # noqa: PT017
        else:
            n_released += model.n_groups_ > 1
    assert n_released > 15


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Column .* has mostly", "ignore:Most weights")
@in_one_case(
    "roles",
    [
        {},
        {"unit": "person", "strata": ["region", "ill"]},
        {
            "weight": "w",
            "weight_release": "mean",
            "strata": "region",
            "privacy": PopulationSize(120),
        },
        {"sensitive": "ill", "privacy": LDiversity(2), "weight": "w", "unit": "person"},
    ],
)
def test_transform_is_the_release(roles):
    for n, k, share_missing in ((80, 3, 0.02), (80, 80, 0.3), (400, 5, 0), (400, 5, 0.3)):
        X = draw(n, n + k, share_missing).assign(
            person=np.arange(n) // 2, region=np.arange(n) % 2, ill=np.arange(n) // 2 % 2, same=1.5
        )
        X["w"] = np.linspace(50, 60, n)
        X = pd.concat([X, X.iloc[: n // 4]], ignore_index=True)  # duplicates
        if k == 80 and roles:
            continue  # Strata have fewer records.
        others = {"person", "region", "ill", "w"} - {*np.hstack([*roles.values(), ""]).tolist()}
        parameters = {"hierarchies": HIERARCHIES, "drop": sorted(others), **roles}
        assert_transform_is_the_release(X, k=len(X) if k == 80 else k, **parameters)


def survey(n=900):
    """People of three towns, 20 to 39 or 60 to 79 years old, and nobody else."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 40, n) + 40.0 * (rng.random(n) < 0.5),
            "town": rng.choice(["Bonn", "Cork", "Ulm"], n),
            "country": rng.choice(["France", "Spain", "India"], n),
        }
    )


def test_a_new_row_is_recoded_by_its_values():
    X = survey()
    model = TableAggregator(5, hierarchies=HIERARCHIES, **DISJOINT)
    release = model.fit_transform(X)
    assert release["age"].nunique() > 4
    new = survey(300).sample(frac=1, random_state=0)
    cells = model.transform(new)
    assert all(map(is_in, new["age"], cells["age"]))
    assert (cells["town"] == new["town"]).all()
    # Beyond all intervals it is the outermost one, in a gap the one below.
    ages = release["age"].to_numpy()
    below, first = ages[X["age"].to_numpy() == 39][0], ages[X["age"].to_numpy() == 20][0]
    last = ages[X["age"].to_numpy() == 79][0]
    odd = new.iloc[:3].assign(age=[-7, 50, 140.0], town="Cork")
    cells = model.transform(odd)
    assert cells["age"].tolist() == [first, below, last]
    assert {*cells["town"]} == {"Cork"}


@pytest.mark.filterwarnings("ignore:Column .* has mostly")
def test_a_new_row_gets_a_class_of_the_release():
    X = survey().assign(region=lambda X: (X["age"] > 50).map({True: "old", False: "young"}))
    X.loc[:9, "town"] = None
    model = TableAggregator(5, strata="region", hierarchies=HIERARCHIES, **DISJOINT)
    rows = {*model.fit_transform(X).itertuples(index=False, name=None)}
    new = pd.DataFrame(
        {
            "age": [25, 70, None, 25, 25, 25, 1e9],
            "town": ["Bonn", "Bonn", "Bonn", None, "Rome", "Ulm", "Ulm"],
            "country": ["Spain", "Spain", "Spain", "Spain", "Spain", "Japan", None],
            "region": ["young", "young", "old", "young", "young", "young", "old"],
        }
    )
    cells = model.transform(new)
    assert {*cells.itertuples(index=False, name=None)} <= rows
    assert cells["region"].tolist() == new["region"].tolist()
    # An unseen category is released as a missing one, if there is such a class.
    assert cells["town"].tolist()[3:5] == ["*", "*"]
    assert model.score(new) < 0


@pytest.mark.filterwarnings("ignore:Column .* has mostly")
def test_a_model_holds_what_the_release_shows():
    X = draw(700, 1, 0.01)
    for name in ("age", "income"):
        X[name] = recognizable(X[name])
    X.loc[:2, "sex"] = "asked not to say"
    model = TableAggregator(5, hierarchies=HIERARCHIES, **DISJOINT)
    release = model.fit_transform(X)
    cells = {cell for name in ("age", "income") for cell in release[name]} - {"*"}
    shown = {end for cell in cells for end in ends(cell)[:2]}
    cuts = {cut for name in ("age", "income") for cut in model._recoding.texts_of[name].cuts}
    assert cuts
    assert cuts <= shown
    secrets, held = rare_numbers([X["age"], X["income"]], 5), pickle.dumps(model)
    assert len(secrets) > 500
    assert found_in(held, secrets) <= shown
    assert b"asked not" not in held
    assert not hasattr(model.release_only(), "_recoding")


def test_what_it_needs():
    with pytest.raises(ValueError, match=r"^intervals='disjoint' needs"):
        TableAggregator(3, intervals="disjoint").fit(draw(20))
    with pytest.raises(ValueError, match=r"^intervals='nested'"):
        TableAggregator(3, intervals="nested").fit(draw(20))


def test_few_columns_are_left_without_a_cut():
    """With the largest gain first, years would be cut finely, and speeds not at all."""
    rng = np.random.default_rng(369)
    n, k = int(rng.choice([200, 400, 800])), int(rng.choice([3, 5]))
    X = pd.DataFrame({"age": rng.integers(20, 80, n)})
    X["year"] = np.clip(2003 - rng.gamma(2, 4.5, n), 1953, 2003).astype(int)
    X["speed"] = rng.choice(list("abcde"), n, p=[0.4, 0.3, 0.2, 0.07, 0.03])
    for name in ("belted", "driver")[: int(rng.integers(0, 3))]:
        X[name] = rng.choice(["x", "y"], n, p=[0.8, 0.2])
    release = TableAggregator(k, **DISJOINT).fit_transform(X)
    assert release.groupby(list(X.columns)).size().min() >= k
    assert sum(release[name].nunique() == 1 for name in X) == 1
