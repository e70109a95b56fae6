"""Constraints: what a group must satisfy beyond its size."""

from sk_microagg.privacy._base import Constraint
from sk_microagg.privacy._closeness import TCloseness
from sk_microagg.privacy._diversity import LDiversity
from sk_microagg.privacy._rules import Rules
from sk_microagg.privacy._units import DistinctUnits, UnitShare

__all__ = ["Constraint", "DistinctUnits", "LDiversity", "Rules", "TCloseness", "UnitShare"]
