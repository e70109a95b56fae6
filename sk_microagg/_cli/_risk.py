"""The command `risk`."""

import sys
from argparse import Namespace
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg import metrics
from sk_microagg._cli._compared import (
    are_comparable,
    comparable_values,
    compared_as_text,
    compared_columns,
    known_to_intruder,
    rows_correspond,
)
from sk_microagg._cli._terminal import WARNING, print_facts
from sk_microagg._cli._typed_request import found_columns
from sk_microagg._cli._voice import SHELL
from sk_microagg._utils._formatting import (
    at_most,
    determined_in_words,
    is_share_large,
    percent,
    printable,
    shown,
    singled_out_lines,
)
from sk_microagg._utils._places import POSITIONS, RowNames
from sk_microagg._utils._validation import check_records
from sk_microagg.files._column_kinds import why_no_numbers
from sk_microagg.files._csv_files import header_of_release
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import Option, RequestError, bad_input_as_request_error
from sk_microagg.files._table import Table, read_table
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.release._demands import RIGHT_THAT_OFTEN
from sk_microagg.release._request import check_names
from sk_microagg.release._roles import check_one_role
from sk_microagg.release._summary import assumed_unknown

NOT_IN_ORDER = (
    "unknown: columns agree as a whole, but not row by row. Linkage, interval and rank need the "
    "release in the order of the original."
)

AS_TEXT = (
    "not all released cells are values or intervals, so that cells are equal or different, and "
    "none are near each other. The risk may be higher."
)


ROLES = "quasi_identifiers", "sensitive", "unit", "weight"
NAMED = *ROLES, "amounts", "categorical", "ordinal", "date", "number"


def risk(options: Namespace) -> None:
    """Compare a release with the original and print the result."""
    original, release = _read_pair(options, options.original, options.release)
    names = dict.fromkeys([*original.cells.column_names, *release.cells.column_names])
    typed = {name: getattr(options, name) for name in NAMED}
    options = Namespace(**vars(options) | found_columns(typed, list(names)))
    roles = {name: _listed(getattr(options, name)) for name in ROLES}
    check_one_role(roles)
    columns = options.quasi_identifiers = _common_columns(original, release, options)
    declared = Declared.from_request(options)
    check_names("amounts", options.amounts, original.cells.column_names)
    declared.check_kinds([*columns, *options.sensitive, *options.amounts], "compared")
    tables = _Compared(original, release, options, declared)
    before, after, numeric = tables.before, tables.after, tables.numeric
    joint = _joint_anonymity(tables)
    sensitive = tables.values_of(options.sensitive, declared)
    unit = tables.values_of(roles["unit"]).get(options.unit)
    weight = tables.values_of(roles["weight"], declared).get(options.weight)
    amounts = tables.values_of(options.amounts, declared, from_original=True)
    linkage, as_text = None, []
    # Before anything is printed, since the numbers may be bad.
    if numeric:
        for path, table, values in (
            (options.original, original, before),
            (options.release, release, after),
        ):
            with bad_input_as_request_error(path, rows=table.rows):
                check_records(values[numeric])
    with bad_input_as_request_error():
        if tables.are_in_order:
            pair = known_to_intruder(original, release, tables.pairs)
            linkage = metrics.record_linkage(*pair, n_jobs=options.n_jobs, unit=unit)
            as_text = compared_as_text(tables.pairs, pair[0])
    classes = row_classes(after, "release")
    rows = tables.rows_of(options.weight)
    with bad_input_as_request_error(Option("weight", column=options.weight), rows=rows):
        in_population = population_facts(classes, weight, unit)
    weight_before = _weight_before(tables, options, declared)
    of_largest = facts_on_amounts(classes, amounts, unit, weight_before, original.rows)
    # An intruder may know the other columns of the release.
    others = {*columns, *options.sensitive, options.unit, options.weight}
    unchanged = release.as_text([name for name in release.cells.column_names if name not in others])
    levels = map(metrics.anonymity_level, (before, after))
    unique = [percent(metrics.uniqueness(table)) for table in (before, after)]
    print_facts(
        {
            "records": len(before),
            "columns": ", ".join(map(shown, columns)),
            "anonymity level": "{} before, {} after".format(*levels),
            **units_per_class(classes, unit),
            **in_population,
            **of_largest,
            **joint,
            "unique rows": "{} before, {} after".format(*unique),
            **({"unchanged": ", ".join(map(shown, unchanged))} if len(unchanged.columns) else {}),
            **({"sensitive": assumed_unknown(options.sensitive)} if options.sensitive else {}),
        }
    )
    if len(unchanged.columns):
        _print_unchanged(classes, before if tables.are_in_order else None, unchanged, unit)
    if options.sensitive:
        print_sensitive(classes, sensitive, has_units=unit is not None)
    _print_linkage(linkage, as_text)
    if numeric:
        _print_numbers(tables)


