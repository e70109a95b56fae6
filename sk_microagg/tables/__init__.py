"""Columns of any kind as points, and groups of points as rows of a table.

One class per kind of column says what is learned of it, how its values become coordinates and how a
group of them is released; `TableEncoder` puts them together. `Hierarchy` says how categories and
numbers are generalized.
"""

from sk_microagg.tables._categories import CategoryColumn as CategoryColumn
from sk_microagg.tables._dates import DateColumn as DateColumn
from sk_microagg.tables._encoder import TableEncoder
from sk_microagg.tables._hierarchical import HierarchyColumn as HierarchyColumn
from sk_microagg.tables._hierarchy import Hierarchy
from sk_microagg.tables._numbers import NumberColumn as NumberColumn
from sk_microagg.tables._ordinals import OrdinalColumn as OrdinalColumn

__all__ = ["Hierarchy", "TableEncoder"]
