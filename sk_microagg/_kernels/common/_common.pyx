"""One extension module for the kernels that share state: this takes a fraction of the build time."""

include "_base_partition.pxi"
include "_base_descent.pxi"
