"""Tables larger than memory, on Dask."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_microagg.scale._dask import DaskTableAggregator

__all__ = ["DaskTableAggregator"]


def __getattr__(name: str) -> Any:
    # Dask is an extra: the package works without it.
    if name != "DaskTableAggregator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from sk_microagg.scale._dask import DaskTableAggregator
    except ImportError as error:
        raise ImportError(
            "DaskTableAggregator needs Dask and pandas: install sk-microagg[dask]."
        ) from error
    return DaskTableAggregator
