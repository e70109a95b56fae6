"""k-anonymity by microaggregation, with little information loss, for scikit-learn."""

from importlib.metadata import version

from sk_microagg._microaggregate import microaggregate
from sk_microagg._microaggregator import MicroAggregator
from sk_microagg.generalization import KAIM

__version__ = version("sk-microagg")

__all__ = ["KAIM", "MicroAggregator", "__version__", "microaggregate"]
