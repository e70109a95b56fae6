"""What a preview measures of a release."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg._explore._page_table import distributions
from sk_microagg._utils._formatting import homogeneity_in_words
from sk_microagg.files._columns import texts_of
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.metrics import closeness, diversity
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._linkage import link
from sk_microagg.metrics._pairs import make_pair
from sk_microagg.plotting._partition_display import ReleasedGroups
from sk_microagg.release._plan import Plan, ends_of_rows
from sk_microagg.release._summary import describe, lines_of


def columns_before_and_after(
    plan: Plan,
    estimator: Any,
    records: pd.DataFrame,
    released: pd.DataFrame,
    release: Any,
    hidden: Collection[str],
) -> list:
    """What is released of columns, and their values before and after, but of `hidden` ones."""
    # Values with an order are drawn as they are written.
    ordinals = [column for column in plan.known if column.kind == "ordinal"]
    before = records.assign(**{c.name: texts_of(c.cells) for c in ordinals})
    written = {c.name: texts_of(release.by_column[c.name][c.name]) for c in ordinals}
    drawn = distributions(before, released.assign(**written), plan.known, hidden)
    drawn = dict(zip([column.name for column in plan.known], drawn, strict=True))
    return [
        {
            "index": plan.table.cells.column_names.index(column.name),
            "name": column.name,
            "released": describe(column, release.by_column.get(column.name), estimator)["released"],
            "distribution": drawn.get(column.name, {"type": "note", "text": column.how}),
        }
        for column in plan.columns
    ]


def groups_in_plane(released: pd.DataFrame, k: int) -> dict | None:
    """The groups of a release as points, None if there are too few."""
    groups = ReleasedGroups.from_release(released, k)
    if groups is None:
        return None
    low, high = groups.points.min(axis=0), groups.points.max(axis=0)
    places = (groups.points - low) / np.where(high > low, high - low, 1.0)
    return {
        "points": places.tolist(),
        "sizes": groups.sizes.tolist(),
        "axes": [name.partition(",")[0] for name in groups.axis_names],
        "n_groups": groups.n_groups,
    }


def about_sensitive(plan: Plan, release: Any) -> Any:
    labels, about = release.labels, []
    for name, values in plan.demands.sensitive.items():
        shares = homogeneity_of_both(labels, values.to_frame())[0]
        words = homogeneity_in_words(shares, len(labels))
        distance = "ordered" if values.dtype.kind in "iuf" else "equal"
        about.append(
            {
                "name": name,
                "homogeneity": words,
                "diversity": int(diversity(labels, values)),
                "closeness": float(closeness(labels, values, distance)),
            }
        )
    return about


def demands_met(facts: dict) -> list[str]:
    """What was demanded of every group and holds, in sentences."""
    return [line for fact in facts.values() for line in lines_of(fact)]


def risk_of(
    records: pd.DataFrame, released: pd.DataFrame, estimator: Any, units: np.ndarray | None = None
) -> float:
    """The share that an intruder who knows the originals is expected to re-identify.

    Of an interval, the intruder takes the middle.
    """
    if releases_intervals(estimator):
        names = estimator.quasi_identifiers
        ends = ends_of_rows(estimator).items()
        middles = {name: both.low + (both.high - both.low) / 2 for name, both in ends}
        pair = make_pair(records[names], released[names].assign(**middles))
    else:
        pair = make_pair(records, released, estimator)
    return link(pair, units).expected_matches
