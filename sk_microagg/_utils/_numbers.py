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

    Parameters
    ----------
    share : float
        The share; it is at least 0 and may be above 1.

    digits : int, default=2
        Number of significant digits. There is at least one decimal, unless `digits` is 1, and
        there are at most `digits` decimals.

    Returns
    -------
    text : str
        The share, rounded, with a percent sign.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import percent
    >>> [percent(share) for share in (0, 0.00001, 0.0042, 0.037, 0.5, 0.99999, 1)]
    ['0%', '<0.01%', '0.42%', '3.7%', '50.0%', '>99.9%', '100%']
    >>> percent(0.037, digits=1), percent(0.037456, digits=3), percent(0.37456, digits=3)
    ('4%', '3.75%', '37.5%')
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

    Parameters
    ----------
    share : float
        The share, from 0 to 1.

    Returns
    -------
    text : str
        The share, rounded, with a percent sign; "<1%" and ">99%" near 0 and 1, which are written as
        0% and 100% only if they are exact.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import whole_percent
    >>> [whole_percent(share) for share in (0, 0.004, 0.037, 0.5, 0.996, 1)]
    ['0%', '<1%', '4%', '50%', '>99%', '100%']
    """
    return "<1%" if ROUNDING < share < 0.01 else percent(share, digits=1)


def at_most(share: float) -> str:
    """A bound on a share in whole percents, rounded up so that it remains one.

    Parameters
    ----------
    share : float
        The share that is not exceeded, from 0 to 1.

    Returns
    -------
    words : str
        The bound; "<1%" for shares below.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import at_most
    >>> [at_most(1 / k) for k in (3, 5, 100, 101)]
    ['at most 34%', 'at most 20%', 'at most 1%', '<1%']
    """
    return "<1%" if share < 0.01 else f"at most {100 * rounded_up(share):.0f}%"


def rounded_percent(share: float, digits: int, rounding: str) -> str:
    """A share in percent, rounded up or down as asked, for bounds that must remain bounds.

    Parameters
    ----------
    share : float
        The share, at least 0.

    digits : int
        Number of significant digits.

    rounding : str
        `decimal.ROUND_FLOOR` or `decimal.ROUND_CEILING`.

    Returns
    -------
    text : str
        The share with a percent sign.

    Examples
    --------
    >>> from decimal import ROUND_CEILING, ROUND_FLOOR
    >>> from sk_microagg._utils._numbers import rounded_percent
    >>> rounded_percent(1 / 3, 3, ROUND_FLOOR), rounded_percent(1 / 3, 3, ROUND_CEILING)
    ('33.3%', '33.4%')
    """
    # The shortest decimal that is this float: 0.1 is not a little more than that.
    exact = 100 * Decimal(repr(float(share)))
    value = Context(prec=digits, rounding=rounding).create_decimal(exact)
    if not PLAIN[0] <= value < PLAIN[1]:
        return f"{value:e}%"
    written = f"{value:f}"
    return (written.rstrip("0").rstrip(".") if "." in written else written) + "%"


def rounded_up(number: float, decimals: int = 2) -> float:
    """A number with few decimals that is an upper bound on it, but for rounding errors.

    Parameters
    ----------
    number : float
        The number.

    decimals : int, default=2
        Number of decimals.

    Returns
    -------
    rounded : float
        The bound.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import rounded_down, rounded_up
    >>> rounded_up(0.4333), rounded_up(0.1 + 0.2), rounded_down(0.4333)
    (0.44, 0.3, 0.43)
    """
    return ceil(10**decimals * number - ROUNDING_OF_BOUNDS) / 10**decimals


def rounded_down(number: float, decimals: int = 2) -> float:
    """A number with few decimals that is a lower bound on it, as `rounded_up` is an upper one."""
    return floor(10**decimals * number + ROUNDING_OF_BOUNDS) / 10**decimals


def percent_of_axis(share: float) -> str:
    """A share in percent with no more digits than it needs, as the label of a tick.

    Parameters
    ----------
    share : float
        The share; ticks have few digits.

    Returns
    -------
    text : str
        The share with a percent sign.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import percent_of_axis
    >>> percent_of_axis(0.05), percent_of_axis(0.125)
    ('5%', '12.5%')
    """
    return f"{100 * share:.5g}%"


def signed(number: float, decimals: int = 2) -> str:
    """A number with its sign, or 0 without one.

    Parameters
    ----------
    number : float
        The number.

    decimals : int, default=2
        Number of decimals.

    Returns
    -------
    text : str
        The number, rounded; a negative one has a minus sign, not a hyphen.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import signed
    >>> signed(0.123), signed(-0.001), signed(-2, decimals=1)
    ('+0.12', '0.00', '−2.0')
    """
    text = f"{number:+.{decimals}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def counted(number: int, noun: str) -> str:
    """A number with thousands separators, and the noun that it counts.

    Parameters
    ----------
    number : int
        The number.

    noun : str
        The noun in the singular; its plural takes an s.

    Returns
    -------
    text : str
        Number and noun.

    Examples
    --------
    >>> from sk_microagg._utils._numbers import counted
    >>> counted(1, "record"), counted(12_345, "record")
    ('1 record', '12,345 records')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
