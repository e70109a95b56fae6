"""Tables of pandas, polars, Arrow and NumPy: as a pandas DataFrame, and back."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from sk_microagg._utils._tables import as_table, dimensions_explained, import_extra
from sk_microagg._utils._typing import Array, Booleans, DataFrame, Estimator, Labels, Series
from sk_microagg._utils._validation import check_names_differ

# Types of polars that Arrow does not have.
NOT_IN_ARROW = ("Object", "Int128", "UInt128")

# Metadata of fields by which polars and Arrow recognize their own types begin with these.
NOTES_OF_TYPES = b"_PL_", b"ARROW:extension:"


def import_pandas() -> Any:
    return import_extra("pandas", "table", "A table of columns of any kind")


class Frame:
    """A table as a pandas DataFrame, and the way back to the type that it came in."""

    def __init__(self, X: Any, estimator: Estimator = None) -> None:
        self._pandas = import_pandas()
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            self.table, self.back = X, self._same_index
        elif hasattr(X, "get_columns"):
            self.table, self._schema = self._of_polars(X), X.schema
            self.back = self._to_polars
        elif hasattr(X, "column_names") and hasattr(X, "schema"):
            self.table, self._schema = self._of_arrow(X), X.schema
            self.back = self._to_arrow
        else:
            self.table = self._of_array(_as_array(X), estimator)
            self.back = self._to_array
        check_names_differ(self.table.columns)
        if 0 in self.table.shape:
            raise ValueError(
                f"X of shape {self.table.shape} must have at least 1 record and 1 column."
            )

    def _of_polars(self, X: Any) -> DataFrame:
        for name, kind in X.schema.items():
            if str(kind) in NOT_IN_ARROW:
                raise TypeError(
                    f"Column {name!r} of X has the type {kind} of polars: it must have one of "
                    "numbers of at most 64 bits, text, dates or booleans."
                )
        return self._of_arrow(X.to_arrow())

    def _of_arrow(self, table: Any) -> DataFrame:
        """Arrow types do not turn integers with missing values into floats."""
        import_extra("pyarrow", "table", "A table of polars or Arrow")

        def keep(kind: Any) -> Any:
            return None if "dictionary" in str(kind) else self._pandas.ArrowDtype(kind)

        # Metadata may say that a column is an index, which would not be released.
        return table.to_pandas(types_mapper=keep, ignore_metadata=True)

    def _of_array(self, X: Any, estimator: Estimator) -> DataFrame:
        with dimensions_explained():
            X = check_array(
                X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X"
            )
        self._dtype = X.dtype
        # With the type given, pandas does not look for another one that suits the objects; but it
        # has none for whole days.
        kind = {**dict.fromkeys("OUS", object), **dict.fromkeys("mM")}.get(X.dtype.kind, X.dtype)
        columns = {j: self._pandas.Series(X[:, j], dtype=kind) for j in range(X.shape[1])}
        return self._pandas.DataFrame(columns, copy=False)

    def _same_index(self, table: DataFrame) -> DataFrame:
        return table

    def _to_polars(self, table: DataFrame) -> Any:
        polars = import_extra("polars", "table", "A table of polars")
        frame = polars.from_arrow(self._as_arrow(table))
        return frame.cast({name: self._schema[name] for name in self._typed(table)})

    def _to_arrow(self, table: DataFrame) -> Any:
        cells = self._as_arrow(table)
        for name in self._typed(table):
            field = _without_metadata(self._schema.field(name))
            number = cells.column_names.index(name)
            cells = cells.set_column(number, field, cells.column(name).cast(field.type))
        return cells

    def _typed(self, table: DataFrame) -> list[Any]:
        """Names of columns that have their old types. Generalized values are text."""
        names = [*self._schema] if isinstance(self._schema, dict) else self._schema.names
        return [name for name in table.columns if name in names and table[name].dtype != object]

    def _as_arrow(self, table: DataFrame) -> Any:
        pyarrow = import_extra("pyarrow", "table", "A table of polars or Arrow")
        cells = pyarrow.Table.from_pandas(table, preserve_index=False)
        return cells.replace_schema_metadata(None)

    def _to_array(self, table: DataFrame) -> Array:
        if all(kind == self._dtype for kind in table.dtypes):
            return table.to_numpy(dtype=self._dtype)
        if all(isinstance(kind, np.dtype) and kind.kind != "O" for kind in table.dtypes):
            cells = table.to_numpy()
            return cells.astype(self._dtype) if self._dtype.kind in "mM" else cells
        cells = table.to_numpy(dtype=object, na_value=None)
        if self._dtype.kind in "US" and all(isinstance(cell, str | bytes) for cell in cells.flat):
            return cells.astype(self._dtype.kind)
        return cells


def _without_metadata(field: Any) -> Any:
    """A field of an Arrow schema without notes, which may be about the whole original table."""
    notes = field.metadata or {}
    of_type = {name: text for name, text in notes.items() if name.startswith(NOTES_OF_TYPES)}
    return field.with_type(_plain_type(field.type)).with_metadata(of_type or None)


def _plain_type(kind: Any) -> Any:
    """An Arrow type whose inner fields have no notes."""
    pyarrow = import_extra("pyarrow", "table", "A table of polars or Arrow")
    types = pyarrow.types
    if types.is_struct(kind):
        return pyarrow.struct([_without_metadata(field) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(
            _without_metadata(kind.key_field), _without_metadata(kind.item_field), kind.keys_sorted
        )
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(_without_metadata(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pyarrow.large_list(_without_metadata(kind.value_field))
    if types.is_list(kind):
        return pyarrow.list_(_without_metadata(kind.value_field))
    return kind


def _as_array(X: Any) -> Any:
    """The table as an array: of floats if it is a list of these, of integers likewise."""
    table = as_table(X)
    if isinstance(X, list | tuple):
        kinds = {type(cell) for cell in table.flat}
        numbers = np.array(table.tolist()) if kinds in ({float}, {int}) else table
        # Integers of different sizes may have become floats.
        if numbers.dtype.kind in ("f" if kinds == {float} else "iu"):
            return numbers
    return table


def is_missing(column: Series) -> Booleans:
    """Mask of the missing cells of a pandas column, as an array."""
    return np.asarray(column.isna(), dtype=bool)


def take(column: Series, positions: Labels) -> Series:
    """Cells of a pandas column at some positions, with its type; -1 for a missing cell."""
    if column.dtype == object:
        cells = column.to_numpy()[positions]
        missing = column.to_numpy()[is_missing(column)]
        cells[positions < 0] = missing[0] if len(missing) else None
        return type(column)(cells, name=column.name, dtype=object)
    cells = column.array.take(positions, allow_fill=bool((positions < 0).any()))
    kind = column.dtype if isinstance(column.dtype, np.dtype) else None
    return type(column)(cells, name=column.name, dtype=kind)


def can_be_missing(column: Series) -> bool:
    """Whether the type of a pandas column has room for missing cells."""
    kind = getattr(column.dtype, "subtype", column.dtype)  # of the ends, for intervals
    return not (isinstance(kind, np.dtype) and kind.kind in "biu")


def with_room(column: Series) -> Series:
    """A pandas column whose type has room for missing cells: Int64 for int64, and so on."""
    if can_be_missing(column):
        return column
    if hasattr(column.dtype, "subtype"):
        return column.astype(object)
    names = {"b": "boolean", "i": f"Int{8 * column.dtype.itemsize}"}
    return column.astype(names.get(column.dtype.kind, f"UInt{8 * column.dtype.itemsize}"))
