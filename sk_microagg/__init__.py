"""k-anonymity by microaggregation with little information loss, compatible with scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_microagg._microaggregate import microaggregate
    from sk_microagg._microaggregator import MicroAggregator
    from sk_microagg._series import ReleaseSeries
    from sk_microagg._table_aggregator import TableAggregator
    from sk_microagg._train import TrainOnRelease
    from sk_microagg._utils._estimator import __version__
    from sk_microagg._utils._target_scaler import TargetScaler
    from sk_microagg.generalization import KAIM
    from sk_microagg.privacy import LDiversity, TCloseness

__all__ = [
    "KAIM",
    "LDiversity",
    "MicroAggregator",
    "ReleaseSeries",
    "TCloseness",
    "TableAggregator",
    "TargetScaler",
    "TrainOnRelease",
    "__version__",
    "microaggregate",
]

# Where public names are, and folders that can be used without importing them. All are imported at
# first use: the command line answers at once.
_MODULES = {
    "KAIM": "generalization",
    "LDiversity": "privacy",
    "MicroAggregator": "_microaggregator",
    "ReleaseSeries": "_series",
    "TCloseness": "privacy",
    "TableAggregator": "_table_aggregator",
    "TargetScaler": "_utils._target_scaler",
    "TrainOnRelease": "_train",
    "__version__": "_utils._estimator",
    "microaggregate": "_microaggregate",
}
_FOLDERS = ("builders", "generalization", "privacy", "refiners", "tables")


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return import_module(f"sk_microagg.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"sk_microagg.{_MODULES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_FOLDERS})
