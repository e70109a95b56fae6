"""Compiled kernels: arrays in, arrays out, without the GIL."""

from sk_microagg._kernels.bound._ascent import Ascent
from sk_microagg._kernels.bound._cut_check import CutCheck
from sk_microagg._kernels.bound._group_finder import GroupFinder
from sk_microagg._kernels.bound._root_search import RootSearch
from sk_microagg._kernels.groups._annealing import Annealer
from sk_microagg._kernels.groups._descent import Descent
from sk_microagg._kernels.groups._exchange_graph import ExchangeGraph
from sk_microagg._kernels.groups._partition import Partition
from sk_microagg._kernels.groups._walls import center_weights
from sk_microagg._kernels.points._pool import Pool
from sk_microagg._kernels.ranges._center_index import CenterIndex
from sk_microagg._kernels.ranges._columns import Columns
from sk_microagg._kernels.ranges._range_descent import RangeDescent
from sk_microagg._kernels.ranges._range_partition import RangePartition
from sk_microagg._kernels.ranges._range_pool import RangePool

__all__ = [
    "Annealer",
    "Ascent",
    "CenterIndex",
    "Columns",
    "CutCheck",
    "Descent",
    "ExchangeGraph",
    "GroupFinder",
    "Partition",
    "Pool",
    "RangeDescent",
    "RangePartition",
    "RangePool",
    "RootSearch",
    "center_weights",
]
