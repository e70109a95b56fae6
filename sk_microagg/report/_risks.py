"""What remains of the risk: re-identification, columns released unchanged, three intruders."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from sk_microagg._utils._formatting import determined_in_words, homogeneity_lines, shown_name
from sk_microagg._utils._tables import as_table, column_names
from sk_microagg._utils._typing import Array, Labels, TableLike
from sk_microagg.metrics import determined_columns, population_risk, unchanged_uniqueness
from sk_microagg.metrics._anonymity import expected_if_linked, row_classes
from sk_microagg.metrics._disclosure import INTERVAL, RANKS, values_in_interval, values_near_in_rank
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._linkage import RecordLinkage
from sk_microagg.metrics._pairs import Pair
from sk_microagg.report._columns import names_in
from sk_microagg.report._scenario import INTRUDERS
from sk_microagg.report._sections import (
    Combination,
    IdentityRisks,
    IntruderRisk,
    Linkage,
    NearValues,
    Share,
    Unchanged,
)
from sk_microagg.report._sensitive import within_strata

SIZES = 1, 2, 3
IN_INTERVAL = f"Within {INTERVAL:g} standard deviations"
IN_RANKS = f"Within {100 * RANKS:g}% of the ranks"


def measure_identity_risks(
    classes: Labels, weight: TableLike | None, units: Array | None, least: float | None = None
) -> IdentityRisks:
    """Risks by three kinds of intruders who know the classes of equal records.

    One person with many records of a class makes at least the risk `least`.
    """
    found = population_risk(
        classes, np.ones(len(classes)) if weight is None else weight, unit=units
    )
    risks = {}
    for name in INTRUDERS:
        risk = getattr(found, name)
        # An attacker who knows that a person is in the sample attributes all records of a group to
        # the person who has most. Others know only the population, which weights make larger.
        knows_sample = units is not None and (name == "prosecutor" or weight is None)
        of_one = expected_if_linked(classes, units) if knows_sample else 0.0
        largest = max(risk.largest, (least or 0.0) if knows_sample else 0.0)
        mean = max(risk.mean, of_one)
        risks[name] = IntruderRisk(Share.of(largest), Share.of(mean))
    return IdentityRisks(**risks)


def linkage_facts(linkage: RecordLinkage) -> Linkage:
    """A linkage as a report has it."""
    return Linkage(
        Share.of(linkage.linked),
        Share.of(linkage.expected_matches),
        Share.of(linkage.expected_if_linked),
    )


def near_values(pair: Pair, names: list[str]) -> list[NearValues]:
    """How many known values of each column are released as one that is close."""
    masks = zip(values_in_interval(pair), values_near_in_rank(pair), strict=True)
    found = []
    for name, (values, _, _), both in zip(names, pair.columns(), masks, strict=True):
        n_known = max(int((~np.isnan(values)).sum()), 1)
        found.append(NearValues(name, *(Share.of(mask.sum() / n_known) for mask in both)))
    return found


def unique_rows(classes: Labels, n_records: int) -> Share:
    """The share of the records that equal no other."""
    return Share.of_records((np.bincount(classes)[classes] == 1).mean(), n_records)


def measure_unchanged(
    X: TableLike,
    names: list[str],
    classes: Labels,
    release: TableLike,
    about: dict[str, Any],
) -> tuple[Unchanged, Labels]:
    """Measure the columns released unchanged; `classes` are the groups, and `names` those of `X`.

    Also the classes of those who know these columns, but for sensitive ones and the weight.
    """
    together = within_strata(classes, about["strata"])
    unknown = [*names_in(about["sensitive"]), *names_in(about["weight"])]
    shown_unknown = [*map(shown_name, unknown)]
    unchanged, unit = about["unchanged"], about["unit"]
    if unchanged is None or 0 in np.shape(unchanged):
        nothing = Unchanged([], None, [], 0, None, None, [], shown_unknown, [])
        return nothing, together
    table = as_table(unchanged)
    columns = column_names(table)

    def without(left_out: list[str]) -> tuple[list[str], Any]:
        places = [place for place, name in enumerate(columns) if name not in left_out]
        return [columns[place] for place in places], _safe_indexing(table, places, axis=1)

    (known, of_known), (others, of_others) = without(unknown), without(names_in(about["strata"]))
    # A group never mixes strata, so that they give nothing away.
    determined = determined_columns(X, of_others, unit) if others else []
    names_in_x = dict(zip(column_names(X), names, strict=True))
    n_records = len(classes)
    shares = homogeneity_of_both(release, unchanged)
    lines = dict(zip(map(shown_name, columns), map(tuple, shares), strict=True))
    facts = Unchanged(
        columns=[*map(shown_name, known)],
        unique=None,
        unique_by=[],
        n_combined=0,
        unique_with_release=None,
        if_row_is_known=None,
        determined=determined_in_words(
            [(columns, names_in_x[name]) for columns, name in determined], shown_name
        ),
        assumed_unknown=shown_unknown,
        homogeneous=homogeneity_lines(lines, n_records, most=None),
    )
    if not known:
        return facts, together
    found = unchanged_uniqueness(classes, of_known, unit)
    combined = zip(SIZES[: len(known) - 1], found.unique_by, found.columns_by, strict=False)
    codes = row_classes(of_known, "unchanged")
    together = np.unique(together * (codes.max() + 1) + codes, return_inverse=True)[1]
    measured = {
        "unique": Share.of_records(found.unique, n_records),
        "unique_by": [
            Combination(size, Share.of_records(share, n_records), [*map(shown_name, columns)])
            for size, share, columns in combined
        ],
        "n_combined": found.n_combined,
        "unique_with_release": Share.of_records(found.unique_with_release, n_records),
        "if_row_is_known": Share.of(found.expected_matches),
    }
    return Unchanged(**vars(facts) | measured), together
