"""Columns of any kind as points, and groups of points as rows of a table.

One small class per kind of column says how its values become coordinates and how a group of them is
released; `TableEncoder` puts them together.
"""

from sk_microagg.encoding._categories import CategoryColumn as CategoryColumn
from sk_microagg.encoding._dates import DateColumn as DateColumn
from sk_microagg.encoding._encoder import TableEncoder
from sk_microagg.encoding._numbers import NumberColumn as NumberColumn
from sk_microagg.encoding._ordinals import OrdinalColumn as OrdinalColumn
from sk_microagg.encoding._trees import HierarchyColumn as HierarchyColumn

__all__ = ["TableEncoder"]
