"""How figures are written into tables."""

import math


def note(kept):
    """Return the line below a table: by which command, when and on what it was measured."""
    facts, command = kept["machine"], f"``{kept['command']}``"
    versions = ", ".join(
        f"{name} {facts[key]}"
        for name, key in (("Python", "python"), ("NumPy", "numpy"), ("SciPy", "scipy"))
        if key in facts
    )
    where = "the machine was not recorded"
    if facts:
        where = f"{facts['cpus']} cores, {facts['architecture']}, {versions}"
    minutes = kept.get("minutes")
    spent = "" if minutes is None else f", in {minutes:g} minute{'s' * (minutes != 1)}"
    return f"Measured by {command}, {kept['date']}{spent}; {where}."


def spaced(number):
    """Return an integer with spaces between thousands."""
    return f"{number:,}".replace(",", " ")


def seconds(value):
    digits = 2 if value < 0.995 else 1 if value < 9.95 else 0
    return f"{value:.{digits}f} s"


def percent(value, digits=2):
    """Return a percentage, with a minus sign as mathematicians write it."""
    return f"{value:.{digits}f}%".replace("-", "−")


def signed(value, digits):
    """Return a difference with its sign, and zero without one."""
    value = round(value, digits)
    return f"{value:+.{digits}f}".replace("-", "−") if value else f"{0:.{digits}f}"


def cells_by(cells, *keys):
    return {tuple(cell[key] for key in keys): cell for cell in cells}


def loss(value):
    """Return a loss in percent: two decimals, three if it is small."""
    return f"{value:.2f}" if value >= 2 else f"{value:.3f}"


def rounded_up(value, digits):
    """Return a number that is not below the value: a gap is an upper limit."""
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:.{digits}f}"


def rounded_down(value, digits):
    """Return a number that is not above the value, as a lower bound must be."""
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def about(value):
    """Return a number with two significant digits."""
    return int(float(f"{value:.2g}"))
