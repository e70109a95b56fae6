"""The names of the refiners."""

from sk_microagg.refiners._annealing import Annealing
from sk_microagg.refiners._auto import Auto
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
