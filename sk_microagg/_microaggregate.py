"""Partition records: run the builder, then the refiner, and validate the result of each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import shared_interrupt, warn_if_interrupted, warn_user
from sk_microagg._utils._sklearn_compat import CallbackSupportMixin
from sk_microagg._utils._typing import (
    BuilderLike,
    Floats,
    Labels,
    RandomState,
    RefinerLike,
    TableLike,
)
from sk_microagg._utils._validation import (
    check_k,
    check_option,
    check_partition,
    check_ranges,
    check_records,
    own_copy,
)
from sk_microagg.builders import BUILDERS, Builder, Optimal1D
from sk_microagg.builders._mdav import MDAV
from sk_microagg.builders._merging import merge_until_met
from sk_microagg.builders._t_closeness_first import (
    TClosenessFirst,
    has_t_closeness,
    order_by_values,
    representative_groups,
)
from sk_microagg.privacy import Constraint, Rules
from sk_microagg.privacy._strata import Strata
from sk_microagg.refiners import REFINERS, make_chain
from sk_microagg.refiners._base import check_keeps_rules, run_refiner
from sk_microagg.refiners._chain import refiner_by_name

# If merging leaves fewer groups than this share of what k allows, another start is tried.
FEW_GROUPS = 0.25


def microaggregate(
    X: TableLike,
    k: int,
    *,
    builder: BuilderLike = "mdav",
    refiner: RefinerLike = "auto",
    privacy: Constraint | Sequence[Constraint] | None = None,
    sensitive: TableLike | None = None,
    unit: TableLike | None = None,
    strata: TableLike | None = None,
    random_state: RandomState = None,
) -> Labels:
    """Partition records into groups of at least `k` with little information loss.

    Columns are not scaled: scale them first if their units differ, or use
    :class:`MicroAggregator`, which does.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    k : int
        Minimum group size, from 1 to `n_samples`.

    builder : {"mdav", "cbfs", "tfrp", "gsms", "dbfs", "path_optimal", "optimal_1d", \
            "k_anonymity_first", "t_closeness_first"} or Builder, default="mdav"
        Builds the initial partition: the name of a builder, or any object with a method
        `build(X, k) -> labels`. Without constraints, a single column is always partitioned
        optimally, by :class:`~sk_microagg.builders.Optimal1D`: builder and refiner are then
        ignored.

    refiner : {"auto", "exchange", "local_search", "iterated_local_search", "annealing", \
            "recombination", "decompose", "decompose_shrink"}, Refiner, list or None, \
            default="auto"
        Improves the partition: the name of a refiner, any object with a method
        `refine(X, labels, k, random_state=) -> labels`, a list of these to be applied in sequence,
        or None to use the partition as built.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size, such as
        :class:`~sk_microagg.privacy.LDiversity`, :class:`~sk_microagg.privacy.TCloseness` or
        :class:`~sk_microagg.privacy.UnitShare`. With t-closeness, the builder "mdav" is replaced by
        "t_closeness_first"; under other constraints, its groups are merged, or built from all
        sensitive values (or units) where merging would leave few.

    sensitive : array-like, Series or DataFrame, default=None
        The column or columns that `privacy` is about, with a value per record.

    unit : array-like or Series of shape (n_samples,), default=None
        Who each record belongs to. Each group then has records of at least `k` different units.

    strata : array-like, Series or DataFrame, default=None
        The stratum of each record. No group has records of two strata.

    random_state : int, RandomState instance or None, default=None
        Source of randomness, passed to the refiner. Pass an int for reproducible results.
        Builders, "exchange" and, also without a seed, "auto" always give the same result: if one
        table were released in two different partitions, the groups of both could be intersected.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    See Also
    --------
    MicroAggregator : Transformer that scales the columns and returns the release.

    Examples
    --------
    >>> from sk_microagg import microaggregate
    >>> microaggregate([[0.0, 2.0], [1.0, 2.0], [9.0, 5.0], [11.0, 5.0], [4.0, 3.0]], k=2)
    array([1, 1, 0, 0, 1])
    """
    X = check_records(X)
    check_ranges(X)
    k = check_k(k, len(X))
    rules = Rules.of_table(len(X), k, privacy, sensitive, unit)
    method = Method(k, make_builder(builder), make_refiner(refiner))
    method = method.with_constraints(rules, builder) if rules else method.for_columns(X.shape[1])
    strata = Strata.checked(strata, len(X), k, rules)
    if strata is None:
        labels = method.partition(X, random_state, rules)[0]
        warn_if_one_group(labels, k, None, rules)
        return labels
    labels = np.empty(len(X), dtype=np.intp)
    n_groups = 0
    with shared_interrupt():
        for rows, part_method, seed in strata.parts(method, random_state):
            part = part_method.partition(X[rows], seed, rules.subset(rows))
            labels[rows] = n_groups + part[0]
            n_groups = labels[rows].max() + 1
        warn_if_interrupted("all strata have the best partition found so far")
    warn_if_one_group(labels, k, strata, rules)
    return labels


@dataclass(frozen=True)
class Method:
    """How to partition records into groups of at least `k`: a builder, and a refiner or None."""

    k: int
    builder: Any
    refiner: Any

    def partition(
        self, X: Floats, random_state: RandomState, rules: Rules | None = None, task: Any = None
    ) -> tuple[Labels, int]:
        """Build and refine a partition; raise an error if a group violates k or a rule."""
        if isinstance(X, np.ndarray):
            X = X.view()
            X.flags.writeable = False  # These are the user's records.
        labels = self._check(self._build(X, rules), X, f"builder={self.builder!r}", rules)
        if self.refiner is None:
            return labels, 0
        part = nullcontext()
        if task is not None and isinstance(self.refiner, CallbackSupportMixin):
            part = task.subcontext(task_name="refine").propagate_callback_context(self.refiner)
        with part:
            refined = run_refiner(self.refiner, X, labels, self.k, random_state, rules)
        labels = self._check(refined, X, f"refiner={self.refiner!r}", rules)
        return labels, getattr(self.refiner, "n_iter_", 0)

    @property
    def takes_codes(self) -> bool:
        """Whether both take categories of many values as codes."""
        parts = (self.builder, self.refiner)
        # Subclasses have to say so themselves.
        return all(part is None or vars(type(part)).get("takes_codes", False) for part in parts)

    def forget_traces(self) -> None:
        """Remove the sums of squared errors that searches keep: from these, values may follow."""
        steps = [step for _, step in getattr(self.refiner, "steps_", [])]
        for refiner in (self.refiner, *steps):
            if hasattr(refiner, "trace_"):
                del refiner.trace_

    def seed(self, random_state: RandomState) -> RandomState:
        """Return the random state, or what stands for None with this refiner."""
        if random_state is None:
            return getattr(self.refiner, "default_seed", None)
        return random_state

    def _build(self, X: Floats, rules: Rules | None) -> ArrayLike:
        if isinstance(self.builder, Builder):
            return self.builder._run(X, self.k, rules)
        source = f"builder={self.builder!r} returned labels"
        labels = check_partition(self.builder.build(X, self.k), self.k, len(X), source)
        return merge_until_met(X, labels, rules)

    def _check(self, labels: ArrayLike, X: Floats, source: str, rules: Rules | None) -> Labels:
        labels = check_partition(labels, self.k, len(X), f"{source} returned labels")
        if rules:
            rules.check(labels, f"{source} returned labels")
        return labels

    def with_constraints(self, rules: Rules, builder: object) -> Method:
        """Return the method under rules, where a better builder may replace "mdav", the default."""
        if self.refiner is not None:
            check_keeps_rules(self.refiner)
        if isinstance(builder, str) and builder == "mdav":
            better = TClosenessFirst() if has_t_closeness(rules) else MDAVUnderRules()
            return replace(self, builder=better)
        return self

    def for_columns(self, n_columns: int) -> Method:
        """Return the method for a table: the optimum if it has a single column, else this one."""
        return Method(self.k, Optimal1D(), None) if n_columns == 1 else self

    def for_a_block(self, share_of_time: float = 1.0) -> Method:
        """Return a silent copy for one block, with a share of the refiner's time limits."""
        method = self.with_share_of_time(share_of_time)
        for parameter in _parameters(method.refiner):
            name = parameter.rsplit("__", 1)[-1]
            if name in ("n_jobs", "verbose"):
                method.refiner.set_params(**{parameter: None if name == "n_jobs" else 0})
        return method

    def with_share_of_time(self, share: float) -> Method:
        """Return a copy for a part of the records, with a share of the refiner's time limits."""
        refiner = clone(self.refiner, safe=False)
        for parameter, value in _parameters(refiner).items():
            if parameter.rsplit("__", 1)[-1] == "time_limit" and _is_positive(value):
                refiner.set_params(**{parameter: value * share})
        return Method(self.k, clone(self.builder, safe=False), refiner)


