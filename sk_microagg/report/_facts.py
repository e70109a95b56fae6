"""The sections of a report, measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils import _safe_indexing

from sk_microagg._bound import Certificate
from sk_microagg._series import name_of
from sk_microagg._utils._formatting import percent, printable, shown_name
from sk_microagg._utils._tables import (
    as_table,
    column_names,
    columns_of,
    has_numbers,
    missing_cells,
)
from sk_microagg._utils._typing import TableLike
from sk_microagg.metrics import joint_anonymity
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._linkage import link, units_of
from sk_microagg.report._analyses import Table, analyze, as_column
from sk_microagg.report._attacks import Attacker
from sk_microagg.report._columns import RoleNames, describe_columns
from sk_microagg.report._losses import measure_loss
from sk_microagg.report._method import method_of
from sk_microagg.report._recipe import recipe_of, software
from sk_microagg.report._risks import (
    linkage_facts,
    measure_identity_risks,
    measure_unchanged,
    near_values,
    unique_rows,
)
from sk_microagg.report._sections import (
    CONFIDENTIAL,
    Analysis,
    CertificateFacts,
    Constraint,
    Joint,
    Protection,
    ReleaseFile,
    ReportDocument,
    Risk,
    Share,
)
from sk_microagg.report._sensitive import facts_beyond_k
from sk_microagg.report._utility import lines_of, measure_utility
from sk_microagg.report._verdicts import verdicts_of


def collect(
    X: TableLike,
    release: TableLike,
    estimator: Any,
    pair: Any,
    fitted: TableLike,
    given: SimpleNamespace,
    about: dict[str, Any],
) -> ReportDocument:
    """Measure a release; `X` and `release` have the same shape.

    `pair` is what was anonymized, unless it is generalized, `fitted` is the table that the
    estimator was fitted on, `given` has the scenario, the analyses, the certificate, the weights
    and the random state, and `about` is what `make_report` was told.
    """
    columns, names = columns_of(X, "X"), column_names(X)
    if not hasattr(X, "columns"):
        names = [*map(str, getattr(estimator, "feature_names_in_", names))]
    empty = (name for name, cells in zip(names, columns, strict=True) if missing_cells(cells).all())
    kinds = {str(name): kind for name, kind in (about["kinds"] or {}).items()}
    kinds |= dict.fromkeys(empty, "empty")
    n_records = len(columns[0])
    units = units_of(about["unit"], n_records)
    random = RandomState(given.random_state)
    # Finding equal rows takes time: it is done once, not once per metric.
    classes = row_classes(release, "release") if pair is None else pair.classes
    shown = [shown_name(name) for name in names]
    # Before what takes time: these may raise.
    loss = measure_loss(X, release, estimator, pair, shown, kinds)
    kinds_of_columns = {one.column: one.kind for one in loss.columns}
    kinds_of_columns |= {shown_name(name): kind for name, kind in kinds.items() if kind == "empty"}
    reasons = {} if given.scenario is None else given.scenario.reasons
    names_by_role = RoleNames.of_tables(about)
    described = describe_columns(shown, kinds_of_columns, estimator, names_by_role, reasons)
    published, joint = published_file(about), _joint(X, release, estimator, about)
    analyses = _analyses(given, pair, [*map(str, names)], about["unchanged"])
    roles = {name: about[name] for name in ("sensitive", "unit", "strata", "weight")}
    beyond = facts_beyond_k(classes, estimator, **roles, amounts=X)
    protection = _protection(classes, estimator, beyond, joint)
    unchanged, together = measure_unchanged(X, shown, classes, release, about)
    original = row_classes(X, "X")
    linkage = None if pair is None else link(pair, units, getattr(estimator, "n_jobs", None))
    after = measure_identity_risks(together, about["weight"], units, beyond.unit_share)
    scenario = given.scenario and given.scenario.facts()
    risk = Risk(
        before=measure_identity_risks(original, about["weight"], units),
        after=after,
        is_acceptable=scenario and after.is_acceptable(scenario.threshold),
        unique_before=unique_rows(original, n_records),
        unique_after=unique_rows(classes, n_records),
        linkage=None if linkage is None else linkage_facts(linkage),
        near=[] if pair is None else near_values(pair, shown),
    )
    attacks = None
    if linkage is not None:
        attacked = {name: about[name] for name in ("sensitive", "unit", "strata")}
        attacker = Attacker(pair, estimator, shown, fitted, attacked, random, units)
        attacks = attacker.measure(linkage)
    recipe = recipe_of(estimator, beyond, about["command"], about["series"])
    return ReportDocument(
        schema="sk-microagg report",
        version=2,  # It grows with every change after which a program might fail.
        confidential=CONFIDENTIAL,
        title="Anonymization report" if about["title"] is None else str(about["title"]),
        written=datetime.now().astimezone().isoformat(timespec="minutes"),
        software=software(),
        source=None if about["source"] is None else printable(about["source"]),
        release=published,
        verdicts=verdicts_of(protection, unchanged, beyond, risk, scenario),
        records=n_records,
        columns=described,
        method=dict(method_of(estimator, published, protection, about, _missing_in_words(columns))),
        protection=protection,
        scenario=scenario,
        loss=loss,
        utility=None if pair is None else measure_utility(pair, shown, random, given.weights),
        analyses=analyses,
        certificate=_certificate(given.certificate),
        risk=risk,
        unchanged=unchanged,
        attacks=attacks,
        sensitive=_worst_first(beyond.columns),
        reproduction=recipe,
    )


def _worst_first(columns: list[Any]) -> list[Any]:
    """Sensitive columns, those of which groups disclose most first."""
    return sorted(
        columns,
        key=lambda one: (
            -max(one.homogeneous.value, one.one_known.value),
            one.different_values,
        ),
    )


def _protection(classes: Any, estimator: Any, beyond: Any, joint: Joint | None) -> Protection:
    sizes = np.bincount(classes)
    share = beyond.unit_share
    return Protection(
        k_requested=int(estimator.k),
        k_achieved=int(sizes.min()),
        groups=int(estimator.n_groups_),
        smallest_group=int(estimator.group_sizes_.min()),
        distinct_rows=len(sizes),
        units_per_group=beyond.n_units,
        largest_unit_share=None if share is None else Share.of(share),
        strata=beyond.n_strata,
        joint_anonymity=joint,
        constraints=[Constraint(one.name, one.is_met) for one in beyond.demands],
    )


def _certificate(certificate: Certificate | None) -> CertificateFacts | None:
    if certificate is None:
        return None
    return CertificateFacts(
        k=int(certificate.k or 0),
        loss=Share.of(certificate.loss),
        bound=Share.of(certificate.bound),
        gap=float(certificate.gap) if np.isfinite(certificate.gap) else None,
        verdict=certificate.verdict(),
        reason=certificate.reason(),
    )


def published_file(about: dict[str, Any]) -> ReleaseFile:
    """The file of the release, and the order of its rows, as far as they are known."""
    path, is_shuffled = about["file"], about["shuffled"]
    if path is not None and not Path(path).is_file():
        raise ValueError(f"file={str(path)!r} must be the file of the release.")
    return ReleaseFile(
        file=None if path is None else printable(Path(path).name),
        sha256=None if path is None else sha256(Path(path).read_bytes()).hexdigest(),
        shuffled=is_shuffled if is_shuffled is None else bool(is_shuffled),
    )


def _joint(X: TableLike, release: TableLike, estimator: Any, about: dict[str, Any]) -> Joint | None:
    """How many people share all of their rows, with earlier releases."""
    if not about["earlier"]:
        return None
    tables, people = check_earlier(about["earlier"], column_names(X), about["unit"])
    return Joint(len(people), int(joint_anonymity([release, *tables], people)))


def check_earlier(
    earlier: Sequence[tuple[TableLike, TableLike]], names: list[str], unit: TableLike | None
) -> tuple[list, list]:
    """The columns of earlier releases, and whose rows those of all releases are, today's first."""
    if unit is None:
        raise ValueError("earlier needs unit: who each record belongs to.")
    tables, people = [], [_people(unit)]
    for number, (table, others) in enumerate(earlier):
        if hasattr(table, "columns"):
            missing = [name for name in names if name not in column_names(table)]
            if missing:
                raise ValueError(
                    f"earlier[{number}] must have the anonymized column {missing[0]!r}."
                )
            places = [column_names(table).index(name) for name in names]
            table = _safe_indexing(as_table(table), places, axis=1)
        tables.append(table)
        people.append(_people(others))
        if len(people[-1]) != len(row_classes(table, "earlier")):
            raise ValueError(f"earlier[{number}] must name a person for each row of its table.")
        if {*people[0]}.isdisjoint(people[-1]):
            raise ValueError(f"earlier[{number}] has nobody of unit: it must name people alike.")
    return tables, people


