"""One extension module for the kernels that share state: this takes a fraction of the build time."""

include "_root_candidates.pxi"
include "_root_search.pxi"
include "_ascent.pxi"
include "_group_finder.pxi"
include "_cut_check.pxi"
