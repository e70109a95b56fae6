"""Refiners: turn a partition into groups of at least k into one with less information loss."""

from sk_microagg._kernels import Partition
from sk_microagg.refiners._annealing import Annealing
from sk_microagg.refiners._auto import Auto
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._chain import REFINERS as REFINERS
from sk_microagg.refiners._chain import Chain, make_chain
from sk_microagg.refiners._decompose import Decompose
from sk_microagg.refiners._decompose_shrink import DecomposeShrink
from sk_microagg.refiners._exchange import Exchange
from sk_microagg.refiners._iterated_local_search import IteratedLocalSearch
from sk_microagg.refiners._local_search import LocalSearch
from sk_microagg.refiners._recombination import Recombination

__all__ = [
    "Annealing",
    "Auto",
    "Chain",
    "Decompose",
    "DecomposeShrink",
    "Exchange",
    "IteratedLocalSearch",
    "LocalSearch",
    "Partition",
    "Recombination",
    "Refiner",
    "make_chain",
]
