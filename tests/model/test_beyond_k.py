"""What a fitted model, and a release, tell about sensitive values and about people."""

import gc
import pickle
from collections import Counter
from types import FunctionType, ModuleType

import numpy as np
import pandas as pd
import pytest
from attacks.byte_search import found_in, recognizable
from attacks.lattice import TABLES, diagrams, precisions
from example_tables.numbers import in_units
from marks import in_one_case

from sk_microagg import MicroAggregator
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing

N = 397  # a prime number: no other array is as long by chance
RNG = np.random.default_rng(0)
INCOMES = recognizable(RNG.permutation(N).astype(float))
ILLNESSES = np.array([f"illness-{number}" for number in RNG.integers(0, 30, N)])
PATIENTS = np.array([f"patient-{number}" for number in RNG.integers(0, 90, N)])
NUMBERS = recognizable(RNG.integers(0, 90, N) + 0.5)
REGIONS = np.array(["region-north", "region-south"])[np.arange(N) % 2]
QUICK = {"refiner": Annealing(max_iter=5000), "random_state": 0}

FITS = {
    "t-closeness": (TCloseness(0.2), {"sensitive": INCOMES}),
    "l-diversity": (LDiversity(3), {"sensitive": ILLNESSES}),
    "text units": (None, {"unit": PATIENTS}),
    "units by number": (None, {"unit": NUMBERS}),
    "strata": (None, {"strata": REGIONS}),
    "frames": (
        [TCloseness(0.2, column="income"), LDiversity(2, column="illness")],
        {
            "sensitive": pd.DataFrame({"income": INCOMES, "illness": ILLNESSES}),
            "unit": pd.Series(PATIENTS),
            "strata": pd.DataFrame({"region": REGIONS}),
        },
    ),
}
FORMS = {"one block": {}, "blocks": {"block_size": 100}}


@pytest.fixture(
    name="model", scope="module", params=[(fit, form) for fit in FITS for form in FORMS], ids=str
)
def fitted_model(request):
    fit, form = request.param
    privacy, given = FITS[fit]
    aggregator = MicroAggregator(4, privacy=privacy, **QUICK, **FORMS[form])
    return aggregator.fit(in_units(N), **given)


def reachable(root):
    """All objects that an object leads to, but for classes, modules and functions."""
    found, queue = {}, [root]
    while queue:
        value = queue.pop()
        if id(value) in found or isinstance(value, type | ModuleType | FunctionType):
            continue
        found[id(value)] = value
        queue += gc.get_referents(value)
        if isinstance(value, np.ndarray) and value.base is not None:
            queue.append(value.base)
    return found.values()


def secrets():
    """Every single sensitive value and unit."""
    return {*INCOMES.tolist(), *ILLNESSES.tolist(), *PATIENTS.tolist(), *NUMBERS.tolist()}


@pytest.mark.slow_but_first
def test_no_object_of_a_model_is_a_sensitive_value_or_a_unit(model):
    for value in reachable(model):
        if isinstance(value, np.ndarray):
            assert not secrets() & {*value.ravel().tolist()}
            assert value.shape[:1] != (N,) or np.shares_memory(value, model.labels_)
        elif isinstance(value, str | float | np.generic):
            assert value not in secrets()
        assert not isinstance(value, pd.DataFrame | pd.Series)


def test_no_bytes_of_a_model_are_a_sensitive_value_or_a_unit(model):
    shipped = pickle.dumps(model)
    for marker in ("illness-", "patient-"):
        for encoding in ("utf-8", "utf-16-le", "utf-32-le"):  # arrays of text have the last one
            assert marker.encode(encoding) not in shipped
    assert not found_in(shipped, {*INCOMES.tolist(), *NUMBERS.tolist()})
    # Which strata there are must be known to `transform`.
    assert (b"region-" in shipped) == (model._strata is not None)
    assert shipped.count(b"region-") <= 2


@in_one_case("remembered", [INCOMES, ILLNESSES.tolist(), {"a": PATIENTS[:1]}])
def test_a_model_that_remembers_is_caught(remembered):
    model = MicroAggregator(4).fit(in_units(N))
    model._remembered = remembered
    with pytest.raises(AssertionError):
        test_no_object_of_a_model_is_a_sensitive_value_or_a_unit(model)
    model._strata = None
    with pytest.raises(AssertionError):
        test_no_bytes_of_a_model_are_a_sensitive_value_or_a_unit(model)


def test_a_copy_transforms_alike(model, new):
    copy = pickle.loads(pickle.dumps(model))
    strata = None if model._strata is None else np.resize(REGIONS, len(new))
    np.testing.assert_array_equal(
        copy.transform(new, strata=strata), model.transform(new, strata=strata)
    )


# An intruder who knows the records of a person finds their row in the release, and looks at who and
# what else is there.


def visits(seed):
    """Visits of 150 patients, some of whom come often; those of a patient are much alike."""
    rng = np.random.default_rng(seed)
    patients = np.repeat(
        np.arange(150), rng.choice([1, 2, 3, 12], size=150, p=[0.5, 0.2, 0.2, 0.1])
    )
    X = rng.normal(size=(150, 3))[patients] + rng.normal(scale=0.05, size=(len(patients), 3))
    return X, patients


