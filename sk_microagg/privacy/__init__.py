"""Constraints: what a group must satisfy beyond its size."""

from sk_microagg._choices import ConstraintOption, Front
from sk_microagg.privacy._base import Constraint
from sk_microagg.privacy._closeness import TCloseness
from sk_microagg.privacy._diversity import LDiversity
from sk_microagg.privacy._dominance import Dominance
from sk_microagg.privacy._p_percent import PPercent
from sk_microagg.privacy._population import PopulationSize
from sk_microagg.privacy._rules import Rules
from sk_microagg.privacy._units import DistinctUnits, UnitShare

__all__ = [
    "Constraint",
    "ConstraintOption",
    "DistinctUnits",
    "Dominance",
    "Front",
    "LDiversity",
    "PPercent",
    "PopulationSize",
    "Rules",
    "TCloseness",
    "UnitShare",
]
