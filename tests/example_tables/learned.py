"""Columns that are learned from all their cells at once, and what their groups are released as."""

import numpy as np

from sk_microagg._utils._statistics import Members
from sk_microagg.tables._coding import TableCoding, find_treatments, spread_of, survey_table
from sk_microagg.tables._columns import Treatment


def learn(kind, cells, k=1, units=None, **about):
    """The column of a class for a kind."""
    treatment = Treatment(kind.kind, **about)
    return kind.from_survey(kind.survey(cells, treatment, units), treatment, k)


def release(
    table, k, labels, *, numbers="mean", categories="mode", hierarchies=(), decimals="auto"
):
    """What groups are released as, by the name of each column, before any refinement of roles."""
    about = dict.fromkeys(table, decimals)
    treatments = find_treatments(
        dict(table.items()), {}, {}, dict(hierarchies), about, numbers == "interval"
    )
    surveys = survey_table(table, treatments)
    coding = TableCoding.from_surveys(surveys, treatments, k, numbers, categories)
    rows, labels = coding.encode(table), np.asarray(labels)
    known = coding.without_single(rows, labels, None)
    coding.find_roundings(known, spread_of(known, labels), None)
    averages = coding.averages(rows, Members(labels))
    return coding.released(coding.shown(averages)).cells(averages)
