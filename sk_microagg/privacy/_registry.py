"""Constraints that the command line, the page and the report can ask for, by their first option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Classes of constraints, by the names of their first options.
CONSTRAINTS: dict[str, Any] = {}


@dataclass(frozen=True)
class ConstraintOption:
    """An option that sets a parameter of a constraint.

    Parameters
    ----------
    name : str
        Its name, as in "unit_share" for `--unit-share`.

    parameter : str
        The parameter of the constraint.

    kind : {"diversity", "positive", "positive_share", "share"} or tuple of str
        Which values it takes: a number of at least 1; a number above 0; one above 0 and at most 1;
        one from 0 to 1; or one of some words.

    help : str
        What it does, for `--help`.

    default : object, default=None
        The value if it is not given.

    See Also
    --------
    Front : Has the options of a constraint.

    Examples
    --------
    >>> from sk_microagg.privacy import ConstraintOption
    >>> option = ConstraintOption("spread", "least", "positive", "numbers differ by at least S")
    >>> option.default is None
    True
    """

    name: str
    parameter: str
    kind: str | tuple[str, ...]
    help: str
    default: Any = None


@dataclass(frozen=True)
class Front:
    """How users ask for a constraint, and what they read about it.

    Parameters
    ----------
    title : str
        Its name in summaries.

    options : tuple of ConstraintOption
        Its options; the first one demands it.

    label : str
        What the page calls its first option.

    meaning : str
        What that means.

    choice : str
        A value of it in words, as in "At least {}".

    choices : tuple of float
        Values to choose from on the page.

    See Also
    --------
    Constraint : Has it as the attribute `front`.

    Examples
    --------
    >>> from sk_microagg.privacy import LDiversity
    >>> LDiversity.front.title, [option.name for option in LDiversity.front.options]
    ('l-diversity', ['l', 'l_kind', 'c'])
    """

    title: str
    options: tuple[ConstraintOption, ...]
    label: str
    meaning: str
    choice: str
    choices: tuple[float, ...]


def known_constraints() -> dict[str, Any]:
    """The classes by the names of their first options: those on units first, then by name."""
    in_order = sorted(CONSTRAINTS, key=lambda name: (not CONSTRAINTS[name].is_about_units, name))
    return {name: CONSTRAINTS[name] for name in in_order}


def constraints_from(values: Mapping[str, Any]) -> list[Any]:
    """The constraints that values of options ask for; raise ValueError if they contradict."""
    made = [constraint.from_options(values) for constraint in known_constraints().values()]
    return [constraint for constraint in made if constraint is not None]
