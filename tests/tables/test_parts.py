"""What is learned of a table does not depend on how it is divided, to the last bit."""

from dataclasses import fields, is_dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from example_tables.any_kind import draw_table
from marks import in_one_case

from sk_microagg._utils._decimals import Decimals
from sk_microagg.tables._coding import TableCoding, find_treatments, merge_surveys, survey_table
from sk_microagg.tables._dates import DateFacts
from sk_microagg.tables._values import People, Values, prototype_of

pytestmark = pytest.mark.filterwarnings("ignore:Means of .* are finer than:UserWarning")


def same(one, other):
    """Whether two objects hold the same, however deep, with the same types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and one.dtype != object:
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, pd.Series):
        return one.dtype == other.dtype and same([*one.array], [*other.array])
    if isinstance(one, pd.Index | np.ndarray):
        return same([*one], [*other])
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, dict):
        return same([*one], [*other]) and same([*one.values()], [*other.values()])
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "tocsr"):
        return same([one.data, one.indices, one.indptr], [other.data, other.indices, other.indptr])
    if type(one).__module__.startswith("sk_microagg"):
        return same(vars(one), vars(other))
    return one is other or bool(one == other) or (one != one and other != other)


def divided(rng, n):
    """Slices of n rows, some of them empty."""
    edges = np.sort(np.r_[0, rng.integers(0, n + 1, rng.integers(0, 7)), n])
    return [slice(*edge) for edge in pairwise(edges)]


def learn(table, units, k, parts, rng_options):
    numbers, categories, decimals = rng_options
    prototypes = {
        name: prototype_of(pd.concat([prototype_of(column.iloc[part]) for part in parts]))
        if column.dtype == object
        else column
        for name, column in table.items()
    }
    about = dict.fromkeys(table, decimals)
    treatments = find_treatments(prototypes, {}, {}, {}, about, numbers == "interval")
    most = np.inf if units is None else 2 * k
    keys = [None if units is None else units[part] for part in parts]
    surveys = [
        survey_table(table.iloc[part], treatments, own, most)
        for part, own in zip(parts, keys, strict=True)
    ]
    # Merged as a tree, as on Dask.
    while len(surveys) > 1:
        surveys = [
            merge_surveys(surveys[i : i + 2], treatments, most) for i in range(0, len(surveys), 2)
        ]
    coding = TableCoding.from_surveys(surveys[0], treatments, k, numbers, categories)
    rows = np.concatenate([coding.encode(table.iloc[part]) for part in parts])
    return surveys[0], coding, rows


@pytest.mark.slow_but_first
@pytest.mark.parametrize("start", range(0, 240, 60))
def test_a_table_is_learned_alike_however_it_is_divided(start):
    n_learned = 0
    for seed in range(start, start + 60):
        rng = np.random.default_rng(seed)
        table, k = draw_table(seed)
        units = rng.integers(0, max(len(table) // 2, 1), len(table)).astype(float)
        units = units if seed % 3 == 0 else None
        options = (
            ["mean", "median", "interval"][seed % 3],
            ["mode", "shares", "generalize"][seed // 3 % 3],
            ["auto", None, 1][seed // 9 % 3],
        )
        try:
            whole = learn(table, units, k, [slice(None)], options)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                learn(table, units, k, divided(rng, len(table)), options)
            continue
        n_learned += 1
        for attempt in range(3):
            parts = learn(table, units, k, divided(rng, len(table)), options)
            for one, other in zip(whole, parts, strict=True):
                assert same(one, other), (seed, attempt)
    assert n_learned > 40


@in_one_case("seed", range(20))
def test_decimals_do_not_depend_on_the_parts(seed):
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.normal(size=25_000) * 10.0 ** rng.integers(0, 9), rng.integers(0, 6))
    numbers[rng.integers(0, len(numbers), rng.integers(0, 400))] /= 3
    whole = Decimals.of_part(numbers)
    parts = Decimals.merged(
        [Decimals.of_part(numbers[part]) for part in divided(rng, len(numbers))]
    )
    assert same(whole, parts)


@in_one_case("seed", range(10))
def test_sums_of_dates_are_exact(seed):
    rng = np.random.default_rng(seed)
    ticks = rng.integers(-(2**62), 2**62, 1000)
    facts = DateFacts.of_part(ticks, 1)
    assert facts.total == sum(map(Fraction, ticks.tolist()))
    parts = [DateFacts.of_part(ticks[part], 1) for part in divided(rng, 1000)]
    assert DateFacts.merged(parts) == facts


@in_one_case("seed", range(5))
def test_people_of_a_value_are_counted_up_to_k(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 60)), int(rng.integers(1, 5))
    cells, keys = pd.Series(rng.choice([*"abcdefgh"], n)), rng.integers(0, 6, n).astype(float)
    values = Values.of_part(cells)
    people = People.of_part(values.positions(cells), keys, k)
    counted = dict(zip(values.known, people.counts(len(values.counts)).tolist(), strict=False))
    expected = {value: min(len({*own}), k) for value, own in pd.Series(keys).groupby(cells)}
    assert counted == expected