def _listed(named: Any) -> list:
    return named if isinstance(named, list) else [] if named is None else [named]


def _read_pair(options: Namespace, original: str, release: str) -> tuple[Table, Table]:
    format = Format.from_request(options)
    of_release = replace(format, header=header_of_release(options.header))
    pair = read_table(original, format), read_table(release, of_release)
    format.check_names([name for table in pair for name in table.cells.column_names])
    for doubt in (doubt for table in pair for doubt in table.doubts):
        print(f"{WARNING}{printable(doubt.in_words(SHELL))}", file=sys.stderr)
    return pair


class _Compared:
    """A table and its release, and the values of the columns that are compared."""

    def __init__(self, original: Table, release: Table, options: Namespace, declared: Declared):
        self.original, self.release, self.options = original, release, options
        self.pairs = compared_columns(original, release, options.quasi_identifiers, declared)
        self.before, self.after = map(_values, zip(*self.pairs, strict=True))
        if len(self.before) != len(self.after):
            text = "{original} has {n_before} rows, but {release} has {n_after}: they are compared "
            facts = {"n_before": len(self.before), "n_after": len(self.after), **_paths(options)}
            raise RequestError("other_rows", text + "row by row.", **facts)
        # Columns of numbers or dates without missing values.
        self.numeric = [
            old.name
            for old, new in self.pairs
            if are_comparable(old, new)
            and old.kind != "ordinal"
            and _have_numbers(self.before[old.name], self.after[old.name])
        ]
        self.are_in_order = self._rows_correspond()

    def _rows_correspond(self) -> bool:
        """Whether rows are in the same order, by all columns that the tables have in common."""
        before, after, numeric = self.before.copy(), self.after.copy(), [*self.numeric]
        for name in self.original.cells.column_names:
            if name in before or name not in self.release.cells.column_names:
                continue
            with suppress(RequestError):  # Columns that are not compared may be of any type.
                columns = self.original.values([name]), self.release.values([name])
                before[name], after[name] = (column[name] for column in columns)
                if _have_numbers(before[name], after[name]):
                    numeric.append(name)
        return rows_correspond(before, after, numeric)

    def values_of(
        self, columns: list, declared: Declared | None = None, from_original: bool = False
    ) -> pd.DataFrame:
        """Values of some columns, from the release if they are there, otherwise from the original.

        Their kinds must be clear if something is `declared`; without, they do not matter.
        """
        values = {}
        for name in columns:
            table = self._table_with(name, from_original)
            values[name] = table.values([name], declared, is_strict=declared is not None)[name]
        return pd.DataFrame(values)

    def rows_of_people(self) -> tuple[pd.DataFrame, pd.Series]:
        """The released rows and who they belong to, as text: other files may have other types."""
        unit = self.options.unit
        people = self._table_with(unit).as_text([unit])[unit]
        return self.release.as_text(self.options.quasi_identifiers), people

    def rows_of(self, name: str | None) -> RowNames:
        """What the rows of the table are called that has the values of a column."""
        return (self.release if name in self.release.cells.column_names else self.original).rows

    def _table_with(self, name: str, from_original: bool = False) -> Table:
        if name in self.release.cells.column_names and not from_original:
            return self.release
        if not self.are_in_order:
            text = (
                "Column {name!r} is needed from {original}, whose rows are in another order than "
                "those of {release}."
            )
            raise RequestError("other_order", text, name, name=name, **_paths(self.options))
        return self.original


def _joint_anonymity(tables: _Compared) -> dict:
    """How many people share all of their rows, with earlier releases: the fact, or nothing."""
    options = tables.options
    if not options.earlier:
        return {}
    if options.unit is None:
        text = "{earlier} needs {unit}: the column that says who people are."
        raise RequestError("needs", text, earlier=Option("earlier"), unit=Option("unit"))
    releases, people = zip(tables.rows_of_people(), *read_earlier(options), strict=True)
    level = metrics.joint_anonymity(releases, people)
    words = f"{level}  (people who share their rows of all {len(releases)} releases)"
    return {"joint anonymity": words}