def make_builder(builder: BuilderLike) -> Any:
    if isinstance(builder, str):
        check_option("builder", builder, BUILDERS)
        return BUILDERS[builder]()
    return own_copy("builder", builder, ("build",), f"one of {', '.join(map(repr, BUILDERS))} or ")


def make_refiner(refiner: RefinerLike, **defaults: Any) -> Any:
    """Return a new refiner or None; `defaults` replace `n_jobs` and `verbose` that are not set."""
    if refiner is None:
        return None
    if isinstance(refiner, str):
        refiner = refiner_by_name(refiner)
    elif isinstance(refiner, list) and refiner:
        if any(step is None for step in refiner):
            raise TypeError(
                f"refiner={refiner!r} must hold names and refiners only: None stands for no "
                "refiner, and is not allowed in a list."
            )
        refiner = make_chain(*map(make_refiner, refiner))
    else:
        names = ", ".join(map(repr, REFINERS))
        refiner = own_copy("refiner", refiner, ("refine",), f"None, one of {names}, a list or ")
    for parameter, value in _parameters(refiner).items():
        name = parameter.rsplit("__", 1)[-1]
        if name in defaults and (value is None or (name == "verbose" and value in (0, False))):
            refiner.set_params(**{parameter: defaults[name]})
    return refiner


