"""Numbers as text, in one format for messages, plots and reports.

The command line imports it before it knows what to do, so NumPy is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from math import ceil, floor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_microagg._utils._typing import Array

# Shares that are this close to 0 or 1 differ from them by rounding only.
ROUNDING = 1e-12

# The same for figures that are rounded to the safe side, which are sums of many.
ROUNDING_OF_BOUNDS = 1e-9

# Percentages that are written without an exponent.
PLAIN = (Decimal("1e-6"), Decimal("1e6"))

# A figure for one record discloses it, and a figure for two discloses each of them to the other.
FEWEST_RECORDS = 3

# What a share that may be of a few people is rounded up to: one person's rows seldom change it.
COARSE_PERCENTS = 5, 10, 25, 50, 75, 100

MOST_LINES = 5
MOST_NAMES = 8

# Numbers with more decimals than this are released as they are averaged.
MOST_DECIMALS = 12

# So many of the numbers of a column are looked at first, and a few are this share of them at most.
SOME_NUMBERS = 1000
FEW_NUMBERS = 0.01


def percent(share: float, digits: int = 2) -> str:
    """A share in percent.

    Only a share of exactly 0 or 1 is written as 0% or 100%: nothing that is rare looks as if it
    never occurred, and nothing that is nearly certain as if it were.
    """
    share = float(share)
    if share <= ROUNDING:
        return "0%"
    if abs(share - 1) <= ROUNDING:
        return "100%"
    value = 100 * share
    if value < 10:
        decimals = digits if value < 1 else digits - 1
    else:
        decimals = max(digits - 2, 1 if digits > 1 else 0)
    step = 10.0**-decimals
    if value < step:
        return f"<{step:.{decimals}f}%"
    text = f"{value:.{decimals}f}%"
    if value < 100 and float(text[:-1]) == 100:
        return f">{100 - step:.{decimals}f}%"
    return text


def whole_percent(share: float) -> str:
    """A share of records in whole percents: finer ones would differ by a single record."""
    return "<1%" if ROUNDING < share < 0.01 else percent(share, digits=1)


def at_most(share: float) -> str:
    """A bound on a share in whole percents, rounded up so that it remains one."""
    return "<1%" if share < 0.01 else f"at most {100 * rounded_up(share):.0f}%"


def rounded_percent(share: float, digits: int, rounding: str) -> str:
    """A share in percent, rounded up or down as asked, for bounds that must remain bounds."""
    # The shortest decimal that is this float: 0.1 is not a little more than that.
    exact = 100 * Decimal(repr(float(share)))
    value = Context(prec=digits, rounding=rounding).create_decimal(exact)
    if not PLAIN[0] <= value < PLAIN[1]:
        return f"{value:e}%"
    written = f"{value:f}"
    return (written.rstrip("0").rstrip(".") if "." in written else written) + "%"


def rounded_up(number: float, decimals: int = 2) -> float:
    """A number with few decimals that is an upper bound on it, but for rounding errors."""
    return ceil(10**decimals * number - ROUNDING_OF_BOUNDS) / 10**decimals


def rounded_down(number: float, decimals: int = 2) -> float:
    """A number with few decimals that is a lower bound on it, as `rounded_up` is an upper one."""
    return floor(10**decimals * number + ROUNDING_OF_BOUNDS) / 10**decimals


def percent_of_axis(share: float) -> str:
    """A share in percent with no more digits than it needs, as the label of a tick."""
    return f"{100 * share:.5g}%"


def signed(number: float, decimals: int = 2) -> str:
    """A number with its sign, or 0 without one."""
    text = f"{number:+.{decimals}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def counted(number: int, noun: str) -> str:
    """A number with thousands separators, and the noun that it counts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class FewestOfPeople(int):
    """A number of records that are those of at least `people` people, whichever they are."""

    people: int


