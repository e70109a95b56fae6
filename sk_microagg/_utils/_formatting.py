"""Numbers as text, in one format for messages, plots and reports.

The command line imports it before it knows what to do, so NumPy is imported where it is needed.
"""

from __future__ import annotations

from decimal import Context, Decimal
from math import ceil, floor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

# Shares that are this close to 0 or 1 differ from them by rounding only.
ROUNDING = 1e-12

# The same for figures that are rounded to the safe side, which are sums of many.
ROUNDING_OF_BOUNDS = 1e-9

# Percentages that are written without an exponent.
PLAIN = (Decimal("1e-6"), Decimal("1e6"))

MOST_LINES = 5
MOST_NAMES = 8


def percent(share: float, digits: int = 3) -> str:
    """A share in percent, with three significant digits from a thousandth on.

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


def at_most(share: float) -> str:
    """The largest of several shares."""
    return f"at most {percent(share)}"


def in_records(share: float, n_records: int) -> str:
    """A share of the records, with their number."""
    return f"{round(share * n_records):,} of {counted(n_records, 'record')} ({percent(share)})"


def three_digits(number: float) -> str:
    """A number with three significant digits, or all before the decimal point."""
    if number != number:
        return "\N{EN DASH}"
    size = abs(number)
    if size and not 1e-4 <= size < 1e9:
        text = f"{number:.3g}"
    else:
        # Of the rounded number: 0.09999 is written as 0.100.
        decimals = 2 - int(f"{size:.2e}".partition("e")[2])
        text = f"{number:,.{max(decimals, 0)}f}"
    return text.replace("-", "\N{MINUS SIGN}")


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


def counted(number: int, noun: str) -> str:
    """A number with thousands separators, and the noun that it counts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def is_share_large(share, k):
    """Whether one unit has a larger share of a group than if k units had one record each."""
    return share > (1 + 1e-9) / k


def homogeneity_lines(
    shares: dict[Any, Any], n_records: int, most: int | None = MOST_LINES
) -> list[str]:
    """A line for each column in which groups share one value, the largest share first."""
    ranked = sorted((name for name in shares if any(shares[name])), key=lambda n: -max(shares[n]))
    lines = [f"{name}: {homogeneity_in_words(shares[name], n_records)}" for name in ranked[:most]]
    n_more = len(ranked) - len(lines)
    if n_more:
        lines.append(f"and {n_more} more {'column' if n_more == 1 else 'columns'}")
    return lines


def homogeneity_in_words(shares: Any, n_records: int) -> str:
    """How many records are in groups that share one value, or have a single known one."""
    share, known = (in_records(each, n_records) for each in shares)
    words = f"{share if shares[0] else 'no records'} are in groups that share one value"
    if shares[1] > shares[0]:
        words += f", {known} in groups with a single known value, apart from missing ones"
    return words


def singles_out(found):
    """Whether unchanged columns single anybody out, by themselves or with the anonymized ones."""
    # Whoever is unique by fewer columns is unique by more.
    return found.unique_with_release > 0


def singled_out_lines(
    found: Any, names: list[str], n_records: int, others: str = "the anonymized columns"
) -> list[str]:
    """How far columns that are released unchanged single people out, in up to three lines."""
    whom = "them" if len(names) > 1 else "it"
    lines = [f"no record is unique by {in_a_list(names)} together with {others}"]
    if singles_out(found):
        records = in_records(found.unique_with_release, n_records)
        lines = [f"{records} are unique by {in_a_list(names)} together with {others}"]
        lines.append(f"no record is unique by {whom} alone")
    if found.unique > 0:
        lines[1] = f"{in_records(found.unique, n_records)} are unique by {whom} alone"
        shares = [*map(percent, found.unique_by)][: len(names) - 1]
        some = found.n_combined < len(names)
        of = f"the {found.n_combined} with most different values" if some else whom
        sizes = (f"one of {of}", "two", "three")
        by_fewer = [f"{share} by {size}" for share, size in zip(shares, sizes, strict=False)]
        lines[1] += f"; {', '.join(by_fewer)}" if by_fewer else ""
    share = percent(found.expected_matches)
    lines.append(f"an intruder who also knows {whom} re-identifies {share} of the records")
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
