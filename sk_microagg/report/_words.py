"""What k-anonymity protects from and what not, in plain words."""

from sk_microagg._utils._shares import fewest_records
from sk_microagg.report._html import listing, paragraph, section, tag


def protection(facts):
    """The promise of the release, its limits, and why the report may be shown with it."""
    return section(
        "What k-anonymity protects from, and what not",
        tag("h3", "It protects from"),
        listing(_promise(facts)),
        tag("h3", "It does not protect from"),
        listing(
            "What is in other columns than the anonymized ones. Names, numbers and addresses must "
            "be removed; and if all records of a group agree in another column, a diagnosis say, "
            "it is told of every one of them.",
            "Guesses that are nearly right. A released value may be close to the true one.",
            "Several releases of the same people. Each may be anonymous, and both together not.",
            "Telling that a person is in the table at all, if that is a secret.",
        ),
        paragraph(
            "k-anonymity is a property of a table. It makes no promise about what an intruder may "
            "know beside it; differential privacy, which does, is another method."
        ),
        tag("h3", "This report"),
        paragraph(
            "It holds no original record. What it draws of the original are counts of "
            f"{fewest_records(facts.k)} records or more, within the range of the release: bins and "
            "categories with fewer are merged, and values beyond count in the outermost bins. "
            "Shares of the records that stand for fewer, or for all but fewer, are not told "
            "either. Groups are drawn from the release alone."
        ),
    )


def _promise(facts):
    k = facts.level
    if k == 1:
        return "Nothing: there is a row in the release that stands for a single record."
    kind = (
        "its values are means of these"
        if facts.numbers is not None
        else "its values are what all of these have in common, or more general"
    )
    return (
        "Finding a person’s row. Whoever knows a person’s values in these columns cannot tell the "
        f"person from at least {k - 1:,} {'others' if k > 2 else 'other'} by them: each row of "
        f"the release stands for {k:,} records or more, and {kind}."
    )
