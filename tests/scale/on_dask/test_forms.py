"""All forms of release, kinds of columns and constraints: engines release what memory does."""

import datetime
import pickle
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from marks import case, exact_means

from sk_microagg import TableAggregator
from sk_microagg.metrics import anonymity_level
from sk_microagg.privacy import (
    Dominance,
    LDiversity,
    PopulationSize,
    PPercent,
    TCloseness,
    UnitShare,
)
from sk_microagg.tables import Hierarchy

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask  # noqa: E402
from example_tables.threads import ThreadTable, ThreadTableAggregator  # noqa: E402

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
    pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups"),
    pytest.mark.filterwarnings("ignore:Column .* (is released as missing|has mostly)"),
]

N_PARTS = 4
SIZES = ["small", "medium", "large", "huge"]
TREE = {"pain": ["aspirin", "ibuprofen"], "blood": ["heparin", "warfarin"]}
NUMBERS, CATEGORIES = ("mean", "median", "interval"), ("mode", "shares", "generalize")
ROLES = [
    {},
    {"weight": "w", "weight_release": "mean"},
    {"unit": "person"},
    {"weight": "w", "strata": "region"},
    {"unit": "person", "weight": "w", "weight_release": "mean"},
]
ABOUT = {
    "hierarchies": {"drug": TREE},
    "ordinal": {"size": SIZES, "code": [10, 20, 50, 70, 99]},
    "categorical": ["floor"],
}


