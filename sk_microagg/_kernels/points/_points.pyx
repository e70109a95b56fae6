"""The kernels of this folder, in one extension module."""

include "_box_tree.pxi"
include "_point_tree.pxi"
include "_key_products.pxi"
include "_anchored_farthest.pxi"
include "_farthest_pair.pxi"
include "_pool.pxi"
