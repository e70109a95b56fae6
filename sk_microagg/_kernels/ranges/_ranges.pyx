"""One extension module for the kernels that share state: this takes a fraction of the build time."""

include "_range_columns.pxi"
include "_range_tree.pxi"
include "_range_pool.pxi"
include "_range_partition.pxi"
include "_range_descent.pxi"
include "_center_index.pxi"