def people_per_row(release, patients):
    """For each record, how many people have its row of the release."""
    rows = [tuple(row) for row in release]
    who = {}
    for row, patient in zip(rows, patients.tolist(), strict=True):
        who.setdefault(row, set()).add(patient)
    return np.array([len(who[row]) for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_person_hides_among_k_others_only_if_units_are_known(seed):
    # Another intruder deletes the records of all other people, whom he knows. What is left of a
    # group is the person's part of it. Without units, a whole group may be left: its centroid is
    # then a mean of this person's records alone, which needs no knowledge of others at all.
    X, patients = visits(seed)
    fewest, shares = [], []
    for given in ({}, {"unit": patients}):
        model = MicroAggregator(5, **QUICK)
        fewest.append(people_per_row(model.fit_transform(X, **given), patients).min())
        pairs = Counter(zip(model.labels_.tolist(), patients.tolist(), strict=True))
        sizes = np.bincount(model.labels_)
        shares.append(max(count / sizes[label] for (label, _), count in pairs.items()))
    assert fewest[0] == 1
    assert fewest[1] >= 5
    assert shares[0] == 1
    assert shares[1] < 1


def best_guesses(groups, values):
    """For each record, the share of the most frequent value in its group."""
    largest = {
        group: max(Counter(values[groups == group].tolist()).values()) / np.sum(groups == group)
        for group in np.unique(groups)
    }
    return np.array([largest[group] for group in groups])


@pytest.mark.slow
@in_one_case("t", [0.1, 0.2, 0.3])
def test_under_t_closeness_a_guess_is_hardly_better_than_without_a_release(t):
    # The illness depends on the quasi-identifiers.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    is_ill = X[:, 0] + rng.normal(scale=0.3, size=600) > 0.3
    prior = max(is_ill.mean(), 1 - is_ill.mean())
    values = np.where(is_ill, "ill", "healthy")
    model = MicroAggregator(5, privacy=TCloseness(t), **QUICK).fit(X, sensitive=values)
    assert best_guesses(model.labels_, values).max() <= prior + t + 1e-12
    free = MicroAggregator(5, **QUICK).fit(X)
    assert best_guesses(free.labels_, values).max() == 1 > prior + t
    # A copy of the model finds groups by their cells: it tells nothing of a new person, either. The
    # intruder takes the values released for the group.
    copy = pickle.loads(pickle.dumps(model))
    group_of = {tuple(centroid): group for group, centroid in enumerate(copy.centroids_)}
    shares = np.bincount(model.labels_, is_ill) / model.group_sizes_
    new = copy.transform(rng.normal(size=(300, 2)))
    found = shares[[group_of[tuple(row)] for row in new]]
    assert np.abs(found - is_ill.mean()).max() <= t + 1e-12


@pytest.mark.slow
def test_under_l_diversity_no_group_shares_one_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    values = np.digitize(X[:, 0] + rng.normal(scale=0.3, size=600), [-1, 0, 1])
    free = MicroAggregator(5, **QUICK).fit(X)
    assert best_guesses(free.labels_, values).max() == 1
    diverse = MicroAggregator(5, privacy=LDiversity(2), **QUICK).fit(X, sensitive=values)
    assert best_guesses(diverse.labels_, values).max() < 1
    entropy = MicroAggregator(5, privacy=LDiversity(2, "entropy"), **QUICK)
    entropy.fit(X, sensitive=values)
    # The most frequent of values with an entropy of log 2 has a share below this.
    assert best_guesses(entropy.labels_, values).max() < 0.9


# Cuts between blocks depend on k records on either side, which must be of k people.


@in_one_case("k", [5, 10])
def test_cuts_do_not_reveal_the_values_of_one_person(k):
    # The visits of one patient are in the middle of a column, and nearly equal.
    rng = np.random.default_rng(0)
    X, patients = rng.normal(size=(600, 2)) * [10, 1], np.arange(600)
    patients[:40] = 0
    X[:40, 0] = np.median(X[40:, 0]) + 1e-6 * rng.random(40)
    model = MicroAggregator(k, block_size=200, scaler=None, **QUICK)
    model.fit(X, unit=patients)
    assert model.n_blocks_ > 1
    # With people of one record each, values up to the k-th neighbor are possible.
    others = np.sort(np.abs(X[40:, 0] - X[0, 0]))
    assert np.nanmin(np.abs(model._cells.router.cut - X[0, 0])) > others[0] / 10


# Weights of models reveal no records, as without constraints.


ROLES = {"unique": ["strata", "t-closeness"], "twins": ["strata", "units"]}


# Each table with two roles; all pairs before a release.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "role"),
    [
        pytest.param(
            table, role, marks=[] if role in ROLES[table.split(", ")[1]] else pytest.mark.release
        )
        for table in sorted(TABLES)
        for role in ("strata", "units", "t-closeness")
    ],
)
def test_weights_do_not_reveal_records(table, role):
    X = TABLES[table]
    rng = np.random.default_rng(0)
    given = {
        "strata": {"strata": rng.integers(0, 2, len(X))},
        "units": {"unit": rng.integers(0, len(X) // 3, len(X))},
        "t-closeness": {"sensitive": rng.permutation(len(X))},
    }[role]
    privacy = TCloseness(0.2) if role == "t-closeness" else None
    # Enough steps for groups to be good: the default has forty times as many.
    refiner = Annealing(max_iter=100 * len(X))
    aggregator = MicroAggregator(5, privacy=privacy, refiner=refiner, random_state=0)
    aggregator.fit(X, **given)
    of_equal_slacks, of_best_slab = precisions(diagrams(pickle.loads(pickle.dumps(aggregator))), X)
    assert of_equal_slacks <= 1 / 5
    assert of_best_slab <= 1 / 5