def draw(n=140, seed=0):
    """All kinds of columns, with gaps, values that few people have, and parts without any value."""
    rng = np.random.default_rng(seed)
    stages = pd.CategoricalDtype(["I", "II", "III", "IV", "none"], ordered=True)
    seconds = rng.integers(1_600_000_000, 1_700_000_000, n)
    drugs = ["aspirin", "ibuprofen", "heparin", "warfarin", None]
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 1, n).round(2),
            "visits": pd.array(rng.poisson(3, n), dtype="Int64"),
            "temperature": (rng.integers(350, 420, n) / 10).astype("float32"),
            "price": [Decimal(int(cents)) / 100 for cents in rng.integers(0, 10_000, n)],
            "birth": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9999, n), "D"),
            "seen": pd.to_datetime(seconds, unit="s", utc=True).tz_convert("Europe/Vienna"),
            "day": [datetime.date(2000, 1, 1 + int(day)) for day in rng.integers(0, 28, n)],
            "stage": pd.Series(pd.Categorical.from_codes(rng.integers(-1, 4, n), dtype=stages)),
            "size": rng.choice([*SIZES, None], n, p=[0.4, 0.3, 0.2, 0.02, 0.08]),
            "code": rng.choice([10, 20, 50, 70], n, p=[0.5, 0.3, 0.18, 0.02]),
            "ward": rng.choice(list("ABCDEF"), n),
            "blood": pd.Categorical(rng.choice(["A", "B", "0"], n), ["0", "A", "AB", "B"]),
            "town": [f"town {i}" for i in rng.geometric(0.15, n)],
            "smoker": rng.random(n) < 0.3,
            "floor": rng.integers(0, 4, n),
            "drug": rng.choice(drugs, n, p=[0.4, 0.3, 0.2, 0.02, 0.08]),
            "w": rng.lognormal(3, 0.3, n).round(1),
            "person": rng.integers(0, n // 2, n),
            "region": rng.choice(["north", "south"], n),
        }
    )
    for name in ("income", "visits", "town", "birth", "price"):
        table.loc[rng.random(n) < 0.1, name] = None
    table.loc[: n // N_PARTS, "town"] = None
    rows = rng.permutation(n)[: n // 8]
    table.loc[rows, "person"] = 0
    table.loc[rows, "ward"] = "at home"
    table.loc[rows[::2], "town"] = "Atlantis"
    table.loc[rows[::3], "stage"] = "none"
    table.loc[rows[1::2], "blood"] = "AB"
    table.loc[rows[::2], "code"] = 99
    return table


COLUMNS = [*draw().columns[:-3]]


def on_dask(table):
    return dd.from_pandas(table, npartitions=N_PARTS, sort=False)


def in_threads(table):
    return ThreadTable.of(table, N_PARTS)


ENGINES = {
    "dask": (DaskTableAggregator, on_dask),
    "threads": (ThreadTableAggregator, in_threads),
}


def in_memory(released):
    return released.compute() if hasattr(released, "compute") else released


def is_possible(numbers, categories, roles):
    return "weight" not in roles or (numbers != "median" and categories != "shares")


def is_its_turn(engine, place):
    """Whether an engine takes a combination: each is taken by one, as all steps are the same."""
    return place % len(ENGINES) == [*ENGINES].index(engine)


@pytest.fixture(autouse=True)
def objects_stay_objects():
    with dask.config.set({"dataframe.convert-string": False, "scheduler": "synchronous"}):
        yield


@pytest.mark.slow
@exact_means
@pytest.mark.parametrize("engine", ENGINES)
def test_every_form_of_release_is_that_in_memory(engine):
    table, new = draw(), draw(40, seed=1)
    for place, (numbers, categories, roles) in enumerate(product(NUMBERS, CATEGORIES, ROLES)):
        if not (is_possible(numbers, categories, roles) and is_its_turn(engine, place)):
            continue
        parameters = {"k": 4, "refiner": None, "block_size": [None, 60][place % 2]}
        parameters |= {"numbers": numbers, "categories": categories, **roles, **ABOUT}
        parameters |= {"decimals": "auto" if roles or place % 2 else None}
        parameters |= {"quasi_identifiers": COLUMNS}
        with case(numbers, categories, **roles):
            assert_is_that_in_memory(engine, place, table, new, parameters)


def assert_is_that_in_memory(engine, place, table, new, parameters):
    kind, parted = ENGINES[engine]
    memory = TableAggregator(**parameters)
    model = kind(shuffle=["disk", "memory"][place % 2], **parameters)
    expected = memory.fit_transform(table)
    release = in_memory(model.fit_transform(parted(table)))
    pd.testing.assert_frame_equal(release, expected, check_exact=True)
    assert model.kinds_ == memory.kinds_
    assert model.rounding_ == memory.rounding_
    assert model.n_blocks_ == memory.n_blocks_
    assert np.array_equal(np.sort(model.group_sizes_), np.sort(memory.group_sizes_))
    assert model.exact_transform_ == memory.exact_transform_
    assert model.information_loss_ == pytest.approx(memory.information_loss_)
    moved = in_memory(model.transform(parted(new)))
    pd.testing.assert_frame_equal(moved, memory.transform(new), check_exact=True)


ILLNESSES = Hierarchy.from_nested({"infection": ["flu", "cold"], "other": ["gout"]})
AMOUNTS = [Dominance(0.7, column="income"), PPercent(5, column="income")]
CONSTRAINTS = {
    "none": None,
    "several": [LDiversity(2, column="illness"), TCloseness(0.4, column="cost")],
    "l": LDiversity(3, column="illness"),
    "entropy": LDiversity(2, "entropy", column="illness"),
    "recursive": LDiversity(2, "recursive", c=3, column="illness"),
    "t of text": TCloseness(0.4, column="illness"),
    "t of numbers": TCloseness(0.3, column="cost"),
    "t in a tree": TCloseness(0.4, ILLNESSES, column="illness"),
    "share": UnitShare(0.5),
    "share and l": [UnitShare(0.6), LDiversity(2, column="illness")],
    "amounts": AMOUNTS,
    "population": [PopulationSize(120), LDiversity(2, column="illness")],
    "everything": [*AMOUNTS, UnitShare(0.6), PopulationSize(90), LDiversity(2, column="illness")],
}
UNDER_CONSTRAINTS = [
    {},
    {"unit": "person", "block_size": 60},
    {"strata": ["region", "band"], "block_size": 30, "refiner": "local_search"},
    {"weight": "w", "strata": "region", "refiner": "auto"},
    {"unit": "person", "strata": "band", "weight": "w", "weight_release": "mean"}
    | {"numbers": "interval", "categories": "generalize", "block_size": 60},
]


def needs(name):
    units = {"unit"} if name in ("share", "share and l", "everything") else set()
    return units | ({"weight"} if name in ("population", "everything") else set())


@pytest.mark.slow
@exact_means
@pytest.mark.filterwarnings("ignore:All records of a stratum are in one group")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_constraint_is_that_in_memory(engine, small_bundles):
    tables = []
    for n, seed in ((200, 0), (40, 1)):
        rng = np.random.default_rng(seed)
        tables.append(
            draw(n, seed).assign(
                illness=rng.choice(["flu", "gout", "cold", None], n, p=[0.4, 0.3, 0.2, 0.1]),
                cost=rng.integers(0, 9, n),
                band=rng.choice([1.0, 2.5, np.nan], n),
            )
        )
    columns = {"quasi_identifiers": ["age", "income", "temperature", "seen", "ward", "drug"]}
    columns |= {"sensitive": ["illness", "cost"], "hierarchies": {"drug": TREE}}
    for place, (name, roles) in enumerate(product(CONSTRAINTS, UNDER_CONSTRAINTS)):
        if not (needs(name) <= {*roles} and is_its_turn(engine, place)):
            continue
        parameters = {"k": 3, "refiner": None, "random_state": 0, **columns, **roles}
        with case(name, **roles):
            parameters["privacy"] = CONSTRAINTS[name]
            assert_is_that_in_memory(engine, place, *tables, parameters)


@pytest.mark.slow_but_first
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("numbers", "categories"), [("median", "shares"), ("mean", "mode")])
def test_a_model_holds_no_category_of_few_people_and_no_record(
    engine, numbers, categories, tmp_path
):
    kind, parted = ENGINES[engine]
    table = draw(200)
    table.loc[[0, 199], "town"] = ["Utopia", "Xanadu"]
    parameters = {"numbers": numbers, "categories": categories, "refiner": None, **ABOUT}
    model = kind(4, quasi_identifiers=COLUMNS, folder=tmp_path, **parameters)
    release = in_memory(model.fit_transform(parted(table)))
    assert anonymity_level(release.drop(columns=["w", "person", "region"])) >= 4
    held = pickle.dumps(model) + b"".join(file.read_bytes() for file in tmp_path.rglob("*.*"))
    assert b"Utopia" not in held
    assert b"Xanadu" not in held
    rare = table["income"][~table["income"].isin(release["income"])].dropna()
    assert len(rare) > 100
    assert not any(np.float64(income).tobytes() in held for income in rare)


def test_values_that_one_member_has_decide_no_rounding():
    """On Dask as well, gaps between values do not count those that groups hide."""
    table = pd.DataFrame({"age": np.repeat(np.arange(30), 4), "income": np.nan})
    table.loc[::4, "income"] = np.random.default_rng(0).normal(size=30) * 100
    table.loc[1::8, "income"] = np.arange(15) * 10.0
    memory, model = TableAggregator(4, refiner=None), DaskTableAggregator(4, refiner=None)
    expected = memory.fit_transform(table)
    release = model.fit_transform(on_dask(table)).compute()
    pd.testing.assert_frame_equal(release, expected)
    assert model.rounding_ == memory.rounding_
