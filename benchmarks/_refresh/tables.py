"""The tables that pages hold between markers, by the name in the marker.

Each has the job that it comes from, and a function that makes a `Table` of what is kept of it.
"""

from _refresh import columns, large, losses

TABLES = {
    "refiners": ("refiners", losses.refiners),
    "anytime": ("anytime", losses.anytime),
    "builder_losses": ("published", losses.builder_losses),
    "builders": ("builders", losses.builders),
    "growth": ("growth", large.growth),
    "cuts": ("cuts", large.cuts),
    "dask": ("dask", large.dask),
    "dask_extrapolated": ("dask", large.dask_extrapolated),
    "records": ("records", losses.records),
    "how_long": ("how_long", losses.how_long),
    "mixed": ("mixed", columns.mixed),
    "mixed_columns": ("mixed", columns.mixed_columns),
    "generalized": ("generalized", columns.generalized),
    "kaim": ("kaim", columns.kaim),
    "beyond_k": ("beyond_k", losses.beyond_k),
    "series": ("series", losses.series),
    "walls": ("disclosure", losses.walls),
    "train": ("train", columns.train),
    "train_losses": ("train", columns.train_losses),
    "train_published": ("train", columns.train_published),
    "train_diaz": ("train", columns.train_diaz),
}
