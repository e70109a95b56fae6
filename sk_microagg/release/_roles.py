"""The roles of columns that a request asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from sk_microagg._table_roles import TableRoles
from sk_microagg.files._format import Declared, check_use
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.release._request import ReleaseRequest


def roles_of(request: Any, names: list) -> TableRoles:
    units = [] if request.unit is None else [request.unit]
    named: dict[str, Sequence[str]] = {
        "quasi_identifiers": request.quasi_identifiers or [],
        "drop": request.drop,
        "sensitive": request.sensitive,
        "unit": units,
        "strata": request.strata,
        "weight": [] if request.weight is None else [request.weight],
    }
    # A unit is dropped anyway.
    check_one_role(named, but=("drop", "unit"))
    others = {name for columns in named.values() for name in columns}
    chosen = request.quasi_identifiers
    chosen = [name for name in names if name not in others] if chosen is None else chosen
    if not chosen:
        _refuse_no_column([role for role, given in named.items() if given])
    named |= {"quasi_identifiers": chosen, "drop": [n for n in request.drop if n not in units]}
    parameters = SimpleNamespace(**named, weight_release=request.weight_release)
    return TableRoles.from_estimator(parameters, names)


def check_effects(request: ReleaseRequest, declared: Declared, roles: TableRoles) -> None:
    """Raise unless what is said about columns has an effect on them."""
    declared.check_kinds([*roles.quasi_identifiers, *roles.sensitive], "anonymized")
    for parameter in ("column_weights", "decimals"):
        named = [name for name in getattr(request, parameter) if name is not None]
        check_use(parameter, named, roles.quasi_identifiers, "anonymized")


def check_one_role(named: Mapping[str, Sequence[str]], but: tuple = ()) -> None:
    for one, other in combinations(named, 2):
        for name in named[one]:
            if name in named[other] and (one, other) != but:
                text = "Column {name!r} is named by {one} and by {other}."
                facts = {"name": name, "one": Option(one), "other": Option(other)}
                raise RequestError("two_roles", text, name, **facts)


def _refuse_no_column(parameters: list) -> None:
    if not parameters:
        text, option = "{option} names no column.", Option("quasi_identifiers")
        raise RequestError("no_quasi_identifier", text, option=option)
    listed = tuple(Option(name) for name in parameters)
    gaps = " and ".join(f"{{p{number}}}" for number in range(len(listed)))
    verb = "names" if len(listed) == 1 else "name"
    facts = {f"p{number}": option for number, option in enumerate(listed)}
    text = f"There is no column left to anonymize: {gaps} {verb} all."
    raise RequestError("no_quasi_identifier", text, **facts)
