"""`make_report`: checks, sections, page and file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from math import inf, isclose
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._bound import Certificate
from sk_microagg._series import ReleaseSeries
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._tables import as_table, check_report_extra, column_names, columns_of
from sk_microagg._utils._typing import Estimator, FilePath, TableLike
from sk_microagg._utils._validation import check_number, check_option
from sk_microagg._utils._writing import check_page_name, released_file
from sk_microagg.generalization._generalizer import (
    Generalizer,
    check_generalizes_all,
    releases_intervals,
)
from sk_microagg.generalization._mixed_table import columns_at, names_of
from sk_microagg.metrics._loss import certificate_of, certify, check_can_be_certified
from sk_microagg.metrics._pairs import MixedPair, make_pair
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.report._card import ReleaseCard, make_card, why_no_card
from sk_microagg.report._columns import RoleNames
from sk_microagg.report._facts import collect
from sk_microagg.report._page import FRAME, render
from sk_microagg.report._scenario import Scenario
from sk_microagg.report._sections import ReportDocument
from sk_microagg.report._series import of_series
from sk_microagg.report._utility import Weights
from sk_microagg.tables._frames import Frame


class About(TypedDict, total=False):
    """What else a report may be told, see `make_report`."""

    title: str | None
    source: str | None
    command: str | None
    kinds: Mapping[str, str] | None
    unchanged: TableLike | None
    dropped: Sequence[str] | None
    sensitive: TableLike | None
    unit: TableLike | None
    strata: TableLike | None
    weight: TableLike | None
    earlier: Sequence[tuple[TableLike, TableLike]] | None
    file: FilePath | None
    shuffled: bool | None
    series: str | None


class Report:
    """A report on a release, as :func:`make_report` returns it.

    It is confidential: it holds exact figures of the original. As the last line of a cell, a
    notebook shows it.

    Parameters
    ----------
    page : str
        The page, in HTML.

    document : ReportDocument
        The sections, of which the page was made.

    card : ReleaseCard or str
        The card of the release, or why it cannot have one.

    See Also
    --------
    make_report : Returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.report import make_report
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> aggregator = MicroAggregator(k=5)
    >>> report = make_report(aggregator, X, aggregator.fit_transform(X))
    >>> report.to_dict()["protection"]["k_achieved"]
    5
    """

    def __init__(self, page: str, document: ReportDocument, card: ReleaseCard | str) -> None:
        self._page = page
        self._document = document
        self._card = card

    def to_html(self) -> str:
        """Return the page.

        Returns
        -------
        page : str
            A self-contained page of HTML, for screens of any size and for paper.
        """
        return self._page

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the report.

        Returns
        -------
        document : dict
            Of strings, numbers, lists and dicts, as :func:`report_schema` describes it. A share
            has its `value` and its `text`, as on the page.
        """
        return json.loads(json.dumps(asdict(self._document)))

    def card(self) -> ReleaseCard:
        """Return the card of the release, which may be published with it.

        Returns
        -------
        card : ReleaseCard
            One page for those who will use the release. Of the original, it has two figures,
            rounded up to two digits: the information loss and the proven gap.

        Raises
        ------
        ValueError
            If the release violates what a card would promise: k records or people in each group,
            or a constraint. Also for the release of a series, whose card would have to say how many
            people were frozen.
        """
        if isinstance(self._card, str):
            raise ValueError(self._card)
        return self._card

    def save(self, path: FilePath, *, readers_of: FilePath | None = None) -> Path:
        """Write the report to a file, complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file, .html or .htm for the page, .json for the figures. An existing file is
            replaced once the new one is complete.

        readers_of : str, path-like or None, default=None
            A file or a folder, such as the original table: only users who can read it can read the
            report. None for the default permissions of new files.

        Returns
        -------
        path : Path
            The file that was written.
        """
        path = Path(path)
        check_file(path)
        text = self._page
        if path.suffix.lower() == ".json":
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        try:
            with released_file(path, readers_of) as draft:
                draft.write_text(text, encoding="utf-8")
        except OSError as error:
            cause = error.__cause__ or error
            why = getattr(cause, "strerror", None) or cause
            raise OSError(f"path={str(path)!r} cannot be written: {why}.") from error
        return path

    def _repr_html_(self) -> str:
        return FRAME.format(title=escape(self._document.title), page=escape(self._page))


