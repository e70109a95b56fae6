"""Metrics: what a release costs, and what it protects."""

from sk_microagg.metrics._anonymity import anonymity_level
from sk_microagg.metrics._loss import information_loss, sse

__all__ = ["anonymity_level", "information_loss", "sse"]
