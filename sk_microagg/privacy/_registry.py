"""Constraints that the command line, the page and the report can ask for, by their first option."""

from collections.abc import Mapping
from typing import Any

# Classes of constraints, by the names of their first options.
CONSTRAINTS: dict[str, Any] = {}


def known_constraints() -> dict[str, Any]:
    """The classes by the names of their first options: those on units first, then by name."""
    in_order = sorted(CONSTRAINTS, key=lambda name: (not CONSTRAINTS[name].is_about_units, name))
    return {name: CONSTRAINTS[name] for name in in_order}


def constraints_from(values: Mapping[str, Any]) -> list[Any]:
    """The constraints that values of options ask for; raise ValueError if they contradict."""
    made = [constraint.from_options(values) for constraint in known_constraints().values()]
    return [constraint for constraint in made if constraint is not None]
