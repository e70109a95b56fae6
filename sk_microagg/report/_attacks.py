"""What attacks on a release achieve: on identity, attributes and membership."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sk_microagg._utils._formatting import share_in_words, share_of_people
from sk_microagg._utils._missing import take_units
from sk_microagg._utils._tables import columns_of
from sk_microagg._utils._typing import Array, TableLike
from sk_microagg.metrics import record_linkage
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._attribute_inference import AttributeAttack, draw_records
from sk_microagg.metrics._disclosure import INTERVAL
from sk_microagg.metrics._linkage import MOST_PAIRS, linkage_of, linkage_one_to_one
from sk_microagg.report._membership import measure_membership

# Values of more records are not guessed: the standard error of a share is then at most 1.2%.
MOST_ASKED = 2_000

# Links one to one between more records and rows would take minutes.
MOST_PAIRS_IN_A_REPORT = MOST_PAIRS // 4


@dataclass(frozen=True)
class AttackFacts:
    """What a report states about attacks."""

    one_to_one: object
    identity_by_chance: float
    guessed: list
    by_chance: list
    attackers: list
    n_asked: int
    membership: object
    interval_width: float = INTERVAL


def measure_attacks(
    X: TableLike,
    release: TableLike,
    pair: Any,
    estimator: Any,
    fewest: int,
    membership: dict[Any, Any] | None,
    units: Array | None = None,
) -> AttackFacts:
    """Attack a release."""
    n_records = len(columns_of(X, "X")[0])
    n_jobs = getattr(estimator, "n_jobs", None)
    asked = draw_records(n_records, MOST_ASKED)
    if pair is None:
        attack = AttributeAttack.from_numbers(release, X, asked)
    else:
        attack = AttributeAttack.from_pair(pair, asked)
    found = [attack.hits(place, INTERVAL, n_jobs) for place in range(len(attack.names))]
    everybody = np.zeros(n_records, dtype=np.intp)

    def in_words(hits):
        # Of all records, as figures that stand for few of them are not shown.
        share = share_of_people(hits, take_units(units, asked))
        return share_in_words(share, len(asked), fewest)

    return AttackFacts(
        one_to_one=_one_to_one(X, release, pair, units),
        identity_by_chance=linkage_of(everybody, everybody, units).expected_if_linked,
        guessed=[in_words(hits) for _, hits, _ in found],
        by_chance=[in_words(hits) for _, _, hits in found],
        attackers=[attacker for attacker, _, _ in found],
        n_asked=len(asked),
        membership=None if membership is None else measure_membership(**membership),
    )


def _one_to_one(X, release, pair, units):
    """Links one to one; None for more pairs of different records and rows than a report takes."""
    original, released = (X, release) if pair is None else (pair.original, pair.released)
    n_points = row_classes(original, "X").max() + 1
    classes = row_classes(released, "release")
    if n_points * (classes.max() + 1) > MOST_PAIRS_IN_A_REPORT:
        return None
    if pair is None:
        return record_linkage(X, release, one_to_one=True, unit=units)
    return linkage_one_to_one(original, classes, partial(pair.distances, classes), units)
