"""The release card: one page to publish with a release, for those who will use it.

It is made of the release, of what was asked for, and of two figures of the original, rounded up to
two digits: the loss and the proven gap. Nothing else of the original may reach it: see
tests/attacks/test_card.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from decimal import ROUND_CEILING
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import (
    counted,
    in_a_list,
    in_records,
    percent,
    rounded_percent,
    shown_name,
    three_digits,
)
from sk_microagg._utils._tables import (
    as_table,
    cells_of,
    column_names,
    columns_of,
    has_numbers,
    kind_of_cells,
    missing_cells,
)
from sk_microagg._utils._typing import FilePath, TableLike
from sk_microagg._utils._writing import check_page_name, released_file
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.privacy._rules import as_constraints
from sk_microagg.report._columns import RoleNames, describe_columns
from sk_microagg.report._method import TOTALS
from sk_microagg.report._page import FRAME, environment
from sk_microagg.report._recipe import software
from sk_microagg.report._sections import Column, Protection, ReleaseFile

VERSION = 1

# What Markdown takes for something else than text.
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")

OF_MEANS = (
    "In the anonymized columns, each row has the averages and most frequent values of a group of "
    "similar records: these cells are not those of a person."
)
OF_INTERVALS = (
    "Each row has intervals and categories that cover a group of similar records: they are true of "
    "each of its members, and * stands for any value."
)
UNDERSTATED = (
    "Group means understate spread. Together, the variances of the columns are smaller than in the "
    "original by the information loss. {deviations}Standard errors, and tests of whether groups "
    "differ, do not know what was averaged: they are too small."
)
# A number that only one member of a group has is hidden; the proof counts it as in these groups.
SINGLES = ", with single values of a group counted as in these groups"

COARSE = (
    "An interval is as wide as its group: use its ends, not its middle alone. Values within it are "
    "not known to be spread evenly."
)


@dataclass(frozen=True)
class CardDocument:
    """What a card says."""

    schema: Literal["sk-microagg card"]
    version: int
    title: str
    written: str
    release: ReleaseFile
    rows: int
    what_rows_are: str
    groups: int
    smallest_group: int
    k: int
    guarantees: list[str]
    columns: list[Column]
    information_loss: str
    proven_gap: str
    risk: str
    for_analysts: list[str]
    citation: str
    software: dict[str, str]


class ReleaseCard:
    """The card of a release, which may be published with it.

    As the last line of a cell, a notebook shows it.

    Parameters
    ----------
    document : CardDocument
        What it says.

    See Also
    --------
    Report.card : Returns the card of a release.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.report import make_report
    >>> X = np.random.RandomState(0).normal(size=(90, 3))
    >>> aggregator = MicroAggregator(k=5)
    >>> card = make_report(aggregator, X, aggregator.fit_transform(X)).card()
    >>> card.to_dict()["risk"][:50]
    'At most 20.0%: an attacker who knows the values of'
    """

    def __init__(self, document: CardDocument) -> None:
        self._document = document

    def to_html(self) -> str:
        """Return the card as a page.

        Returns
        -------
        page : str
            A self-contained page of HTML, for screens of any size and for one page of paper.
        """
        return (
            environment()
            .get_template("card.html")
            .render(card=self._document, facts=facts_of(self._document))
        )

    def to_markdown(self) -> str:
        """Return the card as Markdown.

        Returns
        -------
        text : str
            For a README, or for the page of a repository of data.
        """
        card = self._document
        lines = [f"# {_plain(card.title)}", "", _plain(card.what_rows_are), ""]
        lines += [f"- {_plain(name)}: {_plain(text)}" for name, text in facts_of(card)]
        lines += ["", "## Columns", "", "| column | role | technique | reason |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [
            f"| {' | '.join(map(_plain, (c.name, c.role, c.technique, c.reason)))} |"
            for c in card.columns
        ]
        lines += ["", "## What analysts must know", ""]
        lines += [f"- {_plain(text)}" for text in card.for_analysts]
        lines += ["", "## How to cite it", "", _plain(card.citation), ""]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return what the card says.

        Returns
        -------
        document : dict
            Of strings, numbers, lists and dicts.
        """
        return asdict(self._document)

    def save(self, path: FilePath) -> Path:
        """Write the card to a file, complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file: .html or .htm for a page, .md for Markdown, .json for programs. An existing
            file is replaced once the new one is complete.

        Returns
        -------
        path : Path
            The file that was written.
        """
        path = Path(path)
        check_page_name(path, f"path={str(path)!r}", is_card=True)
        suffix = path.suffix.lower()
        if suffix == ".json":
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        else:
            text = self.to_markdown() if suffix == ".md" else self.to_html()
        with released_file(path) as draft:
            draft.write_text(text, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return FRAME.format(title=escape(self._document.title), page=escape(self.to_html()))


def why_no_card(protection: Protection, *, is_series: bool) -> str:
    """Say why a release has no card; "" if it may have one."""
    if is_series:
        return "A release of a series has no card: its rows are those of several years."
    k, level, units = protection.k_requested, protection.k_achieved, protection.units_per_group
    broken = [one.name for one in protection.constraints if one.holds is False]
    if level < k:
        broken.insert(0, f"k = {k:,} (a row is shared by {counted(level, 'record')})")
    elif units is not None and units < k:
        broken.insert(0, f"k = {k:,} (a group has records of {counted(units, 'unit')})")
    if not broken:
        return ""
    return f"The release has no card, since it violates what a card promises: {in_a_list(broken)}."


def make_card(
    estimator: Any,
    anonymized: TableLike,
    roles: RoleNames,
    loss: float,
    gap: float | None,
    *,
    names: list[str] | None = None,
    reasons: Mapping[str, str] | None = None,
    title: str | None = None,
    published: ReleaseFile | None = None,
) -> ReleaseCard:
    """The card of a release.

    Of the estimator, only its parameters count. `anonymized` are the columns that it released, and
    `gap` is how far their loss is above the optimum, infinite if nothing was proven and None if no
    proof was tried; `names` are those of the columns, if an array has none.
    """
    table = as_table(anonymized)
    columns = columns_of(table, "release")
    own_names = column_names(table) if names is None else names
    names = [*map(shown_name, own_names)]
    given = zip(names, own_names, columns, strict=True)
    kinds = {shown: _kind_in_release(name, cells, estimator) for shown, name, cells in given}
    sizes = np.bincount(row_classes(table, "release"))
    published = published or ReleaseFile(None, None, None)
    versions, today = software(), date.today()
    k = int(estimator.k)
    title = "Release card" if title is None else str(title)
    document = CardDocument(
        schema="sk-microagg card",
        version=VERSION,
        title=title,
        written=today.isoformat(),
        release=published,
        rows=int(sizes.sum()),
        what_rows_are=OF_INTERVALS if releases_intervals(estimator) else OF_MEANS,
        groups=len(sizes),
        smallest_group=int(sizes.min()),
        k=k,
        guarantees=_guarantees(estimator, roles, k),
        columns=describe_columns(names, kinds, estimator, roles, reasons or {}),
        information_loss=_loss_in_words(loss, releases_intervals(estimator)),
        proven_gap=_gap_in_words(gap),
        risk=_promised_risk(estimator, roles, k),
        for_analysts=_for_analysts(estimator, names, columns, roles, published),
        citation=f"{published.file or title}, {today.year}. Anonymized with k = {k} by sk-microagg "
        f"{versions['sk_microagg']}, https://github.com/sk-microagg/sk-microagg.",
        software=versions,
    )
    return ReleaseCard(document)


def facts_of(card: CardDocument) -> list[tuple[str, str]]:
    """What a card says at the top, by name."""
    file, checksum = card.release.file, card.release.sha256
    return [
        *([("File", f"{file}, SHA-256 {checksum}")] if file else []),
        ("Rows", f"{card.rows:,}"),
        (
            "Groups",
            f"{card.groups:,} different rows; each occurs at least "
            f"{counted(card.smallest_group, 'time')}",
        ),
        ("Guarantee", f"k = {card.k:,}. {' '.join(card.guarantees)}"),
        ("Risk", card.risk),
        ("Information loss", card.information_loss),
        ("Distance from the optimum", card.proven_gap),
        ("Written", f"{card.written}, by {_versions(card.software)}"),
    ]


def _versions(software: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in software.items())


def _kind_in_release(name: Any, cells: Any, estimator: Any) -> str:
    """The kind of a released column, by the request or else by its cells."""
    missing = np.asarray(missing_cells(cells))
    if missing.all():
        return "empty"
    categorical = getattr(estimator, "categorical", "from_dtype")
    # A name alone is a list of one, and "from_dtype" is none.
    named = [categorical] if isinstance(categorical, str) else list(categorical or ())
    if name in named or name in (getattr(estimator, "hierarchies", None) or {}):
        return "category"
    if has_numbers(cells):
        return "number"
    known = np.array(cells_of(cells), dtype=object)[~missing]
    return kind_of_cells(known)


def _loss_in_words(loss: float, is_generalized: bool) -> str:
    up = rounded_percent(loss, 2, ROUND_CEILING) if loss > 0 else "0%"
    return f"at most {up} {'in the mean over all cells' if is_generalized else 'of the variation'}"


def _gap_in_words(gap: float | None) -> str:
    if gap is None:
        return "not examined"
    if not np.isfinite(gap):
        return "nothing was proven"
    if gap <= 0:
        return f"proven: the optimum{SINGLES}"
    return f"proven: at most {rounded_percent(gap, 2, ROUND_CEILING)} above the optimum{SINGLES}"


def _guarantees(estimator: Any, roles: RoleNames, k: int) -> list[str]:
    """What holds for each group, in sentences."""
    whom = f"{k:,} people, counted by {in_a_list(roles.unit)}" if roles.unit else f"{k:,} records"
    found = [f"Every row of the anonymized columns is shared by at least {whom}."]
    if roles.strata:
        found.append(f"No group mixes values of {in_a_list(roles.strata)}.")
    for constraint in as_constraints(getattr(estimator, "privacy", None)):
        words = constraint.demand_in_words()
        column = getattr(constraint, "column", None)
        of = "" if constraint.is_about_units else f" of {column or in_a_list(roles.sensitive)}"
        found.append(f"{words[0].upper()}{words[1:]}{of}, in each group.")
    if roles.sensitive:
        found.append(f"Assumed to be unknown to attackers: {in_a_list(roles.sensitive)}.")
    return found


def _promised_risk(estimator: Any, roles: RoleNames, k: int) -> str:
    """The risk that k promises, in a sentence: nothing that was measured."""
    knows = (
        "an attacker who knows the values of a person in the anonymized columns, and no others, "
    )
    knows += "finds at least"
    privacy = getattr(estimator, "privacy", None)
    shares = [c.at_most for c in as_constraints(privacy) if hasattr(c, "at_most")]
    if not roles.unit:
        return f"At most {percent(1 / k)}: {knows} k = {k:,} records."
    if shares:
        return f"At most {percent(min(shares))}: {knows} the records of k = {k:,} people."
    return (
        f"{knows[0].upper()}{knows[1:]} the records of k = {k:,} people. How many of these records "
        "belong to one person is not limited."
    )


def _for_analysts(
    estimator: Any,
    names: list[str],
    columns: list[Any],
    roles: RoleNames,
    published: ReleaseFile,
) -> list[str]:
    """What those who use the release must know, in sentences."""
    is_generalized = releases_intervals(estimator)
    found = [
        COARSE if is_generalized else UNDERSTATED.format(deviations=_deviations(names, columns))
    ]
    if isinstance(estimator, TableAggregator) and roles.weight and not is_generalized:
        found.append(TOTALS[estimator.weight_release])
    missing = [
        f"{name} {in_records(share, len(cells))}"
        for name, cells in zip(names, map(missing_cells, columns), strict=True)
        if (share := float(np.mean(cells))) > 0
    ]
    if missing:
        found.append(
            f"Empty cells, by column: {in_a_list(missing)}. A cell is empty where most values of "
            "its group are missing, or its categories are rare: do not count missing values."
        )
    if published.shuffled is not None:
        order = "random" if published.shuffled else "that of the original"
        found.append(f"The order of the rows is {order}.")
    return found


def _deviations(names: list[str], columns: list[Any]) -> str:
    """Standard deviations of the released numbers, in a sentence."""
    found = []
    for name, cells in zip(names, columns, strict=True):
        if not has_numbers(cells):
            continue
        values = np.asarray(cells, dtype=np.float64)
        values = values[~np.isnan(values)]
        if len(values) > 1:
            found.append(f"{name} {three_digits(values.std(ddof=1))}")
    return f"Standard deviations in the release: {in_a_list(found)}. " if found else ""


def _plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
