"""Compiled kernels: arrays in, arrays out, without the GIL."""

from sk_microagg._kernels._descent import Descent
from sk_microagg._kernels._exchange_graph import ExchangeGraph
from sk_microagg._kernels._partition import Partition
from sk_microagg._kernels._pool import Pool

__all__ = ["Descent", "ExchangeGraph", "Partition", "Pool"]
