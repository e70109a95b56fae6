"""Generalization: k-anonymity for tables with categories and missing values."""

from sk_microagg.generalization._k_member import KMember
from sk_microagg.generalization._kaim import KAIM

__all__ = ["KAIM", "KMember"]
