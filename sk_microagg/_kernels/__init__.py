"""Compiled kernels: arrays in, arrays out, without the GIL.

Folders hold kernels that share state:

    common/   base classes of partitions and local searches, distances, random numbers, and a watch
              for Ctrl-C and deadlines
    points/   records as points, in a kd-tree with exact nearest and farthest queries: the pool
    groups/   groups of points: the partition, and searches that improve it
    ranges/   pool, partition and search for tables with categories, where a record or a group is a
              range of leaves in each column
    bound/    the lower bound on the loss

Which class inherits from which:

    BasePartition (common)            BaseDescent (common)
      ├── Partition (groups)            ├── Descent (groups)
      └── RangePartition (ranges)       └── RangeDescent (ranges)

    BoxTree (points)                  RangeTree (ranges)
      └── PointTree (points)            ├── RecordTree (in _range_pool)
    BasePool (points)                   ├── GroupTree (in _range_partition)
      ├── Pool (points)                 └── CenterIndex
      └── CodedPool (points)
    Guard (groups)
      ├── CallbackGuard, OrderedGuard
      └── CountingGuard
            ├── DistinctGuard, EntropyGuard, RecursiveGuard
            ├── EqualGuard, TreeGuard
            └── AmountGuard
                  └── LargestGuard, SumGuard

Which object holds which:

    Pool ─┬──────────────────────▶ PointTree
          ├─▶ AnchoredFarthest ──▶ PointTree
          ├─▶ CodedScan
          └─▶ FarthestPair ──────▶ PointTree
    CodedPool ─▶ CodedTree ──────▶ PointTree, over the columns of numbers

    Annealer ────────────────────▶ RunningPartition
    Descent ─────────────────────▶ Partition ─▶ PointTree, over the centroids
    Annealer, Descent ───────────▶ Guards ────▶ Guard, one per constraint
    ExchangeGraph ───────────────▶ Partition
                  └─▶ Arcs ──────▶ Partition, CodedTree

    RangePool ──────▶ RecordTree ─▶ RangeColumns
    RangePartition ◀▶ GroupTree ──▶ RangeColumns
                      CenterIndex ▶ RangeColumns
    RangeDescent ───▶ RangePartition

    RootSearch ─▶ RootCandidates ─▶ PointTree

`center_weights`, `optimal_runs`, `records_to_visit`, and the `Ascent`, `GroupFinder`, `CutFinder`
and `CutCheck` of the bound stand alone.

Each folder is one extension module: its .pyx file includes a .pxi file per class, and its .pxd file
declares the state of all of them. A module of its own for each class would take three times as long
to build.
"""

from sk_microagg._kernels.bound._bound import Ascent, CutCheck, CutFinder, GroupFinder, RootSearch
from sk_microagg._kernels.groups._groups import (
    Annealer,
    CallbackGuard,
    Descent,
    DistinctGuard,
    EntropyGuard,
    EqualGuard,
    ExchangeGraph,
    Guards,
    LargestGuard,
    OrderedGuard,
    Partition,
    RecursiveGuard,
    RunningPartition,
    SumGuard,
    TreeGuard,
    center_weights,
    optimal_runs,
    records_to_visit,
)
from sk_microagg._kernels.points._points import CodedPool, CodedTree, Pool
from sk_microagg._kernels.ranges._ranges import (
    CenterIndex,
    RangeColumns,
    RangeDescent,
    RangePartition,
    RangePool,
)
