"""The kernels of this folder, in one extension module."""

include "_root_candidates.pxi"
include "_root_search.pxi"
include "_ascent.pxi"
include "_group_finder.pxi"
include "_cut_finder.pxi"
include "_cut_check.pxi"
