"""The kernels of this folder, in one extension module."""

include "_range_columns.pxi"
include "_range_tree.pxi"
include "_range_pool.pxi"
include "_range_partition.pxi"
include "_range_descent.pxi"
include "_center_index.pxi"
