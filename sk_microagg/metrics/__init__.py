"""Metrics of information loss, disclosure risk and utility."""

from sk_microagg._bound import Certificate
from sk_microagg.metrics._anonymity import (
    UnchangedUniqueness,
    anonymity_level,
    joint_anonymity,
    unchanged_uniqueness,
    uniqueness,
)
from sk_microagg.metrics._attribute_inference import AttributeInference, attribute_inference
from sk_microagg.metrics._changes import (
    CorrelationChange,
    attribute_changes,
    correlation_change,
    propensity_mse,
)
from sk_microagg.metrics._contributions import (
    IntruderRisk,
    PopulationRisk,
    dominance,
    individual_risk,
    p_percent,
    population_risk,
    unit_share,
    units_per_group,
)
from sk_microagg.metrics._determined import determined_columns
from sk_microagg.metrics._disclosure import cell_enumeration, interval_disclosure, rank_disclosure
from sk_microagg.metrics._generalization import (
    generalization_loss,
    record_missing_rate,
    value_missing_rate,
)
from sk_microagg.metrics._groups import (
    beta_likeness,
    closeness,
    delta_disclosure,
    diversity,
    homogeneity,
)
from sk_microagg.metrics._linkage import RecordLinkage, record_linkage
from sk_microagg.metrics._loss import information_loss, loss_bound, optimality_gap, sse
from sk_microagg.metrics._membership_inference import MembershipInference, membership_inference
from sk_microagg.metrics._risk_utility import risk_utility

__all__ = [
    "AttributeInference",
    "Certificate",
    "CorrelationChange",
    "IntruderRisk",
    "MembershipInference",
    "PopulationRisk",
    "RecordLinkage",
    "UnchangedUniqueness",
    "anonymity_level",
    "attribute_changes",
    "attribute_inference",
    "beta_likeness",
    "cell_enumeration",
    "closeness",
    "correlation_change",
    "delta_disclosure",
    "determined_columns",
    "diversity",
    "dominance",
    "generalization_loss",
    "homogeneity",
    "individual_risk",
    "information_loss",
    "interval_disclosure",
    "joint_anonymity",
    "loss_bound",
    "membership_inference",
    "optimality_gap",
    "p_percent",
    "population_risk",
    "propensity_mse",
    "rank_disclosure",
    "record_linkage",
    "record_missing_rate",
    "risk_utility",
    "sse",
    "unchanged_uniqueness",
    "uniqueness",
    "unit_share",
    "units_per_group",
    "value_missing_rate",
]
