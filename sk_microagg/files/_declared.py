"""What a request says about single columns: their kinds, orders and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sk_microagg.files._messages import Option, RequestError

# Parameters by which a user says what columns hold, and the kinds that they mean.
KINDS = {"categorical": "category", "ordinal": "ordinal", "date": "date", "number": "number"}

DIRECTIVES = "dmyYHIMSpbBj"


@dataclass(frozen=True)
class Declared:
    """What the user says about columns, by their names."""

    kinds: dict = field(default_factory=dict)
    date_patterns: dict = field(default_factory=dict)
    orders: dict = field(default_factory=dict)

    @classmethod
    def from_request(cls, request: Any) -> Declared:
        """Take it from a request; raise if that contradicts itself."""
        kinds: dict = {}
        for parameter, kind in KINDS.items():
            for name in getattr(request, parameter):
                if kinds.setdefault(name, kind) != kind:
                    other = next(o for o in KINDS if KINDS[o] == kinds[name])
                    text = "Column {name!r} is named by {one} and by {other}."
                    facts = {"one": Option(other), "other": Option(parameter)}
                    raise RequestError("several_kinds", text, name, name=name, **facts)
        patterns = {name: pattern for name, pattern in request.date.items() if pattern is not None}
        for name, pattern in patterns.items():
            _check_pattern(name, pattern)
        orders = {name: [*order] for name, order in request.ordinal.items() if order is not None}
        for name, order in orders.items():
            _check_order(name, order)
        return cls(kinds=kinds, date_patterns=patterns, orders=orders)

    def check_kinds(self, used: list, what: str) -> None:
        """Raise unless kinds are of columns that are used; `what` is done with these, in words."""
        for parameter, kind in KINDS.items():
            named = [name for name in self.kinds if self.kinds[name] == kind]
            check_use(parameter, named, used, what)


def levels_of(text: str) -> list[str]:
    """The values of an order that is written as low<medium<high."""
    return [level.strip() for level in text.split("<")]


def check_use(parameter: str, named: Iterable, used: list, what: str) -> None:
    """Raise unless a parameter names columns that are used; `what` is done with these."""
    for name in named:
        if name not in used:
            text = "{parameter} names {name!r}, which is not {what}."
            facts = {"parameter": Option(parameter), "name": name, "what": what}
            raise RequestError("without_effect", text, name, **facts)


def _check_pattern(name: str, pattern: str) -> None:
    directives = re.findall("%(.?)", pattern)
    if not {"Y", "y"} & {*directives} or {*directives} - {*DIRECTIVES}:
        raise RequestError(
            "date_pattern",
            "{date}: the pattern must have a year, %Y or %y, and no other parts than {parts}.",
            name,
            date=Option("date", pattern, name),
            parts=", ".join("%" + letter for letter in DIRECTIVES),
        )


def _check_order(name: str, levels: list) -> None:
    if len(levels) < 2 or "" in levels or len({*levels}) < len(levels):
        order, advice = Option("ordinal", levels, name), (Option("write_order"),)
        raise RequestError("bad_order", "{ordinal}: {advice}.", name, ordinal=order, advice=advice)
