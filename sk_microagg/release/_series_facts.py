"""What the holder of a table has to know about a release of a series, and the report on it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg._series import SeriesRelease
from sk_microagg._utils._formatting import percent, shown
from sk_microagg._utils._places import POSITIONS
from sk_microagg._utils._typing import Booleans
from sk_microagg.files._columns import Column, frame_of
from sk_microagg.files._messages import (
    Message,
    Option,
    RequestError,
    bad_input_as_request_error,
)
from sk_microagg.files._table import Table, read_as
from sk_microagg.metrics._given_groups import with_groups
from sk_microagg.release._plan import Plan
from sk_microagg.release._reporting import report_before_release
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import (
    Fact,
    assumed_unknown,
    describe,
    line_of_column,
    names_of_columns,
)
from sk_microagg.release._totals import with_columns


@dataclass(frozen=True)
class MadeRelease:
    """A release of a series: what was asked for, the plan for the whole table, and what was made.

    The request has the kinds of columns in this series.
    """

    request: ReleaseRequest
    plan: Plan
    made: SeriesRelease
    kept_kinds: frozenset[str]
    number: int
    level: int

    def warn_of_real_k(self, progress: Any) -> None:
        """Warn if an attacker who sees which rows change looks among fewer than k people."""
        k, real_k = self.request.k, self.made.real_k
        if real_k < k:
            text = "the rows of only {real_k} people of a group follow the table, fewer than "
            text += "k={k}: an attacker who knows that a person is in the table looks among these"
            progress.warn(Message("real_k", text, real_k=real_k, k=k))

    def facts(self) -> dict:
        """All facts by their names; rows are counted, and people where that is said."""
        made, roles = self.made, self.plan.roles
        n_rows, n_left = len(made.rows), int(np.sum(made.places < 0))
        n_last = int(np.sum(~made.are_new)) - n_left
        counts = {
            "rows of today": (int(np.sum(made.are_new)), "as in the table"),
            "frozen": (n_last, "of people in the table, as in an earlier release"),
            "left": (n_left, "of people who are no longer in the table"),
        }
        if roles.sensitive:
            words = "with missing sensitive values: their groups violate a constraint"
            counts["suppressed"] = (int(np.sum(made.are_hidden)), words)
        facts = {
            "series": Fact(f"release {self.number} of {self.request.series}", self.number),
            "records": n_rows,
            "people": len({*made.keys}),
            **{
                name: Fact(f"{n} rows, {percent(n / n_rows)}  ({words})", n)
                for name, (n, words) in counts.items()
            },
            **self._people(),
            "anonymized": names_of_columns(roles.quasi_identifiers),
            "columns": self._columns(),
            "unchanged": names_of_columns(roles.unchanged),
            **({"sensitive": assumed_unknown(roles.sensitive)} if roles.sensitive else {}),
            **({"strata": names_of_columns(roles.strata)} if roles.strata else {}),
            "groups": len({*made.labels.tolist()}),
            "anonymity level": self.level,
            "real k": Fact(
                f"{made.real_k}  (people among whom an attacker looks who sees which rows change)",
                made.real_k,
            ),
        }
        loss = self._loss()
        words = f"{percent(loss)}  (of the rows of people in the table)"
        facts["information loss"] = Fact(words, loss)
        facts["compared"] = self._compared()
        return facts

    def words_of_report(self) -> str | None:
        """What a report says of the series; raise if there is nothing to report on."""
        if not self.request.report:
            return None
        from sk_microagg.report._series import series_in_words  # Few need it.

        with bad_input_as_request_error(Option("report")):
            return series_in_words(self.number, self.made.are_covered)

    def report(self, draft: Path, scenario: Any, words: str) -> Any:
        """Make the report, about the people whose rows follow the table."""
        made, are_covered = self.made, self.made.are_covered
        cells = self.plan.table.cells.take(made.places[are_covered])
        rows = made.rows.filter(are_covered)
        for name in self.plan.roles.unchanged:
            cells = cells.set_column(cells.column_names.index(name), name, rows[name])
        plan = Plan.from_request(self.request, self._as_table(cells))
        records = frame_of(plan.records())
        released = with_columns(records, self._values(plan.known, rows))
        estimator = with_groups(plan.make_estimator(), records, released, made.labels[are_covered])
        released = released[estimator._table_roles.released]
        about = estimator, draft, None, scenario, words
        return report_before_release(plan, records, released, *about)

    def _people(self) -> dict[str, Fact]:
        made = self.made
        counts = {
            "waiting": (len(made.waiting), "in the table, and not yet in a release"),
            "withdrawn": (len(made.withdrawn), "in the table, and never released again"),
            "changed": (made.n_changed, "released with the anonymized columns that they had"),
        }
        if self.plan.roles.sensitive:
            words = "the only ones of their group with a sensitive value that changed: an attacker "
            words += "who knows that it changed reads it"
            counts["changed alone"] = (made.n_changed_alone, words)
        return {name: Fact(f"{n} people  ({words})", n) for name, (n, words) in counts.items()}

    @cached_property
    def _in_table(self) -> Booleans:
        """Which rows belong to people whose values of today are known."""
        return self.made.places >= 0

    def _values(self, columns: list[Column], rows: Any) -> dict[str, Any]:
        """Released values of some columns, of the same kinds."""
        return {column.name: column.values for column in self._read(columns, rows)}

    def _read(self, columns: list[Column], rows: Any) -> list[Column]:
        """Released columns, of the same kinds as some columns."""
        table = self._as_table(rows)
        return [read_as(column, table) for column in columns]

    def _as_table(self, rows: Any) -> Table:
        return replace(self.plan.table, cells=rows, rows=POSITIONS)

    @cached_property
    def _known(self) -> list[Column]:
        """The anonymized columns of the table, without those that are empty."""
        return [
            replace(column, how="as in earlier releases")
            if column.name in self.kept_kinds
            else column
            for column in self.plan.known
        ]

    @cached_property
    def _released(self) -> list[Column]:
        """What is released for the people in the table."""
        return self._read(self._known, self.made.rows.filter(self._in_table))

    def _columns(self) -> Fact:
        estimator = self.plan.make_estimator()
        columns = [
            describe(column, pa.table({column.name: released.cells}), estimator)
            for column, released in zip(self._known, self._released, strict=True)
        ]
        empty = (column for column in self.plan.columns if column.kind == "empty")
        columns += [describe(column, None, estimator) for column in empty]
        return Fact([*map(line_of_column, columns)], columns)

    def _loss(self) -> float:
        """What the released rows of people in the table lose of their rows of today."""
        records = frame_of(self.plan.records().take(self.made.places[self._in_table]))
        labels = self.made.labels[self._in_table]
        estimator = self.plan.make_estimator()
        released = pd.DataFrame({column.name: column.values for column in self._released})
        return with_groups(estimator, records, released, labels).information_loss_

    def _compared(self) -> Fact:
        """Means and shares in the release and in the table, for all columns of both."""
        table, release = self.plan.table, self._as_table(self.made.rows)
        columns = [*self._known]
        for name in self.plan.roles.unchanged:
            with suppress(RequestError):  # Columns that are released unchanged may be of any type.
                columns += table.columns([name])
        values = [_difference(column, read_as(column, release)) for column in columns]
        return Fact([*map(_line_of_difference, values)], values)


def _difference(before: Column, after: Column) -> dict[str, Any]:
    """How a column of a release differs from that of the table."""
    about: dict[str, Any] = {"name": before.name}
    missing = [float(pd.isna(column.values).mean()) for column in (after, before)]
    about |= dict(zip(("missing", "missing_in_table"), missing, strict=True))
    if before.kind == after.kind and before.kind in ("number", "date"):
        means = [_mean(column) for column in (after, before)]
        return about | dict(zip(("mean", "mean_in_table"), means, strict=True))
    shares = [
        pd.Series(np.asarray(column.values, dtype=object)).value_counts(normalize=True)
        for column in (after, before)
    ]
    largest = shares[0].sub(shares[1], fill_value=0.0).abs().max()
    return about | {"largest_difference": float(largest) if largest == largest else 0.0}


def _mean(column: Column) -> Any:
    """The mean of known numbers, or of dates as a day."""
    if column.kind == "number":
        return float(np.nanmean(np.asarray(column.values, dtype=np.float64)))
    mean = pd.Series(column.values).mean()
    return None if pd.isna(mean) else str(mean.date())


def _line_of_difference(about: dict[str, Any]) -> str:
    line = f"{shown(about['name'])}: "
    if "mean" in about:
        means = [
            f"{mean:.4g}" if isinstance(mean, float) else mean
            for mean in (about["mean"], about["mean_in_table"])
        ]
        line += "mean {} in the release, {} in the table".format(*means)
    else:
        line += f"shares differ by up to {100 * about['largest_difference']:.1f} percentage points"
    if about["missing"] != about["missing_in_table"]:
        line += f"; missing: {percent(about['missing'])}, in the table "
        line += percent(about["missing_in_table"])
    return line
