"""Generated tables with columns of every kind, in pandas, polars, Arrow and NumPy."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

MICHIGAN = "America/Detroit"
BERLIN = "Europe/Berlin"


def _some(values):
    """A column of objects that are drawn from a list."""
    return lambda rng, n: _objects(_draw(rng, values, n))


def _draw(rng, values, n):
    return [values[position] for position in rng.integers(0, len(values), n)]


def _objects(cells):
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return pd.Series(column, dtype=object)


def _with_missing(rng, cells, share=0.3):
    missing = rng.random(len(cells)) < share
    return [None if is_missing else cell for cell, is_missing in zip(cells, missing, strict=True)]


def _numbers(dtype, low, high):
    return lambda rng, n: pd.Series(rng.integers(low, high, n).astype(dtype))


def _nullable(dtype, low, high):
    return lambda rng, n: pd.Series(
        _with_missing(rng, rng.integers(low, high, n).tolist()), dtype=dtype
    )


def _floats_with_missing(rng, n):
    return pd.Series(_with_missing(rng, rng.normal(size=n).tolist()), dtype="float64")


def _one_known(rng, n):
    cells = np.full(n, np.nan)
    cells[rng.integers(n)] = 17.25
    return pd.Series(cells)


def _zeros_of_both_signs(rng, n):
    return pd.Series(rng.choice([0.0, -0.0, 0.5, -0.5], n))


def _text(values):
    return lambda rng, n: pd.Series(_with_missing(rng, _draw(rng, values, n), 0.1))


def _codes(rng, n):
    """Every record has a value of its own."""
    return pd.Series([f"code {number:05d}" for number in rng.permutation(n)])


def _all_but_one(rng, n):
    cells = ["common"] * n
    cells[rng.integers(n)] = "unique"
    return pd.Series(cells)


def _categorical(values, *, ordered=False, unused=()):
    dtype = pd.CategoricalDtype([*values, *unused], ordered=ordered)
    return lambda rng, n: pd.Series(_with_missing(rng, _draw(rng, values, n), 0.1), dtype=dtype)


def _complete_categorical(rng, n):
    return pd.Series(_draw(rng, ["red", "green", "blue"], n), dtype="category")


def _rare_categories(rng, n):
    return pd.Series(_draw(rng, [f"shade {j}" for j in range(n)], n), dtype="category")


def _days(rng, n):
    days = np.datetime64("1950-01-01") + rng.integers(0, 25_000, n)
    return pd.Series(days.astype("M8[s]"))


def _instants(unit, zone=None):
    def make(rng, n):
        seconds = rng.integers(0, 2 * 10**9, n).astype("M8[s]").astype(f"M8[{unit}]")
        column = pd.Series(seconds, dtype=f"M8[{unit}]")
        column[rng.random(n) < 0.1] = pd.NaT
        return column if zone is None else column.dt.tz_localize("UTC").dt.tz_convert(zone)

    return make


def _around_a_clock_change(start, zone):
    def make(rng, n):
        minutes = pd.to_timedelta(rng.integers(-180, 180, n), unit="min")
        column = pd.Series(pd.Timestamp(start) + minutes)
        return column.dt.tz_localize("UTC").dt.tz_convert(zone)

    return make


def _midnights_of_a_zone(rng, n):
    days = pd.Series(pd.Timestamp("2024-03-25") + pd.to_timedelta(rng.integers(0, 15, n), unit="D"))
    return days.dt.tz_localize(BERLIN)


def _durations(rng, n):
    return pd.Series(pd.to_timedelta(_with_missing(rng, rng.integers(0, 10**6, n).tolist()), "s"))


def _periods(frequency):
    def make(rng, n):
        ordinals = _with_missing(rng, rng.integers(500, 700, n).tolist(), 0.1)
        cells = [
            pd.NaT if ordinal is None else pd.Period(ordinal=ordinal, freq=frequency)
            for ordinal in ordinals
        ]
        return pd.Series(cells, dtype=f"period[{frequency}]")

    return make


def _date_objects(rng, n):
    cells = [date(1990, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 9999, n)]
    return _objects(_with_missing(rng, cells, 0.1))


def _datetime_objects(zone=None):
    def make(rng, n):
        minutes = rng.integers(0, 10**6, n)
        start = datetime(2001, 3, 4, 5, 6, tzinfo=zone)
        return _objects([start + timedelta(minutes=int(m)) for m in minutes])

    return make


def _far_datetime_objects(rng, n):
    years = rng.choice([1, 1600, 2000, 9999], n)
    return _objects([datetime(int(year), 1, 1) for year in years])


def _datetimes_of_two_zones(rng, n):
    zones = [timezone(timedelta(hours=h)) for h in (1, 2)]
    return _objects([datetime(2024, 3, 4, tzinfo=zone) for zone in _draw(rng, zones, n)])


def _decimals(rng, n):
    cells = [Decimal(int(cents)).scaleb(-2) for cents in rng.integers(-500, 10_000, n)]
    return _objects(_with_missing(rng, cells, 0.1))


def _intervals(rng, n):
    return pd.Series(pd.cut(rng.normal(size=n), [-9, -1, 0, 1, 9])).astype(object)


NOT_COUNTED = ["1", "True", "1.0", None, "", " ", "*", "nan", "None", (1, 2)]


def _mixed_objects(rng, n):
    """Objects of many types, with numbers or booleans: both are an error, since True equals 1."""
    counted = [[1, 1.0], [True, False]][rng.integers(2)]
    return _objects(_draw(rng, [*counted, *NOT_COUNTED], n))


# Each draws a column of n cells.
COLUMNS = {
    "int64": _numbers("int64", -50, 50),
    "int8": _numbers("int8", -128, 128),
    "uint8": _numbers("uint8", 0, 256),
    "uint64": _numbers("uint64", 0, 1000),
    "few integers": _numbers("int64", 0, 2),
    "float64": lambda rng, n: pd.Series(rng.normal(size=n)),
    "float32": lambda rng, n: pd.Series(rng.integers(0, 500, n).astype("float32") / 10),
    "float16": lambda rng, n: pd.Series(rng.integers(0, 500, n).astype("float16")),
    "cents": lambda rng, n: pd.Series(rng.integers(0, 10**6, n) / 100),
    "large and small": lambda rng, n: pd.Series(rng.choice([1e-300, 1.0, 1e16, -1e30], n)),
    "constant number": lambda rng, n: pd.Series(np.full(n, 7.1)),
    "zeros of both signs": _zeros_of_both_signs,
    "floats with missing": _floats_with_missing,
    "one known number": _one_known,
    "no number": lambda rng, n: pd.Series(np.full(n, np.nan)),
    "Int64": _nullable("Int64", -9, 99),
    "UInt8": _nullable("UInt8", 0, 256),
    "Float64": _nullable("Float64", 0, 50),
    "boolean": _nullable("boolean", 0, 2),
    "no Int64": lambda rng, n: pd.Series([None] * n, dtype="Int64"),
    "bool": lambda rng, n: pd.Series(rng.random(n) < 0.3),
    "bool objects": _some([True, False, None]),
    "constant bool": lambda rng, n: pd.Series(np.full(n, True)),
    "codes above 2**53": _numbers("int64", 2**53, 2**53 + 4),
    "codes of one each": lambda rng, n: pd.Series(2**60 + rng.permutation(n)),
    "codes above 2**63": lambda rng, n: pd.Series(rng.integers(0, 3, n).astype("u8") + 2**63),
    "Int64 codes": _nullable("Int64", 2**53 - 2, 2**53 + 2),
    "huge integers": _some([2**70, 2**70 + 1, -(2**80), None]),
    "arrow integers": lambda rng, n: pd.Series(
        _with_missing(rng, rng.integers(0, 99, n).tolist()), dtype="int16[pyarrow]"
    ),
    "text": _text(["Ann Arbor", "Detroit", "Flint", ""]),
    "unicode": _text(["Köln", "Ko\u0308ln", "東京", "🦊", "naïve\u200b", "a\nb", 'a"b;,']),
    "text of objects": _some(["a", "b", "c", None, np.nan]),
    "strings": lambda rng, n: pd.Series(_draw(rng, ["x", "y", None], n), dtype="string"),
    "digits": _text(["01", "1", "1.0", "001"]),
    "codes": _codes,
    "all but one": _all_but_one,
    "constant text": lambda rng, n: pd.Series(["same"] * n),
    "no text": lambda rng, n: _objects([None] * n),
    "categorical": _categorical(["north", "south", "east"], unused=["west"]),
    "complete categorical": _complete_categorical,
    "rare categories": _rare_categories,
    "categorical numbers": _categorical([10, 20, 30], unused=[40]),
    "ordered": _categorical(["low", "middle", "high"], ordered=True, unused=["highest"]),
    "ordered numbers": _categorical(list(range(9)), ordered=True),
    "no category": lambda rng, n: pd.Series([None] * n, dtype=pd.CategoricalDtype(["p", "q"])),
    "days": _days,
    "seconds": _instants("s"),
    "milliseconds": _instants("ms"),
    "nanoseconds": _instants("ns"),
    "zone": _instants("us", BERLIN),
    "zone of nanoseconds": _instants("ns", MICHIGAN),
    "clock goes back": _around_a_clock_change("2023-10-29 01:00", BERLIN),
    "clock goes forward": _around_a_clock_change("2024-03-31 01:00", BERLIN),
    "midnights of a zone": _midnights_of_a_zone,
    "no date": lambda rng, n: pd.Series([pd.NaT] * n, dtype="M8[ns]"),
    "durations": _durations,
    "months": _periods("M"),
    "quarters": _periods("Q"),
    "date objects": _date_objects,
    "datetime objects": _datetime_objects(),
    "datetimes in UTC": _datetime_objects(UTC),
    "datetimes of two zones": _datetimes_of_two_zones,
    "far datetimes": _far_datetime_objects,
    "times": _some([time(1, 2), time(13, 2), None]),
    "duration objects": _some([timedelta(days=1), timedelta(days=2, hours=1), None]),
    "Decimal": _decimals,
    "mixed objects": _mixed_objects,
    "numbers and text": _some([1, 2.5, "n/a", None]),
    "bytes": _some([b"a", b"\xff\x00"]),
    "intervals": _intervals,
    "uuid-like tuples": _some([("a", 1), ("b", 2)]),
}

# What polars and Arrow have no type for.
NOT_OF_ARROW = {
    "float16",
    "huge integers",
    "months",
    "quarters",
    "datetimes of two zones",
    "mixed objects",
    "numbers and text",
    "intervals",
    "uuid-like tuples",
    "categorical numbers",  # polars has categories of text only
    "ordered numbers",
}

NAMES = {
    "text": lambda j: f"column {j}",
    "unicode": lambda j: f"straße {j} = 🦊",
    "integers": lambda j: 10 * j + 3,
    "tuples": lambda j: ("level", j),
}


def draw_table(seed, library="pandas"):
    """A table of 1 to 5 columns of any kinds with a few records, and k.

    Parameters
    ----------
    seed : int
        Every seed gives another table.

    library : {"pandas", "polars", "arrow", "numpy"}
        The type of the table.

    Returns
    -------
    table : DataFrame of pandas or polars, Table of pyarrow, or ndarray
        The table.

    k : int
        From 1 to the number of records.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.choice([1, 2, 3, 5]))
    n = int(rng.choice([k, 2 * k - 1, 2 * k, 30]))
    possible = sorted(COLUMNS.keys() - (NOT_OF_ARROW if library in ("polars", "arrow") else set()))
    # Every kind comes once in as many tables as there are kinds.
    kinds = [possible[seed % len(possible)], *rng.choice(possible, rng.integers(0, 5))]
    columns = [COLUMNS[kind](rng, n) for kind in kinds]
    as_text = library in ("polars", "arrow")
    name_of = NAMES["text" if as_text else sorted(NAMES)[rng.integers(len(NAMES))]]
    names = pd.Index([name_of(j) for j in range(len(columns))], tupleize_cols=False)
    frame = pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)
    if library == "pandas":
        return frame.set_axis(pd.Index(rng.permutation(n) // 2, name="row")), k
    return as_type(frame, library), k


def as_type(frame, library):
    """A table of pandas as one of another library."""
    if library == "numpy":
        return frame.to_numpy(dtype=object)
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return table if library == "arrow" else pl.from_arrow(table)
