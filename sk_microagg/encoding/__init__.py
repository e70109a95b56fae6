"""Columns of any kind as points, and groups of points as rows of a table.

One small class per kind of column says how its values become coordinates and how a group of them is
released; `TableEncoder` puts them together.
"""

from sk_microagg.encoding._categories import CategoryColumn
from sk_microagg.encoding._dates import DateColumn
from sk_microagg.encoding._encoder import TableEncoder
from sk_microagg.encoding._numbers import NumberColumn
from sk_microagg.encoding._ordinals import OrdinalColumn
from sk_microagg.encoding._trees import HierarchyColumn

__all__ = [
    "CategoryColumn",
    "DateColumn",
    "HierarchyColumn",
    "NumberColumn",
    "OrdinalColumn",
    "TableEncoder",
]
