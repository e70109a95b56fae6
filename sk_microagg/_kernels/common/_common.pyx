"""The kernels of this folder, in one extension module."""

include "_base_partition.pxi"
include "_base_descent.pxi"
