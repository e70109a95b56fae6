"""Refiners and their names."""

from sk_microagg._utils._validation import check_option
from sk_microagg.refiners._annealing import Annealing
from sk_microagg.refiners._auto import Auto
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._decompose import Decompose
from sk_microagg.refiners._decompose_shrink import DecomposeShrink
from sk_microagg.refiners._exchange import Exchange
from sk_microagg.refiners._iterated_local_search import IteratedLocalSearch
from sk_microagg.refiners._local_search import LocalSearch
from sk_microagg.refiners._recombination import Recombination

# Refiners by name, as accepted by the estimators.
REFINERS = {
    "auto": Auto,
    "decompose": Decompose,
    "decompose_shrink": DecomposeShrink,
    "local_search": LocalSearch,
    "iterated_local_search": IteratedLocalSearch,
    "annealing": Annealing,
    "recombination": Recombination,
    "exchange": Exchange,
}


def refiner_by_name(name: str) -> Refiner:
    """Return a new refiner, given its name."""
    check_option("refiner", name, REFINERS)
    return REFINERS[name]()


def name_of(refiner: object) -> str:
    """Return the name of a refiner, or that of its class in lower case; "none" for None."""
    if refiner is None:
        return "none"
    kind = type(refiner)
    return next((name for name in REFINERS if REFINERS[name] is kind), kind.__name__.lower())
