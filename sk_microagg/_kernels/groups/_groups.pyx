"""The kernels of this folder, in one extension module."""

include "_partition.pxi"
include "_descent.pxi"
include "_annealing.pxi"
include "_arcs.pxi"
include "_exchange_graph.pxi"
include "_center_weights.pxi"
include "_optimal_runs.pxi"