def make_report(
    estimator: Estimator,
    X: TableLike,
    release: TableLike,
    *,
    scenario: Scenario | Mapping[str, Any] | None = None,
    analysis: str | Sequence[str] = (),
    certificate: float | Certificate | tuple[float, ArrayLike] | None = None,
    random_state: int | None = 0,
    **about: Unpack[About],
) -> Report:
    """Report on a release: what was done, what was lost, and which risk remains.

    The report is for those who approve the release. It is confidential: it holds exact figures of
    the original. Publish the release card instead, see :meth:`Report.card`.

    Parameters
    ----------
    estimator : MicroAggregator, TableAggregator, KAIM or ReleaseSeries
        The fitted estimator that made the release. A TableAggregator has the roles of columns, so
        that `unchanged`, `dropped`, `sensitive`, `unit`, `strata` and `weight` need not be given;
        so has a ReleaseSeries.

    X : array-like or DataFrame of shape (n_samples, n_features)
        The original columns that were anonymized; for a TableAggregator, the table that it was
        fitted on, and for a ReleaseSeries, the table of its last release.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The same columns, as released; for a TableAggregator, what `fit_transform` returned, and for
        a ReleaseSeries, what its method `release` returned. The report is about the rows that
        follow the table: of those of earlier releases, the originals are not known.

    scenario : Scenario, dict or None, default=None
        Who gets the release, and which risk is acceptable: the report states risks before and
        after, and whether they stay below the threshold.

    analysis : str or list of str, default=()
        Regressions such as "income ~ age + C(sex)" or "np.log(income) ~ age * sex", as statsmodels
        and R have them, by names of released columns: the report has them before and after. They
        are logistic if the target has two values, and linear if it is a number; weighted if the
        table has weights. Names with other characters are written as Q('net income').

    certificate : float, Certificate, tuple or None, default=None
        If given, the report states how far the loss is above the optimum, at most: the seconds to
        spend on a proof; or the result of an earlier one, as
        :meth:`~sk_microagg.TableAggregator.certificate` returns it; or its bound and trace, as
        :func:`sk_microagg.metrics.loss_bound` returns them with `return_trace=True` for records
        scaled as the estimator scales them. Only for MicroAggregator and TableAggregator.

    random_state : int or None, default=0
        Seed of who is attacked and held out. With None, each report draws anew.

    **about : dict
        What else the report is to know:

        - `title`, and `source`, the name of the file that the table was read from.
        - `sensitive`: the sensitive columns, as in `fit`: what groups disclose about each of them,
          and whether the constraints of `estimator.privacy` hold.
        - `unit`: who each record belongs to, as in `fit`.
        - `strata`: the stratum of each record, as in `fit`. Equal rows of two are two groups.
        - `weight`: sampling weights, for risks in the population.
        - `earlier`: earlier releases of the same people, as pairs of a table and who its rows
          belong to, in the words of `unit`: whether at least k people share their rows of all
          releases, see :func:`sk_microagg.metrics.joint_anonymity`.
        - `file`: the file of the release, for its SHA-256; `shuffled`: whether its rows are in
          random order; `series`: what it says about a series of releases.
        - `unchanged`: a table of the columns that are released unchanged, together with the
          anonymized ones; `dropped`: names of columns that are not released.
        - `command`: the shell command that made the release, shown instead of Python code.
        - `kinds`: what columns hold, by their names, if the estimator was fitted on something else,
          such as dates that had been turned into numbers, or without columns that are "empty".

    Returns
    -------
    report : Report
        The report, with `save`, `to_html` and `to_dict`.

    See Also
    --------
    Scenario : Who gets a release, and which risk is acceptable.
    sk_microagg.plotting : Plots that show more, some of them original records.
    sk_microagg.metrics.optimality_gap : The statement of a certificate as a number.

    Notes
    -----
    All figures are those of the original and of the release, with three significant digits; the
    document has all digits. Means, deviations and correlations are weighted if the table has
    weights; a correlation is that of the records in which both columns are known. Figures of a
    sensitive column are those of the worst group.

    Of 100 records or more, values are guessed; of 250 or more, a fifth of the people, at most 1000,
    is held out, and the others are anonymized once more: attacks are compared with what they
    achieve on people who are not in the table. The same `random_state` gives the same report.

    Matplotlib, Jinja2 and statsmodels are needed: `pip install 'sk-microagg[report]'`.

    Examples
    --------
    A sensitive column is released as it is, and there is a threshold for the risk:

    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.privacy import LDiversity
    >>> from sk_microagg.report import Scenario, make_report
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> is_ill = X[:, 0] + X[:, 1] > 1
    >>> aggregator = MicroAggregator(k=5, privacy=LDiversity(l=2))
    >>> release = aggregator.fit_transform(X, sensitive=is_ill)
    >>> scenario = Scenario(recipient="partners", release_model="controlled", threshold=0.2)
    >>> report = make_report(aggregator, X, release, scenario=scenario, sensitive=is_ill)
    >>> report.to_dict()["verdicts"][1]["text"]
    'Sensitive column: every group has at least 2 different values; 2 demanded.'
    >>> report.to_dict()["risk"]["is_acceptable"]
    True
    >>> report.save("report.html")  # doctest: +SKIP
    """
    check_report_extra(has_analyses=bool(analysis))
    for name in about:
        check_option("about", name, [*About.__annotations__])
    if scenario is not None:
        scenario = Scenario.read(scenario)
    given: dict[str, Any] = {**dict.fromkeys(About.__annotations__), **about}
    if isinstance(estimator, ReleaseSeries):
        estimator, X, release, given["series"] = of_series(estimator, X, release)
        given["shuffled"] = True
    _check_tables(X, release, estimator)
    if isinstance(estimator, TableAggregator):
        _with_roles_of_table(estimator, X, given)
    _check_other_columns(given["unchanged"], given["dropped"], X)
    roles = {name: given[name] for name in ("sensitive", "unit", "strata")}
    n_records = len(columns_of(X, "X")[0])
    for name, values in {**roles, "weight": given["weight"]}.items():
        if values is not None:
            RoleColumns(values, n_records, name)
    fitted, weights = X, _weights(estimator, release, given["weight"])
    certificate = _certificate(certificate, estimator, X)
    pair = None if releases_intervals(estimator) else make_pair(X, release, estimator)
    if pair is None:
        X, release = _generalized_columns(X, release, estimator)
    elif isinstance(pair, MixedPair):
        # Columns that came as an array have names here, too.
        named = [f"x{name}" if isinstance(name, int) else name for name in pair.original.columns]
        X, release = (part.set_axis(named, axis=1) for part in (pair.original, pair.released))
    asked = SimpleNamespace(
        scenario=scenario,
        formulas=[analysis] if isinstance(analysis, str) else list(analysis),
        certificate=certificate,
        weights=weights,
        random_state=random_state,
    )
    document = collect(X, release, estimator, pair, fitted, asked, given)
    card = why_no_card(document.protection, is_series=given["series"] is not None) or make_card(
        estimator,
        release,
        RoleNames.of_tables(given),
        document.loss.total.value,
        None if certificate is None else certificate.gap,
        names=column_names(X),
        reasons={} if scenario is None else scenario.reasons,
        title=given["title"],
        published=document.release,
    )
    return Report(render(document, X, release, estimator, certificate), document, card)


