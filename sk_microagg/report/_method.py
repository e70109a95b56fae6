"""What was done, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg.builders import BUILDERS
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.refiners._chain import REFINERS
from sk_microagg.report._recipe import describe, describe_parameter
from sk_microagg.report._sections import Protection, ReleaseFile

GENERALIZED = (
    "Generalization: in each column, a group is released as the smallest category or interval that "
    "covers its records."
)
AVERAGED = "Microaggregation: each record is replaced by the mean of its group."
OF_TABLES = (
    "Microaggregation of whole tables: in each column, every record has the common value of its "
    "group."
)

OF_WEIGHTED_MEANS = (
    "In columns of weighted means without missing values, sums of weight × value stay as they are, "
    "in each group and in the table, but for rounding."
)
TOTALS = {
    "keep": "Sampling weights are released unchanged. " + OF_WEIGHTED_MEANS,
    "mean": "A sampling weight is released as the mean of its group, with four significant digits. "
    + OF_WEIGHTED_MEANS
    + " In columns that are released unchanged, these sums change.",
}


def method_of(
    estimator: Any,
    published: ReleaseFile,
    protection: Protection,
    about: dict[str, Any],
    missing: str,
) -> Iterator[tuple[str, str]]:
    """What was done, as far as the first page does not say it."""
    is_generalized = releases_intervals(estimator)
    is_table = isinstance(estimator, TableAggregator)
    yield "Method", GENERALIZED if is_generalized else OF_TABLES if is_table else AVERAGED
    if about["series"] is not None:
        yield "Series", about["series"]
    if published.file is not None:
        yield "Release file", f"{published.file}, SHA-256 {published.sha256}"
    if published.shuffled is not None:
        yield "Order of rows", "random" if published.shuffled else "that of the original"
    if protection.strata is not None:
        yield "Strata", f"{protection.strata:,}; no group has records of two strata"
    if is_table and about["weight"] is not None and not is_generalized:
        yield "Weights", TOTALS[estimator.weight_release]
    yield "Missing in the original", missing
    if is_generalized and (is_suppressed := estimator.labels_ < 0).any():
        yield "Records suppressed", f"{is_suppressed.sum():,}, released as * in all columns"
    if getattr(estimator, "n_blocks_", 1) > 1:
        yield "Blocks", f"{estimator.n_blocks_:,}, each partitioned separately"
    if getattr(estimator, "hierarchies", None):
        yield "Hierarchies", describe_parameter("hierarchies", estimator.hierarchies)
    for name in ("column_weights", "weights"):
        weights = getattr(estimator, name, None)
        if weights is not None and len(weights):
            yield "Column weights", describe(weights)
    if is_generalized and hasattr(estimator, "distance"):
        yield "Distance between records", f"{estimator.distance}"
        yield "Numbers released as", f"{estimator.output}s"
    labels = "Groups built by", "Groups refined by", "Columns scaled by"
    for label, name in zip(labels, ("builder", "refiner", "scaler"), strict=True):
        if hasattr(estimator, name):
            yield label, _by_name(getattr(estimator, f"{name}_", getattr(estimator, name)))


def _by_name(used):
    """An object, or the name that it is given by."""
    text = "none" if used is None else describe(used).strip("'")
    names = {f"{kind.__name__}()": name for name, kind in (*BUILDERS.items(), *REFINERS.items())}
    return names.get(text, text)