def _people(unit):
    return [name_of(value) for value in np.asarray(unit, dtype=object).reshape(-1)]


def _analyses(
    given: SimpleNamespace, pair: Any, names: list[str], unchanged: TableLike | None
) -> list[Analysis]:
    """Regressions before and after."""
    if not given.formulas:
        return []
    if pair is None:
        raise ValueError(
            f"analysis={given.formulas!r} needs a release of averages: KAIM has ranges."
        )
    before, after = ({}, {})
    lines = {line.name: line for line in lines_of(pair, names)}
    for name in map(str, names):
        if name in lines:
            before[name], after[name] = lines[name].before, lines[name].after
        else:
            place = [*map(str, pair.names)].index(name)
            cells = (table.iloc[:, place] for table in (pair.original, pair.released))
            before[name], after[name] = map(as_column, cells)
    if unchanged is not None:
        cells_of_columns = columns_of(unchanged, "unchanged")
        for name, column in zip(column_names(unchanged), cells_of_columns, strict=True):
            cells = np.asarray(column, dtype=np.float64) if has_numbers(column) else column
            before[name] = after[name] = as_column(cells)
    weights = (None, None) if given.weights is None else given.weights[1:]
    tables = Table(before, weights[0]), Table(after, weights[1])
    return [analyze(formula, *tables) for formula in given.formulas]


def _missing_in_words(columns: list[Any]) -> str:
    """How many cells are missing, and in how many records."""
    missing = np.column_stack([missing_cells(column) for column in columns])
    cells, records = missing.mean(), missing.any(axis=1).mean()
    return f"{percent(cells)} of the cells, in {percent(records)} of the records"
