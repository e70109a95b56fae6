"""What a model fitted on a whole table, and its release, tell of single records."""

import gc
import pickle
from collections import Counter
from copy import copy
from types import FunctionType, ModuleType

import numpy as np
import pandas as pd
import pyarrow
import pytest
from attacks.byte_search import found_in, rare_numbers, recognizable
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.privacy import LDiversity
from sk_microagg.tables._encoder import LOST

# Of the codes, which all differ, nothing comes out.
pytestmark = pytest.mark.filterwarnings(f"ignore:{LOST}")

N = 211  # a prime number: no other array is as long by chance
K = 5


def rare(rng, word, n_common=6):
    """Text of which some values are frequent, and others have one to three records each."""
    common = [f"{word}-common-{j}" for j in range(n_common)]
    cells = [common[j] for j in rng.integers(0, n_common, N)]
    for j, record in enumerate(rng.permutation(N)[:60]):
        cells[record] = f"{word}-rare-{j // (1 + j % 3)}"
    return cells


def table(seed=0):
    rng = np.random.default_rng(seed)
    values = pd.DataFrame(
        {
            "city": rare(rng, "city"),
            "job": pd.Series(rare(rng, "job"), dtype="category"),
            "level": pd.Series(rare(rng, "level"), dtype="category").cat.as_ordered(),
            "grade": rare(rng, "grade"),
            "number": recognizable(rng.normal(size=N)),
            "holes": np.where(rng.random(N) < 0.5, np.nan, recognizable(rng.normal(size=N))),
            "few": np.where(np.arange(N) < K - 1, recognizable(rng.normal(size=N)), np.nan),
            "code": 2**60 + 123_456_789_012_345 + rng.permutation(N) * 1_000_003,
            "illness": [f"illness-{j}" for j in rng.integers(0, 30, N)],
            "cost": recognizable(rng.lognormal(size=N)),
            "patient": [f"patient-{j}" for j in rng.integers(0, 80, N)],
            "name": [f"name-{j}" for j in range(N)],
        }
    )
    return values.set_axis([f"index-{j}" for j in range(N)])


TEXT = ["city", "job", "level", "grade"]
NUMBERS = ["number", "holes", "few"]
ROLES = {"ordinal": ["grade"], "unit": "patient", "drop": "name", "sensitive": ["illness", "cost"]}
MODELS = {
    "mode": {},
    "shares": {"categories": "shares"},
    "generalize": {"categories": "generalize"},
    "blocks": {"block_size": 60},
    "privacy": {"privacy": LDiversity(2, column="illness")},
    "no weights": {"refiner": None},
}


@pytest.fixture(name="fitted", params=[*MODELS, "arrow"], scope="module")
def fitted_model(request):
    X = table()
    model = TableAggregator(K, **ROLES, **MODELS.get(request.param, {}), random_state=0)
    if request.param == "arrow":
        release = model.fit_transform(pyarrow.Table.from_pandas(X, preserve_index=False))
        return X, model, release.to_pandas()
    return X, model, model.fit_transform(X)


def rare_text(X, release):
    """Text that fewer than k records have, and that the release does not show."""
    hidden = {*X["illness"], *X["patient"], *X["name"], *X.index}
    shown = {cell for name in TEXT if name in release for cell in release[name].dropna()}
    for name in TEXT:
        hidden |= {value for value, n in Counter(X[name]).items() if n < K}
    return hidden - shown


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


@pytest.mark.slow_but_first
def test_no_category_unless_k_records_share_it_or_two_of_a_group(fitted):
    X, model, release = fitted
    if not {*TEXT} <= {*release}:
        assert not [name for name in release if "rare" in name]
        return
    for name in ("city", "job"):
        counts = Counter(X[name])
        for label in range(model.n_groups_):
            members = np.flatnonzero(model.labels_ == label)
            (value,) = {*release[name].iloc[members].astype(object).where(lambda c: c.notna(), "*")}
            in_group = [*X[name].iloc[members]].count(value)
            assert value == "*" or counts[value] >= K or in_group >= 2
    for name in ("level", "grade"):
        counts = Counter(X[name])
        assert all(counts[value] >= K for value in release[name].dropna())


@pytest.mark.slow_but_first
def test_types_of_the_release_list_no_rare_category(fitted):
    X, _, release = fitted
    for name in ("job", "level"):
        if name in release and isinstance(release[name].dtype, pd.CategoricalDtype):
            counts, shown = Counter(X[name]), {*release[name].dropna()}
            listed = {*release[name].cat.categories}
            assert {value for value in listed if 0 < counts[value] < K} <= shown
            assert {value for value, n in counts.items() if n >= K} <= listed


@pytest.mark.slow_but_first
def test_no_object_of_a_model_is_a_rare_value(fitted):
    X, model, release = fitted
    hidden = rare_text(X, release) | {*X["cost"], *rare_numbers(X[NUMBERS].to_numpy().T, K)}
    hidden |= {*X["code"].tolist()}
    assert len(hidden) > 3 * N
    for value in reachable(model):
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "OUfi":
                assert not hidden & {*value.ravel().tolist()}
            assert value.shape[:1] != (N,) or np.shares_memory(value, model.labels_)
        elif isinstance(value, str | float | int | np.generic):
            assert value not in hidden


@pytest.mark.slow_but_first
def test_no_bytes_of_a_model_are_a_rare_value(fitted):
    X, model, release = fitted
    shipped = pickle.dumps(model)
    for text in rare_text(X, release):
        for encoding in ("utf-8", "utf-16-le", "utf-32-le"):
            # Followed by another letter, it is another value.
            ends = shipped.replace(text.encode(encoding), b"\0found\0")
            following = [part[:1] for part in ends.split(b"\0found\0")[1:]]
            assert all(letter.isdigit() for letter in following), text
    secrets = rare_numbers([*X[NUMBERS].to_numpy().T, X["cost"]], K)
    assert not found_in(shipped, secrets)
    assert not [code for code in X["code"].tolist() if code.to_bytes(8, "little") in shipped]


@pytest.fixture(name="plain", scope="module")
def plain_model():
    X = table()
    model = TableAggregator(K, **ROLES, random_state=0)
    return X, model, model.fit_transform(X)


@pytest.mark.slow
@in_one_case("remembered", ["level", "number", "few", "cost", "city", "name", "code"])
def test_a_model_that_remembers_is_caught(plain, remembered):
    X, model, release = plain
    remembering = copy(model)
    remembering._remembered = X[remembered].to_numpy(copy=True)[:40].tolist()
    with pytest.raises(AssertionError):
        test_no_object_of_a_model_is_a_rare_value((X, remembering, release))
    with pytest.raises(AssertionError):
        test_no_bytes_of_a_model_are_a_rare_value((X, remembering, release))


@pytest.mark.slow
def test_a_copy_transforms_alike(fitted):
    _, model, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    new = table(1)
    ours, theirs = again.transform(new), model.transform(new)
    if isinstance(ours, pyarrow.Table):
        ours, theirs = ours.to_pandas(), theirs.to_pandas()
    pd.testing.assert_frame_equal(ours, theirs)
    pd.testing.assert_frame_equal(again.format(new), model.format(new))
    assert again.score(new) == model.score(new)


def test_rare_values_do_not_keep_transform_from_being_exact():
    X = table()
    model = TableAggregator(K, quasi_identifiers=["city", "job", "level", "grade", "number"])
    model.set_params(ordinal=["grade"], drop=["patient", "name"], sensitive=["illness", "cost"])
    release = model.fit_transform(X)
    assert model.exact_transform_
    pd.testing.assert_frame_equal(model.transform(X), release)