def _weights(estimator: Estimator, release: TableLike, weight: Any) -> Weights | None:
    """The weights before and after; these are means of groups if a table is released so."""
    if weight is None:
        return None
    name, before = str(getattr(weight, "name", "the weights")), np.asarray(weight, dtype=np.float64)
    after = before = before.reshape(-1)
    roles: Any = getattr(estimator, "_table_roles", None)
    if isinstance(estimator, TableAggregator) and roles.weight is not None:
        released = Frame(release).table
        if not roles.keeps_weight and released.shape[1] == len(roles.released):
            place = roles.released.index(roles.weight)
            after = released.iloc[:, place].to_numpy(dtype=np.float64)
    return Weights(name, before, after)


def _generalized_columns(
    X: TableLike, release: TableLike, estimator: Estimator
) -> tuple[TableLike, TableLike]:
    """The quasi-identifiers of a table and of its release."""
    roles, names = estimator._table_roles, names_of(as_table(X))
    if isinstance(estimator, TableAggregator):
        roles = roles.by_position(names)
    places = [roles.released.index(place) for place in roles.quasi_identifiers]
    return columns_at(as_table(X), roles.quasi_identifiers), columns_at(as_table(release), places)


def _with_roles_of_table(estimator: Estimator, X: TableLike, about: dict[str, Any]) -> None:
    """Add the columns with a role in the table of a TableAggregator, where they are not given."""
    table, roles = Frame(X).table, estimator._table_roles
    if about["unchanged"] is None and roles.unchanged:
        about["unchanged"] = table[roles.unchanged]
    if about["dropped"] is None:
        about["dropped"] = [str(name) for name in roles.dropped]
    if about["sensitive"] is None and roles.sensitive:
        about["sensitive"] = table[roles.sensitive]
    for role in ("unit", "weight"):
        name = getattr(roles, role)
        if about[role] is None and name is not None:
            about[role] = table[name]
    if about["strata"] is None:
        about["strata"] = roles.strata_of(table)


