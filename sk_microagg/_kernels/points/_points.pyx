"""One extension module for the kernels that share state: this takes a fraction of the build time."""

include "_box_tree.pxi"
include "_point_tree.pxi"
include "_anchored_farthest.pxi"
include "_farthest_pair.pxi"
include "_pool.pxi"
