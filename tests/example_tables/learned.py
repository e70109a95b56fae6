"""Columns that are learned from all their cells at once, and what their groups are released as."""

import numpy as np

from sk_microagg._utils._statistics import Members
from sk_microagg.tables._coding import TableCoding, find_treatments, spread_of, survey_table
from sk_microagg.tables._columns import Treatment


def learn(kind, cells, k=1, units=None, **about):
    """The column of a class for a kind."""
    treatment = Treatment(kind.kind, **about)
    return kind.from_survey(kind.survey(cells, treatment, units), treatment, k)


def release(table, k, labels, *, numbers="mean", categories="mode", hierarchies=(), units=None):
    """What groups are released as, by the name of each column."""
    columns, has_intervals = dict(table.items()), numbers == "interval"
    treatments = find_treatments(columns, {}, {}, dict(hierarchies), {}, has_intervals)
    surveys = survey_table(table, treatments, units)
    coding = TableCoding.from_surveys(surveys, treatments, k, numbers, categories)
    rows, labels = coding.encode(table), np.asarray(labels)
    known = coding.without_single(rows, labels, units)
    coding.find_roundings(known, spread_of(known, labels), None)
    averages = coding.averages(rows, Members(labels, units))
    return coding.released(coding.shown(averages)).cells(averages)