def _certificate(wanted: Any, estimator: Estimator, X: TableLike) -> Certificate | None:
    """The certificate, from a proof that is done now or was done before; None if not wanted."""
    if wanted is None:
        return None
    if isinstance(wanted, Certificate):
        check_can_be_certified(estimator, "a certificate needs")
        if wanted.k != estimator.k or not isclose(wanted.loss, estimator.information_loss_):
            raise ValueError(f"certificate={wanted!r} must be one of the groups of the estimator.")
        return wanted
    is_proven = isinstance(wanted, tuple) and len(wanted) == 2
    if not is_proven:
        seconds = check_number("certificate", wanted, above=0, or_option=None)
        if seconds == inf:
            raise ValueError("certificate=inf must be finite: the proof ends when the time is up.")
    given = "a proven bound" if is_proven else repr(wanted)
    check_can_be_certified(estimator, f"certificate={given} needs")
    return certificate_of(estimator, X, *wanted) if is_proven else certify(estimator, X, seconds)


def _check_other_columns(unchanged: Any, dropped: Any, X: TableLike) -> None:
    shape = (0, 0) if unchanged is None else np.shape(unchanged)
    n_records = len(columns_of(X, "X")[0])
    if len(shape) != 2 or (shape[1] > 0 and shape[0] != n_records):
        raise ValueError(
            f"unchanged of shape {shape} must be a table with the {n_records} rows of X, or None."
        )
    if isinstance(dropped, str) or not (dropped is None or np.iterable(dropped)):
        raise TypeError(f"dropped={dropped!r} must be a list of column names or None.")


def _check_tables(X: TableLike, release: TableLike, estimator: Estimator) -> None:
    check_is_fitted(estimator)
    if not hasattr(estimator, "information_loss_"):
        raise TypeError(
            f"estimator={estimator!r} must be a fitted MicroAggregator, TableAggregator or KAIM."
        )
    if getattr(estimator, "output", "interval") == "midpoint":
        check_generalizes_all(estimator)  # Intervals are computed again.
    has_modes = getattr(estimator, "categories", "generalize") != "generalize"
    if releases_intervals(estimator) and has_modes and "category" in estimator.kinds_.values():
        raise TypeError(f"estimator={estimator!r} must have categories='generalize' for a report.")
    shapes = [_shape(X, "X"), _shape(release, "release")]
    expected = shapes[0]
    if isinstance(estimator, Generalizer):
        expected = shapes[0][0], len(estimator._table_roles.released)
    if shapes[1] != expected and not isinstance(estimator, TableAggregator):
        raise ValueError(f"release of shape {shapes[1]} must have the shape of X, {expected}.")
    n_fitted = len(estimator.labels_) if hasattr(estimator, "labels_") else shapes[0][0]
    if shapes[0] != (n_fitted, estimator.n_features_in_):
        raise ValueError(
            f"X of shape {shapes[0]} must be what the estimator was fitted on, of shape "
            f"{(n_fitted, estimator.n_features_in_)}."
        )


def _shape(table: TableLike, name: str) -> tuple[int, int]:
    columns = columns_of(table, name)
    return len(columns[0]), len(columns)


def check_file(path: Path) -> None:
    """Raise before any work is done if a report cannot be written."""
    named = f"path={str(path)!r}"
    if path.is_dir():
        raise IsADirectoryError(f"{named} is a folder: it must be the name of a file.")
    check_page_name(path, named)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{named} cannot be written: there is no folder {str(path.parent)!r}."
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"{named} cannot be written: the folder {str(path.parent)!r} is read-only."
        )
