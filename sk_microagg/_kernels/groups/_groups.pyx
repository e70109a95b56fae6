"""One extension module for the kernels that share state: this takes a fraction of the build time."""

include "_partition.pxi"
include "_descent.pxi"
include "_annealing.pxi"
include "_arcs.pxi"
include "_exchange_graph.pxi"
include "_center_weights.pxi"
