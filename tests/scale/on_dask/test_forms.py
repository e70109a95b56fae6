"""Every form of release, with all kinds of columns: what engines release is what memory does."""

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


# Strata and units are counted on Dask only.
ENGINES = {
    "dask": (DaskTableAggregator, on_dask, ROLES),
    "threads": (ThreadTableAggregator, in_threads, ROLES[:2]),
}


def in_memory(released):
    return released.compute() if hasattr(released, "compute") else released


def is_possible(numbers, categories, roles):
    return "weight" not in roles or (numbers != "median" and categories != "shares")


@pytest.fixture(autouse=True)
def objects_stay_objects():
    with dask.config.set({"dataframe.convert-string": False, "scheduler": "synchronous"}):
        yield


@pytest.mark.slow
@exact_means
@pytest.mark.parametrize("engine", ENGINES)
def test_every_form_of_release_is_that_in_memory(engine):
    kind, parted, all_roles = ENGINES[engine]
    table, new = draw(), draw(40, seed=1)
    for place, (numbers, categories, roles) in enumerate(product(NUMBERS, CATEGORIES, all_roles)):
        if not is_possible(numbers, categories, roles):
            continue
        parameters = {"k": 4, "refiner": None, "block_size": [None, 60][place % 2]}
        parameters |= {"numbers": numbers, "categories": categories, **roles, **ABOUT}
        parameters |= {"decimals": "auto" if roles or place % 2 else None}
        with case(numbers, categories, **roles):
            memory = TableAggregator(quasi_identifiers=COLUMNS, **parameters)
            model = kind(
                quasi_identifiers=COLUMNS, shuffle=["disk", "memory"][place % 2], **parameters
            )
            expected = memory.fit_transform(table)
            release = in_memory(model.fit_transform(parted(table)))
            pd.testing.assert_frame_equal(release, expected, check_exact=True)
            assert model.kinds_ == memory.kinds_
            assert model.rounding_ == memory.rounding_
            assert model.n_blocks_ == memory.n_blocks_
            assert model.exact_transform_ == memory.exact_transform_
            assert model.information_loss_ == pytest.approx(memory.information_loss_)
            moved = in_memory(model.transform(parted(new)))
            pd.testing.assert_frame_equal(moved, memory.transform(new), check_exact=True)


@pytest.mark.slow_but_first
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("numbers", "categories"), [("median", "shares"), ("mean", "mode")])
def test_a_model_holds_no_category_of_few_people_and_no_record(
    engine, numbers, categories, tmp_path
):
    kind, parted, _ = ENGINES[engine]
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
