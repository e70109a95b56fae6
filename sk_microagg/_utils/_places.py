"""Which cells a message is about: how many, and their first rows; never what they hold.

Messages travel in logs and mails. Whoever has the table finds the cells by their rows. The command
line imports this before it knows what to do, so NumPy is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sk_microagg._utils._typing import Array, Labels

MOST_ROWS = 3

# What is said of cells, of one and of several.
NO_NUMBER = "is no number", "are no numbers"
NOT_POSITIVE = "is no number above 0", "are no numbers above 0"
TOO_LARGE = "is infinite or too large", "are infinite or too large"


class RowNames(NamedTuple):
    """What users call the rows of a table: their positions, or lines or rows of a file."""

    before: str = "at position"
    numbers: Any = None  # a sequence of integers, or None for positions

    def take(self, places: Labels) -> RowNames:
        """The names of some of the rows."""
        import numpy as np

        numbers = places if self.numbers is None else np.asarray(self.numbers)[places]
        return self._replace(numbers=numbers)

    def of(self, places: Labels) -> list[str]:
        """Of some places in the table, what users call them."""
        numbers = self.numbers
        return [f"{place if numbers is None else numbers[place]}" for place in places]


POSITIONS = RowNames()


def in_rows(places: Any, rows: RowNames = POSITIONS) -> str:
    """The first of some rows, such as "in lines 31 and 207" or "first in lines 3, 5 and 9"."""
    *others, last = rows.of(places[:MOST_ROWS])
    if not others:
        return f"{rows.before} {last}"
    listed = f"{rows.before}s {', '.join(others)} and {last}"
    return f"first {listed}" if len(places) > MOST_ROWS else listed


def cells_in_words(
    places: Any,
    n_cells: int,
    what: tuple[str, str],
    rows: RowNames = POSITIONS,
    noun: str = "cell",
) -> str:
    """How many of some cells are what is said of them, and where."""
    n_bad = len(places)
    count = f"{n_bad:,} of {n_cells:,}" if n_bad < n_cells else f"all {n_cells:,}"
    if n_cells == 1:
        count = "the only"
    nouns = noun if n_cells == 1 else f"{noun}s"
    return f"{count} {nouns} {what[n_bad > 1]}, {in_rows(places, rows)}"


class CellsError(ValueError):
    """Cells that cannot be used: what is wrong, how many and where; never what they hold.

    `places` are the rows of these cells, or None if it is not known where they are in the table of
    the user.
    """

    def __init__(
        self,
        about: str,
        what: tuple[str, str],
        places: Array | None,
        n_cells: int,
        advice: str = "",
        column: Any = None,
        noun: str = "cell",
    ) -> None:
        super().__init__(about, what, places, n_cells, advice, column, noun)
        self.about, self.what, self.places, self.n_cells = about, what, places, n_cells
        self.advice, self.column, self.noun = advice, column, noun

    def in_words(self, rows: RowNames = POSITIONS) -> str:
        """How many cells are wrong, and in which rows."""
        if self.places is None:
            return f"some {self.noun}s {self.what[1]}"
        return cells_in_words(self.places, self.n_cells, self.what, rows, self.noun)

    def at(self, rows: Array | None, column: Any = None) -> CellsError:
        """The same error about a table of which only some rows were looked at, or unknown ones."""
        places = None if rows is None or self.places is None else rows[self.places]
        column = self.column if column is None else column
        others = self.n_cells, self.advice, column, self.noun
        return CellsError(self.about, self.what, places, *others)

    def __str__(self) -> str:
        return f"{self.about}: {self.in_words()}.{self.advice and ' '}{self.advice}"


def check_cells(
    is_bad: Array, about: str, what: tuple[str, str], *, n_cells: int | None = None, **others: Any
) -> None:
    """Raise an error about the cells in a mask, if there are any, of `n_cells` that are known."""
    if is_bad.any():
        import numpy as np

        n_cells = len(is_bad) if n_cells is None else n_cells
        # The error that led here may quote a cell.
        raise CellsError(about, what, np.flatnonzero(is_bad), n_cells, **others) from None


@contextmanager
def found_in(rows: Array | None, column: Any = None) -> Iterator[None]:
    """Say where cells are in the table of which only some rows are looked at, or unknown ones."""
    try:
        yield
    except CellsError as error:
        raise error.at(rows, column) from None


def no_numbers(cells: Sequence[Any]) -> Array:
    """Which of some cells are known, but no numbers."""
    import numpy as np

    return np.array([not _is_number(cell) for cell in cells], dtype=bool)


def _is_number(cell: Any) -> bool:
    if cell is None or type(cell).__name__ == "NAType":
        return True  # A missing one is not wrong here.
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
