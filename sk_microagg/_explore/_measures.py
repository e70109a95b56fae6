"""What a preview measures of a release.

Figures are coarse. What differs between the previews for two values of k may be one record: if all
digits were sent, its value could be computed.
"""

from collections.abc import Collection
from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg._explore._page_table import distributions
from sk_microagg._utils._formatting import (
    at_most,
    expected_matches,
    fewest_records,
    homogeneity_in_words,
    rounded_down,
)
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.generalization._grid import with_midpoints
from sk_microagg.metrics import closeness, diversity
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._linkage import link
from sk_microagg.metrics._pairs import make_pair
from sk_microagg.plotting._partition_display import ReleasedGroups
from sk_microagg.release._plan import Plan
from sk_microagg.release._summary import describe, lines_of

# Groups are placed in steps of this share of the picture.
STEP_IN_PLANE = 0.02

# Losses have three digits, and two if one of fewer records could be told by the third.
DIGITS, DIGITS_IF_FEW = 3, 2
MANY_RECORDS = 200

# Steps of the largest share of one unit in a group.
STEP_OF_SHARES = 0.05

# Steps of distances from the whole table. Of many groups, nobody knows which one is the farthest.
STEP_OF_CLOSENESS = 0.05
MANY_GROUPS = 10


def columns_before_and_after(
    plan: Plan,
    estimator: Any,
    records: pd.DataFrame,
    released: pd.DataFrame,
    release: Any,
    hidden: Collection[str],
) -> list:
    """What is released of columns, and their values before and after, but of `hidden` ones."""
    drawn = distributions(records, released, plan.known, plan.demands.units(), hidden)
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
        "points": np.round(STEP_IN_PLANE * np.round(places / STEP_IN_PLANE), 2).tolist(),
        "sizes": groups.sizes.tolist(),
        "axes": [name.partition(",")[0] for name in groups.axis_names],
        "n_groups": groups.n_groups,
    }


def about_sensitive(plan: Plan, release: Any) -> Any:
    labels, about = release.labels, []
    sizes = np.bincount(labels)
    for name, values in plan.demands.sensitive.items():
        shares = homogeneity_of_both(labels, values.to_frame())[0]
        words = homogeneity_in_words(shares, len(labels), plan.request.k)
        distance = "ordered" if values.dtype.kind in "iuf" else "equal"
        about.append(
            {
                "name": name,
                "homogeneity": words,
                "diversity": int(diversity(labels, values)),
                "closeness": _rounded_closeness(closeness(labels, values, distance), sizes),
            }
        )
    return about


def _rounded_closeness(distance: Any, sizes: np.ndarray) -> float:
    """A distance from the whole table that is not exceeded, too coarse to tell of one record."""
    step = STEP_OF_CLOSENESS
    if len(sizes) < MANY_GROUPS:
        step = max(step, 2 / sizes.min())
    return min(round(step * ceil(distance / step - 1e-9), 2), 1.0)


def demands_met(plan: Plan, facts: dict) -> Any:
    """What was demanded of every group and holds, in sentences.

    How much better than demanded the groups are is told by `about_sensitive`, and coarsely.
    """
    sentences = lines_of(facts["units per group"]) if "units per group" in facts else []
    if "unit share" in facts:
        share = rounded_unit_share(facts["unit share"].value)
        sentences.append(f"{at_most(share)} of the rows of a group belong to one person")
    return sentences + [
        f"{constraint.column}: {constraint.in_words(constraint.demanded)}"
        for constraint in plan.demands.privacy or []
        if not constraint.is_about_units
    ]


def rounded_unit_share(share: float) -> float:
    """A share of one unit in a group that is not exceeded, too coarse to tell of one record."""
    return min(round(STEP_OF_SHARES * ceil(share / STEP_OF_SHARES - 1e-9), 2), 1.0)


def risk_of(
    records: pd.DataFrame, released: pd.DataFrame, estimator: Any, units: np.ndarray | None = None
) -> Any:
    """The share that an intruder who knows the originals is expected to re-identify.

    Of an interval, the intruder takes the middle. The share comes as a number and in words.
    """
    if releases_intervals(estimator):
        names = estimator.quasi_identifiers
        middles = pd.DataFrame({name: with_midpoints(released[name]) for name in names})
        pair = make_pair(records[names], middles)
    else:
        pair = make_pair(records, released, estimator)
    linkage = link(pair, units)
    return expected_matches(linkage, len(records), fewest_records(estimator.k, units))


def rounded_loss(loss: float, n_records: int) -> float:
    """A loss with as many digits as the page is sent; only a loss of 0 is 0."""
    digits = _digits_of_losses(n_records)
    return max(round(float(loss), digits), 10**-digits) if loss > 0 else 0.0


def rounded_bound(bound: float, n_records: int) -> Any:
    """A proven bound on a loss with as many digits, which is still one."""
    return rounded_down(bound, _digits_of_losses(n_records))


def _digits_of_losses(n_records: int) -> Any:
    return DIGITS if n_records >= MANY_RECORDS else DIGITS_IF_FEW
