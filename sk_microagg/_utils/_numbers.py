"""Numbers as text, in one format for messages, plots and reports."""

from decimal import Context, Decimal
from math import ceil, floor

# Shares that are this close to 0 or 1 differ from them by rounding only.
ROUNDING = 1e-12

# The same for figures that are rounded to the safe side, which are sums of many.
ROUNDING_OF_BOUNDS = 1e-9

# Percentages that are written without an exponent.
PLAIN = (Decimal("1e-6"), Decimal("1e6"))


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
    """A share in whole percents, for shares of records.

    Finer figures would differ between two tables that differ in a single record.
    """
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
