"""A fitted model holds no number of fewer than k records that the release does not show."""

import pickle
import struct
import warnings

import numpy as np
import pandas as pd
import pytest
from attacks.byte_search import found_in, rare_numbers, recognizable
from example_tables.mixed import HIERARCHIES, draw, ends_of
from marks import in_one_case
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sk_microagg import KAIM
from sk_microagg.datasets import fetch_adult, fetch_census
from sk_microagg.generalization import KMember
from sk_microagg.metrics import generalization_loss
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.tables import Hierarchy

K = 5


def integers():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.integers(10**11, 10**12, size=(300, 3)))


def heavy_tails():
    rng = np.random.default_rng(1)
    return pd.DataFrame(np.exp(3 * rng.normal(size=(250, 2)))).mask(rng.random((250, 2)) < 0.1)


def nearly_constant():
    rng = np.random.default_rng(2)
    X = np.tile([7.125, 1234.5, 0.0], (200, 1))
    X[[3, 77, 150], [0, 1, 2]] = rng.normal(size=3)
    return pd.DataFrame(X)


def shared_and_rare():
    rng = np.random.default_rng(3)
    values = rng.normal(size=40)
    return pd.DataFrame({"x": rng.choice(values, 300), "y": rng.normal(size=300)})


def mixed(share_missing):
    X = draw(200, seed=5, share_missing=share_missing)
    X["age"], X["income"] = recognizable(X["age"]), recognizable(X["income"])
    return X


def adult():
    X = fetch_adult(as_frame=True).data.iloc[:1500, :6]
    X["age"] = recognizable(X["age"].astype(float))
    return X


TABLES = {
    "mixed": lambda: mixed(0.0),
    "with missing values": lambda: mixed(0.3),
    "integers": lambda: integers(),
    "heavy tails, missing values": lambda: heavy_tails(),
    "nearly constant": lambda: nearly_constant(),
    "shared and rare": lambda: shared_and_rare(),
    "few records": lambda: recognizable(pd.DataFrame(load_wine().data[:12])),
    "wine": lambda: recognizable(pd.DataFrame(load_wine().data)),
    "diabetes": lambda: recognizable(pd.DataFrame(load_diabetes(scaled=False).data)),
    "breast cancer": lambda: recognizable(pd.DataFrame(load_breast_cancer().data[:, :8])),
    "Adult": adult,
    "Census": lambda: recognizable(pd.DataFrame(fetch_census().data)),
}
MODELS = {
    "intervals": KAIM(K, random_state=0),
    "midpoints": KAIM(K, output="midpoint", random_state=0),
    "iterated": KAIM(K, refiner=IteratedLocalSearch(max_iter=20), random_state=0),
    "k-member": KMember(K, random_state=0),
    "k-member, all kept": KMember(K, incomplete="keep", random_state=0),
}


# Each table with one model, small ones with two; before a release, all pairs.
LARGE = {"breast cancer", "Adult", "Census", "diabetes"}
PAIRS = [
    pytest.param(
        table,
        model,
        marks=[pytest.mark.release] * ((i + j) % 5 not in ((0,) if table in LARGE else (0, 2))),
    )
    for i, table in enumerate(TABLES)
    for j, model in enumerate(MODELS)
]


@pytest.fixture(name="use_table")
def table_of_a_name(request, monkeypatch):
    def use_table(name):
        files = {"Adult": "adult.csv", "Census": "census.csv"}
        if name in files:
            folder = request.getfixturevalue("data_folder")
            if not (folder / files[name]).exists():
                pytest.skip("needs the file in the folder that SK_MICROAGG_DATA names")
            monkeypatch.setenv("SK_MICROAGG_DATA", str(folder))
        X = TABLES[name]()
        X.columns = [f"c{j}" for j in range(X.shape[1])]
        return X

    return use_table


def secrets_of(X):
    return rare_numbers([X[name] for name in X if pd.api.types.is_numeric_dtype(X[name])], K)


def shown_numbers(release):
    """The numbers in a release, as ends of intervals or single."""
    shown = set()
    for cell in {*map(str, np.ravel(release))}:
        try:
            shown.update(ends_of(cell))
        except ValueError:
            continue  # a category
    return shown


def found(X, model):
    return found_in(pickle.dumps(model), secrets_of(X))


@pytest.mark.slow_but_first
@pytest.mark.parametrize(("table", "model"), PAIRS)
def test_a_model_holds_no_rare_number_that_is_not_released(use_table, table, model):
    X, model = use_table(table), clone(MODELS[model])
    release = model.fit_transform(X)
    assert secrets_of(X)
    assert found(X, model) <= shown_numbers(release)
    # And no number in the release is a rare one of its own group.
    assert found(X, release) <= shown_numbers(release)