def fewest_records(k, units=None):
    """Smallest number of records that a figure may stand for; with `units`, a FewestOfPeople."""
    fewest = max(k, FEWEST_RECORDS)
    if units is None:
        return fewest
    import numpy as np

    of_largest = np.sort(np.bincount(units))[::-1][: fewest - 1]
    enough = FewestOfPeople(of_largest.sum() + 1)
    enough.people = fewest
    return enough


class ShareOfPeople(float):
    """A share of the records, with the numbers of people who have such records and others."""

    n_people: tuple[int, int]


def share_of_people(rows, units):
    """The share of the records in a mask, with the people behind it where some have several."""
    import numpy as np

    share = float(np.mean(rows))
    if units is None:
        return share
    share = ShareOfPeople(share)
    share.n_people = tuple(len(np.unique(units[mask])) for mask in (rows, ~rows))
    return share


def coarsely_rounded_up(share: float) -> float:
    """A coarse upper bound on a share."""
    return next((p / 100 for p in COARSE_PERCENTS if 100 * (share - ROUNDING) <= p), 1.0)


def bound_in_words(share: float, n_records: int, fewest: int) -> str | None:
    """What to write instead of a share that stands for a few records, or for all but a few."""
    n_of_them = round(share * n_records)
    counts, least = (n_of_them, n_records - n_of_them), fewest
    if isinstance(share, ShareOfPeople):
        counts, least = share.n_people, getattr(fewest, "people", fewest)
    is_few, are_others_few = (0 < count < least for count in counts)
    if not (is_few or are_others_few):
        return None
    if isinstance(share, ShareOfPeople) or isinstance(fewest, FewestOfPeople):
        # Records of a few people may be most of them, and are then no small risk.
        return at_most(coarsely_rounded_up(share))
    return f"{'' if is_few else 'all but '}fewer than {fewest} records"


def share_in_words(share: float, n_records: int, fewest: int, of: str = "") -> str:
    """A share of the records in whole percents, or a bound if it stands for a few of them."""
    words = bound_in_words(share, n_records, fewest)
    return words if words and "records" in words else (words or whole_percent(share)) + of


def expected_matches(linkage: Any, n_records: int, fewest: int) -> tuple[float, str]:
    """The share of the records that an intruder is expected to re-identify, as it may be shown."""
    share, most = linkage.expected_matches, linkage.expected_if_linked
    # An exact share would disclose how many records are linked; below 1%, a rounded one could be 0.
    is_hidden = bound_in_words(linkage.linked, n_records, fewest) is not None
    if isinstance(fewest, FewestOfPeople):
        most = min(most, coarsely_rounded_up(share))
    if is_hidden or 0 < share <= most < 0.01:
        return most, at_most(most)
    return rounded_share(share), whole_percent(share)


def rounded_share(share):
    """A share of the records in whole percents, as a number: finer ones reveal records."""
    return round(float(share), 2)


def is_share_large(share, k):
    """Whether one unit has a larger share of a group than if k units had one record each."""
    return share > (1 + 1e-9) / k


def homogeneity_lines(
    shares: dict[Any, Any], n_records: int, k: int, most: int | None = MOST_LINES
) -> list[str]:
    """A line for each column in which groups share one value, the largest share first."""
    ranked = sorted((name for name in shares if any(shares[name])), key=lambda n: -max(shares[n]))
    lines = [
        f"{name}: {homogeneity_in_words(shares[name], n_records, k)}" for name in ranked[:most]
    ]
    n_more = len(ranked) - len(lines)
    if n_more:
        lines.append(f"and {n_more} more {'column' if n_more == 1 else 'columns'}")
    return lines


def homogeneity_in_words(shares, n_records, k):
    """How many records are in groups that share one value, or have a single known one."""
    share, known = (
        share_in_words(each, n_records, fewest_records(k), " of the records") for each in shares
    )
    words = f"{share if shares[0] else 'no records'} are in groups that share one value"
    if shares[1] > shares[0]:
        words += f", {known} in groups with a single known value, apart from missing ones"
    return words


