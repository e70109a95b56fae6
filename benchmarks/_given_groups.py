"""What groups are released as that another method has made."""

from sk_microagg._utils._statistics import Members
from sk_microagg.tables._coding import TableCoding, find_treatments, spread_of, survey_table


def released_groups(table, labels, k, categories, hierarchies=()):
    """By the name of each column, a table with the row that each group is released as."""
    treatments = find_treatments(dict(table.items()), {}, {}, dict(hierarchies), {})
    surveys = survey_table(table, treatments)
    coding = TableCoding.from_surveys(surveys, treatments, k, categories=categories)
    numbers = coding.encode(table)
    known = coding.without_single(numbers, labels, None)
    coding.find_roundings(known, spread_of(known, labels), None)
    averages = coding.averages(numbers, Members(labels))
    return coding.released(coding.shown(averages)).cells(averages)
