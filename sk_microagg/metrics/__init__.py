"""Metrics: what a release costs, and what it protects."""

from sk_microagg.metrics._anonymity import anonymity_level
from sk_microagg.metrics._generalization import generalization_loss
from sk_microagg.metrics._loss import information_loss, sse
from sk_microagg.metrics._missing import record_missing_rate, value_missing_rate

__all__ = [
    "anonymity_level",
    "generalization_loss",
    "information_loss",
    "record_missing_rate",
    "sse",
    "value_missing_rate",
]
