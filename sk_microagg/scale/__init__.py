"""Tables larger than memory, on Dask."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_microagg.scale._dask import DaskMicroAggregator

__all__ = ["DaskMicroAggregator"]


def __getattr__(name: str) -> Any:
    # Dask is an extra: the package works without it.
    if name != "DaskMicroAggregator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from sk_microagg.scale._dask import DaskMicroAggregator
    except ImportError as error:
        raise ImportError(
            "DaskMicroAggregator needs Dask and pandas: install sk-microagg[dask]."
        ) from error
    return DaskMicroAggregator