def singles_out(found):
    """Whether unchanged columns single anybody out, by themselves or with the anonymized ones."""
    # Whoever is unique by fewer columns is unique by more.
    return found.unique_with_release > 0


def singled_out_lines(
    found: Any,
    names: list[str],
    as_text: Callable[..., Any],
    others: str = "the anonymized columns",
) -> list[str]:
    """How far columns that are released unchanged single people out, in up to three lines."""
    whom = "them" if len(names) > 1 else "it"
    lines = [f"nobody is unique by {in_a_list(names)} together with {others}"]
    if singles_out(found):
        share = as_text(found.unique_with_release, " of the records")
        lines = [f"{share} are unique by {in_a_list(names)} together with {others}"]
        lines.append(f"nobody is unique by {whom} alone")
    if found.unique > 0:
        lines[1] = f"{as_text(found.unique, ' of the records')} are unique by {whom} alone"
        shares = [*map(as_text, found.unique_by)][: len(names) - 1]
        some = found.n_combined < len(names)
        of = f"the {found.n_combined} with most different values" if some else whom
        sizes = (f"one of {of}", "two", "three")
        by_fewer = [f"{share} by {size}" for share, size in zip(shares, sizes, strict=False)]
        lines[1] += f"; {', '.join(by_fewer)}" if by_fewer else ""
    most = at_most(found.expected_matches)
    lines.append(f"an intruder who knows {whom}, too, re-identifies {most} of the records")
    return lines


def in_a_list(names):
    """Names in a sentence: the first of many, and how many more there are."""
    n_more = len(names) - MOST_NAMES
    if n_more > 0:
        return f"{', '.join(names[:MOST_NAMES])} and {counted(n_more, 'more column')}"
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def determined_in_words(found, show):
    """Sentences such as "expersq determines exper", without an end; `show` shows a name."""
    return [
        f"{in_a_list([*map(show, columns)])} {'determine' if len(columns) > 1 else 'determines'} "
        f"{show(name)}, or nearly so"
        for columns, name in found
    ]


def printable(text: object) -> str:
    """The text with characters escaped that are not shown, or that move the cursor or turn text."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(text))


def shown(name: str) -> str:
    """A name in a list of names, in quotes if it would not be seen or could be several."""
    return repr(name) if not name.strip() or name != name.strip() or "," in name else name


def shortened(label: str, longest: int) -> str:
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def shown_name(name: object) -> str:
    """A name from a table, of any type, as it is read in a list and on a page."""
    return printable(shown(str(name)))


def decimals_of(numbers: Array) -> int | None:
    """The fewest decimals that all numbers have, but for float noise; None if they have very many.

    0.30000000000000004, which is 0.1 + 0.2, has one decimal: the other digits are noise, as sums
    and differences of numbers of this size have it. If only a few numbers have very many, such as a
    quotient among measurements, those of the others count.
    """
    import numpy as np

    known = np.unique(numbers[np.isfinite(numbers)])
    if not len(known):
        return 0
    # Some are often enough to see that all have many.
    if len(known) > 2 * SOME_NUMBERS and decimals_of(known[:: len(known) // SOME_NUMBERS]) is None:
        return None
    wide, noise = known.astype(np.float64), 64 * np.spacing(np.abs(known).max())
    of_most = None
    for decimals in range(MOST_DECIMALS // (1 if known.dtype.itemsize > 4 else 2) + 1):
        rounded = np.round(wide, decimals)
        is_written = rounded.astype(known.dtype) == known
        # Where steps are not far larger than noise, anything would pass for it.
        if 10.0**-decimals > 1000 * noise:
            is_written |= np.abs(rounded - wide) <= noise
        if is_written.all():
            return decimals
        if of_most is None and is_written.mean() >= 1 - FEW_NUMBERS:
            of_most = decimals
    return of_most
