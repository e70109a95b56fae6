"""What a report states about columns that are released unchanged, all together."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils import _safe_indexing

from sk_microagg._utils._formatting import determined_in_words, in_a_list, singles_out
from sk_microagg._utils._tables import as_table
from sk_microagg.metrics import UnchangedUniqueness, determined_columns, unchanged_uniqueness
from sk_microagg.metrics._unchanged import names_of
from sk_microagg.plotting._distributions import column_names
from sk_microagg.report._membership import shown_name


@dataclass(frozen=True)
class UnchangedFacts:
    """What columns that are released unchanged give away, with all names as they are shown."""

    names: list = field(default_factory=list)
    found: UnchangedUniqueness | None = None
    determined: list = field(default_factory=list)
    assumed_unknown: list = field(default_factory=list)

    def are_safe(self, risk):
        """Whether they determine nothing, single nobody out, and leave the risk as it is told."""
        return not self.determined and not self.is_risk_larger(risk)

    def is_risk_larger(self, risk):
        """Whether somebody who knows these columns, too, achieves more than this risk."""
        found = self.found
        return found is not None and (
            singles_out(found) or found.expected_matches > (1 + 1e-9) * risk
        )

    @property
    def in_a_list(self):
        """The names in a sentence."""
        return in_a_list(self.names)

    def combinations(self):
        """How many columns, which share is unique by some of them, and by which most are."""
        sizes = ("one", "two", "three")[: len(self.names) - 1]
        for found in zip(sizes, self.found.unique_by, self.found.columns_by, strict=False):
            size, share, columns = found
            yield size, share, in_a_list([*map(shown_name, columns)])


def measure_unchanged(X, names, classes, unchanged, sensitive=None, unit=None, strata=None):
    """Measure the columns in `unchanged`; `classes` are the groups, and `names` those of `X`."""
    unknown = _names(sensitive)
    shown_unknown = [*map(shown_name, unknown)]
    if unchanged is None or 0 in np.shape(unchanged):
        return UnchangedFacts(assumed_unknown=shown_unknown)
    table = as_table(unchanged)
    columns = column_names(table, np.shape(table)[1])

    def without(left_out):
        places = [place for place, name in enumerate(columns) if name not in left_out]
        return [columns[place] for place in places], _safe_indexing(table, places, axis=1)

    (known, of_known), (others, of_others) = without(unknown), without(_names(strata))
    # A group never mixes strata, so that they give nothing away.
    determined = determined_columns(X, of_others, unit) if others else []
    names_in_x = dict(zip(names_of(X), names, strict=True))
    return UnchangedFacts(
        names=[*map(shown_name, known)],
        found=unchanged_uniqueness(classes, of_known, unit) if known else None,
        determined=determined_in_words(
            [(columns, names_in_x[name]) for columns, name in determined], shown_name
        ),
        assumed_unknown=shown_unknown,
    )


def _names(role):
    """Names of columns with a role, as far as they have some."""
    role = as_table(role)
    named = getattr(role, "columns", [getattr(role, "name", None)])
    return [str(name) for name in named if name is not None]
