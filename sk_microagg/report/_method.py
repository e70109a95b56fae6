"""How the release was made, as pairs of a name and a text."""

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._numbers import at_most, counted
from sk_microagg.generalization._base import Generalizer
from sk_microagg.report._parameters import describe, describe_parameter

CATEGORIES = {
    "mode": "the most frequent value of the group",
    "generalize": "the lowest common node of their hierarchy, or *",
}


def method_of(estimator, facts):
    """The table, the treatment of its columns, and how the groups were made."""
    is_generalized = isinstance(estimator, Generalizer)
    how = _how_generalized(estimator, facts) if is_generalized else _how_averaged(estimator, facts)
    smallest = counted(facts.smallest_group, "record")
    return [
        *_origin(facts),
        ("Minimum group size", f"k = {facts.k:,}"),
        ("Groups", f"{facts.n_groups:,}, each of at least {smallest}"),
        *_beyond_k(facts.beyond_k),
        *how,
    ]


def _origin(facts):
    """The table and its columns, as far as known."""
    if facts.source is not None:
        yield "Input file", facts.source
    yield "Records", f"{facts.n_records:,}"
    yield "Columns anonymized", _names(facts.names)
    if facts.homogeneous is not None:
        yield "Columns released unchanged", _names(facts.homogeneous)
    if facts.dropped is not None:
        yield "Columns dropped", _names(facts.dropped)


def _names(columns):
    return f"{len(columns):,}: {', '.join(columns)}" if columns else "none"


def _beyond_k(facts):
    """Constraints, units and strata, as far as there are any."""
    if facts.demands:
        yield "Constraints on groups", "; ".join(demand.name for demand in facts.demands)
    if facts.n_units is not None:
        yield (
            "Units",
            f"each group has records of at least {facts.n_units:,} different units, and one unit "
            f"has {at_most(facts.unit_share)} of them",
        )
    if facts.n_strata is not None:
        yield "Strata", f"{facts.n_strata:,}; no group has records of two strata"


def _how_averaged(estimator, facts):
    if isinstance(estimator, TableAggregator):
        yield from _how_released(estimator)
    else:
        yield "Method", "Microaggregation: each record is replaced by the mean of its group."
    if facts.mixed is not None:
        yield "Missing in the original", facts.missing
    if getattr(estimator, "n_blocks_", 1) > 1:
        yield "Blocks", f"{estimator.n_blocks_:,}, each partitioned separately"
    for label, name in (("Groups built by", "builder"), ("Groups refined by", "refiner")):
        used = getattr(estimator, f"{name}_", getattr(estimator, name))
        yield label, _by_name(used)
    if hasattr(estimator, "scaler"):
        scaler = getattr(estimator, "scaler_", estimator.scaler)
        yield "Columns scaled by", _by_name(scaler)


def _by_name(used):
    """An object, or its name if it was given by it."""
    return "none" if used is None else describe(used).strip("'")


def _how_released(estimator):
    yield (
        "Method",
        "Microaggregation of whole tables: in each column, every record has the common value of "
        "its group.",
    )
    yield "Numbers and dates released as", f"the {estimator.numbers} of the group"
    yield "Categories released as", CATEGORIES[estimator.categories]
    if estimator.hierarchies:
        yield "Hierarchies", describe_parameter("hierarchies", estimator.hierarchies)
    if estimator.column_weights:
        yield "Column weights", describe(estimator.column_weights)


def _how_generalized(estimator, facts):
    yield (
        "Method",
        "Generalization: in each column, a group is released as the smallest category or interval "
        "that covers its records.",
    )
    yield "Missing in the original", facts.missing
    is_suppressed = estimator.labels_ < 0
    if is_suppressed.any():
        n_suppressed = facts.bound(is_suppressed.mean()) or f"{is_suppressed.sum():,}"
        yield "Records suppressed", f"{n_suppressed}, released as * in all columns"
    if estimator.hierarchies:
        yield "Hierarchies", describe_parameter("hierarchies", estimator.hierarchies)
    if hasattr(estimator, "distance"):
        yield "Distance between records", f"{estimator.distance}"
        yield "Numbers released as", f"{estimator.output}s"
        yield "Groups refined by", _by_name(estimator.refiner_)
    if getattr(estimator, "weights", None) is not None:
        yield "Column weights", describe(estimator.weights)
