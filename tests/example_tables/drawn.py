"""Tables for hypothesis to draw: of any kind, often of one column or of as few records as k."""

from typing import NamedTuple

import numpy as np
from example_tables.numbers import TABLES
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32 - 1)
ALL_BUT_TINY = [name for name in TABLES if name != "tiny"]


class Drawn(NamedTuple):
    """What is printed of an example that fails."""

    table: str
    seed: int
    n: int
    d: int
    k: int

    def make(self):
        """The records, and a generator for what else is drawn at random."""
        rng = np.random.default_rng(self.seed)
        return TABLES[self.table](rng, self.n, self.d), rng


@st.composite
def cases(draw, *, names=tuple(TABLES), n=70, d=4, k=(1, 6)):
    """Kinds of tables, the most records and columns, and the range of k."""
    least = draw(st.integers(*k))
    is_small = draw(st.integers(0, 4)) == 4
    few = st.sampled_from([least, 2 * least - 1, 2 * least])
    return Drawn(
        draw(st.sampled_from(names)),
        draw(SEEDS),
        draw(few if is_small else st.integers(least, n)),
        draw(st.integers(1, d)),
        least,
    )
