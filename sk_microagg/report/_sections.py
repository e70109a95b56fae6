"""The parts of a report that hold its figures and pictures."""

import numpy as np

from sk_microagg._utils._numbers import counted, percent, signed
from sk_microagg._utils._shares import homogeneity_lines
from sk_microagg.generalization._base import Generalizer
from sk_microagg.report._facts import INTERVAL, RANKS
from sk_microagg.report._figures import draw_certificate, draw_columns, draw_groups, draw_search
from sk_microagg.report._html import (
    definitions,
    join,
    listing,
    paragraph,
    section,
    share,
    table,
    tag,
)
from sk_microagg.report._reproduce import describe, describe_parameter

OUTERMOST = "Original values beyond the range of the release count in the outermost bins."


def done(estimator, facts):
    """What was done, and with what."""
    is_generalized = isinstance(estimator, Generalizer)
    how = _how_generalized(estimator, facts) if is_generalized else _how_aggregated(estimator)
    return section(
        "What was done",
        definitions(
            [
                *_origin(facts),
                ("Smallest group asked", f"k = {facts.k:,}"),
                ("Groups made", f"{facts.n_groups:,}, of {facts.smallest_group:,} records or more"),
                *how,
            ]
        ),
    )


def _origin(facts):
    """The table that it was done with, and what became of its columns, as far as that is known."""
    if facts.source is not None:
        yield "Input file", facts.source
    yield "Records", f"{facts.n_records:,}"
    yield "Columns anonymized", _names(facts.names)
    if facts.homogeneous is not None:
        yield "Columns passed through", _names(facts.homogeneous)
    if facts.dropped is not None:
        yield "Columns dropped", _names(facts.dropped)


def _names(columns):
    return f"{len(columns):,}: {', '.join(columns)}" if columns else "none"


def _how_aggregated(estimator):
    yield "Method", "Microaggregation: each record is replaced by the mean of its group."
    if getattr(estimator, "n_blocks_", 1) > 1:
        yield "Blocks", f"{estimator.n_blocks_:,}, each made into groups on its own"
    for label, name in (("Groups built by", "builder"), ("Groups refined by", "refiner")):
        used = getattr(estimator, f"{name}_", getattr(estimator, name))
        yield label, "nothing" if used is None else describe(used)
    scaler = getattr(estimator, "scaler_", estimator.scaler)
    yield "Columns scaled by", "nothing" if scaler is None else describe(scaler)


def _how_generalized(estimator, facts):
    yield (
        "Method",
        "Generalization: in each column, a group is released as the smallest category or interval "
        "that covers its records.",
    )
    yield "Missing before", facts.missing
    is_dropped = estimator.labels_ < 0
    if is_dropped.any():
        n_dropped = facts.bound(is_dropped.mean()) or f"{is_dropped.sum():,}"
        yield "Records dropped", f"{n_dropped}, released as * in all columns"
    hierarchies = describe_parameter("hierarchies", estimator.hierarchies)
    yield "Hierarchies", "none given" if estimator.hierarchies is None else hierarchies
    if hasattr(estimator, "distance"):
        yield "Distance of records", f"{estimator.distance}"
        yield "Numbers released as", f"{estimator.output}s"
        refiner = estimator.refiner_
        yield "Groups refined by", "nothing" if refiner is None else describe(refiner)
    if getattr(estimator, "weights", None) is not None:
        yield "Weights of columns", describe(estimator.weights)


def lost(facts):
    """What the release has lost, overall and by column."""
    if facts.numbers is None:
        measure = (
            "A category loses the share of all categories that its node covers, a number the share "
            "of the column’s range that its interval covers. The loss is the mean over all cells."
        )
        head = ["Column", "Information loss"]
        rows = [[name, share(loss)] for name, loss in _by_column(facts, facts.column_losses)]
        caption = "Loss by column"
    else:
        measure = (
            "Squared distances from records to what is released for them, as a share of the total "
            "sum of squares: what was spread within groups is lost, what is spread between them "
            "is kept."
        )
        head = ["Column", "Information loss", "Variance kept", "Mean"]
        head += ["Lower quartile", "Median", "Upper quartile"]
        quartiles = ("lower_quartile_change", "median_change", "upper_quartile_change")
        rows = [
            [
                name,
                share(loss),
                percent(row["variance_ratio"]),
                signed(row["mean_change"]),
                # A quartile is the number of one or two people: with more decimals it could be
                # computed from that of the release.
                *(signed(row[quartile], decimals=1) for quartile in quartiles),
            ]
            for name, loss, row in _by_column(facts, facts.column_losses, facts.numbers.changes)
        ]
        caption = (
            "Loss by column, and how far mean and quartiles have moved, in standard deviations of "
            "the original column"
        )
    return section(
        "What was lost",
        paragraph(tag("strong", f"Information loss: {percent(facts.loss)}. "), measure),
        *([] if facts.numbers is None else [_correlations(facts.numbers.correlations)]),
        table(head, rows, caption),
    )


def _correlations(moved):
    return paragraph(
        f"Correlations between columns have changed by {moved.mean:.3f} on average, and by "
        f"{moved.largest:.3f} at most."
    )


