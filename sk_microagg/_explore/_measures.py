"""What a preview measures of a release.

Figures are coarse. What differs between the previews for two values of k may be one record: if all
digits were sent, its value could be computed.
"""

from math import ceil

import numpy as np
import pandas as pd

from sk_microagg import TableAggregator
from sk_microagg._cli._facts import Fact
from sk_microagg._cli._released import describe
from sk_microagg._explore._distributions import distributions
from sk_microagg._utils._formatting import (
    at_most,
    expected_matches,
    fewest_records,
    homogeneity_in_words,
    rounded_down,
)
from sk_microagg.generalization._grid import with_midpoints
from sk_microagg.metrics import closeness, diversity
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.metrics._risk_utility import linkage_of_release
from sk_microagg.plotting._released_groups import ReleasedGroups

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


def columns_before_and_after(plan, estimator, records, released, release, hidden):
    """What is released of each column, and its distribution before and after.

    Categories of the columns in `hidden` are not shown.
    """
    drawn = distributions(records, released, plan.known, plan.roles.units(), hidden)
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


def about_sensitive(plan, release):
    """What the groups disclose about each sensitive column."""
    labels, about = release.labels, []
    sizes = np.bincount(labels)
    for name, values in plan.roles.sensitive.items():
        shares = homogeneity_of_both(labels, values.to_frame())[0]
        words = homogeneity_in_words(shares, len(labels), plan.options.k)
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


def _rounded_closeness(distance, sizes):
    """A distance from the whole table that is not exceeded, too coarse to tell of one record."""
    step = STEP_OF_CLOSENESS
    if len(sizes) < MANY_GROUPS:
        step = max(step, 2 / sizes.min())
    return min(round(step * ceil(distance / step - 1e-9), 2), 1.0)


def demands_met(privacy):
    """What was demanded of every group and holds, in sentences.

    How much closer than demanded the groups are is told by `about_sensitive`, and coarsely.
    """
    sentences = []
    for name, fact in privacy.items():
        if name == "unit share":
            sentences.append(
                f"{at_most(rounded_unit_share(fact.value))} of the rows of a group belong to one "
                "person"
            )
        elif name == "t-closeness":
            sentences += [
                "{column}: the distance of a group from the table is at most {demanded:g}, as "
                "demanded".format(**about)
                for about in fact.value
            ]
        else:
            sentences += lines_of(fact)
    return sentences


def lines_of(fact):
    """The lines of a fact, as the command line prints them."""
    fact = fact.text if isinstance(fact, Fact) else fact
    return [str(line) for line in (fact if isinstance(fact, list) else [fact])]


def rounded_unit_share(share):
    """A share of one unit in a group that is not exceeded, too coarse to tell of one record."""
    return min(round(STEP_OF_SHARES * ceil(share / STEP_OF_SHARES - 1e-9), 2), 1.0)


def risk_of(records, released, estimator, units=None):
    """The share that an intruder who knows the originals is expected to re-identify.

    Of an interval, the intruder takes the middle. The share comes as a number and in words.
    """
    if not isinstance(estimator, TableAggregator):
        released = pd.DataFrame({name: with_midpoints(released[name]) for name in released})
    linkage = linkage_of_release(records, released, estimator, units)
    return expected_matches(linkage, len(records), fewest_records(estimator.k, units))


def rounded_loss(loss, n_records):
    """A loss with as many digits as the page is sent; only a loss of 0 is 0."""
    digits = _digits_of_losses(n_records)
    return max(round(float(loss), digits), 10**-digits) if loss > 0 else 0.0


def rounded_bound(bound, n_records):
    """A proven bound on a loss with as many digits, which is still one."""
    return rounded_down(bound, _digits_of_losses(n_records))


def _digits_of_losses(n_records):
    return DIGITS if n_records >= MANY_RECORDS else DIGITS_IF_FEW
