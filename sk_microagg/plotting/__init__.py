"""Displays, as in scikit-learn: plots of the utility and the risk of a release."""

from sk_microagg.plotting._attribute_display import AttributeDisplay
from sk_microagg.plotting._partition_display import PartitionDisplay
from sk_microagg.plotting._risk_utility_display import RiskUtilityDisplay
from sk_microagg.plotting._search_displays import CertificateDisplay, ConvergenceDisplay

__all__ = [
    "AttributeDisplay",
    "CertificateDisplay",
    "ConvergenceDisplay",
    "PartitionDisplay",
    "RiskUtilityDisplay",
]