def _is_positive(value: object) -> bool:
    """Whether a value is a valid time limit; the refiner rejects others."""
    return isinstance(value, Real) and not isinstance(value, bool) and value > 0  # type: ignore[operator]


def _parameters(refiner: Any) -> dict[str, Any]:
    """Return the parameters of a refiner and of nested ones; none if it is not an estimator."""
    return refiner.get_params() if hasattr(refiner, "get_params") else {}


def warn_if_one_group(labels: Labels, k: int, strata: Strata | None, rules: Rules | None) -> None:
    """Warn if constraints left a single group where there are enough records for two."""
    if not rules:
        return
    parts = [labels] if strata is None else [labels[rows] for rows in strata.rows_of_all()]
    if any(len(part) >= 2 * k and part.min() == part.max() for part in parts):
        warn_of_one_group(within_strata=strata is not None)


def warn_of_one_group(within_strata: bool) -> None:
    where = "All records of a stratum are" if within_strata else "All records are"
    warn_user(
        f"{where} in one group: no smaller groups were found that satisfy the constraints. "
        "The release has a single row there; consider a weaker constraint.",
    )


class MDAVUnderRules(MDAV):
    """Groups of MDAV, merged until all constraints hold.

    Where that leaves few groups, groups with the values of the table are tried as well, and those
    with less loss are kept. To users, it is the builder "mdav" under constraints.
    """

    keeps_rules = True
    takes_codes = True

    def __repr__(self) -> str:
        """Return what users write, in reports and messages."""
        return repr("mdav")

    def _build(self, X: Floats, k: int, rules: Any = None) -> Labels:
        built = super()._build(X, k)
        if not rules:
            return built
        merged = merge_until_met(X, built, rules)
        if merged.max() > 0 and merged.max() + 1 >= FEW_GROUPS * (len(X) // k):
            return merged
        starts = [merged]
        if (order := order_by_values(rules.rules)) is not None:
            labels = representative_groups(X, order, rules, k, len(X) / 2)
            starts.append(merge_until_met(X, labels, rules))
        return min(starts, key=lambda labels: Partition(X, labels, 1).sse)