def _by_column(facts, *figures):
    return zip(facts.names, *figures, strict=True)


def risk(facts):
    """Which risk is left."""
    rows = [
        [
            "Rows that occur once, before",
            facts.told(facts.unique_before),
            "Original rows that only one record has.",
        ],
        [
            "Rows that occur once, after",
            facts.told(facts.unique_after),
            "The same in the release.",
        ],
        [
            "Distinct rows",
            f"{facts.n_distinct:,}",
            f"Of the release. Each is shared by at least {counted(facts.level, 'record')}.",
        ],
    ]
    if facts.numbers is not None:
        rows += _linkage_rows(facts)
    head = ["Measure", "Figure", "What it means"]
    return section(
        "Which risk is left",
        table(head, rows, class_="measures"),
        *([] if facts.numbers is None else [_disclosure_table(facts)]),
        *([] if not facts.homogeneous else [_homogeneity(facts)]),
    )


def _homogeneity(facts):
    """Which columns that pass through tell of whole groups."""
    lines = homogeneity_lines(facts.homogeneous, facts.n_records, facts.k, most=None)
    if not lines:
        return paragraph("No group shares one value in a column that passes through.")
    return join(
        paragraph(
            "A group that shares one value in a column that passes through tells it of each of its "
            "members, whom k-anonymity does not protect from that:"
        ),
        listing(*lines),
    )


def _linkage_rows(facts):
    linkage = facts.numbers.linkage
    yield [
        "Linked to the right row",
        facts.told(linkage.linked),
        "An intruder knows all original values, and takes the nearest row of the release. This "
        "share is right. It is high where groups are compact, and names nobody: rows are shared.",
    ]
    yield [
        "Re-identified, expected",
        facts.expected_matches(),
        "The intruder then picks one of those who share the row. k-anonymity allows at most "
        f"{percent(1 / facts.level)}.",
    ]
    yield [
        "The same, told the right row",
        percent(linkage.expected_if_linked),
        "What an intruder could expect who is never wrong about the row.",
    ]


def _disclosure_table(facts):
    interval = f"Within {INTERVAL:g} standard deviations"
    ranks = f"Within {percent(RANKS, digits=1)} of the ranks"
    figures = facts.numbers.intervals, facts.numbers.ranks
    return table(
        ["Column", interval, ranks],
        [
            [name, facts.with_bar(near), facts.with_bar(rank)]
            for name, near, rank in _by_column(facts, *figures)
        ],
        "Released values that are close to the original ones, as a share of the records",
    )


def before_and_after(X, release, facts):
    """Pictures of the columns."""
    pictures = draw_columns(X, release, facts.names, facts.k, facts.column_losses)
    legend = paragraph(
        tag("span", "original", class_="key"), tag("span", "release", class_="key release")
    )
    notes = [] if facts.numbers is None else ["Share of the records in bins.", OUTERMOST]
    n_columns = len(facts.names)
    if len(pictures) < n_columns:
        notes.append(
            f"{len(pictures)} of {n_columns} columns are drawn"
            + (": those that lost most." if facts.numbers is not None else ".")
        )
    if not pictures:
        legend = paragraph("Numbers are released as text: there is no column to draw.")
        notes = []
    return section(
        "Before and after",
        legend,
        *([paragraph(" ".join(notes), class_="note")] if notes else []),
        tag("div", *pictures, class_="plots"),
    )


def groups(release, k):
    """Picture of the groups; nothing if they are not in a plane, or one."""
    picture, n_shown, n_groups = draw_groups(release, k)
    if picture is None:
        return join()
    which = f"{n_shown:,} of {n_groups:,} groups, drawn at random,"
    which = "The groups, as they are released," if n_shown == n_groups else which
    return section(
        "Groups",
        paragraph(
            f"{which} seen from where they differ most: in their first two principal components. "
            "The area of a bubble is the number of records that share the row."
        ),
        tag("div", picture, class_="wide"),
    )


def proven(certificate, estimator):
    """What is proven about the loss, in a line and a picture."""
    verdict = certificate.verdict()
    return section(
        "How good it is",
        paragraph(
            tag("strong", f"{verdict[0].upper()}{verdict[1:]}: "), f"{certificate.reason()}."
        ),
        paragraph(
            "The bound is proven, not estimated, and holds for every partition into groups of at "
            f"least {certificate.k:,}, whatever the method. It is about the information loss "
            "above, which is measured on the columns as they were scaled, and says nothing about "
            "risk."
            + (" The true optimum is between bound and loss." if certificate.gap > 0 else "")
        ),
        tag("div", draw_certificate(certificate, estimator), class_="wide"),
    )


def search(trace, total):
    """Picture of the search."""
    is_falling = np.all(np.diff(trace[:, 2]) <= 0)
    drawn = "best groups so far" if is_falling else "groups at the time"
    return section(
        "Search",
        paragraph(f"The loss of the {drawn}. The last point is the release."),
        tag("div", draw_search(trace, total), class_="wide"),
    )
