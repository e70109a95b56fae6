"""What a preview measures of a release."""

import numpy as np
import pandas as pd

from sk_microagg import TableAggregator
from sk_microagg._cli._released import describe
from sk_microagg._explore._distributions import distributions
from sk_microagg._utils._numbers import rounded_down, rounded_up
from sk_microagg._utils._shares import expected_matches, fewest_records, homogeneity_lines
from sk_microagg.generalization._intervals import with_midpoints
from sk_microagg.metrics import closeness, diversity, homogeneity
from sk_microagg.metrics._risk_utility import linkage_of_release
from sk_microagg.plotting._released_groups import ReleasedGroups

# Digits of coordinates and losses.
DIGITS = 4


def columns_before_and_after(plan, estimator, records, released, release):
    """What is released of each column, and its distribution before and after."""
    drawn = distributions(records, released, plan.known, plan.options.k, plan.roles.units())
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


def groups_in_plane(released, k):
    """The groups of a release as points, None if there are too few."""
    groups = ReleasedGroups.of(released, k)
    if groups is None:
        return None
    return {
        "points": np.round(groups.points, DIGITS).tolist(),
        "sizes": groups.sizes.tolist(),
        "axes": list(groups.axis_names),
        "n_groups": groups.n_groups,
    }


def about_sensitive(plan, release):
    """What the groups disclose about each sensitive column."""
    labels, about = release.labels, []
    for name, values in plan.roles.sensitive.items():
        share = homogeneity(labels, values.to_frame())[0]
        lines = homogeneity_lines({name: share}, len(labels), plan.options.k)
        sentence = lines[0].removeprefix(f"{name}: ") if lines else None
        distance = "ordered" if values.dtype.kind in "iuf" else "equal"
        about.append(
            {
                "name": name,
                "homogeneity": sentence or "no records are in groups that share one value",
                "diversity": int(diversity(labels, values)),
                "closeness": rounded_up(closeness(labels, values, distance)),
            }
        )
    return about


def risk_of(records, released, estimator):
    """The share that an intruder who knows the originals is expected to re-identify.

    Of an interval, the intruder takes the middle. The share comes as a number and in words.
    """
    if not isinstance(estimator, TableAggregator):
        released = pd.DataFrame({name: with_midpoints(released[name]) for name in released})
    linkage = linkage_of_release(records, released, estimator)
    return expected_matches(linkage, len(records), fewest_records(estimator.k))


def rounded_loss(loss):
    """A loss with as many digits as the page is sent; only a loss of 0 is 0."""
    return max(round(float(loss), DIGITS), 10**-DIGITS) if loss > 0 else 0.0


def rounded_bound(bound):
    """A proven bound on a loss with as many digits, which is still one."""
    return rounded_down(bound, DIGITS)
