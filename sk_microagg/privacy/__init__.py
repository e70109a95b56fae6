"""Constraints: what a group must satisfy beyond its size."""

from sk_microagg.privacy._base import Constraint
from sk_microagg.privacy._rules import Rules

__all__ = ["Constraint", "Rules"]
