"""Shares of the records of a table, written so that none stands for only a few records."""

from sk_microagg._utils._numbers import at_most, whole_percent

# A figure for one record discloses it, and a figure for two discloses each of them to the other.
FEWEST_RECORDS = 3

MOST_LINES = 5


def fewest_records(k):
    """Smallest number of original records that a figure about a release may stand for."""
    return max(k, FEWEST_RECORDS)


def bound_in_words(share, n_records, fewest):
    """What to write instead of a share that stands for a few records, or for all but a few.

    Parameters
    ----------
    share : float
        Share of the records.

    n_records : int
        Number of all records.

    fewest : int
        Smallest number of records that a share may stand for.

    Returns
    -------
    words : str or None
        The words; None if the share may be shown.
    """
    n_of_them = round(share * n_records)
    if 0 < n_of_them < fewest:
        return f"fewer than {fewest} records"
    if 0 < n_records - n_of_them < fewest:
        return f"all but fewer than {fewest} records"
    return None


def share_in_words(share, n_records, fewest, of=""):
    """A share of the records in whole percents, or a bound if it stands for a few of them.

    Parameters
    ----------
    share : float
        Share of the records.

    n_records : int
        Number of all records.

    fewest : int
        Smallest number of records that a share may stand for.

    of : str, default=""
        What follows a percentage; a bound names the records by itself.

    Returns
    -------
    words : str
        The share.

    Examples
    --------
    >>> from sk_microagg._utils._shares import share_in_words
    >>> share_in_words(0.0712, 10_000, 5, of=" of the records")
    '7% of the records'
    >>> share_in_words(0.0004, 10_000, 5, of=" of the records")
    'fewer than 5 records'
    """
    return bound_in_words(share, n_records, fewest) or whole_percent(share) + of


def expected_matches(linkage, n_records, fewest):
    """The share of the records that an intruder is expected to re-identify, as it may be shown.

    Parameters
    ----------
    linkage : RecordLinkage
        What the intruder achieves.

    n_records : int
        Number of all records.

    fewest : int
        Smallest number of records that a share may stand for.

    Returns
    -------
    share : float
        The share in whole percents, or a bound, to be drawn.

    words : str
        The same, to be read.
    """
    share, most = linkage.expected_matches, linkage.expected_if_linked
    # An exact share would disclose how many records are linked; below 1%, a rounded one could be 0.
    is_hidden = bound_in_words(linkage.linked, n_records, fewest) is not None
    if is_hidden or 0 < share <= most < 0.01:
        return most, at_most(most)
    return rounded_share(share), whole_percent(share)


def rounded_share(share):
    """A share of the records in whole percents, as a number: finer ones tell of single records."""
    return round(float(share), 2)


def is_share_large(share, k):
    """Whether one unit has a larger share of a group than if k units had one record each."""
    return share > (1 + 1e-9) / k


def homogeneity_lines(shares, n_records, k, most=MOST_LINES):
    """A line for each column in which groups share one value, the largest share first.

    Parameters
    ----------
    shares : dict
        For each column, by its name, the share of the records that are in such groups.

    n_records, k : int
        Number of all records, and the minimum group size.

    most : int or None, default=5
        Maximum number of columns with a line of their own; one more line counts the others. None
        for no maximum.

    Returns
    -------
    lines : list of str
        The lines.
    """
    ranked = sorted((name for name in shares if shares[name] > 0), key=lambda name: -shares[name])
    lines = []
    for name in ranked[:most]:
        records = share_in_words(shares[name], n_records, fewest_records(k), " of the records")
        lines.append(f"{name}: {records} are in groups that share one value")
    n_more = len(ranked) - len(lines)
    if n_more:
        lines.append(f"and {n_more} more {'column' if n_more == 1 else 'columns'}")
    return lines
