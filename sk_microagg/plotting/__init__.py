"""Displays, as in scikit-learn: plots of the utility and the risk of a release."""

from sk_microagg.plotting._attributes import AttributeDisplay
from sk_microagg.plotting._certificate import CertificateDisplay
from sk_microagg.plotting._convergence import ConvergenceDisplay
from sk_microagg.plotting._partition import PartitionDisplay
from sk_microagg.plotting._risk_utility import RiskUtilityDisplay

__all__ = [
    "AttributeDisplay",
    "CertificateDisplay",
    "ConvergenceDisplay",
    "PartitionDisplay",
    "RiskUtilityDisplay",
]
