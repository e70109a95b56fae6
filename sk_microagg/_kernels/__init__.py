"""Compiled kernels: arrays in, arrays out, without the GIL."""

from sk_microagg._kernels._annealing import Annealer
from sk_microagg._kernels._ascent import Ascent
from sk_microagg._kernels._center_index import CenterIndex
from sk_microagg._kernels._columns import Columns
from sk_microagg._kernels._cut_check import CutCheck
from sk_microagg._kernels._descent import Descent
from sk_microagg._kernels._exchange_graph import ExchangeGraph
from sk_microagg._kernels._group_finder import GroupFinder
from sk_microagg._kernels._partition import Partition
from sk_microagg._kernels._pool import Pool
from sk_microagg._kernels._range_descent import RangeDescent
from sk_microagg._kernels._range_partition import RangePartition
from sk_microagg._kernels._range_pool import RangePool
from sk_microagg._kernels._root_search import RootSearch
from sk_microagg._kernels._walls import center_weights

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