def read_earlier(request: Any) -> list:
    """Earlier releases as text, each with who its rows belong to; their columns are those named."""
    found = []
    for original, release in request.earlier:
        old = Namespace(**vars(request) | {"original": original, "release": release})
        pair = _read_pair(old, original, release)
        old.quasi_identifiers = _common_columns(*pair, old)
        found.append(_Compared(*pair, old, Declared.from_request(old)).rows_of_people())
    return found


def _common_columns(original: Table, release: Table, options: Namespace) -> list:
    names, released = original.cells.column_names, release.cells.column_names
    if options.quasi_identifiers is not None:
        for columns in (names, released):
            check_names("quasi_identifiers", options.quasi_identifiers, columns)
        return options.quasi_identifiers
    others = {*options.sensitive, options.unit, options.weight}
    columns = [name for name in names if name in released and name not in others]
    if not columns:
        other = "other " if others & {*names} & {*released} else ""
        text = "{original} and {release} have no {other}column in common."
        raise RequestError("no_common_column", text, other=other, **_paths(options))
    return columns


def _print_unchanged(
    classes: np.ndarray, before: pd.DataFrame | None, unchanged: pd.DataFrame, unit: Any
) -> None:
    """Print what other columns of the release single out, and what they determine."""
    found = metrics.unchanged_uniqueness(classes, unchanged, unit)
    print("\nColumns of the release that are not compared, and that an intruder may know")
    names = [*map(shown, unchanged)]
    lines = singled_out_lines(found, names, len(unchanged), others="the compared columns")
    print_facts({"singled out": lines})
    if before is not None:
        determined = metrics.determined_columns(before, unchanged, unit)
        if determined:
            print_facts({"determined": determined_in_words(determined, shown)})


def _values(columns: tuple) -> pd.DataFrame:
    return pd.DataFrame({column.name: comparable_values(column) for column in columns})


def _have_numbers(*columns: pd.Series) -> bool:
    return all(why_no_numbers(column) is None for column in columns)


def _print_linkage(linkage: Any, as_text: list) -> None:
    print(
        "\nRe-identification by an intruder who knows the original values of the compared columns"
    )
    if linkage is None:
        print_facts({"linked": NOT_IN_ORDER})
        return
    print_facts(
        {
            "linked": f"{percent(linkage.linked)} of the records are nearest to their own row",
            "re-identified": f"{percent(linkage.expected_matches)} of the records are expected to "
            f"be, {percent(linkage.expected_if_linked)} if all were linked",
        }
    )
    if as_text:
        print_facts({"as text": f"{', '.join(map(shown, as_text))}: {AS_TEXT}"})


def _print_numbers(tables: _Compared) -> None:
    before, after = tables.before[tables.numeric], tables.after[tables.numeric]
    print("\nColumns in which all cells are numbers or dates")
    facts, by_row = {"columns": ", ".join(map(shown, before))}, {}
    left_out = [
        f"{shown(old.name)} ({'missing values' if old.kind in ('number', 'date') else old.kind})"
        for old, _ in tables.pairs
        if old.name not in tables.numeric
    ]
    if left_out:
        facts["left out"] = ", ".join(left_out)
    if tables.are_in_order:
        by_row["interval"] = interval = metrics.interval_disclosure(before, after)
        by_row["rank"] = rank = metrics.rank_disclosure(before, after)
        share = percent(interval.mean())
        facts["interval"] = f"{share} of the values are within 0.1 standard deviations"
        facts["rank"] = f"{percent(rank.mean())} of the values are within a tenth of the ranks"
    if len(before.columns) > 1:
        change = metrics.correlation_change(before, after)
        words = f"changed by {change.mean:.4f} on average, by {change.largest:.4f} at most"
        facts["correlations"] = words
    print_facts(facts)
    _print_columns(before.columns, by_row, metrics.attribute_changes(before, after))