@pytest.mark.parametrize("table", ["wine", "integers"])
def test_the_search_finds_hidden_numbers(table):
    X = TABLES[table]().iloc[:50, :2]
    model = clone(MODELS["midpoints"]).fit(X)
    assert not found(X, model)
    for secret in sorted(secrets_of(X))[::20]:
        for hidden in (np.array([secret]), np.float32([secret]), [secret], f"[{secret}, 0]"):
            model.hidden_ = hidden
            assert secret in found(X, model)
    if table == "integers":
        model.hidden_ = X.to_numpy()
        assert found(X, model) == secrets_of(X)


def test_the_search_finds_ends_that_are_rare_numbers():
    X = TABLES["wine"]()
    assert len(found(X, KAIM(K, grid=None, random_state=0).fit(X))) > 50


@pytest.mark.slow
def test_a_model_of_midpoints_holds_no_end_of_an_interval():
    X = TABLES["diabetes"]()
    model = clone(MODELS["midpoints"])
    middles = shown_numbers(model.fit_transform(X))
    stored = pickle.dumps(model)
    assert struct.pack("<d", max(middles)) in stored
    ends = shown_numbers(clone(MODELS["intervals"]).fit_transform(X)) - middles
    assert len(ends) > 50
    assert not [end for end in ends if abs(end) > 1 and struct.pack("<d", end) in stored]


@in_one_case("grid", ["auto", None])
@in_one_case("output", ["interval", "midpoint"])
@in_one_case("refiner", [None, IteratedLocalSearch(max_iter=3)])
@in_one_case("hierarchy", [Hierarchy.intervals(), Hierarchy.from_bins([0, 10, 10**9])])
def test_no_number_in_a_model_depends_on_suppressed_values(hierarchy, refiner, output, grid):
    models = []
    for secret in (1_234_567, 7_654_321):
        X = [[0, "a"], [1, "a"], [2, "b"], [3, "b"], [secret, "c"], [None, "c"]]
        kaim = KAIM(2, hierarchies={0: hierarchy}, refiner=refiner, output=output, grid=grid)
        state = vars(kaim.set_params(random_state=0).fit(X))
        if refiner is not None:
            state["refiner_"].trace_ = state["refiner_"].trace_[-1:, [0, 2]]  # without seconds
        models.append(pickle.dumps(state))
    assert models[0] == models[1]


def test_the_loss_can_be_computed_from_the_release():
    X = mixed(0.3)
    kaim = KAIM(4, hierarchies=HIERARCHIES, random_state=0)
    release = pd.DataFrame(kaim.fit_transform(X), columns=X.columns)
    # Somebody who knows which cells are missing, and of the others only what the release shows.
    guess = X.copy()
    for name in X:
        known = X[name].notna()
        if pd.api.types.is_numeric_dtype(X[name]):
            inside = [np.dot(ends_of(cell) or [np.nan] * 2, [0.3, 0.7]) for cell in release[name]]
            guess[name] = pd.Series(inside).fillna(np.nanmin(inside)).where(known)
    loss = generalization_loss(guess, release, hierarchies=HIERARCHIES)
    assert loss == pytest.approx(kaim.information_loss_, rel=1e-12)


@pytest.mark.parametrize("output", ["interval", "midpoint"])
def test_transform_after_pickling(output):
    X, new = mixed(0.2), draw(100, seed=9)
    new["age"], new["income"] = recognizable(new["age"]), recognizable(new["income"])
    kaim = KAIM(4, hierarchies=HIERARCHIES, output=output, random_state=0).fit(X)
    copy = pickle.loads(pickle.dumps(kaim))
    assert pd.DataFrame(copy.transform(new)).equals(pd.DataFrame(kaim.transform(new)))


def test_with_midpoints_a_record_is_assigned_to_the_nearest():
    X = np.repeat([[10.0, 0.0], [20.0, 0.0], [40.0, 0.0]], 3, axis=0)
    kaim = KAIM(3, output="midpoint", random_state=0).fit(X)
    new = np.array([[-5.0, 0], [14.9, 0], [15.1, 0], [29.0, 0], [31.0, 0], [99.0, 0]])
    assert kaim.transform(new)[:, 0].tolist() == [10, 10, 20, 20, 40, 40]


def test_midpoints_of_unseen_records_are_close():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(600, 2)), rng.normal(size=(300, 2))
    kaim = KAIM(K, output="midpoint", random_state=0)
    release = kaim.fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved = kaim.transform(new)
    mean_distance = np.abs(X - release).mean()
    assert np.abs(new - moved).mean() < 2 * mean_distance
