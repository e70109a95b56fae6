"""Mixed and incomplete tables, made k-anonymous by generalisation."""

from sk_microagg.generalization._hierarchy import Hierarchy

__all__ = ["Hierarchy"]