def _print_columns(names: Any, by_row: dict, changes: Any) -> None:
    names = [printable(shown(name)) for name in names]
    width = max(map(len, ("column", *names)))
    widths = {name: max(8, len(name) + 2) for name in by_row}
    heads = "".join(f"{name:>{widths[name]}}" for name in by_row)
    print(f"\n{'column':<{width}}{heads}  mean change  variance ratio")
    for j, (name, change) in enumerate(zip(names, changes, strict=True)):
        shares = "".join(f"{percent(by_row[measure][j]):>{widths[measure]}}" for measure in by_row)
        # Adding zero turns -0.0 into 0.0.
        mean_change = round(change["mean_change"], 4) + 0.0
        ratio = change["variance_ratio"]
        print(f"{name:<{width}}{shares}{mean_change:13.4f}{ratio:16.4f}")
    print("Mean changes are in standard deviations of the original column.")


def _paths(options: Namespace) -> dict:
    return {"original": options.original, "release": options.release}


def _weight_before(tables: _Compared, options: Namespace, declared: Declared) -> Any:
    """The weights by which amounts were added up: in the release, they may be means of groups."""
    if not options.amounts or options.weight is None:
        return None
    return tables.values_of([options.weight], declared, from_original=True)[options.weight]


def population_facts(classes: np.ndarray, weight: Any, unit: Any) -> dict:
    """Risks in the population: the facts, or nothing without weights."""
    if weight is None:
        return {}
    found = metrics.population_risk(classes, weight, unit=unit)
    intruders = {
        "knows who is in the sample": found.prosecutor,
        "has a register of the population": found.journalist,
        "links everybody with a register": found.marketer,
    }
    lines = [
        f"an intruder who {words} re-identifies a record with a probability of "
        f"{percent(risk.mean)} in the mean, and at most {percent(risk.largest)}"
        for words, risk in intruders.items()
    ]
    return {"population": lines}


def facts_on_amounts(
    classes: np.ndarray,
    amounts: pd.DataFrame,
    unit: Any,
    weight: Any = None,
    rows: RowNames = POSITIONS,
) -> dict:
    """How much the largest contributors to classes reveal: the facts."""
    shares, errors = [], []
    for name, (column, values) in zip(map(shown, amounts), amounts.items(), strict=True):
        is_weighted = weight is not None and column != weight.name
        of = {"unit": unit, "weight": weight if is_weighted else None}
        with bad_input_as_request_error(Option("amounts", column=name), rows=rows):
            share = metrics.dominance(classes, values, **of)
            error = metrics.p_percent(classes, values, **of)
        total = "weighted sum" if is_weighted else "sum"
        shares.append(f"{name}: one contributor has at most {share:.3g} of a {total}")
        errors.append(
            f"{name}: estimates of the largest value of a class are off by at least {error:.3g}%"
        )
    return {"dominance": shares, "p percent": errors} if shares else {}


def units_per_class(classes: np.ndarray, unit: Any) -> dict:
    """How many people share a row: the facts, or nothing without units."""
    if unit is None:
        return {}
    n_units = metrics.units_per_group(classes, unit)
    share = metrics.unit_share(classes, unit)
    words = f"{at_most(share)} of the rows of a class belong to one of them"
    if is_share_large(share, n_units):
        words += f", more than 1 in {n_units}: {RIGHT_THAT_OFTEN}"
    return {
        "units per class": f"at least {n_units} different values of {shown(unit.name)}",
        "unit share": words,
    }


def print_sensitive(classes: np.ndarray, sensitive: pd.DataFrame, has_units: bool) -> None:
    """Print what classes of equal released rows disclose about each sensitive column."""
    names = [printable(shown(name)) for name in sensitive]
    width = max(map(len, ("column", *names)))
    print("\nDisclosure of sensitive values by classes of equal released rows")
    print(f"{'column':<{width}}  homogeneity  one known  distinct  entropy  closeness")
    for name, (_, values) in zip(names, sensitive.items(), strict=True):
        homogeneity, known = map(percent, homogeneity_of_both(classes, values))
        distinct = metrics.diversity(classes, values)
        entropy = metrics.diversity(classes, values, kind="entropy")
        closeness = metrics.closeness(classes, values)
        shares = f"{homogeneity:>13}{known:>11}"
        print(f"{name:<{width}}{shares}{distinct:>10}{entropy:9.2f}{closeness:11.4f}")
    print(
        "Homogeneity: rows in classes that share one value; one known: that have one known value,\n"
        "apart from missing ones. In the worst class: the number of distinct values, the\n"
        "exponential of their entropy (l-diversity), and their distance from those of the whole\n"
        "table (t-closeness)." + (" All of them count rows, not people." if has_units else "")
    )
