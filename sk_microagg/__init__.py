"""k-anonymity by microaggregation with little information loss, compatible with scikit-learn."""

from sk_microagg._microaggregate import microaggregate
from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._train import TrainOnRelease
from sk_microagg._utils._estimator import __version__
from sk_microagg._utils._target_scaler import TargetScaler
from sk_microagg.generalization import KAIM

__all__ = [
    "KAIM",
    "MicroAggregator",
    "TableAggregator",
    "TargetScaler",
    "TrainOnRelease",
    "__version__",
    "microaggregate",
]
