"""Release a Parquet table that may be larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.base import compute
from dask.delayed import delayed
from joblib import effective_n_jobs

from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._rounding import Rounding
from sk_microagg._utils._writing import TemporaryFolder
from sk_microagg.files._column_kinds import check_type, column_of_type
from sk_microagg.files._columns import Column
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import Message, Option, RequestError, one_line, reason
from sk_microagg.files._mistyped import hint_at_codes
from sk_microagg.files._notations import NumberNotation
from sk_microagg.files._table import random_numbers, shuffled
from sk_microagg.metrics import anonymity_level, unchanged_uniqueness
from sk_microagg.metrics._determined import SAMPLE_SIZE
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.release._cautions import (
    LONG_TEXT,
    fact_on_singled_out,
    is_identifier,
    is_named_as_people_are,
    may_be_free_text,
    names_people,
    warn_of_determined,
    warn_of_disclosed,
    warn_of_free_text,
    warn_of_identifiers,
    warn_of_redundant,
    warn_of_several_rows,
    warn_of_singled_out,
)
from sk_microagg.release._checks import check_level, check_loss
from sk_microagg.release._demands import (
    facts_on_demands,
    make_constraints,
    warn_of_large_units,
    warnings_as_messages,
)
from sk_microagg.release._plan import DEFAULTS, GENERALIZED, make_refiner, read_hierarchies
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._roles import check_effects, roles_of
from sk_microagg.release._summary import Fact, describe_averages, generalized_in_words, summarize
from sk_microagg.release._totals import (
    Sums,
    added,
    changed_totals,
    warn_of_changed_totals,
    weighted_sums,
)
from sk_microagg.scale import DaskTableAggregator
from sk_microagg.scale._dask_table import DaskTable
from sk_microagg.scale._files import written_by_worker
from sk_microagg.scale._parquet import (
    Release,
    path_of_part,
    read,
    read_parquet,
    schema_of,
    write,
)

# Up to this number of distinct values, the count is exact; beyond, it is estimated from a sample of
# this size.
N_KEYS = 100_000


def types_of(frame: Any, schema: pa.Schema, names: Sequence[str]) -> dict:
    """The types of columns; an index without a name, and names of folders, are not in the files."""
    types = {}
    for name in names:
        if name in schema.names:
            kind = schema.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        else:
            kind = pa.Schema.from_pandas(frame._meta[[name]], preserve_index=False).field(0).type
        check_type(name, kind)
        types[name] = kind
    return types


def columns_of_first_part(frame: Any, types: dict, declared: Declared) -> list[Column]:
    """Columns of numbers and dates with the values of the first partition, to look for codes in."""
    names = [
        name
        for name, kind in types.items()
        if name not in declared.kinds and (pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
    ]
    rows = frame[names].partitions[0].compute()
    cells = pa.Table.from_pandas(rows, preserve_index=False)
    return [
        column_of_type(cells[name], name, Format(), declared, rounds_floats=False) for name in names
    ]


def describe_on_dask(
    aggregator: Any, types: dict, declared: Declared, n_missing: dict
) -> list[dict]:
    """Columns in words; `n_missing` says how many released cells of each are missing."""
    columns = []
    for encoded in aggregator._space._columns:
        name = encoded.name
        how = "declared as categories" if name in declared.kinds else f"type {types[name]}"
        kind = encoded.kind
        if kind == "hierarchy":
            kind, how = "category", "it has a hierarchy"
        is_averaged = encoded.kind in ("number", "date")
        column = Column(name, kind, how, None, NumberNotation() if is_averaged else None)
        rounding = aggregator.rounding_.get(name, Rounding())  # Intervals are not rounded.
        about = describe_averages(column, n_missing[name] > 0, rounding)
        if aggregator.numbers == "interval":
            about["released"] = generalized_in_words(column, aggregator.hierarchies or {})
        elif encoded.kind == "ordinal":
            about["released"] = "shared value next to the mean rank"
        if n_missing[name] == aggregator.n_rows_:
            about["released"] = "empty cells"
        columns.append(about)
    return columns


def count_on_dask(frame: Any, columns: Sequence[str]) -> dict:
    """Number of distinct known values of each column, and of all that are known.

    Values are compared by hashes of 64 bits, their keys. Beyond `N_KEYS` distinct ones, those with
    the smallest keys are a random sample of the values, with all occurrences of each.
    """
    if not columns:
        return {}
    table = DaskTable(frame)
    by_column = table.merge(table.map(columns, _count_keys), _merged)
    return {
        name: (len(counts), int(counts.sum()))
        for name, counts in zip(columns, by_column, strict=True)
    }


def several_rows_on_dask(counts: dict, columns: Sequence[str]) -> dict[str, str]:
    lines = {}
    for name in columns:
        n_values, n_rows = counts[name]
        if names_people(n_values, n_rows) and is_named_as_people_are(name):
            lines[name] = (
                f"{n_values} different values in {n_rows} rows"
                if n_values < N_KEYS
                else f"{n_rows / n_values:.2g} rows per value on average"
            )
    return lines


def _count_keys(frame: pd.DataFrame, part: int) -> list[pd.Series]:
    counts = []
    for _, column in frame.items():
        known = column.dropna()
        if known.dtype == object:  # It may hold objects without a hash, as lists.
            known = known.map(str)
        keys = pd.util.hash_pandas_object(known, index=False)
        counts.append(pd.Series(1, index=keys.to_numpy()))
    return _merged([counts])


def _merged(parts: Sequence[list[pd.Series]]) -> list[pd.Series]:
    """By column, how often each of the smallest keys of several parts occurs."""
    of_columns = map(pd.concat, zip(*parts, strict=True))
    return [counts.groupby(level=0).sum().iloc[:N_KEYS] for counts in of_columns]


def release_on_dask(request: ReleaseRequest, progress: Any) -> dict:
    """Read, group, check and write, part by part; return the facts."""
    frame = _read(request.input)
    names = list(frame.columns)
    request = request.resolve(names)
    roles, declared = roles_of(request, names), Declared.from_request(request)
    check_effects(request, declared, roles)
    types = types_of(frame, schema_of(request.input), roles.quasi_identifiers)
    numbers = _numbers(frame._meta[list(roles.sensitive)], declared)
    anonymized = _numbers(frame._meta[list(roles.quasi_identifiers)], declared)
    amounts = _amounts(frame, anonymized, request)
    aggregator = DaskTableAggregator(
        request.k,
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        unit=roles.unit,
        strata=roles.strata,
        weight=roles.weight,
        weight_release=request.weight_release,
        categorical=[name for name in roles.quasi_identifiers if name in declared.kinds],
        hierarchies=read_hierarchies(request.hierarchies, names, roles.quasi_identifiers) or None,
        column_weights=request.column_weights or None,
        decimals={
            name: request.decimals.get(name, request.decimals.get(None, "auto"))
            for name, kind in types.items()
            if not pa.types.is_temporal(kind)
        },
        builder=request.builder or DEFAULTS["builder"],
        refiner=make_refiner(request.refiner, request.time_limit),
        privacy=make_constraints(request.privacy, roles.sensitive, numbers, roles.weight, amounts),
        random_state=request.random_state,
        verbose=int(progress.is_shown),
        **(GENERALIZED if request.generalizes else {}),
    )
    release = WrittenRelease(request, roles, aggregator)
    n_threads = effective_n_jobs(request.n_jobs)
    try:
        with (
            dask.config.set(scheduler="threads", num_workers=n_threads),
            warnings_as_messages(progress),
            progress.of_search(),
        ):
            progress.show(f"looking for identifiers in {request.input}")
            _warn_of_columns(frame, roles, progress)
            columns = columns_of_first_part(frame, types, declared)
            for hint in hint_at_codes(columns, declared, is_typed=True):
                progress.warn(hint)
            progress.show(f"grouping the records of {request.input}")
            table = frame[roles.released + ([] if roles.unit is None else [roles.unit])]
            aggregator._fit_transform(table, release)
            progress.show("looking for columns that determine others")
            _warn_of_determined(frame, roles, aggregator, progress)
            gaps = _with_gaps(frame, anonymized) if roles.weight is not None else []
            changes = changed_totals(_sums_of(frame, roles), release.sums)
            warn_of_changed_totals(changes, progress)
    except RequestError:
        raise
    except ValueError as error:  # Other errors are our own, and shown as they are.
        raise RequestError("bad_input", "{why}", why=one_line(error)) from error
    except OSError as error:
        text = "{path} cannot be made: {why}."
        raise RequestError("cannot_write", text, path=request.output, why=reason(error)) from error
    n_values = partial(_n_values, frame)
    advice = warn_of_disclosed(roles, release.homogeneous, n_values, progress)
    facts = summarize(
        aggregator,
        roles,
        aggregator.n_rows_,
        release.level,
        release.homogeneous,
        advice=advice,
        singled_out=_singled_out(release, roles, aggregator, progress),
        columns=describe_on_dask(aggregator, types, declared, release.n_missing),
        demands=_facts_on_demands(aggregator, roles, progress),
        gaps=gaps,
        changes=changes,
    )
    if request.generalizes:  # With intervals, an exact variance could reveal a record.
        facts["information loss"] = _not_measured(Option("release", "generalized"))
    return facts


def _with_gaps(frame: Any, names: Sequence[str]) -> list[str]:
    """The columns in which values are missing."""
    has_gaps = frame[names].isna().any().compute() if names else {}
    return [name for name in names if has_gaps[name]]


def _n_values(frame: Any, name: str) -> int:
    return int(frame[name].nunique(dropna=False).compute())


def _sums_of(frame: Any, roles: TableRoles) -> Sums:
    """Weighted totals of the columns that are released unchanged, if weights are not."""
    if roles.weight is None or roles.keeps_weight:
        return {}
    table, names = DaskTable(frame), [*roles.unchanged, roles.weight]
    return table.merge(table.map(names, _weighted_sums, roles.weight), added)


def _weighted_sums(frame: pd.DataFrame, part: int, weight: str) -> Sums:
    return weighted_sums(frame.drop(columns=weight), frame[weight])


def _warn_of_columns(frame: Any, roles: TableRoles, progress: Any) -> None:
    counts = count_on_dask(frame, [*roles.unchanged, *roles.dropped])
    measured = {name for name in counts if frame.dtypes[name].kind in "bfmM"}
    # The estimator warns of weights that identify people.
    left_out = (measured & {*roles.sensitive}) | {roles.weight}
    others = [name for name in roles.unchanged if name not in left_out]
    warn_of_identifiers([name for name in others if is_identifier(*counts[name])], progress)
    warn_of_free_text(
        _free_texts(frame, {name: counts[name] for name in roles.unchanged}), progress
    )
    if roles.unit is None:
        names = [name for name in roles.dropped if name not in measured]
        warn_of_several_rows(several_rows_on_dask(counts, names), progress)


def _free_texts(frame: Any, counts: dict) -> list[str]:
    """Columns of long texts of which many differ, given numbers of different and known values."""
    names = [name for name, found in counts.items() if may_be_free_text(*found)]
    names = [name for name in names if pd.api.types.is_string_dtype(frame.dtypes[name])]
    lengths = {name: frame[name].str.len().mean() for name in names}
    return [name for name, length in compute(lengths)[0].items() if length >= LONG_TEXT]


def _warn_of_determined(frame: Any, roles: TableRoles, aggregator: Any, progress: Any) -> None:
    """Warn by a sample: dependencies hold for most rows."""
    others = [name for name in roles.unchanged if name not in roles.strata]
    averaged = list(aggregator.rounding_)
    if others or len(averaged) > 1:
        share = min(SAMPLE_SIZE / aggregator.n_rows_, 1.0)
        unit = [] if roles.unit is None else [roles.unit]
        table = frame[[*roles.quasi_identifiers, *others, *unit]]
        rows = table.sample(frac=share, random_state=0).compute()
        text = rows[others].map(lambda cell: None if pd.isna(cell) is True else str(cell))
        warn_of_determined(
            rows[roles.quasi_identifiers], text, progress, *(rows[name] for name in unit)
        )
        warn_of_redundant(rows[averaged], progress, *(rows[name] for name in unit))


def _singled_out(
    release: WrittenRelease, roles: TableRoles, aggregator: Any, progress: Any
) -> dict:
    """The fact about what unchanged columns single out; a warning if they do."""
    if not roles.exposed:
        return {}
    if release.unchanged is None:
        return {"singled out": _not_measured(Option("unit"))}
    about = release.unchanged, roles.exposed, aggregator.n_rows_
    warn_of_singled_out(*about, progress)
    return {"singled out": fact_on_singled_out(*about)}


def _not_measured(other: Option) -> Fact:
    facts = {"dask": Option("engine", "dask"), "other": other}
    return Fact(Message("not_measured", "not measured with {dask} and {other}", **facts), None)


def _numbers(columns: Any, declared: Declared) -> list[str]:
    return [
        name
        for name, dtype in columns.dtypes.items()
        if dtype.kind in "iuf" and name not in declared.kinds
    ]


def _amounts(frame: Any, names: Sequence[str], request: ReleaseRequest) -> list[str]:
    """The columns of numbers from 0 on, if constraints may be about them."""
    if not (names and any(each.is_about_amounts for each in request.privacy)):
        return []
    smallest = frame[names].min().compute()
    return [name for name in names if not smallest[name] < 0]


def _facts_on_demands(aggregator: Any, roles: TableRoles, progress: Any) -> dict:
    smallest, largest = aggregator._figures.T
    n_units = share = None
    if roles.unit is not None:
        n_units, share = int(smallest[0]), largest[-1]
        smallest, largest = smallest[1:-1], largest[1:-1]
    privacy = aggregator.privacy or []
    # On Dask, figures of amounts come last.
    order = np.argsort([constraint.is_about_amounts for constraint in privacy], kind="stable")
    place = np.argsort(order)
    figures = [
        (largest if constraint.is_worse_if_larger else smallest)[place[number]]
        for number, constraint in enumerate(privacy)
    ]
    warn_of_large_units(roles.unit, share, aggregator.k, progress)
    return facts_on_demands(roles.unit, privacy, figures, n_units, aggregator.k, share)


def _read(path: str) -> Any:
    try:
        frame = read_parquet(path)
    except (OSError, ValueError) as error:
        text = "{path} is not a Parquet table: {why}"
        raise RequestError("no_parquet", text, path=path, why=reason(error)) from error
    # What pandas stored as an index is a column like any other, and may be dropped.
    return frame if isinstance(frame._meta.index, pd.RangeIndex) else frame.reset_index()


class WrittenRelease(Release):
    """A release without an index, shuffled if wanted; once checked, it holds what was found."""

    def __init__(self, request: ReleaseRequest, roles: TableRoles, aggregator: Any):
        super().__init__(request.output, readers_of=request.input)
        self.request = request
        self.aggregator = aggregator
        self.roles = roles

    def write(self, frame: Any, folder: Any, parts: Any) -> Any:
        """Write the rows of a fitted table; what was an index is a column by now."""
        check_loss(self.aggregator.information_loss_, self.request)
        if self.request.shuffle:
            return write_shuffled(frame, folder)
        return write(frame, folder, keep_index=False)

    def check(self, written: Any, classes: Any, k: int) -> int:
        """Raise unless the rows are k-anonymous as they were written; count homogeneous groups."""
        self.level = anonymity_level(classes)
        check_level(self.level, k)
        self.homogeneous: Any = []
        if self.roles.unchanged:
            self.homogeneous = homogeneity_of_both(classes, written[self.roles.unchanged])
        self.unchanged = None
        # Who a row belongs to is not in the release.
        if self.roles.exposed and self.roles.unit is None:
            self.unchanged = unchanged_uniqueness(classes, written[self.roles.exposed])
        self.sums = _sums_of(written, self.roles)
        self.n_missing = written[self.roles.quasi_identifiers].isna().sum().compute().to_dict()
        return self.level


def write_shuffled(frame: Any, folder: Any) -> Any:
    """Write the rows of a Dask DataFrame into a folder in random order, as Parquet.

    Each row goes to a random part, and then each part is shuffled: all orders of all rows are
    equally likely. In transit, rows are in a temporary folder, in one file per old part, sorted by
    the new one. Each thread holds no more than one part in memory.
    """
    n_parts = frame.npartitions
    scatter, gather = delayed(_scatter, pure=False), delayed(_gather, pure=False)
    with TemporaryFolder(None, "shuffle-").removed_on_failure() as transit:
        files = [transit / f"{number}.arrow" for number in range(n_parts)]
        parts = zip(frame.to_delayed(), files, strict=True)
        starts = compute(*(scatter(part, file, n_parts) for part, file in parts))
        pieces = delayed(list(zip(files, starts, strict=True)), traverse=False)
        compute(*(gather(pieces, part, path_of_part(folder, part)) for part in range(n_parts)))
        transit.remove()
    return read(folder)


def _scatter(part: pd.DataFrame, file: Any, n_parts: int) -> np.ndarray:
    """Write the rows of a part, sorted by random new parts; return the start of each of these."""
    cells = pa.Table.from_pandas(part, preserve_index=False)
    new_parts = random_numbers(len(cells)) % np.uint64(n_parts)
    order = np.argsort(new_parts)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, cells.schema) as writer:
        writer.write_table(cells.take(order))
    return np.searchsorted(new_parts[order], np.arange(n_parts + 1))


def _gather(pieces: Sequence[tuple], part: int, path: Any) -> None:
    slices = []
    for file, starts in pieces:
        with pa.memory_map(str(file)) as source:
            rows = pa.ipc.open_file(source).read_all()
        slices.append(rows.slice(starts[part], starts[part + 1] - starts[part]))
    # A column that is missing throughout a piece has no type there.
    cells = pa.concat_tables(slices, promote_options="permissive")
    if len(cells):
        with written_by_worker(path) as draft:
            pq.write_table(shuffled(cells), draft)
