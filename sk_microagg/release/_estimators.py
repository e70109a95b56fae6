"""The estimator for a table, by its columns and the request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.files._cells import Column
from sk_microagg.files._declared import Declared
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.refiners import REFINERS
from sk_microagg.refiners._chain import name_of, refiner_by_name
from sk_microagg.release._demands import Demands, demands_beyond_k
from sk_microagg.release._request import ReleaseRequest

DEFAULTS = MicroAggregator().get_params()

REFINERS_OF_KAIM = ("local_search", "iterated_local_search", "none")

# What only groups that are released as averages can be asked for.
FOR_AVERAGES = ("categories", "decimals", "target", "weight")

# What KAIM does not take.
NOT_FOR_KAIM = ("builder", "certificate", "column_weights")


def make_estimator(
    columns: Sequence[Column],
    hierarchies: dict,
    declared: Declared,
    demands: Demands,
    request: ReleaseRequest,
    verbose: int,
) -> TableAggregator | KAIM:
    """One estimator for all columns: two partitions are not k-anonymous in combination."""
    names = [column.name for column in columns]
    settings: dict[str, Any] = {
        "k": request.k,
        "hierarchies": {name: tree for name, tree in hierarchies.items() if name in names} or None,
        "random_state": request.random_state,
        "n_jobs": request.n_jobs,
        "verbose": verbose,
    }
    if request.method == "kaim":
        return KAIM(
            quasi_identifiers=names,
            **demands.names(),
            privacy=demands.privacy,
            refiner=_refiner_of_kaim(request),
            **settings,
        )
    generalized: dict[str, Any] = {"numbers": "interval", "categories": "generalize"}
    averages: dict[str, Any] = {
        "categories": request.categories or "mode",
        "decimals": {c.name: c.notation.rounding for c in columns if c.kind in ("number", "date")},
        "ordinal": {n: order for n, order in declared.orders.items() if n in names} or None,
    }
    weights = {name: weight for name, weight in request.column_weights.items() if name in names}
    return TableAggregator(
        quasi_identifiers=names,
        **demands.names(),
        column_weights=weights or None,
        privacy=demands.privacy,
        builder=request.builder or DEFAULTS["builder"],
        refiner=make_refiner(request.refiner, request.time_limit),
        **(generalized if request.generalizes else averages),
        **settings,
    )


def check_method(request: ReleaseRequest) -> None:
    """Raise if a parameter is not for generalized values, or for KAIM, before reading anything."""
    is_kaim, method = request.method == "kaim", Option("method", "kaim")
    names = FOR_AVERAGES if request.generalizes else ()
    given = [
        name for name in (*names, *(NOT_FOR_KAIM if is_kaim else ())) if getattr(request, name)
    ]
    if given:
        text = "{given} is not for {method}: leave out one of them."
        other = method if is_kaim else Option("release", "generalized")
        raise RequestError("not_for_method", text, given=Option(given[0]), method=other)
    if not is_kaim:
        return
    if request.refiner not in (None, *REFINERS_OF_KAIM):
        text = "{refiner} is not for {method}: take one of {choices}."
        facts = {"refiner": Option("refiner", request.refiner), "method": method}
        raise RequestError("refiner", text, choices=", ".join(REFINERS_OF_KAIM), **facts)
    _refiner_of_kaim(request)


def _refiner_of_kaim(request: ReleaseRequest) -> Any:
    return make_refiner(
        request.refiner,
        request.time_limit,
        default=KAIM().refiner,
        default_search="iterated_local_search",
    )


def check_refiner_keeps_constraints(request: ReleaseRequest) -> None:
    """Raise if there are constraints that the refiner does not keep."""
    if request.method == "kaim":  # It merges groups after its refiner.
        return
    constraints = [option for option in demands_beyond_k(request) if option.name != "strata"]
    refiner = make_refiner(request.refiner, request.time_limit)
    if isinstance(refiner, str):
        refiner = refiner_by_name(refiner)
    if constraints and refiner is not None and not refiner.keeps_rules:
        names = [name for name, kind in REFINERS.items() if kind().keeps_rules]
        text = "{refiner} does not know {constraint}: take one of {choices}."
        facts = {
            "refiner": Option("refiner", request.refiner or name_of(refiner)),
            "constraint": constraints[0],
            "choices": ", ".join([*names, "none"]),
        }
        raise RequestError("refiner", text, **facts)


def make_refiner(
    name: str | None,
    time_limit: float | None,
    default: Any = DEFAULTS["refiner"],
    default_search: str = "recombination",
) -> Any:
    """The refiner of a name and time limit, as the parameter of an estimator."""
    if time_limit is None:
        return None if name == "none" else name or default
    have_limits = [name for name in REFINERS if "time_limit" in REFINERS[name]().get_params()]
    if name not in (None, *have_limits):
        text = "{refiner} has no time limit: leave out {time_limit}, or take {choices}."
        facts = {"refiner": Option("refiner", name), "time_limit": Option("time_limit")}
        raise RequestError("refiner", text, choices=" or ".join(have_limits), **facts)
    search: Any = REFINERS[name or default_search]
    return search(time_limit=time_limit)
