"""Tables of Arrow that a series puts together: rows of today, and rows of earlier releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Booleans, Labels

SERIES = "A series of releases"


def without_dictionaries(table: Any) -> Any:
    """A table of Arrow whose categories are plain values: a dictionary may list other people's."""
    arrow = import_extra("pyarrow", "table", SERIES)
    for place, field in enumerate(table.schema):
        if arrow.types.is_dictionary(field.type):
            values = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, values)
    return table.replace_schema_metadata()


def taken(table: Any, places: Labels) -> Any:
    """Some rows of a table, of which there may be none; without columns, it has no rows."""
    return table if table is None or not table.num_columns else table.take(places)


def stacked(*tables: Any) -> Any:
    """Some tables of the same columns, one below the other; None counts for nothing."""
    arrow = import_extra("pyarrow", "table", SERIES)
    given = [table for table in tables if table is not None]
    try:
        return arrow.concat_tables(given, promote_options="permissive").combine_chunks()
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        names = [
            field.name
            for field in given[0].schema
            if any(field.type != table.schema.field(field.name).type for table in given)
        ]
        raise ValueError(
            f"Columns {names} must have the types that they have in earlier releases of this "
            "series."
        ) from error


def with_nulls(cells: Any, names: Sequence[str], is_hidden: Booleans) -> Any:
    """The cells, of which some columns are missing in some rows."""
    arrow = import_extra("pyarrow", "table", SERIES)
    compute = import_extra("pyarrow.compute", "table", SERIES)
    for name in names if is_hidden.any() else []:
        place = cells.column_names.index(name)
        null = arrow.scalar(None, cells[name].type)
        values = compute.if_else(arrow.array(is_hidden), null, cells[name])
        cells = cells.set_column(place, name, values)
    return cells


def changed_people(before: Any, after: Any, people: Labels) -> Labels:
    """The people whose values differ in two columns; `people` are those of both, one by one."""
    pandas = import_extra("pandas", "table", SERIES)
    texts = [str(cell) for column in (before, after) for cell in column.to_pylist()]
    codes, values = pandas.factorize(np.array(texts, dtype=object))
    pairs, numbers = np.unique(people * len(values) + codes, return_inverse=True)
    counts = np.bincount(numbers, weights=np.repeat([-1, 1], [len(before), len(after)]))
    return np.unique(pairs[counts != 0] // max(len(values), 1))
